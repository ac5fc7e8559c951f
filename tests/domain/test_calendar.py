"""Which quarter ended, and the ID of a report that was given none."""

from __future__ import annotations

import tomllib
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.domain.briefs import Brief, parse_brief
from tasks.domain.calendar import check_report, quarter_ended, report_id_for
from tasks.domain.errors import PermanentError
from tasks.domain.filing_states import check_request
from tests.conftest import CORPORA


@pytest.fixture(scope="module")
def brief() -> Brief:
    return parse_brief(tomllib.loads((CORPORA / "sample/filings/qi-report/brief.toml").read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("today", "quarter"),
    [
        (date(2026, 1, 1), "Q4 2025"),
        (date(2026, 3, 31), "Q4 2025"),
        (date(2026, 4, 1), "Q1 2026"),
        (date(2026, 7, 1), "Q2 2026"),
        (date(2025, 10, 1), "Q3 2025"),
        (date(2025, 12, 31), "Q3 2025"),
    ],
)
def test_the_quarter_that_ended(today: date, quarter: str) -> None:
    assert quarter_ended(today) == quarter


@given(st.dates(date(2000, 1, 1), date(2100, 12, 31)))
def test_the_quarter_that_ended_ended_less_than_a_quarter_ago(today: date) -> None:
    number, year = int(quarter_ended(today)[1]), int(quarter_ended(today)[3:])
    after = date(year + (number == 4), number * 3 % 12 + 1, 1)
    assert after <= today < after + timedelta(days=93)


def test_each_department_and_quarter_has_an_id_of_its_own(brief: Brief) -> None:
    ids = [report_id_for(brief, f"Q{q} {y}", d) for q in range(1, 5) for y in (2025, 2026) for d in brief.departments]
    assert len(set(ids)) == len(ids)
    for identity in ids:
        check_request(identity, "Q1 2025", "Pharmacy")
    assert report_id_for(brief, "Q3 2025", "Pharmacy") == "QI-2025-314"


@pytest.mark.parametrize(
    ("quarter", "department"), [("Q5 2025", "Pharmacy"), ("2025 Q3", "Pharmacy"), ("Q3 2025", "Plumbing")]
)
def test_an_unknown_quarter_or_department_is_refused(brief: Brief, quarter: str, department: str) -> None:
    with pytest.raises(PermanentError):
        report_id_for(brief, quarter, department)


def test_a_report_of_the_form_passes(brief: Brief) -> None:
    check_report(brief, "QI-2025-014", "Q3 2025", "Pharmacy", date(2025, 7, 1))


@pytest.mark.parametrize(
    ("report_id", "quarter", "department"),
    [
        ("QI-2024-014", "Q3 2025", "Pharmacy"),
        ("ABC-2025-014", "Q3 2025", "Pharmacy"),
        ("QI-2025-014", "Q3 2025", "Plumbing"),
        ("QI-٢٠٢٥-014", "Q3 2025", "Pharmacy"),
        ("QI-2025-014", "Q3 ٢٠٢٥", "Pharmacy"),
        ("QI-2025-014 ", "Q3 2025", "Pharmacy"),
        ("QI-2027-014", "Q1 2027", "Pharmacy"),
        ("QI-2025-014\n", "Q3 2025", "Pharmacy"),
    ],
)
def test_what_the_form_would_refuse_is_refused_at_once(
    brief: Brief, report_id: str, quarter: str, department: str
) -> None:
    with pytest.raises(PermanentError):
        check_report(brief, report_id, quarter, department, date(2026, 11, 30))
