"""Regular expressions that people write into golden questions: which of them can be used, and whether one matches.

It decides what a pattern must be like and whether it is found in a passage. It never lets a pattern run for long: a backtracking
matcher can take hours over one like `(a|aa)+$`, so each match has LONGEST_SECONDS, and one that needs more is an error that a person
mends.

Rules
- At most LONGEST_PATTERN characters; blanks and line ends of the text count as one blank, case does not count, and at most LONGEST_TEXT
  characters of the text are looked at.
- What Python's own `re` accepts is accepted. The matching is done by `regex`, which knows a time limit; where the two read a pattern
  differently (a brace that is no count, a set within a set), it is refused.
- A pattern that matches the empty text matches everywhere and is refused.
"""

from __future__ import annotations

import re
import warnings
from functools import lru_cache

import regex

from tasks.domain.errors import PermanentError

LONGEST_PATTERN = 500
LONGEST_TEXT = 10_000  # a search shows about 1,600 characters of a passage, and a single chunk has 4,000 at the most
LONGEST_SECONDS = 2.0  # thousands of times what an ordinary pattern takes

_BRACE = re.compile(r"(?<!\\)(?:\\\\)*\{(?!\d+(?:,\d*)?\}|,\d+\})")
_SET = re.compile(r"\[[^\]]*\]")


def complaint(pattern: str) -> str:
    """Why `pattern` cannot be used and what to do about it, as the end of a sentence; empty where it can."""
    if len(pattern) > LONGEST_PATTERN:
        return (
            f"is {len(pattern)} characters long; at most {LONGEST_PATTERN} are read: quote the value, not the sentence"
        )
    if not pattern.strip():
        return "is empty, so that every passage would match it"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            re.compile(pattern, re.IGNORECASE)
            compiled = _compiled(pattern)
    except Warning as error:
        return f"can be read in two ways ({error}): escape the character"
    except (re.error, regex.error, OverflowError, RecursionError, ValueError) as error:
        return f"is no regular expression ({error})"
    if _BRACE.search(_SET.sub("", pattern)):
        return r"has a brace that is no count such as {2,3}: write \{ for the character"
    try:
        everywhere = compiled.search("", timeout=LONGEST_SECONDS) is not None
    except TimeoutError:
        return _too_slow()
    return "matches an empty text, so that every passage would match it" if everywhere else ""


def matches(pattern: str, text: str) -> bool:
    """Whether an accepted `pattern` is found in `text`. Raises PermanentError where that takes longer than LONGEST_SECONDS."""
    try:
        return _compiled(pattern).search(" ".join(text.split())[:LONGEST_TEXT], timeout=LONGEST_SECONDS) is not None
    except TimeoutError:
        raise PermanentError(f"The pattern {pattern!r} of a golden question {_too_slow()}.") from None


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> regex.Pattern[str]:
    return regex.compile(pattern, regex.IGNORECASE | regex.VERSION0)


def _too_slow() -> str:
    return (
        f"takes longer than {LONGEST_SECONDS:g} s to match: take repeats out of repeated groups, or write several short patterns instead "
        "(every one of them must match)"
    )
