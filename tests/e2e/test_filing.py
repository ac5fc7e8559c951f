"""A report is filed through the screen, once, from what the corpus says, and verified from the record alone."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from fpdf import FPDF
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State

from flows.filing import filing
from flows.ingest import ingest
from flows.verify import verify
from tasks.desktop.computer_toolset import NOT_APPROVED
from tasks.settings import settings
from tests.e2e.conftest import CLEAN, ROOT, World, audit_worker, desktops

pytestmark = pytest.mark.timeout(420)

KEYS = {"ncpdp_field", "effective_date", "compliance_date", "citation"}
RULE = "sample-rule-partial-fills.pdf"


def file(report_id: str, corpus: str = "sample", department: str = "Pharmacy") -> State[Any]:
    assert ingest(corpus, return_state=True).is_completed()  # type: ignore[attr-defined]
    return filing(  # type: ignore[no-any-return]
        report_id=report_id, quarter="Q3 2025", department=department, corpus=corpus, return_state=True
    )


def verified(world: World, monkeypatch: pytest.MonkeyPatch, **parameters: Any) -> State[Any]:
    with audit_worker(world, monkeypatch):
        return verify(**parameters, return_state=True)  # type: ignore[no-any-return]


def attempts(world: World, report_id: str) -> list[tuple[Any, ...]]:
    return world.ledger(
        "SELECT number, outcome, reason FROM ledger.attempts WHERE filing_id = %s ORDER BY number",
        f"qi-report/{report_id}",
    )


def test_a_report_is_filed_verified_and_never_filed_again(world: World, filing_worker: pytest.MonkeyPatch) -> None:
    state = file("QI-2025-014")
    assert state.is_completed() and state.name == "Completed", state.message
    (row,) = world.rows("QI-2025-014")
    assert set(row["answers"]) == KEYS
    assert row["reference"] in str(state.message)
    assert "March 24, 2020" in row["answers"]["effective_date"] and RULE in row["answers"]["effective_date"]
    assert desktops(world.home) == []

    # The record is complete: every call ended, passages are on record, pictures are kept by their content.
    key = "qi-report/QI-2025-014"
    assert world.ledger("SELECT count(*) FROM ledger.steps WHERE filing_id = %s AND status = 'running'", key) == [(0,)]
    ((shown, turns),) = world.ledger(
        "SELECT (SELECT count(*) FROM ledger.passages_shown WHERE filing_id = %s), "
        "(SELECT count(*) FROM ledger.turns WHERE filing_id = %s)",
        key,
        key,
    )
    assert shown >= 3 and turns >= 5
    pictures = world.ledger(
        "SELECT DISTINCT screenshot FROM ledger.steps WHERE filing_id = %s AND screenshot <> ''", key
    )
    for (digest,) in pictures:
        png = (world.home / "runs" / "qi-report" / "QI-2025-014" / "1" / f"{digest}.png").read_bytes()
        assert hashlib.sha256(png).hexdigest() == digest
    with get_client(sync_client=True) as client:
        artifacts = {a.key: a for a in client.read_latest_artifacts()}
    assert artifacts["filing-qi-2025-014"].data == 100.0
    assert str(artifacts["last-screenshot-qi-2025-014"].data).startswith("data:image/png;base64,")

    # Every action carries its class and rule; the one commit was answered by the demonstration's approver.
    undecided = "SELECT tool, detail FROM ledger.steps WHERE filing_id = %s AND tool LIKE 'computer.%%' AND status <> 'not_executed' "
    assert world.ledger(undecided + "AND detail !~ '^\\[[a-z]+\\] [a-z]+'", key) == []
    assert world.ledger("SELECT detail FROM ledger.steps WHERE filing_id = %s AND detail LIKE '[commit]%%'", key) == [
        ("[commit] commit:brief, approved by auto",)
    ]

    first = verified(world, filing_worker, report_id="QI-2025-014")
    assert first.is_completed() and "confirmed" in str(first.message), first.message

    again = file("QI-2025-014")
    assert again.name == "AlreadyFiled" and row["reference"] in str(again.message)
    assert len(world.rows("QI-2025-014")) == 1
    assert [outcome for _, outcome, _ in attempts(world, "QI-2025-014")] == ["submitted", "already_filed"]

    second = verified(world, filing_worker, report_id="QI-2025-014")
    assert second.is_completed() and "earlier verify run" in str(second.message)
    assert len(world.ledger("SELECT 1 FROM ledger.verdicts WHERE report_id = 'QI-2025-014'")) == 1


def test_without_an_approver_nothing_is_filed(world: World, filing_worker: pytest.MonkeyPatch) -> None:
    assert ingest("sample", return_state=True).is_completed()  # type: ignore[attr-defined]
    filing_worker.delenv("FILEWRIGHT_APPROVAL")
    settings.cache_clear()
    state = filing(report_id="QI-2025-090", quarter="Q3 2025", department="Pharmacy", return_state=True)
    assert state.is_failed() and world.rows("QI-2025-090") == []
    denied = world.ledger(
        "SELECT DISTINCT text FROM ledger.steps WHERE filing_id = 'qi-report/QI-2025-090' AND status = 'denied'"
    )
    assert denied == [(NOT_APPROVED,)]
    assert world.ledger("SELECT state FROM ledger.filings WHERE report_id = 'QI-2025-090'") == [("filling",)]


@pytest.mark.parametrize(
    ("report_id", "key", "wrong"),
    [
        ("QI-2025-101", "effective_date", f"March 25, 2020 ({RULE}, page 2)"),
        ("QI-2025-102", "ncpdp_field", f"460-ED Quantity Prescribed ({RULE}, page 1)"),
        ("QI-2025-103", "compliance_date", f"September 21, 2020 ({RULE}, page 9)"),
    ],
)
def test_a_wrong_row_put_there_by_hand_fails_the_verify_run(
    world: World, filing_worker: pytest.MonkeyPatch, report_id: str, key: str, wrong: str
) -> None:
    assert ingest("sample", return_state=True).is_completed()  # type: ignore[attr-defined]
    answers = {
        "ncpdp_field": f"460-ET Quantity Prescribed ({RULE}, page 1)",
        "effective_date": f"March 24, 2020 ({RULE}, page 2)",
        "compliance_date": f"September 21, 2020 ({RULE}, page 2)",
        "citation": f"{RULE}, page 1",
        key: wrong,
    }
    with psycopg.connect(world.database.portal_url) as connection:
        connection.execute(
            "INSERT INTO portal.submissions (report_id, quarter, department, answers, reference) "
            "VALUES (%s, 'Q3 2025', 'Pharmacy', %s, %s)",
            (report_id, json.dumps(answers), f"HAND-{report_id}"),
        )
    state = verified(
        world, filing_worker, report_id=report_id, corpus="sample", quarter="Q3 2025", department="Pharmacy"
    )
    assert state.is_failed()
    assert "refuted" in str(state.message) and key in str(state.message)


def test_a_report_that_nobody_filed_is_not_confirmed(world: World, filing_worker: pytest.MonkeyPatch) -> None:
    assert ingest("sample", return_state=True).is_completed()  # type: ignore[attr-defined]
    state = verified(
        world, filing_worker, report_id="QI-2025-199", corpus="sample", quarter="Q3 2025", department="Pharmacy"
    )
    assert state.is_failed() and "confirmed" not in str(state.message)


def test_a_budget_that_is_spent_stops_the_filing_before_the_next_request(
    world: World, filing_worker: pytest.MonkeyPatch
) -> None:
    filing_worker.setenv("FILEWRIGHT_MAX_TURNS", "2")
    settings.cache_clear()
    state = file("QI-2025-020")
    assert state.is_failed() and "budget:turns" in str(state.message)
    assert world.rows("QI-2025-020") == []
    ((number, outcome, reason),) = attempts(world, "QI-2025-020")
    assert (number, outcome) == (1, "stopped") and "budget:turns" in reason
    assert world.ledger("SELECT count(*) FROM ledger.turns WHERE filing_id = 'qi-report/QI-2025-020'") == [(2,)]
    assert desktops(world.home) == []


@pytest.mark.parametrize("actions", [3, 25])
def test_a_killed_filing_is_taken_over_and_ends_with_one_row(
    world: World, filing_worker: pytest.MonkeyPatch, actions: int
) -> None:
    report_id = f"QI-2025-{actions:03d}"
    assert ingest("sample", return_state=True).is_completed()  # type: ignore[attr-defined]
    api = {name: value for name, value in os.environ.items() if name.startswith("PREFECT_")}
    from prefect.settings import PREFECT_API_URL

    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from flows.filing import filing; "
            f"filing(report_id={report_id!r}, quarter='Q3 2025', department='Pharmacy')",
        ],
        cwd=ROOT,
        env={**CLEAN, **api, **world.variables, "PREFECT_API_URL": str(PREFECT_API_URL.value())},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 180
        while True:
            ((count,),) = world.ledger(
                "SELECT count(*) FROM ledger.steps WHERE filing_id = %s", f"qi-report/{report_id}"
            )
            if count >= actions:
                break
            assert process.poll() is None and time.monotonic() < deadline, f"{count} steps, exit {process.poll()}"
            time.sleep(0.1)
        assert desktops(world.home)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    until = time.monotonic() + 10
    while desktops(world.home) and time.monotonic() < until:
        time.sleep(0.1)
    assert desktops(world.home) == []
    assert world.rows(report_id) == []

    state = filing(report_id=report_id, quarter="Q3 2025", department="Pharmacy", return_state=True)
    assert state.is_completed(), state.message
    assert len(world.rows(report_id)) == 1
    assert [(n, outcome) for n, outcome, _ in attempts(world, report_id)] == [(1, "lease_expired"), (2, "submitted")]
    ((kept,),) = world.ledger(
        "SELECT count(*) FROM ledger.steps WHERE filing_id = %s AND attempt = 1", f"qi-report/{report_id}"
    )
    assert kept >= actions


def test_a_portal_that_is_down_fails_the_filing_and_files_nothing(
    world: World, filing_worker: pytest.MonkeyPatch
) -> None:
    assert ingest("sample", return_state=True).is_completed()  # type: ignore[attr-defined]
    filing_worker.setenv("FILEWRIGHT_PORTAL_URL", "http://127.0.0.1:9")
    settings.cache_clear()
    state = filing(report_id="QI-2025-030", quarter="Q3 2025", department="Pharmacy", return_state=True)
    assert state.is_failed()
    assert [outcome for _, outcome, _ in attempts(world, "QI-2025-030")] == ["failed"]
    assert desktops(world.home) == []


def test_a_filed_report_that_the_portal_does_not_show_is_left_to_a_person(
    world: World, filing_worker: pytest.MonkeyPatch
) -> None:
    assert ingest("sample", return_state=True).is_completed()  # type: ignore[attr-defined]
    with psycopg.connect(world.database.owner_url) as connection:
        connection.execute(
            "INSERT INTO ledger.filings (id, corpus, form, report_id, quarter, department, state, receipt) VALUES "
            "('qi-report/QI-2025-060', 'sample', 'qi-report', 'QI-2025-060', 'Q3 2025', 'Pharmacy', 'submitted', 'RCT-1')"
        )
    for _ in range(2):
        state = filing(report_id="QI-2025-060", quarter="Q3 2025", department="Pharmacy", return_state=True)
        assert state.is_failed() and "a person has to look" in str(state.message)
    assert world.rows("QI-2025-060") == []
    assert world.ledger("SELECT state FROM ledger.filings WHERE report_id = 'QI-2025-060'") == [
        ("needs_reconciliation",)
    ]
    assert world.ledger("SELECT count(*) FROM ledger.turns WHERE filing_id = 'qi-report/QI-2025-060'") == [(0,)]


@contextmanager
def when_filing_is(world: World, report_id: str, wanted: str, act: Callable[[], None]) -> Iterator[None]:
    """Do something once, as soon as the ledger says that the filing is in a state."""
    over = threading.Event()
    done: list[bool] = []

    def watch() -> None:
        while not over.wait(0.05):
            if world.ledger("SELECT state FROM ledger.filings WHERE report_id = %s", report_id) == [(wanted,)]:
                act()
                done.append(True)
                return

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    assert done == [True]


def test_a_model_that_fails_after_the_click_does_not_hide_the_receipt(
    world: World, filing_worker: pytest.MonkeyPatch
) -> None:
    assert ingest("sample", return_state=True).is_completed()  # type: ignore[attr-defined]
    faults = f"{world.variables['FILEWRIGHT_MODEL_URL']}/faults"

    def break_the_model() -> None:
        httpx.post(faults, json={"kind": "500", "after": 0, "count": 50}).raise_for_status()

    try:
        with when_filing_is(world, "QI-2025-070", "submitting", break_the_model):
            state = filing(report_id="QI-2025-070", quarter="Q2 2025", department="Pharmacy", return_state=True)
    finally:
        httpx.delete(faults).raise_for_status()
    (row,) = world.rows("QI-2025-070")
    assert state.is_completed() and state.name == "Completed" and row["reference"] in str(state.message)
    assert world.ledger("SELECT state, receipt FROM ledger.filings WHERE report_id = 'QI-2025-070'") == [
        ("submitted", row["reference"])
    ]


def test_a_report_that_somebody_else_files_meanwhile_is_not_called_ours(
    world: World, filing_worker: pytest.MonkeyPatch
) -> None:
    assert ingest("sample", return_state=True).is_completed()  # type: ignore[attr-defined]

    def file_by_hand() -> None:
        with psycopg.connect(world.database.portal_url) as connection:
            connection.execute(
                "INSERT INTO portal.submissions (report_id, quarter, department, answers, reference) "
                "VALUES ('QI-2025-071', 'Q1 2025', 'Pharmacy', '{}', 'RCT-BY-HAND')"
            )

    with when_filing_is(world, "QI-2025-071", "filling", file_by_hand):
        state = filing(report_id="QI-2025-071", quarter="Q1 2025", department="Pharmacy", return_state=True)
    assert state.name == "AlreadyFiled" and "RCT-BY-HAND" in str(state.message)
    assert len(world.rows("QI-2025-071")) == 1
    assert [outcome for _, outcome, _ in attempts(world, "QI-2025-071")] == ["already_filed"]


def write_corpus(folder: Path) -> None:
    """Another rule with other values, in the same words of the field: data only."""
    text = (
        "SAMPLE. Final rule CMS-0099-F on partial fills.\n\n"
        "Under rule CMS-0055-F as replaced here, a pharmacy identifies a partial fill of a Schedule II drug in the "
        "Dispensing Intent (517-KX) field of the NCPDP telecommunication standard, which is required for each such claim.\n\n"
        "Effective date: this rule is effective May 6, 2021.\n\n"
        "Compliance date: covered entities must comply with this rule by November 8, 2021."
    )
    (folder / "documents").mkdir(parents=True)
    document = FPDF()
    document.add_page()
    document.set_font("Helvetica", size=12)
    document.multi_cell(0, 7, text)
    path = folder / "documents" / "other-rule.pdf"
    document.output(str(path))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / "corpus.toml").write_text(
        f'title = "Other"\n[[documents]]\nname = "other-rule.pdf"\ntitle = "Another rule"\nsha256 = "{digest}"\n'
    )
    questions = [
        ("field", "Which field tells of a partial fill?", "517-KX"),
        ("effective", "When does the rule take effect?", "May 6, 2021"),
        ("compliance", "By when must entities comply?", "November 8, 2021"),
    ]
    with (folder / "golden.jsonl").open("w") as file:
        for identity, question, pattern in questions:
            row = {"id": identity, "question": question, "document": "other-rule.pdf", "pages": [1]}
            file.write(json.dumps({**row, "answer_patterns": [pattern], "answerable": True}) + "\n")
    source = 'sources = [{ document = "other-rule.pdf", pages = [1] }]\n'
    form = folder / "filings" / "qi-report"
    form.mkdir(parents=True)
    (form / "expected.toml").write_text(
        'form = "qi-report"\n'
        f'[questions.ncpdp_field]\nkind = "identifier"\nvalue = "517-KX"\nterms = ["Dispensing Intent"]\n{source}'
        f'[questions.effective_date]\nkind = "date"\nvalue = 2021-05-06\n{source}'
        f'[questions.compliance_date]\nkind = "date"\nvalue = 2021-11-08\n{source}'
        f'[questions.citation]\nkind = "citation"\ncarries = ["ncpdp_field"]\n{source}'
    )


def test_another_corpus_files_its_own_values_and_is_confirmed(world: World, filing_worker: pytest.MonkeyPatch) -> None:
    write_corpus(world.corpora / "other")
    brief = (world.corpora / "sample" / "filings" / "qi-report" / "brief.toml").read_text()
    (world.corpora / "other" / "filings" / "qi-report" / "brief.toml").write_text(brief)
    state = file("QI-2025-040", corpus="other", department="Oncology")
    assert state.is_completed(), state.message
    (row,) = world.rows("QI-2025-040")
    assert row["department"] == "Oncology"
    assert "517-KX" in row["answers"]["ncpdp_field"]
    assert "May 6, 2021" in row["answers"]["effective_date"]
    assert "November 8, 2021" in row["answers"]["compliance_date"]
    assert all("other-rule.pdf, page 1" in answer for answer in row["answers"].values())
    verdict = verified(world, filing_worker, report_id="QI-2025-040")
    assert verdict.is_completed(), verdict.message


def test_the_federal_corpus_is_filed_and_confirmed(
    world: World, filing_worker: pytest.MonkeyPatch, federal_pdfs: dict[str, Path]
) -> None:
    folder = next(iter(federal_pdfs.values())).parent
    filing_worker.setenv("FILEWRIGHT_CORPUS_MIRROR", str(folder))
    settings.cache_clear()
    state = file("QI-2025-050", corpus="hipaa")
    assert state.is_completed(), state.message
    verdict = verified(world, filing_worker, report_id="QI-2025-050")
    assert verdict.is_completed(), verdict.message
