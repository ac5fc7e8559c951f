"""The states of a filing and the moves between them, as one table.

    due ─▶ claimed ─▶ filling ─▶ submitting ─▶ submitted ─▶ confirmed | refuted

`submitting` is written before the click that cannot be undone, so a filing found in that state may or may not be on the portal:
the next attempt looks at the portal's list and never replays. A verdict may be decided again by a newer grader, so confirmed and
refuted move between each other. `needs_reconciliation` is where ledger and portal disagree; a person decides from there.
"""

from __future__ import annotations

import re
from enum import StrEnum

from tasks.domain.errors import PermanentError


class FilingState(StrEnum):
    DUE = "due"
    CLAIMED = "claimed"
    FILLING = "filling"
    SUBMITTING = "submitting"
    SUBMITTED = "submitted"
    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    NEEDS_RECONCILIATION = "needs_reconciliation"


S = FilingState

# A crash can leave any state before `submitted`; the next attempt claims the filing again from there.
MOVES: dict[FilingState, frozenset[FilingState]] = {
    S.DUE: frozenset({S.CLAIMED}),
    S.CLAIMED: frozenset({S.CLAIMED, S.FILLING, S.SUBMITTED}),
    S.FILLING: frozenset({S.CLAIMED, S.SUBMITTING, S.SUBMITTED}),
    S.SUBMITTING: frozenset({S.CLAIMED, S.SUBMITTED, S.NEEDS_RECONCILIATION}),
    S.SUBMITTED: frozenset({S.CONFIRMED, S.REFUTED, S.NEEDS_RECONCILIATION}),
    S.CONFIRMED: frozenset({S.REFUTED, S.NEEDS_RECONCILIATION}),
    S.REFUTED: frozenset({S.CONFIRMED, S.NEEDS_RECONCILIATION}),
    S.NEEDS_RECONCILIATION: frozenset({S.SUBMITTED}),
}

FILED = frozenset({S.SUBMITTED, S.CONFIRMED, S.REFUTED})
"""States in which the ledger says that the portal holds the report."""


def move(current: FilingState, target: FilingState) -> FilingState:
    """`target`, where the table allows the move; raises PermanentError where it does not."""
    if target not in MOVES[current]:
        raise PermanentError(f"A filing that is {current} cannot become {target}.")
    return target


def filing_id(form: str, report_id: str) -> str:
    """The ledger's id of a filing: one report of one form is one filing."""
    return f"{form}/{report_id}"


REPORT_ID = re.compile(r"[A-Z]{2,6}-[0-9]{4}-[0-9]{3}")
QUARTER = re.compile(r"Q([1-4]) ([0-9]{4})")


def check_request(report_id: str, quarter: str, department: str) -> None:
    """Raise PermanentError, in words for the person who filled the form, unless the request is well formed."""
    if not REPORT_ID.fullmatch(report_id):
        raise PermanentError(f"Report ID {report_id!r} is not of the form QI-2025-014 (letters, year, three digits).")
    if not QUARTER.fullmatch(quarter):
        raise PermanentError(f"Quarter {quarter!r} is not of the form 'Q3 2025'.")
    if not department.strip() or len(department) > 80 or not department.isprintable():
        raise PermanentError(f"Department {department!r} is not a plain name of 1 to 80 characters.")
