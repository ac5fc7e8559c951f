"""The boxes of a filing: which index answers, then the one long task that claims, looks, works the portal and reads the outcome.

Here the rooms meet: the desktop's driver gets the ledger's journal and the action policy, the agent gets the driver and the search.
The outcome is what code reads on the receipt page or on the portal's own list, never what the model says.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID

from prefect import runtime, task
from prefect.logging import get_run_logger

from tasks.agent.budgets import Budgets
from tasks.agent.client import make_client
from tasks.agent.conversation import AgentOptions, run_agent
from tasks.artifacts import ProgressArtifact, show_picture
from tasks.briefs import load_brief
from tasks.desktop.computer_toolset import ComputerToolset
from tasks.desktop.options import DesktopOptions
from tasks.desktop.outcome import listed_reference, receipt_reference
from tasks.desktop.session import Desktop
from tasks.domain.briefs import Brief
from tasks.domain.calendar import check_report
from tasks.domain.errors import FilewrightError, PermanentError, RunStopped, TemporaryError
from tasks.domain.filing_states import FILED, FilingState
from tasks.domain.periods import quarter
from tasks.domain.steps import Turn
from tasks.guard import Evidence, Guard, task_facts
from tasks.ledger.filings import Attempt, LeaseHeld, claim, end, set_folder, set_state
from tasks.ledger.journal import LedgerJournal
from tasks.ledger.lease import Lease
from tasks.retrieval.generations import generation, newest_generation, open_generation
from tasks.retrieval.search import Index
from tasks.settings import Settings, settings
from tasks.store.connection import connect

OFFLINE = "offline"
# The offline model answers to the real models' names, because it checks which of them takes which tools.
OFFLINE_PLAYS = "claude-opus-5-5"
OFFLINE_KEY = "offline-model-needs-no-key"
# After these the desktop is gone, or another attempt may be at work: the next attempt looks instead.
UNLOOKED = frozenset({"lease lost", "desktop lost"})
KNOWN_FILED = FILED | {FilingState.NEEDS_RECONCILIATION}


class FilingStopped(PermanentError):
    """The attempt ended without a receipt, and the portal's list shows none.

    `last_words` are the model's, for the ledger only: a state's message is for every user of the Prefect server.
    """

    def __init__(self, message: str, last_words: str = "") -> None:
        super().__init__(message)
        self.last_words = last_words


@dataclass(frozen=True)
class Receipt:
    """What code read of a filed report.

    `already` is True where this attempt did not submit it. `ours` is True where it is news that we filed it: by this attempt, or by one
    that was killed before it could say so.
    """

    filing: str
    reference: str
    already: bool
    ours: bool


@task(name="open index")
def open_index(corpus: str) -> int:
    """The generation that this filing answers from. Raises PermanentError where none is open."""
    with connect(settings().store.database_url.get_secret_value(), read_only=True) as connection:
        serving = open_generation(connection, corpus)
        newest = newest_generation(connection, corpus)
    if serving is None:
        why = {
            "unevaluated": "Its index serves searches only, because it has no golden questions: write some, then run ingest/ingest.",
            "rejected": "The newest one was rejected by the index gate: see its artifacts, mend what they name, then run ingest/ingest.",
            "draft": "One is being built, or its ingest was interrupted: wait for it, or run ingest/ingest.",
        }
        raise PermanentError(
            f"No index of corpus {corpus} is open, so nothing may be filed from it. "
            + why.get(newest.state if newest else "", "Run ingest/ingest.")
        )
    if newest is not None and newest.id > serving.id and newest.state == "rejected":
        get_run_logger().warning(
            "Filing from index generation %d: the newer generation %d was rejected by the index gate.",
            serving.id,
            newest.id,
        )
    return serving.id


@task(name="file report", task_run_name="file {report_id}")
def file_report(
    *, corpus: str, form: str, report_id: str, quarter: str, department: str, generation_id: int
) -> Receipt:
    """Claim the filing, look whether it is filed, and if not let the agent file it.

    Raises FilingStopped where the attempt ended without a receipt, PermanentError for a request that cannot be right or a report that
    ledger and portal disagree about, TemporaryError where a machine was not ready. Call it directly, in the run's main thread.
    """
    group = settings()
    url = group.store.database_url.get_secret_value()
    brief = load_brief(group.corpus.corpus_folder / corpus, form)
    check_report(brief, report_id, quarter, department, date.today())
    attempt, since = claim_patiently(
        url,
        group.filing.lease_seconds,
        corpus=corpus,
        form=form,
        report_id=report_id,
        quarter=quarter,
        department=department,
        generation=generation_id,
        model=group.agent.model,
        flow_run=_flow_run(),
    )
    folder = group.store.home / "runs" / form / report_id / str(attempt.number)
    outcome, reason = "failed", ""
    try:
        set_folder(url, attempt, str(folder))
        with Lease(url, attempt, group.filing.lease_seconds, since) as lease:
            receipt = _work(group, brief, attempt, folder, lease)
        outcome = "already_filed" if receipt.already else "submitted"
        return receipt
    except RunStopped as stop:
        outcome, reason = "stopped", stop.reason
        raise FilingStopped(
            f"{attempt.filing.id} was stopped ({stop.reason}) before anything showed that it is filed."
        ) from stop
    except FilingStopped as error:
        outcome, reason = "stopped", f"{error} Last words: {error.last_words}" if error.last_words else str(error)
        raise
    except BaseException as error:
        reason = f"{type(error).__name__}: {error}"
        raise
    finally:
        try:
            end(url, attempt, outcome, reason)
        except FilewrightError as error:
            # What was read or raised above is the result; a lease that is not given up runs out by itself.
            get_run_logger().warning("The end of attempt %d could not be recorded: %s", attempt.number, error)


def claim_patiently(url: str, lease_seconds: int, **request: Any) -> tuple[Attempt, float]:
    """Claim, waiting for the lease of a dead attempt to run out; also returns time.monotonic() from before the claim.

    Raises LeaseHeld where the other attempt is alive.
    """
    deadline = time.monotonic() + lease_seconds + 5
    while True:
        since = time.monotonic()
        try:
            return claim(url, lease_seconds=lease_seconds, **request), since
        except LeaseHeld as held:
            # A living attempt renews; a dead one's lease is over after what is left of it.
            wait = min(held.wait_seconds, lease_seconds) + 0.2
            if time.monotonic() + wait > deadline:
                raise
            get_run_logger().info("Another attempt holds %s; waiting %.0f s for its lease.", request["report_id"], wait)
            time.sleep(wait)


def _work(group: Settings, brief: Brief, attempt: Attempt, folder: Path, lease: Lease) -> Receipt:
    url = group.store.database_url.get_secret_value()
    report_id = attempt.filing.report_id
    listing = group.filing.portal_url + brief.list_path.format(report_id=quote(report_id, safe=""))
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    journal = LedgerJournal(url, attempt, folder)
    options = DesktopOptions(
        folder=folder,
        width=group.desktop.screen_width,
        height=group.desktop.screen_height,
        browser=group.desktop.browser,
    )
    # The embedding model takes seconds to load and the browser takes seconds to start: both at once.
    loader = ThreadPoolExecutor(max_workers=1, thread_name_prefix="index")
    index = loader.submit(_index, url, attempt.generation, group.store.home / "bm25")
    try:
        with Desktop(options, url=listing, check=lease.check) as desktop:
            reference = listed_reference(desktop.tree(), brief, report_id, portal=group.filing.portal_url)
            known = attempt.filing.receipt if attempt.state_before in KNOWN_FILED else None
            if attempt.state_before in KNOWN_FILED and (reference is None or (known and known != reference)):
                if attempt.state_before in FILED:
                    set_state(url, attempt, FilingState.NEEDS_RECONCILIATION)
                raise PermanentError(
                    f"The ledger says that {attempt.filing.id} is {attempt.state_before} with receipt {known}, and the portal's list "
                    f"shows {reference or 'no such report'}. Nothing was done: a person has to look at both."
                )
            if reference is not None:
                if attempt.state_before not in FILED:
                    _submitted(url, attempt, reference)
                # Where an attempt that was killed had the intent to submit, it is ours, and perhaps not verified yet.
                ours = attempt.filing.intended and attempt.state_before not in FILED
                return Receipt(attempt.filing.id, reference, already=True, ours=ours)
            set_state(url, attempt, FilingState.FILLING)
            reference, intended = _file(group, brief, attempt, journal, desktop, lease, index.result())
            _submitted(url, attempt, reference)
            return Receipt(attempt.filing.id, reference, already=not intended, ours=intended)
    finally:
        loader.shutdown(wait=False, cancel_futures=True)
        if group.filing.screenshot_artifact and journal.last_screenshot is not None:
            show_picture(journal.last_screenshot, f"last-screenshot-{report_id}", f"The last screen of {report_id}")
        journal.close()


def _file(
    group: Settings,
    brief: Brief,
    attempt: Attempt,
    journal: LedgerJournal,
    desktop: Desktop,
    lease: Lease,
    index: Index,
) -> tuple[str, bool]:
    """Let the agent work, then read the receipt's reference; also returns whether this attempt had the intent to submit.

    Whatever ended the agent may have come after the click, so code looks before anything is said. Raises FilingStopped, or what ended the
    agent, where the portal shows no such report.
    """
    filing, url = attempt.filing, group.store.database_url.get_secret_value()
    log = get_run_logger()
    # What was not in force in the quarter that is reported on is no source for its report.
    period = quarter(filing.quarter)
    task = brief.task_for(report_id=filing.report_id, quarter=filing.quarter, department=filing.department)
    evidence = Evidence(
        task_facts(task, report_id=filing.report_id, quarter=filing.quarter, department=filing.department)
    )
    guard = Guard(
        brief, group.filing.approval, evidence, intend=lambda: set_state(url, attempt, FilingState.SUBMITTING)
    )
    progress = ProgressArtifact(f"filing-{filing.report_id}", f"{brief.title}, {filing.report_id}")

    def report_progress(turn: Turn) -> None:
        percent = progress.show(lambda: brief.progress(desktop.tree().title))
        log.info("turn %d: %s, %s", turn.number, turn.stop_reason, percent)

    def finished() -> bool:
        return on_receipt(desktop, brief, filing.report_id, group.filing.portal_url) is not None

    failure: FilewrightError
    try:
        with _client(group) as client:
            result = run_agent(
                client=client,
                model=OFFLINE_PLAYS if group.agent.model == OFFLINE else group.agent.model,
                toolset=ComputerToolset(
                    desktop,
                    decide=guard.decide,
                    origins=(group.filing.portal_url,),
                    journal=journal,
                    check=lease.check,
                ),
                search=evidence.searching(lambda query: index.search(query, group.retrieval.passages, period=period)),
                task=task,
                budgets=Budgets(
                    turns=group.agent.max_turns,
                    actions=group.agent.max_actions,
                    seconds=group.agent.max_seconds,
                    tokens=group.agent.max_tokens,
                    dollars=group.agent.max_dollars,
                ),
                journal=journal,
                check=lease.check,
                on_turn=report_progress,
                finished=finished,
                options=AgentOptions(effort=group.agent.effort, thread=group.agent.threads),
            )
            failure = FilingStopped(_why(filing.id, f"ended: {result.ended}"), result.last_words)
    except RunStopped as stop:
        if stop.reason in UNLOOKED:
            raise
        failure = FilingStopped(_why(filing.id, f"was stopped ({stop.reason})"))
    except FilewrightError as error:
        failure = error
    reference = on_receipt(desktop, brief, filing.report_id, group.filing.portal_url)
    if reference is None:
        desktop.open(group.filing.portal_url + brief.list_path.format(report_id=quote(filing.report_id, safe="")))
        reference = listed_reference(desktop.tree(), brief, filing.report_id, portal=group.filing.portal_url)
    if reference is None:
        raise failure
    progress.show(lambda: 100.0)
    return reference, guard.intended


def _submitted(url: str, attempt: Attempt, reference: str) -> None:
    """Record what code read on the portal. Raises FilingStopped where another attempt has taken the filing over meanwhile."""
    try:
        set_state(url, attempt, FilingState.SUBMITTED, receipt=reference)
    except RunStopped as stop:
        raise FilingStopped(
            f"{attempt.filing.id} is on the portal with receipt {reference}, but this attempt lost its lease before it could record "
            "that: the attempt that took over finds it there."
        ) from stop


def on_receipt(desktop: Desktop, brief: Brief, report_id: str, portal: str) -> str | None:
    """The receipt's reference, where the browser is on the portal's receipt page of this very report."""
    try:
        return receipt_reference(desktop.tree(), brief, report_id, portal=portal)
    except TemporaryError:
        return None  # between two pages there is no receipt to read


def _why(filing: str, how: str) -> str:
    return (
        f"The agent {how}, and the portal shows no report of {filing}. Nothing was filed. "
        "Its steps, screenshots and last words are in the ledger and in the run's folder."
    )


def _client(group: Settings) -> Any:
    if group.agent.model == OFFLINE:
        if not group.agent.model_url:
            raise PermanentError(
                "The offline model has no address: set FILEWRIGHT_MODEL_URL, or run `python3 -m infra up`."
            )
        return make_client(base_url=group.agent.model_url, api_key=OFFLINE_KEY)
    return make_client(base_url=None, api_key=group.agent.anthropic_api_key.get_secret_value())


def _index(url: str, identity: int, folder: Path) -> Index:
    with connect(url, read_only=True) as connection:
        found = generation(connection, identity)
    return Index(url, found, folder)


def _flow_run() -> UUID | None:
    identity = runtime.flow_run.id
    return UUID(str(identity)) if identity else None
