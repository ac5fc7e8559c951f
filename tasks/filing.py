"""The boxes of a filing: which index answers, then the one long task that claims, looks, works the portal and reads the outcome.

Here the rooms meet: the desktop's driver gets the ledger's journal and the action policy, the agent gets the driver and the search.
The outcome is what code reads on the receipt page or on the portal's own list, never what the model says.
"""

from __future__ import annotations

import base64
import time
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit
from uuid import UUID

from prefect import runtime, task
from prefect.artifacts import create_image_artifact, create_progress_artifact, update_progress_artifact
from prefect.logging import get_run_logger

from tasks.agent.budgets import Budgets
from tasks.agent.client import make_client
from tasks.agent.conversation import AgentOptions, AgentResult, run_agent
from tasks.artifacts import artifact_key
from tasks.desktop.computer_toolset import ComputerToolset
from tasks.desktop.options import DesktopOptions
from tasks.desktop.session import Desktop
from tasks.desktop.tables import rows
from tasks.domain.actions import Action, Allow, Decision, Scene
from tasks.domain.briefs import Brief, may_commit, parse_brief
from tasks.domain.errors import PermanentError, RunStopped, TemporaryError
from tasks.domain.filing_states import FILED, FilingState, check_request
from tasks.domain.policy import decide
from tasks.domain.steps import Turn
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
KNOWN_FILED = FILED | {FilingState.NEEDS_RECONCILIATION}


class FilingStopped(PermanentError):
    """The attempt ended without a receipt, and the portal's list shows none."""


@dataclass(frozen=True)
class Receipt:
    """What code read of a filed report; `already` is True where it was there before this attempt did anything."""

    filing: str
    reference: str
    already: bool


@task(name="open index")
def open_index(corpus: str) -> int:
    """The generation that this filing answers from. Raises PermanentError where none is open."""
    with connect(settings().store.database_url.get_secret_value(), read_only=True) as connection:
        serving = open_generation(connection, corpus)
        newest = newest_generation(connection, corpus)
    if serving is None:
        raise PermanentError(
            f"No index of corpus {corpus} is open, so nothing may be filed from it. "
            + ("The newest one was rejected by the index gate: see its artifacts. " if newest else "")
            + "Run ingest/ingest."
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
    check_request(report_id, quarter, department)
    group = settings()
    url = group.store.database_url.get_secret_value()
    brief = load_brief(group.corpus.corpus_folder / corpus, form)
    attempt = claim_patiently(
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
        with Lease(url, attempt, group.filing.lease_seconds) as lease:
            receipt = _work(group, brief, attempt, folder, lease)
        outcome = "already_filed" if receipt.already else "submitted"
        return receipt
    except RunStopped as stop:
        outcome, reason = "stopped", stop.reason
        raise FilingStopped(
            f"{attempt.filing.id} was stopped ({stop.reason}) before anything showed that it is filed."
        ) from stop
    except FilingStopped as error:
        outcome, reason = "stopped", str(error)
        raise
    except BaseException as error:
        reason = f"{type(error).__name__}: {error}"
        raise
    finally:
        end(url, attempt, outcome, reason)


def load_brief(corpus: Path, form: str) -> Brief:
    """The form's brief. Raises PermanentError where the corpus has no such form or the file is wrong."""
    if "/" in form or form.startswith("."):
        raise PermanentError(f"{form!r} is not the name of a form.")
    path = corpus / "filings" / form / "brief.toml"
    try:
        return parse_brief(tomllib.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise PermanentError(f"Corpus {corpus.name} has no form {form}: {path} is missing.") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise PermanentError(f"{path} cannot be read: {error}") from error


def claim_patiently(url: str, lease_seconds: int, **request: Any) -> Attempt:
    """Claim, waiting for the lease of a dead attempt to run out. Raises LeaseHeld where the other one is alive."""
    deadline = time.monotonic() + lease_seconds + 5
    while True:
        try:
            return claim(url, lease_seconds=lease_seconds, **request)
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
            reference = on_list(desktop, brief, report_id)
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
                    set_state(url, attempt, FilingState.SUBMITTED, receipt=reference)
                return Receipt(attempt.filing.id, reference, already=True)
            set_state(url, attempt, FilingState.FILLING)
            reference = _file(group, brief, attempt, journal, desktop, lease, index.result())
            set_state(url, attempt, FilingState.SUBMITTED, receipt=reference)
            return Receipt(attempt.filing.id, reference, already=False)
    finally:
        loader.shutdown(wait=False, cancel_futures=True)
        _show_last_screenshot(group, journal, report_id)
        journal.close()


def _file(
    group: Settings,
    brief: Brief,
    attempt: Attempt,
    journal: LedgerJournal,
    desktop: Desktop,
    lease: Lease,
    index: Index,
) -> str:
    """Let the agent work, then read the receipt's reference. Raises FilingStopped where there is none."""
    filing, url = attempt.filing, group.store.database_url.get_secret_value()
    log = get_run_logger()
    progress: UUID = create_progress_artifact(  # type: ignore[assignment]  # a coroutine only where the caller is one
        progress=0.0, key=artifact_key(f"filing-{filing.report_id}"), description=f"{brief.title}, {filing.report_id}"
    )

    def recorded_intent(action: Action, scene: Scene) -> Decision:
        decision = decide(action, scene)
        if isinstance(decision, Allow) and may_commit(action, scene, brief.submit):
            set_state(url, attempt, FilingState.SUBMITTING)
        return decision

    def report_progress(turn: Turn) -> None:
        percent = brief.progress(desktop.tree().title)
        update_progress_artifact(artifact_id=progress, progress=percent)
        log.info("turn %d: %s, %.0f %%", turn.number, turn.stop_reason, percent)

    def finished() -> bool:
        return on_receipt(desktop, brief, filing.report_id) is not None

    stopped, result = "", None
    try:
        with _client(group) as client:
            result = run_agent(
                client=client,
                model=OFFLINE_PLAYS if group.agent.model == OFFLINE else group.agent.model,
                toolset=ComputerToolset(desktop, decide=recorded_intent, journal=journal, check=lease.check),
                search=lambda query: index.search(query, group.retrieval.passages),
                task=brief.task_for(report_id=filing.report_id, quarter=filing.quarter, department=filing.department),
                budgets=Budgets(
                    turns=group.agent.max_turns,
                    actions=group.agent.max_actions,
                    seconds=group.agent.max_seconds,
                    tokens=group.agent.max_tokens,
                    dollars=group.agent.max_dollars,
                ),
                journal=journal,
                check=lease.check,
                on_turn=_unfailing(report_progress, log),
                finished=finished,
                options=AgentOptions(effort=group.agent.effort, thread=group.agent.threads),
            )
    except RunStopped as stop:
        # Whatever stopped the run may have come after the click: look before saying that nothing was filed.
        if stop.reason == "lease lost":
            raise
        stopped = stop.reason
    reference = on_receipt(desktop, brief, filing.report_id)
    if reference is None:
        desktop.open(group.filing.portal_url + brief.list_path.format(report_id=quote(filing.report_id, safe="")))
        reference = on_list(desktop, brief, filing.report_id)
    if reference is None:
        raise FilingStopped(_why(filing.id, stopped, result))
    update_progress_artifact(artifact_id=progress, progress=100.0)
    return reference


def on_receipt(desktop: Desktop, brief: Brief, report_id: str) -> str | None:
    """The receipt's reference, where the browser is on the receipt page of this very report."""
    try:
        tree = desktop.tree()
    except TemporaryError:
        return None  # between two pages there is no receipt to read
    if not urlsplit(tree.url).path.startswith(brief.receipt_path):
        return None
    if tree.definition(brief.receipt_labels["report_id"]) != report_id:
        return None
    return tree.definition(brief.receipt_labels["reference"]) or None


def on_list(desktop: Desktop, brief: Brief, report_id: str) -> str | None:
    """The report's reference on the portal's list, which the browser shows; None where the list says that it is not there.

    Raises TemporaryError where the page shows neither: a broken page is no proof that nothing was filed.
    """
    tree = desktop.tree()
    identity, reference = brief.list_columns["report_id"], brief.list_columns["reference"]
    references = {row[reference] for row in rows(tree) if row.get(identity) == report_id and row.get(reference)}
    if len(references) == 1:
        return references.pop()
    if not references and any(brief.absent.format(report_id=report_id) in line for line in tree.text):
        return None
    raise TemporaryError(
        f"The portal's list shows neither report {report_id} nor that it is missing, so nothing was done. "
        "The portal may be down or may have changed: open its list and look."
    )


def _why(filing: str, stopped: str, result: AgentResult | None) -> str:
    how = f"was stopped ({stopped})" if stopped else f"ended: {result.ended if result else 'unknown'}"
    return (
        f"The agent {how}, and the portal's list shows no report of {filing}. Nothing was filed. "
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


def _unfailing(report: Callable[[Turn], None], log: Any) -> Callable[[Turn], None]:
    """Showing progress must not cost a filing: what fails there is logged, and the run goes on."""

    def reported(turn: Turn) -> None:
        try:
            report(turn)
        except Exception as error:
            log.warning("Progress could not be shown: %s: %s", type(error).__name__, error)

    return reported


def _show_last_screenshot(group: Settings, journal: LedgerJournal, report_id: str) -> None:
    """The run's last picture as an artifact, where the setting allows it."""
    if not group.filing.screenshot_artifact or journal.last_screenshot is None:
        return
    data = base64.b64encode(journal.last_screenshot.read_bytes()).decode("ascii")
    try:
        create_image_artifact(
            image_url=f"data:image/png;base64,{data}",
            key=artifact_key(f"last-screenshot-{report_id}"),
            description=f"The last screen of {report_id}",
        )
    except Exception as error:
        get_run_logger().warning("The last screenshot could not be shown: %s: %s", type(error).__name__, error)
