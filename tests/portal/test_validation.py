"""The rules for values, as pure functions."""

from __future__ import annotations

import unicodedata
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.questions import Question
from portal.validation import (
    ANSWER_LIMIT,
    DEPARTMENTS,
    MARK,
    PERIOD_FIELDS,
    QUARTERS,
    Form,
    check_answers,
    check_period,
    unseen_character,
    unseen_characters_marked,
)

TODAY = date(2026, 11, 30)
PERIOD = {"quarter": "Q3", "year": "2025", "department": "Pharmacy", "report_id": "QI-2025-014"}
QUESTIONS = (Question("first", "First?"), Question("second", "Second?"))


def problems_of(**changed: str) -> dict[str, str]:
    return {problem.field: problem.message for problem in check_period(Form({**PERIOD, **changed}), TODAY).problems}


def test_a_good_period_is_accepted() -> None:
    """And gives the quarter as it stands in the record."""
    checked = check_period(Form(PERIOD), TODAY)
    assert checked.problems == ()
    assert checked.value is not None
    assert checked.value.quarter_text == "Q3 2025"
    assert checked.value.values() == PERIOD


@pytest.mark.parametrize(
    ("year", "complaint"),
    [
        ("2027", "is in the future"),
        ("9999", "is in the future"),
        ("1999", "is too early"),
        ("0025", "is too early"),
        ("0000", "is too early"),
        ("25", "four digits"),
        ("20255", "four digits"),
        ("-2025", "four digits"),
        ("2025.0", "four digits"),
        ("２０２５", "four digits"),
        ("٢٠٢٥", "four digits"),
        ("2025 AD", "four digits"),
        ("", "Enter the year"),
        ("   ", "Enter the year"),
    ],
)
def test_wrong_years_are_refused(year: str, complaint: str) -> None:
    """Not four ASCII digits, in the future, or absurdly long ago."""
    assert complaint in problems_of(year=year)["year"]


@pytest.mark.parametrize("quarter", ["", "Q0", "Q5", "q3", "3", "Q3 2025", "Ｑ3"])
def test_quarters_that_are_not_offered_are_refused(quarter: str) -> None:
    """Whatever a request says that is not one of the options."""
    assert "quarter" in problems_of(quarter=quarter)


@pytest.mark.parametrize("department", ["", "pharmacy", "Astrology", "Pharmacy\u200b"])
def test_departments_that_are_not_offered_are_refused(department: str) -> None:
    """Whatever a request says that is not one of the options."""
    assert "department" in problems_of(department=department)


@pytest.mark.parametrize(
    "report_id",
    [
        "",
        "QI-2025-14",
        "QI-2025-0014",
        "QI-25-014",
        "qi-2025-014",
        "QI 2025 014",
        "QI–2025–014",
        "QI-2025-014\n",
        "QI-2025-O14",
        "QI-２０２５-014",
        "XQI-2025-014",
    ],
)
def test_report_ids_of_another_form_are_refused(report_id: str) -> None:
    """Also those that only look right."""
    assert "report_id" in problems_of(report_id=report_id)


def test_the_year_in_the_report_id_must_be_the_year_of_the_quarter() -> None:
    """The message names both years; without a valid year there is nothing to compare with."""
    assert problems_of(report_id="QI-2024-014") == {
        "report_id": "The year in the report ID (2024) must be the year of the quarter (2025)."
    }
    assert set(problems_of(report_id="QI-2024-014", year="x")) == {"year"}


@pytest.mark.parametrize(
    ("today", "begun"),
    [
        (date(2026, 9, 30), {"Q1", "Q2", "Q3"}),
        (date(2026, 10, 1), {"Q1", "Q2", "Q3", "Q4"}),
        (date(2026, 1, 1), {"Q1"}),
        (date(2025, 12, 31), set()),
    ],
)
def test_a_quarter_is_accepted_from_its_first_day(today: date, begun: set[str]) -> None:
    """A quarter in the future is refused, in the current year too."""
    accepted = set()
    for quarter in QUARTERS:
        form = Form({**PERIOD, "quarter": quarter, "year": "2026", "report_id": "QI-2026-014"})
        checked = check_period(form, today)
        if checked.value is not None:
            accepted.add(quarter)
        else:
            assert any("not begun" in problem.message or "future" in problem.message for problem in checked.problems)
    assert accepted == begun


def test_problems_come_in_the_order_of_the_fields() -> None:
    """The summary reads like the page."""
    checked = check_period(Form({}), TODAY)
    assert [problem.field for problem in checked.problems] == list(PERIOD_FIELDS)


def test_files_and_repeated_fields_are_refused_field_by_field() -> None:
    """Each with its own sentence."""
    form = Form({"first": "a"}, uploads=frozenset({"second"}), repeated=frozenset({"first"}))
    first, second = check_answers(form, QUESTIONS).problems
    assert "more than once" in first.message
    assert "file cannot be uploaded" in second.message


def test_an_answer_has_at_most_300_characters() -> None:
    """Counted as characters, without the spaces at both ends."""
    accepted = check_answers(Form({"first": "é" * ANSWER_LIMIT, "second": " " * 500 + "🙂" * ANSWER_LIMIT}), QUESTIONS)
    assert accepted.problems == ()
    (problem,) = check_answers(Form({"first": "x" * 301, "second": "y"}), QUESTIONS).problems
    assert problem.message == "Use 300 characters or fewer; this answer has 301."


@pytest.mark.parametrize(
    "character",
    [
        "\x00",
        "\t",
        "\n",
        "\r",
        "\x1b",
        "\x7f",
        "\x85",
        "\xa0",
        "\xad",
        "\u034f",
        "\u061c",
        "\u115f",
        "\u180e",
        "\u2003",
        "\u200b",
        "\u200d",
        "\u200e",
        "\u2028",
        "\u202e",
        "\u2060",
        "\u2066",
        "\u2800",
        "\u3000",
        "\u3164",
        "\ue000",
        "\ufe0f",
        "\ufeff",
        "\uffa0",
        "\ufffd",
        "\uffff",
        "\U000e0041",
        "\U000e0101",
    ],
)
def test_control_and_invisible_characters_are_refused_by_name(character: str) -> None:
    """Controls, formats, fillers, selectors, other blanks than the space, and what could not be decoded."""
    form = Form({"first": f"ab{character}c", "second": "fine"})
    (problem,) = check_answers(form, QUESTIONS).problems
    assert problem.field == "first"
    assert "character 3" in problem.message
    if character != MARK:
        assert f"U+{ord(character):04X}" in problem.message
    assert unseen_characters_marked(f"ab{character}c") == f"ab{MARK}c"


def test_ordinary_punctuation_accents_and_other_scripts_are_accepted() -> None:
    """What can be seen can be typed."""
    assert unseen_character("§ 45 CFR 162 – “naïve” ½ µg €5 Ελλάδα 日本 e\u0301 🙂 -‐—") == ""


@given(st.text())
def test_a_text_is_refused_exactly_if_marking_changes_it_or_it_holds_the_mark(text: str) -> None:
    """What the page marks is what validation refuses; and no control or format character is ever accepted."""
    refused = unseen_character(text) != ""
    assert refused == (unseen_characters_marked(text) != text or MARK in text)
    if not refused:
        assert not {unicodedata.category(character) for character in text} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
        assert text.split() == [part for part in text.split(" ") if part]


ANY_FORM = st.fixed_dictionaries(
    {},
    optional={
        "quarter": st.sampled_from(QUARTERS) | st.text(max_size=4),
        "year": st.integers(0, 9999).map(lambda year: f"{year:04d}") | st.text(max_size=6),
        "department": st.sampled_from(DEPARTMENTS) | st.text(max_size=9),
        "report_id": st.from_regex(r"QI-20[0-3][0-9]-[0-9]{3}", fullmatch=True) | st.text(max_size=12),
    },
)


@given(ANY_FORM, st.dates(date(2000, 1, 1), date(2040, 1, 1)))
def test_every_form_is_either_refused_with_reasons_or_a_period_that_has_begun(
    values: dict[str, str], today: date
) -> None:
    """There is no third outcome, whatever was typed."""
    checked = check_period(Form(values), today)
    assert (checked.value is None) == bool(checked.problems)
    if checked.value is not None:
        period = checked.value
        assert date(period.year, 3 * int(period.quarter[1]) - 2, 1) <= today
        assert period.report_id[3:7] == f"{period.year:04d}"
        assert check_period(Form(period.values()), today).value == period
