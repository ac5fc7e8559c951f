"""The boxes of a quarterly run: which filings are due, and the start of each under a key of its own."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from prefect import runtime, task
from prefect.client.schemas.objects import FlowRun
from prefect.deployments import run_deployment

from tasks.briefs import load_brief
from tasks.domain.calendar import check_report, quarter_ended, report_id_for
from tasks.domain.errors import PermanentError, TemporaryError
from tasks.domain.filing_states import filing_id
from tasks.ledger.filings import next_attempt, report_of
from tasks.settings import settings

# The schedule's time zone, and so the one in which a quarter ends: the regulator's.
ZONE = ZoneInfo("America/New_York")


@dataclass(frozen=True)
class Due:
    """One filing to start. The key makes a second start of the same attempt return the first one's run."""

    parameters: dict[str, str]
    idempotency_key: str


# More dead runs than this for one attempt are no accident: a person has to look.
MOST_DEAD_RUNS = 5


@task(name="start filing", task_run_name="start {due.parameters[report_id]}")
def start_filing(corpus: str, form: str, due: Due) -> str:
    """Start the filing's run, once; returns its name.

    A run that ended badly before it claimed the filing used up no attempt, and its key would give that dead run for ever: then the key gets
    a number behind it. Raises TemporaryError after MOST_DEAD_RUNS such runs.
    """
    name = "file {report_id} {quarter} {department}".format(**due.parameters)
    for dead in range(MOST_DEAD_RUNS):
        run: FlowRun = run_deployment(  # type: ignore[assignment]  # a coroutine only where the caller is one
            "filing/filing",
            parameters={**due.parameters, "corpus": corpus, "form": form},
            idempotency_key=due.idempotency_key + (f".{dead}" if dead else ""),
            flow_run_name=name,
            timeout=0,
            as_subflow=False,
        )
        if run.state is None or not run.state.is_final() or run.state.is_completed():
            return name
    raise TemporaryError(
        f"{MOST_DEAD_RUNS} runs of {name!r} ended before they claimed it: see why, then start quarterly again."
    )


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
    url = group.store.database_url.get_secret_value()
    due = []
    for department in departments:
        # A report that was filed by hand under another ID is this quarter's report: its run ends as AlreadyFiled.
        report_id = report_of(url, form, period, department) or report_id_for(brief, period, department)
        check_report(brief, report_id, period, department, scheduled.astimezone(ZONE).date())
        identity = filing_id(form, report_id)
        attempt = next_attempt(url, identity)
        due.append(Due({"report_id": report_id, "quarter": period, "department": department}, f"{identity}:{attempt}"))
    return due
