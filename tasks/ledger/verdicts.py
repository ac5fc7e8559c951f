"""Verdicts: one per record, grader version and index generation; the first one stands."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from uuid import UUID

from psycopg.types.json import Jsonb

from tasks.domain.verdict import Finding, Outcome, Submission, Verdict
from tasks.store.connection import connect, one


@dataclass(frozen=True, slots=True)
class RecordedVerdict:
    """A verdict as the ledger holds it; `first` is False where an earlier verify had recorded it."""

    id: int
    first: bool
    verdict: Verdict
    decided_at: datetime


def record_verdict(
    url: str,
    *,
    form: str,
    report_id: str,
    submission: Submission | None,
    digest: str,
    grader_version: str,
    generation: int,
    verdict: Verdict,
    flow_run: UUID | None = None,
) -> RecordedVerdict:
    """Record the verdict through the audit role's one function, or return the one that is there.

    `digest` identifies the record that was graded; "" stands for a portal that has no record of the report.
    """
    findings = [asdict(finding) for finding in verdict.findings]
    stored = None
    if submission is not None:
        stored = Jsonb(
            {
                "report_id": submission.report_id,
                "quarter": submission.quarter,
                "department": submission.department,
                "answers": submission.answers,
                "reference": submission.reference,
                "submitted_at": submission.submitted_at.isoformat(),
            }
        )
    with connect(url, application="filewright-verify") as connection:
        row = one(
            connection.execute(
                "SELECT id, first, outcome, findings, decided_at "
                "FROM ledger.record_verdict(%s, %s, %s, %s, %s, %s, %s, %s, %s)",
                (
                    form,
                    report_id,
                    digest,
                    grader_version,
                    generation,
                    verdict.outcome.value,
                    Jsonb(findings),
                    stored,
                    flow_run,
                ),
            ).fetchone()
        )
    first = Verdict(tuple(Finding(**{**each, "outcome": Outcome(each["outcome"])}) for each in row[3]))
    return RecordedVerdict(row[0], row[1], first, row[4])
