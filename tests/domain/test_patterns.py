"""Which regular expressions of a golden file are run, and that none of them can run for ever."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.domain import patterns
from tasks.domain.errors import PermanentError
from tasks.domain.patterns import LONGEST_PATTERN, LONGEST_TEXT, complaint, matches


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("March 24, 2020", "on March 24, 2020."),
        ("460[–-]ET", "the 460–ET field"),
        (r"460\s*[-–—‑]?\s*ET", "460 - ET"),
        (r"\$25 million", "$25 million"),
        (r"(?:March|Mar\.?)\s+24,?\s+2020", "mar. 24 2020"),
        (r"(September|Sept?\.?)\s*21\s*,?\s*2020", "Sept 21, 2020"),
        (r"\$\s?\d+(?:,\d{3})*(?:\.\d+)?", "cost $ 1,250,000.50"),
        (r"effective\s+(?:on|date)?\s*:?\s*March", "Effective date: March"),
        (r"(?:[A-Z][a-z]+\s+)+Act", "the Substance Use Disorder Act"),
        (r"(?:\d{1,2}/){2}\d{4}", "01/24/2020"),
        (r"\w+@\w+\.\w+", "write to a@b.org"),
        (r"\b(?:not|never)\b", "it is not"),
        (".*460.*ET.*", "460-ET"),
        ("(?=.*March)(?=.*2020).", "2020, in March"),
        ("a.*b.*c.*d", "a b c d"),
        ("(?i)rule", "Rule"),
        ("(?P<year>2020)", "2020"),
        ("(?<!x)y(?=z)", "yz"),
        ("[]a]+b", "]ab"),
        (r"\{x\}", "{x}"),
        ("[{]x", "{x"),
        (r"(a)\1", "aa"),
    ],
)
def test_the_patterns_that_people_write_are_accepted_and_found(pattern: str, text: str) -> None:
    assert complaint(pattern) == ""
    assert matches(pattern, f"before {text} after")
    assert not matches(pattern, "....")


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(", "no regular expression"),
        ("\\", "no regular expression"),
        ("*a", "no regular expression"),
        ("(?P<a>x)(?P<a>y)", "no regular expression"),
        ("a{99999999999}", "no regular expression"),
        ("", "is empty"),
        (" ", "is empty"),
        ("a*", "every passage would match"),
        ("a|", "every passage would match"),
        ("x" * (LONGEST_PATTERN + 1), f"{LONGEST_PATTERN + 1} characters long"),
        ("(?:rule){e<=3}", "no count"),
        ("x{}", "no count"),
        ("[[a]b]", "two ways"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused_with_a_reason(pattern: str, why: str) -> None:
    """Among them what the matcher would read as fuzzy, and Python's own would not."""
    assert why in complaint(pattern)


@pytest.mark.parametrize(
    "pattern", [r"(\w+\s?)+!", "(a|aa)+$", r"(a|a)*\.$", ".*.*.*.*.*.*x", r"(?=(a+)+b)a", "a?" * 40 + "a" * 40 + "!"]
)
def test_a_pattern_that_would_run_for_hours_is_an_error_soon(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever makes it slow: either the matcher sees through it, or the person who wrote it reads what to change."""
    monkeypatch.setattr(patterns, "LONGEST_SECONDS", 0.2)
    try:
        assert matches(pattern, "a" * 5_000 + ";") is False
    except PermanentError as error:
        assert "takes longer" in str(error) and repr(pattern) in str(error)


def test_the_time_limit_is_real(monkeypatch: pytest.MonkeyPatch) -> None:
    """At least one pattern runs into it, so the case above is not empty."""
    monkeypatch.setattr(patterns, "LONGEST_SECONDS", 0.1)
    with pytest.raises(PermanentError, match="takes longer"):
        matches("(a|aa)+$", "a" * 5_000 + "b")


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
