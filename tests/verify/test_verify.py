"""Verify against a real Postgres, with the audit role alone: what it reads, what it records, and what it may not do."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tasks import verify
from tasks.domain.errors import PermanentError, TemporaryError
from tasks.domain.verdict import Asked, Outcome
from tasks.verify import Case, NotConfirmed
from tests.conftest import Database
from tests.domain.report import ASKED, COUNTS, EXPECTED, PAGES, RIGHT, RULE, TITLES

CORPUS = "small"


@dataclass(frozen=True)
class Portal:
    """The database with one index generation of the small corpus, and a way to put rows into the portal's table by hand."""

    database: Database
    generation: int
    folder: Path

    @property
    def url(self) -> str:
        return self.database.audit_url

    @property
    def case(self) -> Case:
        return Case(CORPUS, "qi-report", self.generation, ASKED)

    def insert(self, answers: dict[str, Any] | None = None, **changed: Any) -> None:
        row = {
            "report_id": ASKED.report_id,
            "quarter": ASKED.quarter,
            "department": ASKED.department,
            "reference": "R-1",
            "submitted_at": datetime(2025, 10, 1, 9, tzinfo=UTC),
            **changed,
        }
        with psycopg.connect(self.database.owner_url) as connection:
            connection.execute(
                "INSERT INTO portal.submissions (report_id, quarter, department, answers, reference, submitted_at) "
                "VALUES (%(report_id)s, %(quarter)s, %(department)s, %(answers)s, %(reference)s, %(submitted_at)s)",
                {**row, "answers": json.dumps(RIGHT if answers is None else answers)},
            )

    def verify(self, case: Case | None = None) -> verify.RecordedVerdict:
        """One whole verification, as the flow runs it."""
        case = case or self.case
        expectation = verify.read_expectation(self.folder / case.corpus, case.form)
        records = verify.portal_records(self.url, case.asked.report_id)
        graded = verify.grade_case(self.url, case, records, expectation)
        return verify.keep_verdict(self.url, case, records, expectation, graded)

    def verdicts(self) -> list[tuple[str, str]]:
        with psycopg.connect(self.database.owner_url) as connection:
            return connection.execute("SELECT outcome, submission_digest FROM ledger.verdicts ORDER BY id").fetchall()


def toml(expected: dict[str, Any]) -> str:
    """The expectation as a TOML file."""

    def value(item: Any) -> str:
        if isinstance(item, date):
            return item.isoformat()
        if isinstance(item, list):
            return "[" + ", ".join(value(each) for each in item) + "]"
        if isinstance(item, dict):
            return "{ " + ", ".join(f"{key} = {value(each)}" for key, each in item.items()) + " }"
        return json.dumps(item)

    lines = [f'form = "{expected["form"]}"']
    for key, table in expected["questions"].items():
        lines += ["", f"[questions.{key}]", *(f"{name} = {value(item)}" for name, item in table.items())]
    return "\n".join(lines) + "\n"


def add_generation(database: Database, state: str = "open") -> int:
    with psycopg.connect(database.owner_url) as connection:
        row = connection.execute(
            "INSERT INTO corpus.generations (corpus, splitter, embedding_model, embedding_revision, fingerprint, state, decided_at) "
            "VALUES (%s, 's', 'm', 'r', 'f', %s, now()) RETURNING id",
            (CORPUS, state),
        ).fetchone()
        assert row is not None
        for number, (name, count) in enumerate(COUNTS.items()):
            document = connection.execute(
                "INSERT INTO corpus.documents (corpus, sha256, reader, page_count, finished_at) VALUES (%s, %s, 'r', %s, now()) "
                "ON CONFLICT (corpus, sha256, reader) DO UPDATE SET reader = 'r' RETURNING id",
                (CORPUS, f"{number:064x}", count),
            ).fetchone()
            assert document is not None
            connection.execute(
                "INSERT INTO corpus.generation_documents (generation_id, name, title, document_id, status) VALUES (%s, %s, %s, %s, 'ok')",
                (row[0], name, TITLES.get(name, name), document[0]),
            )
            for (owner, page), text in PAGES.items():
                if owner == name:
                    connection.execute(
                        "INSERT INTO corpus.pages (document_id, number, text) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
                        (document[0], page, text),
                    )
    return int(row[0])


@pytest.fixture
def portal(database: Database, tmp_path: Path) -> Iterator[Portal]:
    path = tmp_path / CORPUS / "filings" / "qi-report" / "expected.toml"
    path.parent.mkdir(parents=True)
    path.write_text(toml(EXPECTED), encoding="utf-8")
    yield Portal(database, add_generation(database), tmp_path)


def add_filing(portal: Portal, generation: int, receipt: str | None = "R-1") -> None:
    """A filing with one attempt that submitted, as the filing worker leaves it."""
    with psycopg.connect(portal.database.owner_url) as connection:
        connection.execute(
            "INSERT INTO ledger.filings (id, corpus, form, report_id, quarter, department, state, receipt) "
            "VALUES (%s, %s, 'qi-report', %s, %s, %s, 'submitted', %s)",
            (f"qi-report/{ASKED.report_id}", CORPUS, ASKED.report_id, ASKED.quarter, ASKED.department, receipt),
        )
        connection.execute(
            "INSERT INTO ledger.attempts (filing_id, number, generation_id, model, lease_expires_at, ended_at, outcome) "
            "VALUES (%s, 1, %s, 'm', now(), now(), 'submitted')",
            (f"qi-report/{ASKED.report_id}", generation),
        )


def test_a_right_row_is_confirmed_and_recorded(portal: Portal) -> None:
    portal.insert()
    recorded = portal.verify()
    assert recorded.first and recorded.verdict.outcome is Outcome.CONFIRMED
    assert [row[0] for row in portal.verdicts()] == ["confirmed"]
    verify.require_confirmed(portal.case, recorded)


def test_a_wrong_row_is_refuted_and_verify_says_why(portal: Portal) -> None:
    portal.insert({**RIGHT, "effective_date": f"March 25, 2020 ({RULE}, page 1)"})
    recorded = portal.verify()
    assert recorded.verdict.outcome is Outcome.REFUTED
    with pytest.raises(NotConfirmed, match=r"QI-2025-014 is refuted.*\[effective_date\].*March 25, 2020"):
        verify.require_confirmed(portal.case, recorded)


def test_a_row_of_another_quarter_is_refuted(portal: Portal) -> None:
    portal.insert(quarter="Q2 2025")
    assert portal.verify().verdict.outcome is Outcome.REFUTED


def test_a_missing_row_is_refuted_and_recorded(portal: Portal) -> None:
    portal.insert(report_id="QI-2025-099")
    recorded = portal.verify()
    assert recorded.verdict.outcome is Outcome.REFUTED
    assert portal.verdicts() == [("refuted", "")]
    with pytest.raises(NotConfirmed, match="no record of report QI-2025-014"):
        verify.require_confirmed(portal.case, recorded)


def test_a_row_that_appears_later_gets_a_verdict_of_its_own(portal: Portal) -> None:
    portal.verify()
    portal.insert()
    assert portal.verify().verdict.outcome is Outcome.CONFIRMED
    assert [row[0] for row in portal.verdicts()] == ["refuted", "confirmed"]


def test_the_portal_refuses_a_second_row_and_verify_would_refute_it(portal: Portal) -> None:
    portal.insert()
    with pytest.raises(psycopg.errors.UniqueViolation):
        portal.insert(reference="R-2")
    with psycopg.connect(portal.database.owner_url) as connection:
        connection.execute("ALTER TABLE portal.submissions DROP CONSTRAINT submissions_report_id_key")
    portal.insert(reference="R-2")
    assert len(verify.portal_records(portal.url, ASKED.report_id)) == 2
    recorded = portal.verify()
    assert recorded.verdict.outcome is Outcome.REFUTED
    assert "2 records" in recorded.verdict.findings[0].reason


def test_verifying_twice_gives_the_first_verdict_and_one_row(portal: Portal) -> None:
    portal.insert()
    first, second = portal.verify(), portal.verify()
    assert (first.first, second.first) == (True, False)
    assert (second.id, second.decided_at, second.verdict.outcome) == (first.id, first.decided_at, first.verdict.outcome)
    assert len(portal.verdicts()) == 1


def test_verifying_at_the_same_time_gives_one_verdict(portal: Portal) -> None:
    portal.insert()
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(portal.verify().id)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 4 and len(set(found)) == 1
    assert len(portal.verdicts()) == 1


def test_a_mended_expectation_file_is_not_held_back_by_the_verdict_of_the_old_one(portal: Portal) -> None:
    portal.insert()
    path = portal.folder / CORPUS / "filings" / "qi-report" / "expected.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("2020-03-24", "2020-03-25"), encoding="utf-8")
    assert portal.verify().verdict.outcome is Outcome.REFUTED
    path.write_text(toml(EXPECTED), encoding="utf-8")
    assert portal.verify().verdict.outcome is Outcome.CONFIRMED


def test_answers_that_are_no_texts_are_refuted_without_a_crash(portal: Portal) -> None:
    portal.insert({**RIGHT, "effective_date": 20200324, "citation": None})
    assert portal.verify().verdict.outcome is Outcome.REFUTED


def test_pages_come_from_the_filing_s_own_generation(portal: Portal) -> None:
    portal.insert()
    with psycopg.connect(portal.database.owner_url) as connection:
        connection.execute("UPDATE corpus.generations SET state = 'superseded'")
    newer = add_generation(portal.database)
    with psycopg.connect(portal.database.owner_url) as connection:
        connection.execute("DELETE FROM corpus.generation_documents WHERE generation_id = %s", (newer,))
    add_filing(portal, portal.generation)
    case = verify.find_case(portal.url, form="qi-report", report_id=ASKED.report_id)
    assert case == Case(CORPUS, "qi-report", portal.generation, replace(ASKED, reference="R-1"))
    assert portal.verify(case).verdict.outcome is Outcome.CONFIRMED
    assert portal.verify(replace(case, generation=newer)).verdict.outcome is Outcome.REFUTED


def test_a_receipt_that_is_not_the_record_s_is_refuted(portal: Portal) -> None:
    portal.insert()
    add_filing(portal, portal.generation, receipt="R-7")
    case = verify.find_case(portal.url, form="qi-report", report_id=ASKED.report_id)
    assert portal.verify(case).verdict.outcome is Outcome.REFUTED


def test_a_report_filed_by_hand_is_verified_against_the_open_index(portal: Portal) -> None:
    portal.insert()
    case = verify.find_case(
        portal.url,
        form="qi-report",
        report_id=ASKED.report_id,
        corpus=CORPUS,
        quarter=ASKED.quarter,
        department=ASKED.department,
    )
    assert case == portal.case
    assert portal.verify(case).verdict.outcome is Outcome.CONFIRMED


def test_an_unknown_filing_needs_its_particulars(portal: Portal) -> None:
    with pytest.raises(PermanentError, match="no filing qi-report/QI-2025-014"):
        verify.find_case(portal.url, form="qi-report", report_id=ASKED.report_id, corpus=CORPUS)


def test_a_request_that_contradicts_the_ledger_is_refused(portal: Portal) -> None:
    add_filing(portal, portal.generation)
    with pytest.raises(PermanentError, match="quarter Q3 2025 in the ledger, not Q4 2025"):
        verify.find_case(portal.url, form="qi-report", report_id=ASKED.report_id, quarter="Q4 2025")


def test_without_an_open_index_there_is_nothing_to_grade_against(portal: Portal) -> None:
    with pytest.raises(PermanentError, match="has no open index"):
        verify.find_case(
            portal.url, form="qi-report", report_id="QI-2025-020", corpus="none", quarter="Q3 2025", department="X"
        )


@pytest.mark.parametrize(
    "content", [None, "form = ", 'form = "other"\n[questions.a]\nkind = "choice"\nvalue = "a"\nchoices = ["a"]\n']
)
def test_an_expectation_file_that_is_missing_broken_or_another_s_is_refused(
    portal: Portal, content: str | None
) -> None:
    path = portal.folder / CORPUS / "filings" / "qi-report" / "expected.toml"
    path.unlink()
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(PermanentError, match=r"expected\.toml"):
        verify.read_expectation(portal.folder / CORPUS, "qi-report")


def test_the_artifact_shows_every_check_with_its_page_and_words(portal: Portal) -> None:
    portal.insert()
    expectation = verify.read_expectation(portal.folder / CORPUS, "qi-report")
    records = verify.portal_records(portal.url, ASKED.report_id)
    graded = verify.grade_case(portal.url, portal.case, records, expectation)
    for _ in range(2):
        recorded = verify.keep_verdict(portal.url, portal.case, records, expectation, graded)
        text = verify.report(portal.case, records, recorded)
        assert "QI-2025-014: ✅ confirmed" in text
        assert f"{RULE}, page 1" in text and "the rule is effective on March 24, 2020" in text
        rows = [line for line in text.splitlines() if line.startswith("| ")]
        assert len([row for row in rows if row.count(" | ") == 5]) == 1 + 1 + len(graded.findings)


def test_a_hostile_record_cannot_draw_in_the_artifact(portal: Portal) -> None:
    portal.insert(
        {**RIGHT, "effective_date": "| x | ✅ confirmed |\n# done <img src=x onerror=alert(1)> [a](javascript:b)"}
    )
    expectation = verify.read_expectation(portal.folder / CORPUS, "qi-report")
    records = verify.portal_records(portal.url, ASKED.report_id)
    graded = verify.grade_case(portal.url, portal.case, records, expectation)
    recorded = verify.keep_verdict(portal.url, portal.case, records, expectation, graded)
    text = verify.report(portal.case, records, recorded)
    assert "<img" not in text and "\n# done" not in text and "[a](" not in text
    assert "| x |" not in text


def test_a_locked_table_is_a_temporary_error(portal: Portal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "READ_SECONDS", 1)
    with psycopg.connect(portal.database.owner_url) as holder:
        holder.execute("LOCK TABLE portal.submissions IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(TemporaryError):
            verify.portal_records(portal.url, ASKED.report_id)


FORBIDDEN = (
    "INSERT INTO portal.submissions (report_id, quarter, department, answers, reference) VALUES ('a', 'b', 'c', '{}', 'r')",
    "UPDATE portal.submissions SET department = 'x'",
    "DELETE FROM portal.submissions",
    "INSERT INTO ledger.verdicts (form) VALUES ('x')",
    "UPDATE ledger.verdicts SET outcome = 'confirmed'",
    "DELETE FROM ledger.verdicts",
    "UPDATE ledger.filings SET state = 'confirmed'",
    "INSERT INTO ledger.steps (filing_id) VALUES ('x')",
    "UPDATE corpus.pages SET text = 'x'",
    "DELETE FROM corpus.generations",
)


def test_the_audit_role_cannot_write_what_it_judges(portal: Portal) -> None:
    with psycopg.connect(portal.url) as connection:
        for statement in FORBIDDEN:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)
            connection.rollback()


def test_asked_without_a_receipt_does_not_check_one(portal: Portal) -> None:
    portal.insert(reference="anything")
    assert (
        portal.verify(
            replace(portal.case, asked=Asked(ASKED.report_id, ASKED.quarter, ASKED.department))
        ).verdict.outcome
        is Outcome.CONFIRMED
    )
