"""Verify: is what the portal recorded right? The run fails unless the verdict is confirmed."""

from __future__ import annotations

from prefect import flow, runtime
from prefect.states import Completed, State

from tasks import verify as boxes
from tasks.domain.errors import PermanentError


def run_name() -> str:
    """The report's ID, or the filing run that the trigger names, as far as a person reads it."""
    given = runtime.flow_run.parameters
    run = str(given.get("filing_run") or "").removeprefix("prefect.flow-run.")
    return f"verify {given.get('report_id') or f'the report of run {run[:8]}'}"


@flow(name="verify", flow_run_name=run_name)
def verify(
    report_id: str = "",
    form: str = "qi-report",
    corpus: str | None = None,
    quarter: str | None = None,
    department: str | None = None,
    filing_run: str = "",
) -> State:
    """Grade the record of one report.

    Args:
        report_id: the report's own ID, e.g. QI-2025-014.
        form: the form that it is of.
        corpus: only for a report that the ledger does not know: the corpus to grade against.
        quarter: only for a report that the ledger does not know, e.g. Q3 2025.
        department: only for a report that the ledger does not know.
        filing_run: instead of a report ID, the filing run whose report is verified; the trigger fills it in.
    """
    if bool(report_id) == bool(filing_run):
        raise PermanentError("Give either report_id or filing_run.")
    if filing_run:
        form, report_id = boxes.report_of_run(filing_run)
    case = boxes.find_report(form, report_id, corpus, quarter, department)
    records = boxes.read_record(case)
    verdict = boxes.grade_record(case, records)
    recorded = boxes.record_and_show(case, records, verdict)
    decided = (
        "decided now"
        if recorded.first
        else f"as decided by an earlier verify run at {recorded.decided_at:%H:%M:%S} UTC"
    )
    return Completed(message=f"{report_id} is {recorded.verdict.outcome}, {decided}.")
