"""Values in a text: every usual spelling gives one value, and no other text gives it."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.domain.characters import fold, oddities
from tasks.domain.claims import (
    AMOUNT,
    CITE,
    DATE,
    IDENTIFIER,
    PARTIAL_DATE,
    find_claims,
    find_identifier,
    find_phrase,
    implied,
    same_family,
)

MONTHS = "January February March April May June July August September October November December".split()


def values(kind: str, text: str) -> list[tuple[str, ...]]:
    return [claim.values for claim in find_claims(text) if claim.kind == kind]


SPELLINGS = [
    "March 24, 2020",
    "March 24,2020",
    "March 24 , 2020",
    "MARCH 24, 2020",
    "march 24 2020",
    "March 24th, 2020",
    "March the 24th, 2020",
    "Mar. 24, 2020",
    "Mar 24 2020",
    "24 March 2020",
    "24th March, 2020",
    "the 24th of March 2020",
    "24th day of March, 2020",
    "twenty-fourth of March, 2020",
    "24 Mar. 2020",
    "24-Mar-2020",
    "24MAR2020",
    "Tuesday, March 24, 2020",
    "Tue 24 March 2020",
    "2020-03-24",
    "2020/03/24",
    "2020.03.24",
    "2020 March 24",
    "2020 Mar 24",
    "20200324",
    "2020-03-24T00:00:00Z",
    "03/24/2020",
    "3/24/2020",
    "24/03/2020",
    "24.03.2020",
    "24. 03. 2020",
    "March\u00a024,\n2020",
]


@pytest.mark.parametrize("text", SPELLINGS)
def test_a_date_has_one_value_in_every_usual_spelling(text: str) -> None:
    assert values(DATE, f"It is ({text}).") == [("2020-03-24",)]


@given(st.dates(date(1900, 1, 1), date(2099, 12, 31)), st.integers(0, 7))
def test_every_day_is_read_back_from_every_unambiguous_format(day: date, form: int) -> None:
    name = MONTHS[day.month - 1]
    text = [
        day.isoformat(),
        f"{name} {day.day}, {day.year}",
        f"{day.day} {name} {day.year}",
        f"{name[:3]}. {day.day}, {day.year}",
        f"{day.day}-{name[:3]}-{day.year}",
        f"{day.year} {name[:3]} {day.day}",
        f"the {day.day}th of {name}, {day.year}",
        day.strftime("%Y%m%d"),
    ][form]
    assert values(DATE, text) == [(day.isoformat(),)]


@given(st.dates(date(1900, 1, 1), date(2099, 12, 31)))
def test_a_numeric_date_keeps_both_readings_unless_only_one_is_a_day(day: date) -> None:
    (readings,) = values(DATE, f"{day.month}/{day.day}/{day.year}")
    assert day.isoformat() in readings
    assert len(readings) == (1 if day.day > 12 or day.day == day.month else 2)


@pytest.mark.parametrize("text", ["3/24/20", "24-Mar-20", "March 24, '20", "20-03-24"])
def test_a_two_digit_year_is_ambiguous(text: str) -> None:
    (readings,) = values(DATE, text)
    assert "2020-03-24" in readings and len(readings) > 1


@pytest.mark.parametrize(
    "text", ["February 30, 2020", "2020-13-45", "31/04/2020", "Monday, March 24, 2020", "February 29, 2021"]
)
def test_an_impossible_date_has_no_value(text: str) -> None:
    assert values(DATE, text) == [()]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("March 24-26, 2020", {"2020-03-24", "2020-03-26"}),
        ("March 24 or 25, 2020", {"2020-03-24", "2020-03-25"}),
        ("24/25 March 2020", {"2020-03-24", "2020-03-25"}),
        ("from 24 to 26 March 2020", {"2020-03-24", "2020-03-26"}),
    ],
)
def test_a_range_of_days_states_both_of_them(text: str, found: set[str]) -> None:
    assert {value for claim in values(DATE, text) for value in claim} == found


@pytest.mark.parametrize(
    "text",
    ["mid-March 24, 2020", "page 12020-03-24", "2020-03-241", "WAC 463-78-020", "March 24, 20201", "1.24.03.2020"],
)
def test_a_longer_token_is_no_date(text: str) -> None:
    assert values(DATE, text) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [("March 2020", "2020-03"), ("March 24", "--03-24"), ("24 March", "--03-24"), ("in 2020", "2020")],
)
def test_less_than_a_date_is_a_partial_date(text: str, value: str) -> None:
    assert values(PARTIAL_DATE, text) == [(value,)]
    assert (PARTIAL_DATE, value) in implied(find_claims("March 24, 2020"))


def test_a_modal_verb_is_no_month() -> None:
    assert values(PARTIAL_DATE, "Pharmacies may 24 hours later") == []


@pytest.mark.parametrize(
    "text",
    [
        "460-ET",
        "460\u2013ET",
        "460\u2011ET",
        "460\u2212ET",
        "460\u00a0ET",
        "460 ET",
        "460-\nET",
        "460 - ET",
        "460ET",
        "460-et",
        "(460-ET)",
        "460-ET.",
        "#460-ET",
        "460-ET's",
    ],
)
def test_an_identifier_is_found_with_every_separator(text: str) -> None:
    assert len(find_identifier("460-ET", text)) == 1
    assert ("460-ET",) in values(IDENTIFIER, text.replace("460-et", "460-ET"))


@pytest.mark.parametrize(
    "text",
    [
        "1460-ET",
        "460-ETX",
        "460-ET-2",
        "A-460-ET",
        "3.460-ET",
        "1,460-ET",
        "460-ET.1",
        "46O-ET",
        "460-ED",
        "4600-ET",
        "460_ET",
        "ET-460",
    ],
)
def test_an_identifier_is_never_part_of_a_longer_token(text: str) -> None:
    assert find_identifier("460-ET", text) == ()
    assert ("460-ET",) not in values(IDENTIFIER, text)


@given(st.text(alphabet="QXZ789", max_size=4), st.text(alphabet="QXZ789", max_size=4))
def test_an_identifier_with_word_characters_around_it_is_another_token(before: str, after: str) -> None:
    assert bool(find_identifier("460-ET", f"{before}460-ET{after}")) == (before == after == "")


def test_identifiers_of_one_scheme_are_a_family() -> None:
    assert same_family("460-ET", "403-D3")
    assert not same_family("460-ET", "CMS-0055-F")
    assert not same_family("460-ET", "ABC-ET")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("45 CFR 162.1102", "45 CFR 162.1102"),
        ("45 C.F.R. \u00a7 162.1102(b)(2)", "45 CFR 162.1102(B)(2)"),
        ("45 CFR Part 162", "45 CFR 162"),
        ("85 FR 4236", "85 FR 4236"),
        ("85 Fed. Reg. 4,236", "85 FR 4236"),
        ("85 Federal Register 4236", "85 FR 4236"),
        ("21 U.S.C. 812(b)(2)", "21 USC 812(B)(2)"),
        ("Pub. L. 114\u2013198", "PUB L 114-198"),
        ("Public Law No. 114-198", "PUB L 114-198"),
    ],
)
def test_legal_cites_have_one_form(text: str, value: str) -> None:
    assert values(CITE, text) == [(value,)]


@pytest.mark.parametrize(
    "text", ["$25 million", "US$25,000,000", "25 million dollars", "USD 25000000", "$ 25,000,000.00"]
)
def test_an_amount_has_one_value(text: str) -> None:
    assert values(AMOUNT, text) == [("USD 25000000",)]


def test_a_phrase_stands_only_as_whole_words_in_order() -> None:
    assert find_phrase("Quantity Prescribed", "the QUANTITY\nprescribed field")
    for text in ["Prescribed Quantity", "Quantity Unprescribed", "Quantity Prescribed-X", "Quantity is Prescribed"]:
        assert not find_phrase("Quantity Prescribed", text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("460-\u0415T", "look-alike"),  # Cyrillic
        ("\u0391pril", "look-alike"),  # Greek
        ("\uff14\uff16\uff10-ET", "look-alike"),  # full width
        ("\U0001d7d2\U0001d7d4\U0001d7d8-ET", "look-alike"),  # mathematical
        ("2020\u00b9", "look-alike"),  # superscript
        ("2\u0664", "look-alike"),  # Arabic-Indic digit
        ("\u2024", "look-alike"),  # one dot leader
        ("4\u200b60-ET", "invisible"),
        ("460\u00adET", "invisible"),
        ("2020\u202e", "invisible"),
        ("460-ET\x07", "invisible"),
        ("460-ET\U000e0041", "invisible"),  # tag character
        ("4\u03366\u03360", "combining"),
        ("\u2603", "symbol"),
    ],
)
def test_deceptive_characters_are_named(text: str, kind: str) -> None:
    assert {oddity.kind for oddity in oddities(text)} == {kind}


def test_plain_typography_is_not_deceptive() -> None:
    assert (
        oddities("Caf\u00e9 \u201cquoted\u201d \u2013 460\u2011ET\u00a0\u2026 \u00a7\u00a0162 \ufb01nal e\u0301\n\tok")
        == ()
    )


@given(st.text())
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(st.text(alphabet="0123456789/-.,$% ETMarch24CFR()thof\u2013\u00a0", max_size=60))
def test_no_text_breaks_the_finder_and_every_claim_stands_where_it_says(text: str) -> None:
    folded = fold(text)
    for claim in find_claims(text):
        assert folded[claim.start : claim.end] == claim.text
        assert claim.start < claim.end


@given(st.text())
def test_arbitrary_text_never_crashes(text: str) -> None:
    find_claims(text)
    find_identifier(text, text)
    find_phrase(text, text)
    oddities(text)
