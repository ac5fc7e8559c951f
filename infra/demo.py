"""`python3 -m infra demo`: the whole job once, through Prefect's deployments, and a table of what came of it.

It starts runs and looks on; it does none of the work itself. Killed at any moment it can be run again: a filing that is under way is
watched to its end, one that is done is found on the portal's list, and verify says the same as before.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.local import Up
from infra.prefect_api import PrefectApi, PrefectUnavailable
from infra.report import read_back, state_name, state_type, table

if TYPE_CHECKING:
    from tasks.ledger.summary import FilingSummary

FORM = "qi-report"
FINAL = frozenset({"COMPLETED", "FAILED", "CRASHED", "CANCELLED"})
POLL_SECONDS = 0.5
# How long a server that stopped answering (a restart by the supervisor) is waited for.
PATIENCE_SECONDS = 60.0
WAITING = {"SCHEDULED": "waiting for a worker", "PENDING": "a worker starts its process"}
# Without a terminal, a line of progress at the most so often.
LINE_SECONDS = 5.0


@dataclass(frozen=True)
class Job:
    """What is to be filed."""

    corpus: str = "sample"
    report_id: str = "QI-2025-014"
    quarter: str = "Q3 2025"
    department: str = "Pharmacy"

    @property
    def filing(self) -> str:
        return f"{FORM}/{self.report_id}"

    def parameters(self, flow: str) -> dict[str, Any]:
        """The parameters of ingest, filing or verify."""
        if flow == "ingest":
            return {"corpus": self.corpus}
        which = {"corpus": self.corpus, "form": FORM, "report_id": self.report_id}
        if flow == "verify":
            return which
        return {**which, "quarter": self.quarter, "department": self.department}


@dataclass
class Progress:
    """Progress on one line that is written over on a terminal, and on a line now and then elsewhere."""

    terminal: bool = field(default_factory=lambda: sys.stdout.isatty())
    shown: str = ""
    at: float = 0.0

    def show(self, text: str) -> None:
        if text == self.shown:
            return
        if self.terminal:
            print(f"\r\033[K  {text[:110]}", end="", flush=True)
        elif time.monotonic() - self.at >= LINE_SECONDS:
            print(f"  {text}", flush=True)
        else:
            return
        self.shown, self.at = text, time.monotonic()

    def close(self, text: str) -> None:
        """The last word about a run; it stays."""
        print(f"\r\033[K  {text}" if self.terminal else f"  {text}", flush=True)
        self.shown, self.at = "", 0.0


def refuse_bad_request(job: Job, corpora: Path, today: date) -> None:
    """Raise PermanentError, before anything starts, for a corpus or form that does not exist or a report that the form would refuse."""
    from tasks.briefs import load_brief
    from tasks.domain.calendar import check_report
    from tasks.domain.errors import PermanentError

    names = sorted(folder.name for folder in corpora.iterdir() if (folder / "corpus.toml").exists())
    if job.corpus not in names:
        raise PermanentError(f"There is no corpus {job.corpus!r} in {corpora}; there are {', '.join(names) or 'none'}.")
    check_report(load_brief(corpora / job.corpus, FORM), job.report_id, job.quarter, job.department, today)


def run_demo(up: Up, job: Job) -> int:
    """0 only if the filed report is confirmed."""
    read_summary = summary_reader(up, job)
    known = read_summary()
    if known is not None and (known.corpus, known.quarter, known.department) != (
        job.corpus,
        job.quarter,
        job.department,
    ):
        print(
            f"{job.report_id} is {known.quarter}, {known.department} from corpus {known.corpus} in the ledger. A report ID stands for one "
            "request: choose another --report-id, or give the same quarter, department and corpus.",
            file=sys.stderr,
        )
        return 2
    if known is not None and known.receipt:
        print(f"{job.report_id} is filed already (receipt {known.receipt}): it is not filed again, only verified.")
    runs: dict[str, str] = {}
    stopped = ""
    for flow in ("ingest", "filing", "verify"):
        run = _under_way(up.api, flow, job) if flow == "filing" else None
        if run is None:
            run = up.api.start(f"{flow}/{flow}", job.parameters(flow))
            print(f"{flow}: deployment {flow}/{flow}, {up.api.address}/v2/runs/flow-run/{run['id']}", flush=True)
        else:
            print(f"{flow}: run {run['name']} is under way already and is watched to its end", flush=True)
        runs[flow] = str(run["id"])
        ended = follow(up.api, runs[flow], describe(up.api, flow, read_summary))
        if state_type(ended) != "COMPLETED":
            _explain(up.api, ended)
            stopped = f": the {flow} run ended as {state_name(ended)}"
            break
    report = read_back(up.api, runs, read_summary)
    print()
    for line in table(report):
        print(line)
    if report.confirmed:
        print("The report is filed and confirmed.", flush=True)
        return 0
    print(f"The report is not confirmed{stopped}.", flush=True)
    return 1


def summary_reader(up: Up, job: Job) -> Callable[[], FilingSummary | None]:
    """Reads the filing's summary from the ledger, with the role that may only read."""
    from tasks.ledger.summary import filing_summary

    return lambda: filing_summary(up.installation.databases.audit, job.filing)


def follow(api: PrefectApi, run_id: str, describe: Callable[[dict[str, Any]], str]) -> dict[str, Any]:
    """Show a run's progress until it has ended; returns the run. Outlasts a restart of the server."""
    progress = Progress()
    silent_since = 0.0
    while True:
        try:
            run = api.run(run_id)
            text = describe(run)
            silent_since = 0.0
        except PrefectUnavailable:
            silent_since = silent_since or time.monotonic()
            if time.monotonic() - silent_since > PATIENCE_SECONDS:
                raise
            time.sleep(POLL_SECONDS)
            continue
        if state_type(run) in FINAL:
            message = str((run.get("state") or {}).get("message") or "").strip()
            seconds = float(run.get("total_run_time") or 0)
            progress.close(f"{state_name(run)} after {seconds:.0f} s{f': {_one_line(message)}' if message else ''}")
            return run
        progress.show(text)
        time.sleep(POLL_SECONDS)


def describe(
    api: PrefectApi, flow: str, read_summary: Callable[[], FilingSummary | None]
) -> Callable[[dict[str, Any]], str]:
    """What a run is doing, in one line: its tasks as Prefect knows them, and for a filing the ledger's latest step."""

    def text(run: dict[str, Any]) -> str:
        state = state_name(run)
        if state_type(run) != "RUNNING":
            return WAITING.get(state_type(run), state.lower())
        if flow == "filing" and (summary := read_summary()) is not None and summary.outcome is None:
            if summary.last_tool is None:
                return f"starting the screen and the browser, {summary.seconds:.0f} s"
            return (
                f"turn {summary.turns}, {summary.actions} actions, {summary.searches} searches, "
                f"{summary.seconds:.0f} s, last: {summary.last_tool}"
            )
        tasks = api.task_runs(str(run["id"]))
        done = sum(state_type(task) in FINAL for task in tasks)
        now = [str(task["name"]) for task in tasks if state_type(task) == "RUNNING"]
        return f"{done} of {len(tasks)} tasks done" + (f", now {', '.join(now[:3])}" if now else "")

    return text


def _under_way(api: PrefectApi, flow: str, job: Job) -> dict[str, Any] | None:
    """A run of this very filing that has not ended, left by a demo that was killed or started by somebody else."""
    wanted = job.parameters(flow)
    for run in api.active("filing"):
        parameters = run.get("parameters") or {}
        if all(parameters.get(name) == wanted[name] for name in ("form", "report_id")):
            return run
    return None


def _explain(api: PrefectApi, run: dict[str, Any]) -> None:
    """What the run warned of, and where its whole log is; the reason itself is the state's message and was shown."""
    for message in api.warnings(str(run["id"]))[-5:]:
        if "Traceback" not in message and not message.startswith(("Finished in state", "Encountered exception")):
            print(f"    {_one_line(message, 300)}", file=sys.stderr)
    print(f"    its log: prefect flow-run logs {run['id']}", file=sys.stderr)


def _one_line(text: str, length: int = 160) -> str:
    joined = " ".join(text.split())
    return joined if len(joined) <= length else joined[: length - 1] + "…"
