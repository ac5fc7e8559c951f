"""Periods of days: quarters by their name, and being in force."""

from __future__ import annotations

import itertools
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.domain.errors import PermanentError
from tasks.domain.periods import Period, day, in_force, quarter

DAYS = st.dates(date(1990, 1, 1), date(2060, 12, 31))


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("Q1 2025", date(2025, 1, 1), date(2025, 3, 31)),
        ("Q2 2025", date(2025, 4, 1), date(2025, 6, 30)),
        ("Q3 2025", date(2025, 7, 1), date(2025, 9, 30)),
        ("Q4 2024", date(2024, 10, 1), date(2024, 12, 31)),
    ],
)
def test_a_quarter_is_its_three_months(text: str, first: date, last: date) -> None:
    """Both ends belong to it."""
    assert quarter(text) == Period(first, last)


@pytest.mark.parametrize("text", ["", "Q5 2025", "q3 2025", "Q3 25", "Q3  2025", "2025 Q3", "Q3 2025\n", "Q3 0000"])
def test_what_is_no_quarter_is_refused(text: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(PermanentError):
        quarter(text)


def test_quarters_follow_each_other_without_a_gap() -> None:
    """Over leap years too."""
    quarters = [quarter(f"Q{number} {year}") for year in range(1999, 2010) for number in (1, 2, 3, 4)]
    for earlier, later in itertools.pairwise(quarters):
        assert earlier.last + timedelta(days=1) == later.first


def test_a_period_cannot_end_before_it_begins() -> None:
    """Swapped dates are an error, not an empty period."""
    with pytest.raises(ValueError, match="cannot end"):
        Period(date(2025, 2, 1), date(2025, 1, 1))


@given(st.none() | DAYS, st.none() | DAYS, DAYS, st.integers(0, 400))
def test_in_force_means_on_at_least_one_day(
    effective_from: date | None, effective_to: date | None, first: date, length: int
) -> None:
    """The rule said day by day."""
    period = Period(first, first + timedelta(days=length))
    days = (first + timedelta(days=number) for number in range(length + 1))
    on_some_day = any(
        (effective_from is None or effective_from <= each) and (effective_to is None or each <= effective_to)
        for each in days
    )
    if effective_from is None or effective_to is None or effective_from <= effective_to:
        assert in_force(effective_from, effective_to, period) == on_some_day


def test_the_first_and_the_last_day_count() -> None:
    """Both dates are inclusive; one day earlier or later is out."""
    begins, ends = date(2020, 3, 24), date(2025, 7, 1)
    assert in_force(begins, ends, day(begins)) and in_force(begins, ends, day(ends))
    assert not in_force(begins, ends, day(begins - timedelta(days=1)))
    assert not in_force(begins, ends, day(ends + timedelta(days=1)))
    assert in_force(begins, ends, quarter("Q3 2025")) and not in_force(begins, ends, quarter("Q4 2025"))


def test_periods_are_written_for_people() -> None:
    """One day is one date."""
    assert str(day(date(2025, 9, 30))) == "2025-09-30"
    assert str(quarter("Q3 2025")) == "2025-07-01 to 2025-09-30"
