"""Regular expressions that people write into golden questions: which of them are safe to run.

It decides whether a pattern may be used and whether it matches. It never stops a match that runs: Python's `re` cannot be interrupted, so
what could run for hours is refused before it is used.

Rules
- At most LONGEST_PATTERN characters, matched against at most LONGEST_TEXT characters of a passage.
- A pattern is refused where the number of ways in which a backtracking matcher may have to try it is above MOST_WAYS. The number
  is an upper bound counted from the pattern alone: a sequence multiplies the ways of its parts, alternatives add theirs, a repeat of
  up to n times adds ways ** 1 to ways ** n, and `*`, `+` and `{m,}` repeat as often as the text is long. So `a.*b.*c` is accepted;
  a third open repeat, and a repeat or an alternative inside a repeat (`(a+)+`), are not. All patterns of a question must match, so a
  long one can be written as several short ones.
- Of the extensions `(?...)` groups, names, looking ahead and behind, and the flags a, i, m, s and u are accepted; the flag x is not,
  because with it blanks and `#` would mean something else than what is counted.
"""

from __future__ import annotations

import re
from functools import lru_cache

LONGEST_PATTERN = 200
LONGEST_TEXT = 2_000  # a search shows about 1,600 characters of a passage
MOST_WAYS = (
    20_000_000  # two open repeats over LONGEST_TEXT and a few choices: seconds at the worst; a third would be hours
)

_FLAGS = re.compile(r"\(\?[aimsu]+\)")
_EXTENSION = re.compile(r"\?(?:[aimsu]*:|[=!>]|<[=!]|P<\w+>)")
_BOUNDS = re.compile(r"\{(\d*)(,?)(\d*)\}")
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)


def complaint(pattern: str) -> str:
    """Why `pattern` cannot be used and what to do about it, as the end of a sentence; empty where it can."""
    if len(pattern) > LONGEST_PATTERN:
        return (
            f"is {len(pattern)} characters long; at most {LONGEST_PATTERN} are read: quote the value, not the sentence"
        )
    if not pattern.strip():
        return "is empty, so that every passage would match it"
    try:
        compiled = re.compile(pattern, re.IGNORECASE)
        ways = _Scan(pattern).ways()
    except _Unknown as error:
        return f"uses {error}, which is not supported here: write the pattern without it"
    except (re.error, OverflowError, RecursionError) as error:
        return f"is no regular expression ({error})"
    if ways > MOST_WAYS:
        return (
            "could take hours to match: at most two of * and +, and no repeat and no alternative inside a repeated group; "
            "write several short patterns instead (every one of them must match)"
        )
    if compiled.search("") is not None:
        return "matches an empty text, so that every passage would match it"
    return ""


def matches(pattern: str, text: str) -> bool:
    """Whether an accepted `pattern` is found in `text`, blanks and line ends counted as one blank, whatever the case.

    Only the first LONGEST_TEXT characters are looked at.
    """
    return _compiled(pattern).search(" ".join(text.split())[:LONGEST_TEXT]) is not None


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


class _Unknown(Exception):
    """An extension that the count does not know."""


class _Scan:
    """Counts the ways of a pattern that `re` has accepted; every count stops just above MOST_WAYS."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    def ways(self) -> int:
        total = 0
        sequence = 1
        while self._at < len(self._pattern) and self._pattern[self._at] != ")":
            if self._pattern[self._at] == "|":
                self._at += 1
                total, sequence = total + sequence, 1
                continue
            sequence = _capped(sequence * self._repeats(self._atom()))
        return _capped(total + sequence)

    def _atom(self) -> int:
        """The ways of one element, whose end becomes the position."""
        character = self._pattern[self._at]
        if character == "\\":
            self._at += 2
        elif character == "[":
            found = _CLASS.match(self._pattern, self._at)
            if found is None:
                raise _Unknown(f"{self._pattern[self._at :]!r}")
            self._at = found.end()
        elif flags := _FLAGS.match(self._pattern, self._at):
            self._at = flags.end()
        elif character == "(":
            self._at += 1
            if self._pattern.startswith("?", self._at):
                extension = _EXTENSION.match(self._pattern, self._at)
                if extension is None:
                    raise _Unknown(f"({self._pattern[self._at : self._at + 3]}")
                self._at = extension.end()
            inner = self.ways()
            self._at += 1  # the closing parenthesis
            return inner
        else:
            self._at += 1
        return 1

    def _repeats(self, ways: int) -> int:
        """The ways of an element of `ways` ways together with the quantifiers that follow it."""
        while self._at < len(self._pattern):
            character = self._pattern[self._at]
            if character in "*+?":
                self._at += 1
                least, most = (0, 1) if character == "?" else (0, LONGEST_TEXT)
                if self._pattern.startswith(("?", "+"), self._at):  # lazy or possessive
                    self._at += 1
            elif (
                character == "{"
                and (bounds := _BOUNDS.match(self._pattern, self._at))
                and bounds[0] not in ("{}", "{,}")
            ):
                self._at = bounds.end()
                least = int(bounds[1] or 0)
                most = least if not bounds[2] else int(bounds[3]) if bounds[3] else LONGEST_TEXT
                if self._pattern.startswith(("?", "+"), self._at):
                    self._at += 1
            else:
                break
            ways = _repeated(ways, least, min(most, LONGEST_TEXT))
        return ways


def _repeated(ways: int, least: int, most: int) -> int:
    """ways ** least + ... + ways ** most; a single way may still end at any of the counts."""
    if ways == 1:
        return max(1, most - least + 1)
    total, power = 0, 1
    for count in range(most + 1):
        if count >= least:
            total += power
        power *= ways
        if power > MOST_WAYS and count < most:
            return MOST_WAYS + 1
    return _capped(total)


def _capped(ways: int) -> int:
    return min(ways, MOST_WAYS + 1)
