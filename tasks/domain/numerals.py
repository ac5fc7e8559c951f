"""Numbers in words: cardinals, ordinals and simple fractions of English.

Decides what number a run of words says. It never decides whether that matters: `prose` tells apart what texts say without meaning a figure
("two dates", "the third step") from what they state (eleven and more, several words, a number before a unit).

Cost: linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tasks.domain.claims import AMOUNT, NUMBER, PERCENTAGE, Claim

ORDINAL = "ordinal"
FRACTION = "fraction"

_UNITS = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
        "eighteen nineteen".split()
    )
}
_TENS = {
    word: number
    for number, word in zip(
        range(20, 100, 10), "twenty thirty forty fifty sixty seventy eighty ninety".split(), strict=True
    )
}
SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_RANKS = {
    word: number
    for number, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
        "sixteenth seventeenth eighteenth nineteenth".split(),
        start=1,
    )
} | {word.removesuffix("y") + "ieth": number for word, number in _TENS.items()}
PROSE_LIMIT = 10
"""`two dates` and `the third step` are prose; from eleven on, and before a unit, a number in words is a claim."""

_SCALE = "thousand|million|billion|trillion"
_WORD = "(?:" + "|".join([*_UNITS, *_TENS, "hundred", *SCALES]) + r")(?![^\W\d_])"
_AND = r"(?:(?:(?<=hundred)|(?<=thousand)|(?<=million)|(?<=billion))\sand\s)"
_RANK = "(?:" + "|".join(_RANKS) + ")"
_FLAGS = re.IGNORECASE
_IN_WORDS = re.compile(
    rf"(?<!\w)(?:a\s(?=hundred|{_SCALE})|(?!hundred|{_SCALE})){_WORD}(?:(?:{_AND}|\s?-\s?|\s){_WORD})*", _FLAGS
)
_RANK_IN_WORDS = re.compile(rf"(?<!\w)(?:(?P<tens>{'|'.join(_TENS)})[\s-])?(?P<rank>{_RANK})(?!\w)", _FLAGS)
_RANK_IN_DIGITS = re.compile(r"(?<![\w.,/-])(?P<rank>\d{1,6})\s?(?:st|nd|rd|th)(?!\w)(?!-\w)", _FLAGS)
_FRACTION = re.compile(
    r"(?<!\w)(?P<count>one|two|three|four|five|six|seven|eight|nine)[\s-]"
    r"(?P<part>hal(?:f|ves)|thirds?|quarters?|fourths?|fifths?|sixths?|sevenths?|eighths?|ninths?|tenths?)(?!\w)"
    r"(?!\s(?:of|in)\s(?:the\s)?(?:year\s)?\d)",
    _FLAGS,
)
_PERCENT = re.compile(r"[\s-](?:percent|per\scent|pct)(?!\w)", _FLAGS)
_DOLLARS = re.compile(r"\s(?:US\s)?dollars?(?!\w)", _FLAGS)
_UNIT = re.compile(
    r"[\s-](?:(?:business|calendar|working|consecutive|full)[\s-])?(?:cents?|days?|weeks?|months?|years?|hours?|minutes?|seconds)(?!\w)",
    _FLAGS,
)


def _spelled(words: Sequence[str]) -> str:
    """The value of number words: `four hundred sixty` is 460, `twenty twenty` 2020, `four six zero` 460 (digit by digit)."""
    total = group = 0
    previous = 10**15
    for word in words:
        if word in SCALES:
            total, group, previous = total + max(group, 1) * SCALES[word], 0, 10**15
            continue
        if word == "hundred":
            group, previous = max(group, 1) * 100, 100
            continue
        number = _UNITS.get(word, _TENS.get(word, 0))
        # What follows must fill up the places that are free: `sixty four` does, `four six` and `twenty twenty` do not.
        if (previous < 100 and not (previous >= 20 and 0 < number < 10)) or (previous == 100 and number == 0):
            return "".join(str(part) for part in _pairs(words))
        group, previous = group + number, number
    return str(total + group)


def _pairs(words: Sequence[str]) -> Iterator[int]:
    """`nineteen ninety nine` as 19 and 99: tens take the unit after them, everything else stands by itself."""
    held: int | None = None
    for word in words:
        number = _UNITS.get(word, _TENS.get(word, 100 if word == "hundred" else SCALES.get(word, 0)))
        if held is not None and 0 < number < 10:
            yield held + number
            held = None
            continue
        if held is not None:
            yield held
        held = number if word in _TENS else None
        if held is None:
            yield number
    if held is not None:
        yield held


def numbers_in_words(folded: str, *, prose: bool) -> Iterator[Claim]:
    """Numbers in words, with `percent` or `dollars` after them; with `prose` the others: one word to ten without a unit."""
    for match in _IN_WORDS.finditer(folded):
        words = [word for word in re.findall(r"[a-z]+", match[0].lower()) if word not in {"a", "and"}]
        value = _spelled(words)
        start, end = match.span()
        if percent := _PERCENT.match(folded, end):
            claim = Claim(PERCENTAGE, folded[start : percent.end()], start, percent.end(), (f"{value}%",))
        elif dollars := _DOLLARS.match(folded, end):
            claim = Claim(AMOUNT, folded[start : dollars.end()], start, dollars.end(), (f"USD {value}",))
        else:
            claim = Claim(NUMBER, match[0], start, end, (value,))
        counts = (
            claim.kind != NUMBER or len(words) > 1 or int(value) > PROSE_LIMIT or _UNIT.match(folded, end) is not None
        )
        if counts is not prose:
            yield claim


def fractions(folded: str) -> Iterator[Claim]:
    """`three quarters`, `two-thirds`; value `3 quarter`."""
    for match in _FRACTION.finditer(folded):
        part = match["part"].lower().replace("halves", "half").removesuffix("s").replace("fourth", "quarter")
        yield Claim(FRACTION, match[0], match.start(), match.end(), (f"{_UNITS[match['count'].lower()]} {part}",))


def ordinals(folded: str, *, prose: bool) -> Iterator[Claim]:
    """`24th`, `twenty-fourth`; with `prose` those to ten that are written in words."""
    for match in _RANK_IN_WORDS.finditer(folded):
        rank = _TENS.get((match["tens"] or "").lower(), 0) + _RANKS[match["rank"].lower()]
        if (rank <= PROSE_LIMIT) is prose:
            yield Claim(ORDINAL, match[0], match.start(), match.end(), (str(rank),))
    if not prose:
        for match in _RANK_IN_DIGITS.finditer(folded):
            yield Claim(ORDINAL, match[0], match.start(), match.end(), (str(int(match["rank"])),))
