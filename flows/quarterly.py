"""Quarterly: bring the corpus up to date, work out which quarter ended, start one filing run for each department."""

from __future__ import annotations

from prefect import flow
from prefect.states import Completed, State

from flows.ingest import ingest
from tasks import filing as boxes
from tasks import quarterly as due


@flow(name="quarterly", flow_run_name="quarter of {corpus} {form}")
def quarterly(
    departments: list[str], corpus: str = "sample", form: str = "qi-report", quarter: str | None = None
) -> State:
    """Start the filings of one quarter.

    Args:
        departments: the departments that report, each known to the form's brief.
        corpus: the corpus whose index answers regulatory questions.
        form: the form to fill.
        quarter: e.g. Q3 2025; by default the quarter that had ended when the run was due.
    """
    # A rejected or broken ingest leaves the older index open; whether one is open decides, not whether this ingest went well.
    ingest(corpus, return_state=True)
    boxes.open_index(corpus)
    filings = due.filings_due(corpus, form, departments, quarter)
    names = [due.start_filing(corpus, form, each) for each in filings]
    return Completed(message=f"{len(names)} filings are under way or done: {', '.join(names)}")
