"""A call is durable before it runs; nothing is written for an attempt that ended; any text can be kept."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from tasks.domain.actions import Allow, Ask, Deny, noted
from tasks.domain.errors import RunStopped
from tasks.domain.steps import Call, StepResult, Turn, Usage
from tasks.ledger.filings import Attempt, end
from tasks.ledger.journal import LedgerJournal
from tasks.ledger.lease import Lease
from tasks.ledger.summary import filing_summary
from tests.conftest import Database

Claimed = Callable[..., Attempt]
CLICK = Call("toolu_1", "computer.left_click", {"coordinate": [10, 20]})
TURN = Turn(1, "claude-opus-5-5", "tool_use", ({"type": "text", "text": "x"},), Usage(10, 5, 3, 2), 0.25, 900)


@pytest.fixture
def journal(database: Database, claimed: Claimed, tmp_path: Path) -> Iterator[LedgerJournal]:
    with closing(LedgerJournal(database.filing_url, claimed(), tmp_path / "run")) as opened:
        yield opened


def steps(database: Database) -> list[tuple[object, ...]]:
    with psycopg.connect(database.audit_url) as connection:
        return connection.execute(
            "SELECT number, tool, status, text, ended_at IS NULL FROM ledger.steps ORDER BY 1"
        ).fetchall()


def test_a_call_is_on_record_before_it_runs(database: Database, journal: LedgerJournal) -> None:
    journal.begin(CLICK)
    assert steps(database) == [(1, "computer.left_click", "running", "", True)]


def test_a_finished_call_carries_what_came_of_it(database: Database, journal: LedgerJournal) -> None:
    step = journal.begin(Call("toolu_2", "search_regulations", {"query": "effective date"}))
    journal.finish(step, StepResult("done", "2 passages", 12, passages=("a", "b")))
    assert steps(database) == [(1, "search_regulations", "done", "2 passages", False)]
    with psycopg.connect(database.audit_url) as connection:
        shown = connection.execute("SELECT step, rank, chunk_id FROM ledger.passages_shown ORDER BY rank").fetchall()
    assert shown == [(1, 1, "a"), (1, 2, "b")]


def test_an_attempt_that_ended_writes_nothing_more(database: Database, claimed: Claimed, tmp_path: Path) -> None:
    attempt = claimed()
    with closing(LedgerJournal(database.filing_url, attempt, tmp_path)) as journal:
        step = journal.begin(CLICK)
        end(database.filing_url, attempt, "failed")
        for write in (
            lambda: journal.begin(CLICK),
            lambda: journal.finish(step, StepResult("done", "", 1)),
            lambda: journal.turn(TURN),
        ):
            with pytest.raises(RunStopped, match="lease lost"):
                write()
    assert [row[2] for row in steps(database)] == ["running"]


def test_a_connection_that_broke_is_opened_again_and_no_row_is_lost(database: Database, journal: LedgerJournal) -> None:
    journal.begin(CLICK)
    with psycopg.connect(database.superuser_url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'filewright-journal'"
        )
    journal.finish(1, StepResult("done", "Clicked.", 3))
    journal.begin(CLICK)
    assert [row[:3] for row in steps(database)] == [
        (1, "computer.left_click", "done"),
        (2, "computer.left_click", "running"),
    ]


def test_a_store_that_is_gone_stops_the_run(claimed: Claimed, tmp_path: Path) -> None:
    journal = LedgerJournal("postgresql://x:y@127.0.0.1:1/z", claimed(), tmp_path)
    with pytest.raises(RunStopped, match="store unreachable"):
        journal.begin(CLICK)


@pytest.mark.parametrize(
    "text", ["NUL \0 inside", "lone \ud800 surrogate", "emoji \N{PILE OF POO}", "'; DROP TABLE x; --", "x" * 200_000]
)
def test_any_text_is_kept(database: Database, journal: LedgerJournal, text: str) -> None:
    step = journal.begin(Call("toolu\0", "computer.type", {"text": text, "nested": [{"deep": text}]}))
    journal.finish(step, StepResult("failed", text, 1, detail=text))
    kept = text.replace("\0", "\ufffd").replace("\ud800", "\ufffd")
    assert steps(database)[0][3].replace("\ufffd\ufffd\ufffd", "\ufffd") == kept  # type: ignore[union-attr]


def test_a_screenshot_is_kept_once_by_its_content(journal: LedgerJournal, tmp_path: Path) -> None:
    digests = [journal.screenshot(b"png one"), journal.screenshot(b"png one"), journal.screenshot(b"png two")]
    assert digests[0] == digests[1] == hashlib.sha256(b"png one").hexdigest()
    assert {path.read_bytes() for path in (tmp_path / "run").iterdir()} == {b"png one", b"png two"}
    assert journal.last_screenshot is not None and journal.last_screenshot.read_bytes() == b"png two"


def test_a_folder_that_cannot_be_written_stops_the_run(database: Database, claimed: Claimed, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    journal = LedgerJournal(database.filing_url, claimed(), tmp_path / "file" / "run")
    with pytest.raises(RunStopped, match="record not writable"):
        journal.screenshot(b"png")


def test_the_summary_is_read_back_from_the_ledger(database: Database, journal: LedgerJournal) -> None:
    journal.turn(TURN)
    journal.finish(journal.begin(CLICK), StepResult("done", "", 3))
    journal.finish(journal.begin(CLICK), StepResult("denied", "", 3))
    journal.finish(journal.begin(Call("t", "search_regulations", {})), StepResult("done", "", 3))
    summary = filing_summary(database.audit_url, "qi-report/QI-2025-014")
    assert summary is not None
    assert (summary.turns, summary.actions, summary.searches, summary.denied) == (1, 2, 1, 1)
    assert (summary.tokens, summary.dollars, summary.state, summary.verdict) == (20, 0.25, "claimed", None)
    assert filing_summary(database.audit_url, "qi-report/QI-2025-999") is None


def test_the_summary_counts_what_the_action_policy_decided(database: Database, journal: LedgerJournal) -> None:
    """By class, refusals by rule, and commits by who said yes, from the steps as the driver writes them."""
    for status, decision, more in (
        ("done", Allow("field", "input"), ""),
        ("failed", Allow("field", "input"), " <- TemporaryError: approved by nobody"),
        ("denied", Deny("link:leave", "Refused.", "leave"), ""),
        ("denied", Deny("link:leave", "Refused.", "leave"), ""),
        ("denied", Ask("?", "commit:words", "commit", "Delete"), ", nobody approved it: ?"),
        ("done", Allow("commit:brief", "commit", "auto"), ""),
        ("not_executed", None, ""),
    ):
        detail = (noted(decision) if decision is not None else "") + more
        journal.finish(journal.begin(CLICK), StepResult(status, "", 3, detail=detail))
    summary = filing_summary(database.audit_url, "qi-report/QI-2025-014")
    assert summary is not None
    assert summary.classes == {"input": 2, "leave": 2, "commit": 2}
    assert summary.rules == {"link:leave": 2, "commit:words": 1}
    assert summary.approved == {"auto": 1}


def test_a_lease_is_renewed_while_the_run_lives(database: Database, claimed: Claimed) -> None:
    attempt = claimed(lease_seconds=1)
    with Lease(database.filing_url, attempt, 1, time.monotonic()) as lease:
        for _ in range(4):
            lease._done.wait(0.5)
            lease.check()


def test_a_lease_that_another_attempt_took_stops_the_run(database: Database, claimed: Claimed) -> None:
    attempt = claimed(lease_seconds=1)
    end(database.filing_url, attempt, "lease_expired")
    with Lease(database.filing_url, attempt, 1, time.monotonic()) as lease:
        lease._done.wait(1.2)
        with pytest.raises(RunStopped, match="lease lost"):
            lease.check()


def test_a_store_that_is_away_longer_than_the_lease_stops_the_run(claimed: Claimed) -> None:
    attempt = claimed(lease_seconds=1)
    with Lease("postgresql://x:y@127.0.0.1:1/z", attempt, 1, time.monotonic()) as lease:
        lease.check()
        lease._done.wait(1.2)
        with pytest.raises(RunStopped, match="lease lost"):
            lease.check()


def test_the_lease_counts_from_before_the_claim(database: Database, claimed: Claimed) -> None:
    since = time.monotonic()
    attempt = claimed(lease_seconds=1)
    with pytest.raises(RunStopped, match="lease lost"):
        Lease(database.filing_url, attempt, 1, since - 1).check()
