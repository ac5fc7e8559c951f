"""The boxes of a verification: find the case, read the portal's record, grade it, record the verdict, show it.

Works with the audit role alone: it reads the portal's table and the corpus' pages, and writes nothing but the verdict, through the ledger's
one function for it. It never looks at what the agent did or said, and has no model.

Plain functions take their database URL; the tasks below them take it from the settings.
"""

from __future__ import annotations

import html
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from prefect import runtime, task
from prefect.artifacts import create_markdown_artifact

from tasks.artifacts import artifact_key
from tasks.domain.characters import visible
from tasks.domain.errors import PermanentError
from tasks.domain.expectations import Expectation, parse_expectation
from tasks.domain.filing_states import filing_id
from tasks.domain.verdict import (
    Asked,
    Finding,
    Outcome,
    Submission,
    Verdict,
    grade,
    grader_version,
    records_digest,
)
from tasks.ledger.filings import attempt_of_run, find_filing, generation_of
from tasks.ledger.verdicts import RecordedVerdict, record_verdict
from tasks.retries import RETRIES
from tasks.retrieval.generations import document_statuses, open_generation
from tasks.retrieval.pages import generation_pages
from tasks.settings import settings
from tasks.store.connection import connect

# The portal's table has an index on the report ID; a read that takes longer waits on somebody's lock.
READ_SECONDS = 10


class NotConfirmed(PermanentError):
    """The report is refuted, or nobody but a person can decide about it."""


@dataclass(frozen=True, slots=True)
class Case:
    """What is verified: a filing as it was asked for, and the index generation that it worked with."""

    corpus: str
    form: str
    generation: int
    asked: Asked


def find_case(
    url: str,
    *,
    form: str,
    report_id: str,
    corpus: str | None = None,
    quarter: str | None = None,
    department: str | None = None,
) -> Case:
    """The case of a report: from the ledger, else, for a report that was filed by hand, from what the caller says.

    Raises PermanentError where the ledger does not know the filing and the caller does not say all three, where the two disagree, or where
    there is no index generation to grade against.
    """
    identity = filing_id(form, report_id)
    with connect(url, read_only=True, application="filewright-verify") as connection:
        filing = find_filing(connection, identity)
    given = {"corpus": corpus, "quarter": quarter, "department": department}
    if filing is not None:
        known = {"corpus": filing.corpus, "quarter": filing.quarter, "department": filing.department}
        for name, value in given.items():
            if value is not None and value != known[name]:
                raise PermanentError(
                    f"{identity} has {name} {known[name]} in the ledger, not {value}. Leave {name} out."
                )
        asked = Asked(report_id, filing.quarter, filing.department, filing.receipt)
        return Case(filing.corpus, form, _generation(url, filing.corpus, identity), asked)
    if corpus is None or quarter is None or department is None:
        raise PermanentError(
            f"The ledger has no filing {identity}. To verify a report that was filed by hand, "
            "give its corpus, quarter and department as well."
        )
    return Case(corpus, form, _generation(url, corpus, identity), Asked(report_id, quarter, department))


def _generation(url: str, corpus: str, identity: str) -> int:
    used = generation_of(url, identity)
    if used is not None:
        return used
    with connect(url, read_only=True, application="filewright-verify") as connection:
        serving = open_generation(connection, corpus)
    if serving is None:
        raise PermanentError(
            f"Corpus {corpus} has no open index, so there are no pages to grade against: run ingest first."
        )
    return serving.id


def portal_records(url: str, report_id: str) -> tuple[Submission, ...]:
    """Every record that the portal's table has of the report, oldest first.

    Raises TemporaryError where the table cannot be read in `READ_SECONDS`.
    """
    with connect(url, read_only=True, application="filewright-verify") as connection:
        connection.execute(f"SET LOCAL statement_timeout = '{READ_SECONDS}s'")
        rows = connection.execute(
            "SELECT report_id, quarter, department, answers, reference, submitted_at "
            "FROM portal.submissions WHERE report_id = %s ORDER BY submitted_at, id",
            (report_id,),
        ).fetchall()
    return tuple(Submission(*row) for row in rows)


def read_expectation(folder: Path, form: str) -> Expectation:
    """The expectation file of a form in a corpus' folder. Raises PermanentError where it is missing or malformed."""
    path = folder / "filings" / form / "expected.toml"
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PermanentError(f"{path} is missing: without it nothing says what a right report is.") from None
    except (OSError, ValueError) as error:
        raise PermanentError(f"{path} cannot be read: {error}") from error
    expectation = parse_expectation(document)
    if expectation.form != form:
        raise PermanentError(f"{path} is for form {expectation.form}, not {form}.")
    return expectation


def grade_case(url: str, case: Case, records: Sequence[Submission], expectation: Expectation) -> Verdict:
    """Grade the records against the pages of the case's own generation."""
    with connect(url, read_only=True, application="filewright-verify") as connection:
        pages = generation_pages(connection, case.generation)
        documents = document_statuses(connection, case.generation)
    return grade(
        records,
        expectation,
        {(page.document, page.number): page.text for page in pages},
        {document.name: document.pages for document in documents if document.pages},
        case.asked,
        {document.name: document.title for document in documents},
    )


def keep_verdict(
    url: str,
    case: Case,
    records: Sequence[Submission],
    expectation: Expectation,
    verdict: Verdict,
    flow_run: UUID | None = None,
) -> RecordedVerdict:
    """Record the verdict, or get the one that stands for these records, this grader and this generation."""
    return record_verdict(
        url,
        form=case.form,
        report_id=case.asked.report_id,
        submission=records[0] if len(records) == 1 else None,
        digest=records_digest(records),
        grader_version=grader_version(expectation, case.asked),
        generation=case.generation,
        verdict=verdict,
        flow_run=flow_run,
    )


_WORDS = {Outcome.CONFIRMED: "✅ confirmed", Outcome.REFUTED: "❌ refuted", Outcome.INDETERMINATE: "❔ indeterminate"}
_MARKDOWN = re.compile(r"([\\`*_{}\[\]#|~])")


def _cell(text: str) -> str:
    """Text as one table cell that shows it letter by letter: a record may hold Markdown, HTML or a table's own signs."""
    return _MARKDOWN.sub(r"\\\1", html.escape(visible(text, 600), quote=False))


def report(case: Case, records: Sequence[Submission], recorded: RecordedVerdict) -> str:
    """The verdict on record as Markdown: what was asked and found, and one row per check."""
    asked = case.asked
    lines = [
        f"# {_cell(asked.report_id)}: {_WORDS[recorded.verdict.outcome]}",
        "",
        f"Form {_cell(case.form)}, {_cell(asked.quarter)}, {_cell(asked.department)}. "
        f"Record source: the portal's table (SQL), {len(records)} record{'' if len(records) == 1 else 's'}. "
        f"Corpus {_cell(case.corpus)}, index generation {case.generation}. "
        + (
            "Decided now."
            if recorded.first
            else f"Decided {recorded.decided_at:%Y-%m-%d %H:%M} UTC; the first verdict stands."
        ),
        "",
        "| Check | Question | Outcome | Reason | Page | Words relied on |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for finding in recorded.verdict.findings:
        lines.append(f"| {' | '.join(_cells(finding))} |")
    if len(records) == 1:
        lines += ["", "| Question | Answer on record |", "| --- | --- |"]
        lines += [f"| {_cell(key)} | {_cell(str(answer))} |" for key, answer in records[0].answers.items()]
    return "\n".join(lines)


def _cells(finding: Finding) -> list[str]:
    page = f"{finding.document}, page {finding.page}" if finding.document and finding.page else ""
    return [
        _cell(finding.check),
        _cell(finding.key),
        _WORDS[finding.outcome],
        _cell(finding.reason),
        _cell(page),
        _cell(finding.sentence),
    ]


def require_confirmed(case: Case, recorded: RecordedVerdict) -> None:
    """Raise NotConfirmed, with every reason, unless the verdict is confirmed."""
    outcome = recorded.verdict.outcome
    if outcome is Outcome.CONFIRMED:
        return
    against = [finding for finding in recorded.verdict.findings if finding.outcome is not Outcome.CONFIRMED]
    reasons = " ".join(f"[{finding.key or finding.check}] {finding.reason}" for finding in against)
    raise NotConfirmed(f"Report {case.asked.report_id} is {outcome}. {reasons}")


# -- tasks ----------------------------------------------------------------------------------------------------------------------------


def _url() -> str:
    return settings().store.database_url.get_secret_value()


def _expectation(case: Case) -> Expectation:
    return read_expectation(settings().corpus.corpus_folder / case.corpus, case.form)


@task(name="find the case", task_run_name="find {report_id}", **RETRIES)
def find_report(
    form: str, report_id: str, corpus: str | None = None, quarter: str | None = None, department: str | None = None
) -> Case:
    """What was asked for, by the ledger, and the index generation of the filing."""
    return find_case(_url(), form=form, report_id=report_id, corpus=corpus, quarter=quarter, department=department)


@task(name="find the filing", task_run_name="find what {filing_run} filed", **RETRIES)
def report_of_run(filing_run: str) -> tuple[str, str]:
    """The form and report ID that a filing run worked on, from its id or its event's resource id (prefect.flow-run.<id>).

    Raises PermanentError where that is no id, or the run claimed no filing.
    """
    try:
        identity = UUID(filing_run.removeprefix("prefect.flow-run."))
    except ValueError:
        raise PermanentError(f"{filing_run!r} is not the id of a flow run.") from None
    found = attempt_of_run(_url(), identity)
    if found is None:
        raise PermanentError(f"The ledger has no attempt of flow run {identity}: it claimed no filing.")
    return found[0].form, found[0].report_id


@task(name="read the record", task_run_name="read {case.asked.report_id}", **RETRIES)
def read_record(case: Case) -> tuple[Submission, ...]:
    """All that the portal's table has of this report."""
    return portal_records(_url(), case.asked.report_id)


@task(name="grade", task_run_name="grade {case.asked.report_id}", **RETRIES)
def grade_record(case: Case, records: tuple[Submission, ...]) -> Verdict:
    """Hold the record against the expectation file and the pages."""
    return grade_case(_url(), case, records, _expectation(case))


@task(
    name="record the verdict",
    task_run_name="verdict {case.asked.report_id}",
    **RETRIES,
)
def record_and_show(case: Case, records: tuple[Submission, ...], verdict: Verdict) -> RecordedVerdict:
    """Record the verdict, or find the first one, and leave it as an artifact. Raises NotConfirmed unless it is confirmed."""
    identity = runtime.flow_run.id
    recorded = keep_verdict(_url(), case, records, _expectation(case), verdict, UUID(identity) if identity else None)
    key = artifact_key(f"verdict-{case.form}-{case.asked.report_id}")
    outcome = recorded.verdict.outcome
    create_markdown_artifact(
        report(case, records, recorded), key=key, description=f"{case.asked.report_id} is {outcome}"
    )
    require_confirmed(case, recorded)
    return recorded
