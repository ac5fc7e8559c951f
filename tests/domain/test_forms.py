"""The closed grammar: templates, and that nothing is understood but what a template says."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.domain.characters import fold
from tasks.domain.errors import PermanentError
from tasks.domain.expectations import parse_expectation
from tasks.domain.forms import LONGEST, Row, parse_template, tokens, word
from tasks.domain.verdict import Outcome
from tests.domain.report import EXPECTED, RULE, outcome

VALUE = word("=2020-03-24")


def understood(template: str, text: str) -> bool:
    """Whether the template's form covers the whole text, in which VALUE stands for the expected date."""
    folded = fold(text)
    start = folded.find("VALUE")
    spans = {(start, start + 5): "=2020-03-24"} if start >= 0 else {}
    row = Row(tuple(tokens(folded, spans)))
    return len(row.tokens) in parse_template(template, VALUE)(row, 0)


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("The rule takes effect on VALUE", True),
        ("the rule took effect VALUE", True),
        ("rule takes effect VALUE", True),
        ("the rule takes took effect VALUE", False),
        ("the rule effect VALUE", False),
        ("the rule takes effect", False),
        ("the rule takes effect on VALUE in part", False),
    ],
)
def test_a_template_covers_its_alternatives_and_nothing_else(text: str, known: bool) -> None:
    assert understood("[the] rule (takes|took) effect [on] V", text) is known


def test_a_date_in_a_template_stands_for_all_its_spellings() -> None:
    folded = "published on 24 Jan 2020"
    row = Row(tuple(tokens(folded, {(13, 24): "~2020-01-24"})))
    assert len(row.tokens) in parse_template("published on January 24, 2020", VALUE)(row, 0)


@pytest.mark.parametrize("template", ["[the V", "the] V", "(a|b V", "[a) V"])
@pytest.mark.parametrize("field", ["short", "statements", "remarks"])
def test_a_template_whose_brackets_do_not_pair_is_refused_with_its_place(field: str, template: str) -> None:
    document = copy.deepcopy(EXPECTED)
    document["questions"]["effective_date"][field] = [template]
    with pytest.raises(PermanentError, match=rf"effective_date\] {field}"):
        parse_expectation(document)


def test_a_short_form_without_the_value_is_refused() -> None:
    document = copy.deepcopy(EXPECTED)
    document["questions"]["effective_date"]["short"] = ["on the day"]
    with pytest.raises(PermanentError, match="no V"):
        parse_expectation(document)


def test_an_answer_longer_than_a_form_takes_is_left_to_a_person() -> None:
    assert outcome("effective_date", "see " * LONGEST + f"{RULE}, page 1: March 24, 2020") is Outcome.INDETERMINATE


WORDS = [
    "March 24, 2020",
    "the rule",
    "takes effect on",
    "effective",
    "not",
    "September 21, 2020",
    "the compliance date",
    ":",
    ",",
    "is",
    "but",
]


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=7))
def test_a_shuffled_answer_is_confirmed_only_if_no_date_is_given_to_the_wrong_question(parts: list[str]) -> None:
    text = " ".join(parts)
    if outcome("effective_date", f"{text} ({RULE}, page 1)") is Outcome.CONFIRMED:
        assert "March 24, 2020" in parts
        assert "the compliance date March 24, 2020" not in text and "not March 24, 2020" not in text
        assert "takes effect on September 21, 2020" not in text and "effective September 21, 2020" not in text
