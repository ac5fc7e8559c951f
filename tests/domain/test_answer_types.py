"""What kind of value a question asks for, and which texts hold one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.domain.answer_types import TYPES, answer_type

BY_NAME = {each.name: each for each in TYPES}


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("When does the rule take effect?", "day"),
        ("Since when is it in force?", "day"),
        ("On what date must entities comply?", "day"),
        ("What is the deadline for comments?", "day"),
        ("In which month was it expected?", "month"),
        ("How much does it cost?", "money"),
        ("What are the estimated SAVINGS?", "money"),
        ("What percentage of claims is affected?", "share"),
        ("To which e-mail address do comments go?", "address"),
        ("Which field must be used when a refill is partial?", None),
        ("What does the rule require?", None),
        ("Who may update the record?", None),
        ("", None),
    ],
)
def test_a_question_s_type_is_read_from_its_words(question: str, name: str | None) -> None:
    found = answer_type(question)
    assert (None if found is None else found.name) == name


@pytest.mark.parametrize(
    ("name", "text", "held"),
    [
        ("day", "effective on March 24, 2020.", True),
        ("day", "on 24 March 2020", True),
        ("day", "Sept. 21, 2020", True),
        ("day", "by 2020-09-21", True),
        ("day", "by 9/21/2020", True),
        ("day", "in March 2020", False),
        ("day", "Marching 24, 2020 people", False),
        ("day", "Public Law 104-191", False),
        ("month", "in March 2020", True),
        ("month", "in the spring of 2020", False),
        ("money", "about $ 1.2 million", True),
        ("money", "the amount", False),
        ("share", "12.5 percent", True),
        ("share", "a percentage", False),
        ("address", "see https://example.org", True),
        ("address", "on the web", False),
    ],
)
def test_a_text_holds_a_value_or_does_not(name: str, text: str, held: bool) -> None:
    assert BY_NAME[name].in_text(text) is held


@given(st.text(max_size=300))
def test_any_text_can_be_asked_about(text: str) -> None:
    found = answer_type(text)
    assert found is None or found in TYPES
    assert all(isinstance(each.in_text(text), bool) for each in TYPES)


def test_the_types_fit_into_a_byte() -> None:
    """The BM25 files keep a bit for each."""
    assert len(TYPES) <= 8
