"""Quarters and report IDs: which quarter ended, the ID of a report that was given none, and whether an ID fits its quarter."""

from __future__ import annotations

from datetime import date

from tasks.domain.briefs import Brief
from tasks.domain.errors import PermanentError
from tasks.domain.filing_states import QUARTER, check_request


def quarter_ended(today: date) -> str:
    """The last quarter that was over before `today`, e.g. "Q3 2025" from 1 October to 31 December 2025."""
    current = (today.month - 1) // 3  # quarters of this year that are over
    return f"Q{current} {today.year}" if current else f"Q4 {today.year - 1}"


def report_id_for(brief: Brief, quarter: str, department: str) -> str:
    """The report's ID by the brief's pattern. Raises PermanentError for a department or a quarter that the form does not know."""
    match = QUARTER.fullmatch(quarter)
    if match is None:
        raise PermanentError(f"Quarter {quarter!r} is not of the form 'Q3 2025'.")
    if department not in brief.departments:
        raise PermanentError(
            f"{brief.form} has no department {department!r} in [report_ids]; there are {', '.join(sorted(brief.departments))}."
        )
    return brief.report_id_pattern.format(
        year=int(match[2]), quarter=int(match[1]), department_number=brief.departments[department]
    )


def check_report(brief: Brief, report_id: str, quarter: str, department: str, today: date) -> None:
    """Raise PermanentError for what the form would refuse: an unknown department, an ID that is not of the quarter's year, a quarter that
    has not begun.

    The ID's beginning, up to the year, follows the brief's pattern.
    """
    check_request(report_id, quarter, department)
    report_id_for(brief, quarter, department)
    year = quarter[-4:]
    if (int(year), int(quarter[1])) > (today.year, (today.month - 1) // 3 + 1):
        raise PermanentError(f"{quarter} has not begun, so there is nothing to report about it yet.")
    beginning = brief.report_id_pattern.split("{year}")[0] + year
    if "{year}" in brief.report_id_pattern and not report_id.startswith(beginning):
        raise PermanentError(
            f"Report ID {report_id} does not begin with {beginning}, as {brief.form}'s IDs for {quarter} do. Check ID and quarter."
        )
