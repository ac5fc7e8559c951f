"""The box of a quarterly run: which filings are due, and under which key each is started."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from prefect import runtime, task

from tasks.domain.calendar import quarter_ended, report_id_for
from tasks.domain.errors import PermanentError
from tasks.domain.filing_states import check_request, filing_id
from tasks.filing import load_brief
from tasks.ledger.filings import next_attempt
from tasks.settings import settings

# The schedule's time zone, and so the one in which a quarter ends: the regulator's.
ZONE = ZoneInfo("America/New_York")


@dataclass(frozen=True)
class Due:
    """One filing to start. The key makes a second start of the same attempt return the first one's run."""

    parameters: dict[str, str]
    idempotency_key: str


@task(name="filings due")
def filings_due(corpus: str, form: str, departments: list[str], quarter: str | None = None) -> list[Due]:
    """One filing per department for `quarter`, by default the one that had ended at the run's scheduled time.

    Raises PermanentError for a department that the form does not know, or one named twice.
    """
    group = settings()
    brief = load_brief(group.corpus.corpus_folder / corpus, form)
    if not departments or len(set(departments)) != len(departments):
        raise PermanentError(f"departments must name each department once; got {departments!r}.")
    scheduled = runtime.flow_run.scheduled_start_time or datetime.now(ZONE)
    period = quarter or quarter_ended(scheduled.astimezone(ZONE).date())
    due = []
    for department in departments:
        report_id = report_id_for(brief, period, department)
        check_request(report_id, period, department)
        identity = filing_id(form, report_id)
        attempt = next_attempt(group.store.database_url.get_secret_value(), identity)
        due.append(Due({"report_id": report_id, "quarter": period, "department": department}, f"{identity}:{attempt}"))
    return due
