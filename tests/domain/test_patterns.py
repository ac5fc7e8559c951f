"""Which regular expressions of a golden file are run, and that none of them can run for ever."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.domain.patterns import LONGEST_PATTERN, LONGEST_TEXT, complaint, matches


@pytest.mark.parametrize(
    "pattern",
    [
        "March 24, 2020",
        "460[–-]ET",
        r"\$25 million",
        r"Fill Number (?:\(403[–-]D3\)|Field)",
        r"(?:\d{1,2}/){2}\d{4}",
        r"\b(?:not|never)\b",
        "a.*b.*c",
        "(?i)rule",
        "(?P<year>2020)",
        "(?<!x)y(?=z)",
        "[]a]+b",
        "[^]a]{2,3}?",
        "x{}",
        r"(a)\1",
    ],
)
def test_the_patterns_that_people_write_are_accepted(pattern: str) -> None:
    assert complaint(pattern) == ""


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(", "no regular expression"),
        ("\\", "no regular expression"),
        ("a{99999999999}", "no regular expression"),
        ("", "is empty"),
        (" ", "is empty"),
        ("a*", "every passage would match"),
        ("a|", "every passage would match"),
        ("x" * (LONGEST_PATTERN + 1), "201 characters long"),
        ("(?x) a b", "uses (?x)"),
        ("(?#note)b", "uses (?#"),
        ("(a+)+$", "hours"),
        ("(a|a)*$", "hours"),
        ("(a|aa)+$", "hours"),
        ("((a?){30}){30}b", "hours"),
        ("a?" * 30 + "a" * 30, "hours"),
        (".*.*.*x", "hours"),
        ("a{1,900}b{1,900}c{1,900}d", "hours"),
        ("(?=(a+)+b)a", "hours"),
        (r"(\w+\s?)+!", "hours"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused_with_a_reason(pattern: str, why: str) -> None:
    assert why in complaint(pattern)


ATOMS = st.sampled_from(["a", ".", "[ab]", r"\w", "(a|b)", "(a)", "(?:ab)"])
QUANTIFIERS = st.sampled_from(["", "", "?", "*", "+", "{2}", "{1,3}", "{2,}", "*?"])


def expressions() -> st.SearchStrategy[str]:
    simple = st.lists(st.tuples(ATOMS, QUANTIFIERS).map("".join), min_size=1, max_size=4).map("".join)
    return st.recursive(
        simple,
        lambda inner: st.tuples(st.lists(inner, min_size=1, max_size=3).map("|".join), QUANTIFIERS).map(
            lambda parts: f"({parts[0]}){parts[1]}"
        ),
        max_leaves=4,
    )


@given(expressions())
def test_what_is_accepted_ends_soon_even_where_it_just_fails(pattern: str) -> None:
    """A text of 60 equal characters makes an exponential pattern run for hours: it would never come back here."""
    pattern += "!"
    if complaint(pattern) == "":
        begun = time.perf_counter()
        assert matches(pattern, "a" * 60) is False
        assert time.perf_counter() - begun < 5


@given(st.text(min_size=1, max_size=30).filter(str.strip))
def test_quoted_text_is_always_accepted_and_found(text: str) -> None:
    flat = " ".join(text.split())
    pattern = re.escape(flat)
    assert complaint(pattern) == ""
    assert matches(pattern, f"before\n{text}\tafter")


def test_blanks_count_as_one_and_case_does_not_count() -> None:
    assert matches("march 24", "on MARCH\n\n  24")
    assert not matches("march 24", "on March24")


def test_only_the_first_characters_of_a_passage_are_looked_at() -> None:
    assert matches("x", "." * (LONGEST_TEXT - 1) + "x")
    assert not matches("x", "." * LONGEST_TEXT + "x")
