"""Periods of days, and whether a document was in force in one.

It decides from dates alone and never asks what day it is. Both ends of every period are part of it.
"""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import date

from tasks.domain.errors import PermanentError
from tasks.domain.filing_states import QUARTER


@dataclass(frozen=True, slots=True)
class Period:
    """The days from `first` to `last`, both included."""

    first: date
    last: date

    def __post_init__(self) -> None:
        """Raises ValueError where the last day is before the first."""
        if self.last < self.first:
            raise ValueError(f"a period cannot end ({self.last}) before it begins ({self.first})")

    def __str__(self) -> str:
        return (
            self.first.isoformat()
            if self.first == self.last
            else f"{self.first.isoformat()} to {self.last.isoformat()}"
        )


def day(which: date) -> Period:
    """A period of one day."""
    return Period(which, which)


def quarter(text: str) -> Period:
    """The calendar quarter that a text like `Q3 2025` names. Raises PermanentError for any other text."""
    match = QUARTER.fullmatch(text)
    if match is None or int(match[2]) < 1:
        raise PermanentError(f"A quarter is written like Q3 2025, not {text!r}.")
    year, last_month = int(match[2]), 3 * int(match[1])
    return Period(date(year, last_month - 2, 1), date(year, last_month, monthrange(year, last_month)[1]))


def in_force(effective_from: date | None, effective_to: date | None, period: Period) -> bool:
    """Whether something in force from `effective_from` to `effective_to` (None: open end) was so on at least one day of `period`."""
    return (effective_from is None or effective_from <= period.last) and (
        effective_to is None or effective_to >= period.first
    )
