"""One filing, one living attempt, and states that only move along the table."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.domain.errors import PermanentError, RunStopped
from tasks.domain.filing_states import FILED, MOVES, FilingState, check_request, move
from tasks.ledger.filings import Attempt, LeaseHeld, end, generation_of, next_attempt, renew, set_state
from tests.conftest import Database

Claimed = Callable[..., Attempt]


def expire(database: Database) -> None:
    with psycopg.connect(database.owner_url) as connection:
        connection.execute("UPDATE ledger.attempts SET lease_expires_at = now() - interval '1 second'")


def test_of_many_claims_at_once_one_wins(claimed: Claimed) -> None:
    def attempt(_: int) -> int | None:
        try:
            return claimed().number
        except LeaseHeld:
            return None

    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(attempt, range(8)))
    assert sorted(number for number in numbers if number is not None) == [1]


def test_a_living_attempt_keeps_its_filing(claimed: Claimed) -> None:
    claimed()
    with pytest.raises(LeaseHeld) as held:
        claimed()
    assert 0 < held.value.wait_seconds <= 30


def test_a_lease_that_ran_out_is_taken_over_and_the_old_attempt_is_fenced(database: Database, claimed: Claimed) -> None:
    first = claimed()
    expire(database)
    second = claimed()
    assert second.number == 2
    assert not renew(database.filing_url, first, 30)
    with pytest.raises(RunStopped, match="lease lost"):
        set_state(database.filing_url, first, FilingState.FILLING)
    with psycopg.connect(database.audit_url) as connection:
        rows = connection.execute("SELECT number, outcome FROM ledger.attempts ORDER BY number").fetchall()
    assert rows == [(1, "lease_expired"), (2, None)]


def test_an_attempt_that_ended_leaves_the_filing_to_the_next(database: Database, claimed: Claimed) -> None:
    end(database.filing_url, claimed(), "failed", "the portal was down")
    assert claimed().number == 2
    assert next_attempt(database.filing_url, "qi-report/QI-2025-014") == 3


@pytest.mark.parametrize("change", [{"quarter": "Q2 2025"}, {"department": "Oncology"}, {"corpus": "hipaa"}])
def test_a_report_id_stands_for_one_request(database: Database, claimed: Claimed, change: dict[str, str]) -> None:
    end(database.filing_url, claimed(), "failed")
    with pytest.raises(PermanentError, match="stands for one request"):
        claimed(**change)


@pytest.mark.parametrize("filed", sorted(FILED))
def test_a_claim_of_a_filed_report_does_not_move_its_state(database: Database, claimed: Claimed, filed: str) -> None:
    end(database.filing_url, claimed(), "submitted")
    with psycopg.connect(database.owner_url) as connection:
        connection.execute("UPDATE ledger.filings SET state = %s", (filed,))
    again = claimed()
    assert (again.state_before, again.filing.state) == (filed, filed)


@pytest.mark.parametrize(("current", "target"), itertools.product(FilingState, FilingState))
def test_a_state_moves_where_the_table_says_so_and_nowhere_else(current: FilingState, target: FilingState) -> None:
    if target in MOVES[current]:
        assert move(current, target) is target
    else:
        with pytest.raises(PermanentError, match="cannot become"):
            move(current, target)


def test_the_states_of_the_table_are_those_of_the_database(database: Database) -> None:
    with psycopg.connect(database.audit_url) as connection:
        rule = connection.execute(
            "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'ledger.filings'::regclass "
            "AND contype = 'c'"
        ).fetchone()
    assert rule is not None
    assert {part for part in rule[0].split("'")[1::2]} == set(FilingState)


@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=100))
def test_a_request_of_any_text_is_refused_in_words_or_well_formed(
    report_id: str, quarter: str, department: str
) -> None:
    try:
        check_request(report_id, quarter, department)
    except PermanentError as error:
        assert str(error)
    else:
        assert report_id.isascii() and quarter.isascii() and department.isprintable()


def test_the_demo_request_is_well_formed() -> None:
    check_request("QI-2025-014", "Q3 2025", "Pharmacy")


def test_the_intent_to_submit_and_its_generation_stay_with_the_filing(
    database: Database, claimed: Claimed, generation: int
) -> None:
    first = claimed()
    set_state(database.filing_url, first, FilingState.FILLING)
    set_state(database.filing_url, first, FilingState.SUBMITTING)
    with psycopg.connect(database.filing_url) as connection:
        connection.execute(
            "INSERT INTO corpus.generations (corpus, splitter, embedding_model, embedding_revision, fingerprint) "
            "VALUES ('sample', 's', 'minilm', 'r', 'later')"
        )
    for _ in range(2):
        expire(database)
        later = claimed(generation=generation + 1)
        assert later.filing.intended
    assert generation_of(database.filing_url, later.filing.id) == generation


def test_before_any_intent_the_last_attempt_s_generation_counts(
    database: Database, claimed: Claimed, generation: int
) -> None:
    attempt = claimed()
    assert not attempt.filing.intended
    assert generation_of(database.filing_url, attempt.filing.id) == generation
    assert generation_of(database.filing_url, "qi-report/QI-2025-999") is None
