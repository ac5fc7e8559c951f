"""Claims a filing for one attempt at a time, and moves its state.

Rules:
- a claim is one transaction that locks the filing's row, so two claims at once give one attempt;
- an attempt holds a lease in its row; a lease that ran out is taken over, the old attempt ends as `lease_expired`, and from then on
  nothing that it writes is accepted (its number is the fencing token);
- every move of a state goes through the table in `tasks/domain/filing_states.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from tasks.domain.errors import PermanentError, RunStopped, TemporaryError
from tasks.domain.filing_states import FilingState, filing_id, move
from tasks.store.connection import Connection, connect, one


class LeaseHeld(TemporaryError):
    """Another attempt works on this filing; its lease tells until when at the longest."""

    def __init__(self, filing: str, attempt: int, until: datetime, wait_seconds: float) -> None:
        super().__init__(
            f"Attempt {attempt} of {filing} holds its lease until {until:%H:%M:%S} UTC and renews it while it lives. "
            "Nothing was done; try again after that."
        )
        self.wait_seconds = wait_seconds


@dataclass(frozen=True, slots=True)
class Filing:
    """A filing as the ledger holds it; `intended` is True once an attempt recorded its intent to submit."""

    id: str
    corpus: str
    form: str
    report_id: str
    quarter: str
    department: str
    state: FilingState
    receipt: str | None
    intended: bool


@dataclass(frozen=True, slots=True)
class Attempt:
    """A claimed attempt: `number` counts from 1 within the filing; `state` is the filing's state before the claim."""

    filing: Filing
    number: int
    generation: int
    state_before: FilingState


def find_filing(connection: Connection, identity: str, *, lock: bool = False) -> Filing | None:
    row = connection.execute(
        "SELECT id, corpus, form, report_id, quarter, department, state, receipt, generation_id IS NOT NULL "
        "FROM ledger.filings WHERE id = %s" + (" FOR UPDATE" if lock else ""),
        (identity,),
    ).fetchone()
    if row is None:
        return None
    identity, corpus, form, report_id, quarter, department, state, receipt, intended = row
    return Filing(identity, corpus, form, report_id, quarter, department, FilingState(state), receipt, intended)


def claim(
    url: str,
    *,
    corpus: str,
    form: str,
    report_id: str,
    quarter: str,
    department: str,
    generation: int,
    model: str,
    lease_seconds: int,
    flow_run: UUID | None = None,
) -> Attempt:
    """Take the filing for a new attempt, creating it where it is new.

    A filing that the ledger already holds as filed keeps its state: such an attempt only looks.
    Raises LeaseHeld while another attempt lives; PermanentError where the report ID belongs to another quarter, department or corpus.
    """
    identity = filing_id(form, report_id)
    with connect(url) as connection:
        connection.execute(
            "INSERT INTO ledger.filings (id, corpus, form, report_id, quarter, department) "
            "VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (id) DO NOTHING",
            (identity, corpus, form, report_id, quarter, department),
        )
        filing = find_filing(connection, identity, lock=True)
        assert filing is not None
        asked, known = (corpus, quarter, department), (filing.corpus, filing.quarter, filing.department)
        if asked != known:
            raise PermanentError(
                f"{identity} is {known[1]}, {known[2]} from corpus {known[0]} in the ledger, and this request says "
                f"{asked[1]}, {asked[2]} from corpus {asked[0]}. Check the report ID: a report ID stands for one request."
            )
        live = connection.execute(
            "SELECT number, lease_expires_at, extract(epoch FROM lease_expires_at - clock_timestamp()) "
            "FROM ledger.attempts WHERE filing_id = %s AND ended_at IS NULL",
            (identity,),
        ).fetchone()
        if live is not None and live[2] > 0:
            raise LeaseHeld(identity, live[0], live[1], float(live[2]))
        if live is not None:
            _end(connection, identity, live[0], "lease_expired", "its lease ran out without a sign of life")
        number = one(
            connection.execute(
                "INSERT INTO ledger.attempts (filing_id, number, flow_run, generation_id, model, lease_expires_at) "
                "SELECT %s, coalesce(max(number), 0) + 1, %s, %s, %s, clock_timestamp() + make_interval(secs => %s) "
                "FROM ledger.attempts WHERE filing_id = %s RETURNING number",
                (identity, flow_run, generation, model, lease_seconds, identity),
            ).fetchone()
        )[0]
        before = filing.state
        if before in (FilingState.DUE, FilingState.CLAIMED, FilingState.FILLING, FilingState.SUBMITTING):
            filing = _move(connection, filing, FilingState.CLAIMED)
        return Attempt(filing, number, generation, before)


def renew(url: str, attempt: Attempt, lease_seconds: int) -> bool:
    """Extend the lease by `lease_seconds` from now; False where the attempt has ended or was taken over."""
    with connect(url) as connection:
        done = connection.execute(
            "UPDATE ledger.attempts SET lease_expires_at = clock_timestamp() + make_interval(secs => %s) "
            "WHERE filing_id = %s AND number = %s AND ended_at IS NULL",
            (lease_seconds, attempt.filing.id, attempt.number),
        )
        return done.rowcount == 1


def set_state(url: str, attempt: Attempt, target: FilingState, *, receipt: str | None = None) -> Filing:
    """Move the filing, as its live attempt; the intent to submit records the attempt's generation with it.

    Raises RunStopped("lease lost") where the attempt is no longer the live one."""
    with connect(url) as connection:
        filing = find_filing(connection, attempt.filing.id, lock=True)
        assert filing is not None
        live = connection.execute(
            "SELECT 1 FROM ledger.attempts WHERE filing_id = %s AND number = %s AND ended_at IS NULL",
            (filing.id, attempt.number),
        ).fetchone()
        if live is None:
            raise RunStopped("lease lost")
        if target is FilingState.SUBMITTING:
            connection.execute(
                "UPDATE ledger.filings SET generation_id = %s WHERE id = %s", (attempt.generation, filing.id)
            )
        if filing.state == target and receipt is None:
            return filing
        return _move(connection, filing, target, receipt)


def set_folder(url: str, attempt: Attempt, folder: str) -> None:
    """Record where the attempt keeps its screenshots."""
    with connect(url) as connection:
        connection.execute(
            "UPDATE ledger.attempts SET folder = %s WHERE filing_id = %s AND number = %s",
            (folder, attempt.filing.id, attempt.number),
        )


def end(url: str, attempt: Attempt, outcome: str, reason: str = "") -> None:
    """End the attempt and give up its lease; no effect where it has ended already."""
    with connect(url) as connection:
        _end(connection, attempt.filing.id, attempt.number, outcome, reason)


def attempt_of_run(url: str, flow_run: UUID) -> tuple[Filing, int] | None:
    """The filing and attempt number that a Prefect flow run worked on, newest first; None where it claimed nothing."""
    with connect(url, read_only=True) as connection:
        row = connection.execute(
            "SELECT filing_id, number FROM ledger.attempts WHERE flow_run = %s ORDER BY number DESC LIMIT 1",
            (flow_run,),
        ).fetchone()
        if row is None:
            return None
        filing = find_filing(connection, row[0])
        assert filing is not None
        return filing, row[1]


def next_attempt(url: str, identity: str) -> int:
    """The number that the filing's next attempt will have."""
    with connect(url, read_only=True) as connection:
        row = one(
            connection.execute(
                "SELECT coalesce(max(number), 0) + 1 FROM ledger.attempts WHERE filing_id = %s", (identity,)
            ).fetchone()
        )
        return int(row[0])


def generation_of(url: str, identity: str) -> int | None:
    """The index generation that the filing's answers came from; before anything was submitted, that of its last attempt."""
    with connect(url, read_only=True) as connection:
        row = connection.execute(
            "SELECT coalesce(f.generation_id, (SELECT generation_id FROM ledger.attempts a WHERE a.filing_id = f.id "
            "ORDER BY number DESC LIMIT 1)) FROM ledger.filings f WHERE f.id = %s",
            (identity,),
        ).fetchone()
        return None if row is None or row[0] is None else int(row[0])


def report_of(url: str, form: str, quarter: str, department: str) -> str | None:
    """The report ID under which the ledger knows this quarter's report of a department, the oldest first; None where it knows none."""
    with connect(url, read_only=True) as connection:
        row = connection.execute(
            "SELECT report_id FROM ledger.filings WHERE form = %s AND quarter = %s AND department = %s "
            "ORDER BY created_at LIMIT 1",
            (form, quarter, department),
        ).fetchone()
        return None if row is None else str(row[0])


def _move(connection: Connection, filing: Filing, target: FilingState, receipt: str | None = None) -> Filing:
    if filing.state != target:
        move(filing.state, target)
    elif target != FilingState.CLAIMED and receipt is None:
        return filing
    connection.execute(
        "UPDATE ledger.filings SET state = %s, receipt = coalesce(%s, receipt), changed_at = now() WHERE id = %s",
        (target, receipt, filing.id),
    )
    moved = find_filing(connection, filing.id)
    assert moved is not None
    return moved


def _end(connection: Connection, identity: str, number: int, outcome: str, reason: str) -> None:
    connection.execute(
        "UPDATE ledger.attempts SET ended_at = clock_timestamp(), outcome = %s, reason = %s "
        "WHERE filing_id = %s AND number = %s AND ended_at IS NULL",
        (outcome, reason[:2000], identity, number),
    )
