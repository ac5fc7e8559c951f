"""What a text states, as claims with values that can be compared: the table of kinds of claims, and which values contain which.

Decides which words of a text are a claim (`KINDS`), when two claims are equal (`keys`), and what is stated along with a claim
(`stated`). It never decides where a claim must stand.

Rules
- A text is read kind by kind, in the table's order; words that one kind has read are not read again.
- Every digit belongs to a claim: what no kind reads is a claim of the kind `token`, equal only to the same characters in any case.
- A claim is equal by value where it has one value, and by its words otherwise. Plain numbers are equal as they are written (162.110 is not
  162.11); amounts and percentages are equal as numbers.

Cost: linear in the text; the last 512 texts are remembered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from tasks.domain.characters import fold
from tasks.domain.claims import (
    AMOUNT,
    CITE,
    DATE,
    IDENTIFIER,
    NUMBER,
    PARTIAL_DATE,
    PERCENTAGE,
    Claim,
    date_parts,
    find_claims,
)
from tasks.domain.numerals import FRACTION, ORDINAL, SCALES, fractions, numbers_in_words, ordinals

QUARTER = "quarter"
SECTION = "section"
DESIGNATION = "designation"
TOKEN = "token"

Locale = Literal["en-US", "en-GB", "iso"]
"""How 03/04/2020 is read: month first, day first, or not at all. One locale for a text and its passages."""

LOOSE = frozenset({PARTIAL_DATE, NUMBER, ORDINAL, TOKEN, QUARTER, SECTION, DESIGNATION, FRACTION})
"""Kinds that the next keystroke may turn into another: `March 2`, `46`."""

_FLAGS = re.IGNORECASE
MONTHS = tuple("January February March April May June July August September October November December".split())

# --------------------------------------------------------------------------------------- periods, sections, schedules

_YEAR = r"(?P<fiscal>FY|fiscal(?:\syear)?)?\s?(?:CY\s?|calendar\syear\s|year\s)?(?P<year>(?:19|20)\d\d)(?!\w)(?![-/]\w)"
_QUARTERS = tuple(
    re.compile(pattern, _FLAGS)
    for pattern in (
        rf"(?<![\w-])Q\s?(?P<q>[1-4])\s?[/,-]?\s?(?:of\s)?{_YEAR}",
        r"(?<![\w-])(?P<fiscal>FY\s?)?(?P<year>(?:19|20)\d\d)[\s/-]?Q(?P<q>[1-4])(?!\w)",
        rf"(?<![\w-])(?P<q>first|second|third|fourth|1st|2nd|3rd|4th)\squarter,?\s(?:of\s|in\s)?(?:the\s)?{_YEAR}",
        r"(?<![\w-])(?:Q\s?(?P<q>[1-4])|(?P<rank>first|second|third|fourth|1st|2nd|3rd|4th)\squarter)(?![\w-])",
    )
)
_QUARTER_NAMES = {"first": "1", "second": "2", "third": "3", "fourth": "4"}
_PARAGRAPHS = r"(?:\s?\([a-z0-9]{1,5}\))"
_SECTIONS = (
    re.compile(
        rf"(?<!\w)(?:§+\s?|sections?\s|secs?\.\s?)(?P<section>\d{{1,5}}(?:\.\d{{1,5}})?[a-z]?(?:-\d+)?{_PARAGRAPHS}{{0,6}})(?!\w)(?!\.\d)",
        _FLAGS,
    ),
    re.compile(
        r"(?<![\w.,-])(?P<section>\d{1,5}(?:\.\d{1,5})?[a-z]?(?:-\d+)?(?:\([a-z0-9]{1,5}\)){1,6})(?!\w)", _FLAGS
    ),
)
_HEADS = (
    "schedule part title version phase type table class tier level appendix annex chapter subpart subtitle category stage "
    "volume article group exhibit attachment form model unit zone grade"
).split()
_ROMAN = r"(?=[IVXLC])(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})"
_DESIGNATION = re.compile(rf"(?<![\w-])(?P<head>{'|'.join(_HEADS)})(?P<plural>s|es)?\s", _FLAGS)
_MARK = re.compile(rf"(?P<mark>{_ROMAN}|[A-Z])(?![\w'])(?!\.\w)(?!-\w)")
_LOW_MARK = re.compile(r"(?P<mark>i{2,3}|iv|vi{1,3}|ix)(?![\w'-])")
_NEXT_MARK = re.compile(r"(?:,\s(?:and\s|or\s)?|\s?-\s?|\s?/\s?|\s(?:and|or|to|through|through\sto|&)\s)")


def _quarters(folded: str) -> Iterator[Claim]:
    for pattern in _QUARTERS:
        for match in pattern.finditer(folded):
            groups = match.groupdict()
            name = (groups["q"] or groups["rank"]).lower()
            number = _QUARTER_NAMES.get(name, name[0])
            year = groups.get("year")
            value = f"{'FY' if groups.get('fiscal') else ''}{year}-Q{number}" if year else f"--Q{number}"
            yield Claim(QUARTER, match[0], match.start(), match.end(), (value,))


def _sections(folded: str) -> Iterator[Claim]:
    for pattern in _SECTIONS:
        for match in pattern.finditer(folded):
            value = re.sub(r"\s", "", match["section"]).upper()
            yield Claim(SECTION, match[0], match.start(), match.end(), (value,))


def _designations(folded: str) -> Iterator[Claim]:
    """`Schedule II`, `Part A`, `Schedules III to V`: a kind of thing and a Roman numeral or a letter."""
    for match in _DESIGNATION.finditer(folded):
        head, plural = match["head"], match["plural"] is not None
        start, position = match.start(), match.end()
        while mark := _MARK.match(folded, position) or _LOW_MARK.match(folded, position):
            # `in part I agree`, `type a name`: one letter names something only after a capitalised word.
            if len(mark["mark"]) == 1 and not (head[0].isupper() or plural):
                break
            yield Claim(DESIGNATION, folded[start : mark.end()], start, mark.end(), (f"{head} {mark['mark']}".upper(),))
            following = _NEXT_MARK.match(folded, mark.end())
            if following is None:
                break
            start = position = following.end()


# ---------------------------------------------------------------------------------------------------- kinds of claims

_SCALE_AFTER = re.compile(r"\s(thousand|million|billion|trillion)(?!\w)", _FLAGS)
_CONNECTED = re.compile(r",?\s?(?:(?:of|in|the|that|same|year|calendar|during|for)\s){0,5}", _FLAGS)
_JOINT = re.compile(r"[-/:.,+*^×=~]{1,3}")
_DIGITS = re.compile(r"\d")
_PIECE = re.compile(r"[^\s,;()\[\]{}\"<>|]+")


def _base(kind: str) -> Callable[[str], Iterator[Claim]]:
    """The claims of one kind that `find_claims` reads; `$25 million.` with a footnote's mark after it keeps its million."""

    def find(folded: str) -> Iterator[Claim]:
        for claim in find_claims(folded):
            if claim.kind != kind:
                continue
            after = _SCALE_AFTER.match(folded, claim.end) if kind in {AMOUNT, NUMBER} else None
            if after is None or not claim.text[-1].isdigit():
                yield claim
                continue
            currency, _, figure = claim.values[0].rpartition(" ")
            value = format(Decimal(figure) * SCALES[after[1].lower()], "f")
            text = folded[claim.start : after.end()]
            yield Claim(kind, text, claim.start, after.end(), (f"{currency} {value}".strip(),))

    return find


def _composed_dates(folded: str) -> Iterator[Claim]:
    """`March 24 of the same year, 2020` states a whole date, though no single expression of a date has all of it."""
    parts = [claim for claim in find_claims(folded) if claim.kind == PARTIAL_DATE and claim.values]
    for left, right in pairwise(parts):
        if re.fullmatch(r"--\d\d-\d\d", left.values[0]) and re.fullmatch(r"\d{4}", right.values[0]):
            between = folded[left.end : right.start]
            if _CONNECTED.fullmatch(between.lstrip() if between[:1] != "," else between):
                value = f"{right.values[0]}{left.values[0][1:]}"
                yield Claim(DATE, folded[left.start : right.end], left.start, right.end, _real_day(value))


def _real_day(value: str) -> tuple[str, ...]:
    try:
        return (date.fromisoformat(value).isoformat(),)
    except ValueError:
        return ()


def _joined(folded: str) -> Iterator[Claim]:
    """Figures that one sign joins are one claim: `10:30`, `3/4`, `2019-2020`, `463-78-020`, `-5`."""
    run: list[Claim] = []
    figures = [
        claim for claim in find_claims(folded) if claim.kind in {NUMBER, PARTIAL_DATE} and claim.text[0].isdigit()
    ]
    for claim in [*figures, None]:
        if run and claim is not None and _JOINT.fullmatch(folded, run[-1].end, claim.start):
            run.append(claim)
            continue
        if run:
            start, end = run[0].start, run[-1].end
            signed = start > 0 and folded[start - 1] == "-" and (start == 1 or folded[start - 2] in " (=:")
            start -= signed
            if len(run) > 1 or signed:
                end += folded[end : end + 1] == "%"
                yield Claim(TOKEN, folded[start:end], start, end, (folded[start:end].upper(),))
        run = [claim] if claim is not None else []


def _tokens(folded: str, taken: bytearray) -> Iterator[Claim]:
    """Whatever has a digit that no other kind has read."""
    rest = "".join(" " if taken[i] else character for i, character in enumerate(folded))
    for piece in _PIECE.finditer(rest):
        if _DIGITS.search(piece[0]):
            text = piece[0].strip(".:!?'`*_#-")
            start = piece.start() + piece[0].index(text)
            yield Claim(TOKEN, text, start, start + len(text), (text.upper(),))


def _one_letter_off(words: Iterable[str]) -> str:
    """A pattern of every word that differs in one letter from one of `words`, and of those words themselves."""
    return "(?:" + "|".join(f"{word[:i]}[a-z]{word[i + 1 :]}" for word in words for i in range(len(word))) + ")"


_AFTER_FIGURES = _one_letter_off("dollars dollar thousand million billion percent usd".split())
_CODES = _one_letter_off("usd eur gbp".split())
_ALMOST = tuple(
    re.compile(pattern, _FLAGS)
    for pattern in (
        # A word in the place of the month: misspelt, or of another language.
        r"(?<![\w-])(?-i:[A-Z])[^\W\d_]{2,9}\.?[\s-]?\d{1,2}(?:st|nd|rd|th)?(?:,\s?|\s|-)\d{4}(?!\w)(?![.,]\d)",
        r"(?<![\w-])\d{1,2}(?:st|nd|rd|th)?\.?[\s-]?(?:of\s|de\s)?[^\W\d_]{3,10}\.?(?:,\s?|\s|-)?\d{4}(?!\w)(?![.,]\d)",
        rf"(?<![\w-]){_CODES}\s?\d[\d,]*(?:\.\d+)?(?!\w)",
        rf"(?<![\w.,-])\$?\s?\d[\d,]*(?:\.\d+)?\s{_AFTER_FIGURES}(?!\w)",
    )
)

_ALMOST_CITE = re.compile(
    r"(?<![\w.,-])\d{1,3}\s(?:[A-Z]\.?\s?){2,4}(?:§+\s?)?\d[\d,]*(?:\.\d+)?[a-z]?(?:\([a-zA-Z0-9]{1,5}\)){0,6}(?!\w)"
)


def _almost_cites(folded: str) -> Iterator[Claim]:
    for match in _ALMOST_CITE.finditer(folded):
        yield Claim(TOKEN, match[0], match.start(), match.end(), (match[0].upper(),))


def _almost(folded: str) -> Iterator[Claim]:
    """What would be a date or an amount but for one letter is a claim as it is written, not a few loose figures."""
    for pattern in _ALMOST:
        for match in pattern.finditer(folded):
            yield Claim(TOKEN, match[0], match.start(), match.end(), (match[0].upper(),))


@dataclass(frozen=True, slots=True)
class Kind:
    """A row of the table. `find` gives the claims of a folded text; `needs` is False where a text may say it without a source,
    while a passage that says it is still a source (`within two days` in a passage for `2`).
    """

    name: str
    says: str
    find: Callable[[str], Iterator[Claim]]
    needs: bool = True


KINDS: tuple[Kind, ...] = (
    Kind("cite", "CFR, USC, Federal Register, public law", _base(CITE)),
    Kind("date", "a day with month and year, in any spelling", _base(DATE)),
    Kind("composed date", "a day and a year with only small words between them", _composed_dates),
    Kind("quarter", "Q3 2025, third quarter of 2025, Q3", _quarters),
    Kind("almost a cite", "21 CFS 1306.13, 21 U.S.B. 829(a): figures with capitals between", _almost_cites),
    Kind("section", "§ 829, section 162.1102, 1306.13(b)(2)", _sections),
    Kind("amount", "money, in figures", _base(AMOUNT)),
    Kind("percentage", "a share, in figures", _base(PERCENTAGE)),
    Kind("identifier", "460-ET, CMS-0055-F, QI-2025-014", _base(IDENTIFIER)),
    Kind("almost another", "Marsh 24, 2020; 24 März 2020; 25 millian", _almost),
    Kind("fraction", "three quarters, two thirds", fractions),
    Kind(
        "number in words",
        "fifteen, four hundred sixty, two percent, three days",
        lambda text: numbers_in_words(text, prose=False),
    ),
    Kind("ordinal", "24th, twenty-fourth", lambda text: ordinals(text, prose=False)),
    Kind("designation", "Schedule II, Part A", _designations),
    Kind("joined figures", "10:30, 3/4, 2019-2020, -5", _joined),
    Kind("partial date", "a month, a year, a day without a year", _base(PARTIAL_DATE)),
    Kind("number", "any other figure", _base(NUMBER)),
    Kind(
        "small number in words",
        "two to ten, without a unit",
        lambda text: numbers_in_words(text, prose=True),
        needs=False,
    ),
    Kind("small ordinal in words", "first to tenth", lambda text: ordinals(text, prose=True), needs=False),
)
"""In order of precedence where two readings of the same words overlap; after them comes `token`, for every digit that is left."""


@dataclass(frozen=True, slots=True)
class Read:
    """The claims of a folded text: those that need a source, and those that only give one."""

    claims: tuple[Claim, ...]
    prose: tuple[Claim, ...]


@lru_cache(maxsize=512)
def read(folded: str) -> Read:
    """The claims of a text that `fold` has folded, in order of place."""
    taken = bytearray(len(folded))
    claims: list[Claim] = []
    prose: list[Claim] = []
    for kind in KINDS:
        spans: set[tuple[int, int]] = set()
        for claim in sorted(kind.find(folded), key=lambda claim: (claim.start - claim.end, claim.start)):
            span = (claim.start, claim.end)
            # One expression may state two dates (`March 24-26, 2020`): then both have its span.
            if span in spans or not any(taken[claim.start : claim.end]):
                taken[claim.start : claim.end] = b"\x01" * (claim.end - claim.start)
                spans.add(span)
                (claims if kind.needs else prose).append(claim)
    claims.extend(_tokens(folded, taken))
    return Read(tuple(sorted(claims, key=lambda claim: (claim.start, claim.end))), tuple(prose))


# ---------------------------------------------------------------------------------------------------- equal, and contained

Key = tuple[str, str]
_FIGURE = re.compile(r"[\d,]*\d(?:\.\d+)?")
_FOUR_DIGITS = re.compile(r"\d{4}")


def values(claim: Claim, locale: Locale) -> tuple[str, ...]:
    """The value of a claim in this locale: one, or none where it has no clear one."""
    if claim.kind == NUMBER and claim.text[0].isdigit() and _FIGURE.fullmatch(claim.text):
        # As it is written: 162.110 is no other spelling of 162.11, nor 007 of 7.
        return (claim.text.replace(",", ""),)
    if claim.kind == DATE and len(claim.values) == 2 and _FOUR_DIGITS.search(claim.text) and locale != "iso":
        return (claim.values[0] if locale == "en-US" else claim.values[1],)
    return claim.values if len(claim.values) == 1 else ()


def keys(claim: Claim, locale: Locale) -> tuple[Key, ...]:
    """What a source must have, one of them, for this claim to stand in it."""
    written = (f"{claim.kind}, as written", claim.text.upper())
    equal = [(claim.kind, value) for value in values(claim, locale)]
    if claim.kind == SECTION and "." in claim.values[0] and "(" not in claim.values[0]:
        equal.append((NUMBER, claim.values[0]))
    return (*equal, written)


def _also(kind: str, value: str) -> Iterator[Key]:
    """What is stated along with a value: the less exact in the more exact."""
    if kind == DATE:
        yield from ((PARTIAL_DATE, part) for part in date_parts(value))
        yield NUMBER, value[:4]
    elif kind == PARTIAL_DATE:
        if value.startswith("--"):
            yield PARTIAL_DATE, value[:4]
        else:
            yield PARTIAL_DATE, value[:4]
            yield NUMBER, value[:4]
            if len(value) == 7:
                yield PARTIAL_DATE, f"-{value[4:]}"
    elif kind == AMOUNT:
        yield NUMBER, value.partition(" ")[2]
    elif kind == PERCENTAGE:
        yield NUMBER, value.removesuffix("%")
    elif kind == CITE and value.split(" ")[1] in {"CFR", "USC"}:
        yield SECTION, value.split(" ")[2]
        yield NUMBER, value.split(" ")[2]
    elif kind == SECTION:
        yield NUMBER, value
    elif kind == QUARTER:
        year, _, quarter = value.rpartition("-")
        yield QUARTER, f"--{quarter}"
        if len(year) == 4:
            yield PARTIAL_DATE, year
    elif kind == NUMBER and re.fullmatch(r"(?:19|20)\d\d", value):
        yield PARTIAL_DATE, value
    elif kind == TOKEN and (ends := re.fullmatch(r"(\d+)[-/](\d+)", value)):
        for end in ends.groups():
            yield NUMBER, end
            if re.fullmatch(r"(?:19|20)\d\d", end):
                yield PARTIAL_DATE, end


# A footnote's mark is set close to what it follows: superscript, or as a figure between a full stop and the next sentence.
_SUPERSCRIPT = re.compile("[⁰¹²³⁴-⁹]+")
_FOOTNOTE = re.compile(r"(?<=\d{4}|[a-z]{4})\.(\d{1,3})(?=\s[A-Z])")


@lru_cache(maxsize=512)  # a passage is read once, and asked about before every keystroke
def stated(text: str, locale: Locale) -> frozenset[Key]:
    """Everything that a source states."""
    plain = fold(_SUPERSCRIPT.sub(" ", text))
    found: set[Key] = set()
    for reading in dict.fromkeys((plain, _FOOTNOTE.sub(r". [\1]", plain))):
        said = read(reading)
        for claim in (*said.claims, *said.prose):
            found.update(keys(claim, locale))
            for value in values(claim, locale):
                found.update(_also(claim.kind, value))
    return frozenset(found)
