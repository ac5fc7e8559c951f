"""What a text states in figures: dates, identifiers, legal cites, amounts, percentages, numbers.

Finds each such claim in a text with its place and its canonical value, so that two spellings of one value compare equal and two
values never do. It never decides whether a claim is asserted, true or supported.

Rules
- A claim is a whole token: `460-ET` is not in `1460-ET`, `460-ETX`, `460-ET-2` or `3.460-ET`.
- A date is a whole date. `03/04/2020` has two readings and `3/24/20` has two centuries: a claim then has several values, and whoever
  compares must say so. A date that no calendar has (`February 30, 2020`, a weekday that does not fit) has no value at all.
- What is less than a date (`March 2020`, `March 24`, `2020`) is a claim of kind `partial date`.
- Offsets count characters of `fold(text)`, not of `text`.

Canonical values: date `2020-03-24`; partial date `2020-03`, `--03-24`, `--03`, `2020`; identifier `460-ET`; cite `45 CFR 162.1102`,
`85 FR 4236`, `21 USC 812(B)(2)`, `PUB L 114-198`; amount `USD 25000000`; percentage `75%`; number `397203`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import lru_cache

from tasks.domain.characters import fold

DATE = "date"
PARTIAL_DATE = "partial date"
IDENTIFIER = "identifier"
CITE = "cite"
AMOUNT = "amount"
PERCENTAGE = "percentage"
NUMBER = "number"


@dataclass(frozen=True, slots=True)
class Claim:
    """One value in a text. `values` are its possible readings in canonical form: none for an impossible date, several if ambiguous."""

    kind: str
    text: str
    start: int
    end: int
    values: tuple[str, ...]


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY_WORDS = (
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
    "sixteenth",
    "seventeenth",
    "eighteenth",
    "nineteenth",
    "twentieth",
    "twenty-first",
    "twenty-second",
    "twenty-third",
    "twenty-fourth",
    "twenty-fifth",
    "twenty-sixth",
    "twenty-seventh",
    "twenty-eighth",
    "twenty-ninth",
    "thirtieth",
    "thirty-first",
)

_MONTH = (
    r"(?:jan(?:uary)?|febr?(?:uary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?"
    r"|dec(?:ember)?)(?![a-z])\.?"
)
_CAPITAL_MONTH = r"(?-i:(?=[A-Z]))" + _MONTH
_DAY = r"(?:\d{1,2}(?:\s?(?:st|nd|rd|th)(?!\w))?|" + "|".join(sorted(_DAY_WORDS, key=len, reverse=True)) + ")"
_YEAR = r"(?:\d{4}|'?\d{2})"
_WEEKDAY = r"(?:(?P<weekday>(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?)\b\.?,?\s)?"
# A token starts where neither a word, a joined word, nor a larger number goes on.
_START = r"(?<!\w)(?<!\w[-/])(?<!\d[.,])"
_END = r"(?!\w)(?![-/]\w)(?!\.\d)"
_TO = r"\s?(?:-|/|&|to|through|thru|until|and|or)\s?"
# `page 1 - 24 March 2020` is a page and a date, not two days.
_NO_PAGE = r"(?<!page\s)(?<!pages\s)(?<!pg\s)(?<!pg\.\s)(?<!p\s)(?<!p\.\s)(?<!pp\.\s)(?<!p\.)(?<!=)"
_FLAGS = re.IGNORECASE

_MONTH_DAY_YEAR = re.compile(
    rf"{_START}{_WEEKDAY}(?P<month>{_MONTH})[\s-]?(?:the\s)?(?P<day>{_DAY})(?:(?:{_TO}|,\s?)(?P<day2>{_DAY}))??(?:\s?,?\s|,|-(?!\d\d?,?\s\d{{4}}))(?P<year>{_YEAR}){_END}",
    _FLAGS,
)
_DAY_MONTH_YEAR = re.compile(
    rf"{_START}{_WEEKDAY}(?:{_NO_PAGE}(?P<day2>{_DAY}){_TO})?(?P<day>{_DAY})(?:\s(?:day\s)?of\s|[\s-]?)(?P<month>{_MONTH})(?:,?\s?|-)"
    rf"(?:of\s|in\sthe\syear\s)?(?P<year>{_YEAR}){_END}",
    _FLAGS,
)
_YEAR_MONTH_DAY = re.compile(
    rf"{_START}(?P<year>\d{{4}})[\s,-]\s?(?P<month>{_MONTH})[\s-](?P<day>{_DAY}){_END}", _FLAGS
)
_NUMERIC = re.compile(
    rf"{_START}(?P<a>\d{{1,4}})\s?(?P<sep>[-/.])\s?(?P<b>\d{{1,2}})\s?(?P=sep)\s?(?P<c>\d{{1,4}})(?:T00:00(?::00(?:\.0+)?)?(?:Z|[+-]00:?00)?)?{_END}",
    _FLAGS,
)
_COMPACT = re.compile(rf"{_START}(?P<year>(?:19|20)\d\d)(?P<month>\d\d)(?P<day>\d\d){_END}")
_MONTH_DAY = re.compile(rf"{_START}(?P<month>{_CAPITAL_MONTH})\s(?:the\s)?(?P<day>{_DAY}){_END}", _FLAGS)
_DAY_MONTH = re.compile(rf"{_START}(?P<day>{_DAY})\s(?:of\s)?(?P<month>{_CAPITAL_MONTH})(?!\w)", _FLAGS)
_MONTH_YEAR = re.compile(rf"{_START}(?P<month>{_CAPITAL_MONTH})(?:,?\s|\sof\s)(?P<year>\d{{4}}){_END}", _FLAGS)
# A month alone; "may" is a verb more often than not, and the grader takes it for one.
_MONTH_ONLY = re.compile(
    rf"{_START}(?P<month>January|February|March|April|June|July|August|September|October|November|December){_END}"
)
_YEAR_ONLY = re.compile(rf"{_START}(?P<year>(?:19|20)\d\d){_END}")

_SCALES = {
    "thousand": 10**3,
    "k": 10**3,
    "million": 10**6,
    "m": 10**6,
    "billion": 10**9,
    "bn": 10**9,
    "trillion": 10**12,
}
_SCALE = r"(?:\s?(?P<scale>thousand|million|billion|trillion|bn|[km])(?!\w))?"
_FIGURE = r"(?P<figure>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,18}(?:\.\d{1,9})?)"
_CURRENCIES = {
    "$": "USD",
    "us$": "USD",
    "usd": "USD",
    "dollars": "USD",
    "dollar": "USD",
    "€": "EUR",
    "eur": "EUR",
    "£": "GBP",
    "gbp": "GBP",
}
_AMOUNT_BEFORE = re.compile(rf"(?<![\w$])(?P<currency>US\s?\$|USD|EUR|GBP|[$€£])\s?{_FIGURE}{_SCALE}{_END}", _FLAGS)
_AMOUNT_AFTER = re.compile(rf"{_START}{_FIGURE}{_SCALE}\s?(?:US\s)?(?P<currency>dollars?|USD|EUR|GBP){_END}", _FLAGS)
_PERCENTAGE = re.compile(rf"{_START}{_FIGURE}\s?(?:%|percent(?!\w)|per\scent(?!\w)|pct\.?(?!\w))", _FLAGS)
_NUMBER = re.compile(rf"(?<![\w.]){_FIGURE}(?:\s(?P<scale>thousand|million|billion|trillion)(?!\w))?(?![\w])", _FLAGS)

_SECTION = r"(?P<section>\d{1,5}(?:\.\d{1,5})?[a-z]?(?:-\d+)?(?:\s?\([a-z0-9]{1,5}\)){0,6})(?![\w])(?!\.\d)"
_CFR = re.compile(
    rf"{_START}(?P<title>\d{{1,3}})\s?C\.?\s?F\.?\s?R\.?,?\s?(?:(?:part|section|sec\.|§+)\s?)?{_SECTION}", _FLAGS
)
_USC = re.compile(
    rf"{_START}(?P<title>\d{{1,3}})\s?U\.?\s?S\.?\s?C\.?(?:\s?A\.?)?\s?(?:(?:section|sec\.|§+)\s?)?{_SECTION}", _FLAGS
)
_FR = re.compile(
    rf"{_START}(?P<volume>\d{{1,3}})\s(?:F\.?\s?R\.?|Fed\.?\s?Reg\.?|Federal\sRegister)\s(?:at\s)?(?P<page>\d{{1,3}},\d{{3}}|\d{{1,6}}){_END}",
    _FLAGS,
)
_PUBLIC_LAW = re.compile(
    rf"{_START}(?:Pub\.?\s?L\.?|Public\sLaw|P\.\s?L\.)\s?(?:No\.?\s?)?(?P<law>\d{{1,3}}\s?-\s?\d{{1,4}}){_END}", _FLAGS
)

_HYPHENATED = re.compile(r"(?<![\w-])(?<!\d[.,])[A-Za-z0-9]+(?:-[A-Za-z0-9]+)+(?![\w-])(?!\.\d)")
# NCPDP field numbers: three digits, then two characters (NNN-XX in the NCPDP data dictionary), with a hyphen, a blank or nothing between.
_FIELD_NUMBER = re.compile(
    r"(?<![\w:-])(?<!\d[.,:/])(?P<number>\d{3})(?:\s?-\s?|\s?)(?P<letters>(?!FR\b|AM\b|PM\b)[A-Z][A-Z0-9])(?![\w-])(?!\.\d)"
)


def _month(name: str) -> int:
    return _MONTHS.index(name[:3].lower()) + 1


def _day(text: str) -> int:
    word = text.lower()
    return _DAY_WORDS.index(word) + 1 if word in _DAY_WORDS else int(re.sub(r"\D", "", text))


def _years(text: str) -> tuple[int, ...]:
    """A two-digit year may be of this century or the last: nobody can tell from the text."""
    digits = text.lstrip("'")
    return (int(digits),) if len(digits) == 4 else (2000 + int(digits), 1900 + int(digits))


def _calendar(year: int, month: int, day: int) -> str | None:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None


def _distinct(values: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for value in values if value is not None))


def _named_dates(match: re.Match[str]) -> tuple[tuple[str, ...], ...]:
    """The readings of each date in a match with a month's name: one date, or two for `March 24-26, 2020`."""
    groups = match.groupdict()
    weekday = groups.get("weekday")
    found = []
    for day in (groups["day"], groups.get("day2")):
        if day is None:
            continue
        values = _distinct(_calendar(year, _month(groups["month"]), _day(day)) for year in _years(groups["year"]))
        if weekday:
            values = tuple(
                value for value in values if date.fromisoformat(value).weekday() == _WEEKDAYS.index(weekday[:3].lower())
            )
        found.append(values)
    return tuple(found)


def _numeric_date(match: re.Match[str]) -> tuple[str, ...] | None:
    """Readings of three numbers, or None where they are no attempt at a date (an administrative code, a part number)."""
    a, b, c = match["a"], match["b"], match["c"]
    if len(a) == 4 and len(c) <= 2:
        return _distinct([_calendar(int(a), int(b), int(c))])
    if len(a) > 2 or len(c) not in {2, 4}:
        return None
    years = _years(c)
    readings = [_calendar(year, *pair) for year in years for pair in ((int(a), int(b)), (int(b), int(a)))]
    if len(c) == 2 and len(a) == 2:
        readings += [_calendar(year, int(b), int(c)) for year in _years(a)]
    return _distinct(readings)


def _plain(figure: str, scale: str | None) -> str:
    value = Decimal(figure.replace(",", "")) * _SCALES.get((scale or "").lower(), 1)
    text = format(value.normalize(), "f")
    return text


def _section(text: str) -> str:
    return re.sub(r"\s", "", text).upper()


def _dates(text: str) -> Iterator[Claim]:
    for pattern in (_MONTH_DAY_YEAR, _DAY_MONTH_YEAR, _YEAR_MONTH_DAY):
        for match in pattern.finditer(text):
            for values in _named_dates(match):
                yield Claim(DATE, match[0], match.start(), match.end(), values)
    for match in _NUMERIC.finditer(text):
        readings = _numeric_date(match)
        if readings is not None:
            yield Claim(DATE, match[0], match.start(), match.end(), readings)
    for match in _COMPACT.finditer(text):
        value = _calendar(int(match["year"]), int(match["month"]), int(match["day"]))
        if value:
            yield Claim(DATE, match[0], match.start(), match.end(), (value,))


def _partial_dates(text: str) -> Iterator[Claim]:
    for pattern in (_MONTH_DAY, _DAY_MONTH):
        for match in pattern.finditer(text):
            # 2000 is a leap year: February 29 without a year is a possible day.
            possible = _calendar(2000, _month(match["month"]), _day(match["day"]))
            yield Claim(PARTIAL_DATE, match[0], match.start(), match.end(), (f"--{possible[5:]}",) if possible else ())
    for match in _MONTH_YEAR.finditer(text):
        yield Claim(
            PARTIAL_DATE, match[0], match.start(), match.end(), (f"{match['year']}-{_month(match['month']):02}",)
        )
    for match in _MONTH_ONLY.finditer(text):
        yield Claim(PARTIAL_DATE, match[0], match.start(), match.end(), (f"--{_month(match['month']):02}",))
    for match in _YEAR_ONLY.finditer(text):
        yield Claim(PARTIAL_DATE, match[0], match.start(), match.end(), (match["year"],))


def _cites(text: str) -> Iterator[Claim]:
    for name, pattern in (("CFR", _CFR), ("USC", _USC)):
        for match in pattern.finditer(text):
            yield Claim(
                CITE,
                match[0],
                match.start(),
                match.end(),
                (f"{int(match['title'])} {name} {_section(match['section'])}",),
            )
    for match in _FR.finditer(text):
        yield Claim(
            CITE,
            match[0],
            match.start(),
            match.end(),
            (f"{int(match['volume'])} FR {int(match['page'].replace(',', ''))}",),
        )
    for match in _PUBLIC_LAW.finditer(text):
        yield Claim(CITE, match[0], match.start(), match.end(), (f"PUB L {_section(match['law'])}",))


def _amounts(text: str) -> Iterator[Claim]:
    for pattern in (_AMOUNT_BEFORE, _AMOUNT_AFTER):
        for match in pattern.finditer(text):
            currency = _CURRENCIES[re.sub(r"\s", "", match["currency"]).lower()]
            yield Claim(
                AMOUNT, match[0], match.start(), match.end(), (f"{currency} {_plain(match['figure'], match['scale'])}",)
            )


def _percentages(text: str) -> Iterator[Claim]:
    for match in _PERCENTAGE.finditer(text):
        yield Claim(PERCENTAGE, match[0], match.start(), match.end(), (f"{_plain(match['figure'], None)}%",))


def _identifiers(text: str) -> Iterator[Claim]:
    for match in _FIELD_NUMBER.finditer(text):
        yield Claim(
            IDENTIFIER, match[0], match.start(), match.end(), (f"{match['number']}-{match['letters']}".upper(),)
        )
    for match in _HYPHENATED.finditer(text):
        parts = match[0].split("-")
        written = [part for part in parts if not part.isdigit()]
        # `24-hour` and `90-day` are words; an identifier's lower-case parts are short, or it has three parts and more.
        worded = any(part.isalpha() and not part.isupper() and (len(part) > 2 and len(parts) < 3) for part in parts)
        if written and any(c.isdigit() for c in match[0]) and not worded:
            yield Claim(IDENTIFIER, match[0], match.start(), match.end(), (match[0].upper(),))


def _numbers(text: str) -> Iterator[Claim]:
    for match in _NUMBER.finditer(text):
        yield Claim(NUMBER, match[0], match.start(), match.end(), (_plain(match["figure"], match["scale"]),))


# The order is the precedence where two readings of the same words overlap.
_FINDERS: tuple[Callable[[str], Iterator[Claim]], ...] = (
    _cites,
    _dates,
    _amounts,
    _percentages,
    _identifiers,
    _partial_dates,
    _numbers,
)


@lru_cache(maxsize=512)  # a page is read once for every question that cites it
def find_claims(text: str) -> tuple[Claim, ...]:
    """Every claim of `text`, in order of place; no two overlap unless one expression states two dates (`March 24-26, 2020`)."""
    folded = fold(text)
    taken = bytearray(len(folded))
    kept: list[Claim] = []
    for finder in _FINDERS:
        # Longest first within a kind, so that a whole date wins over a shorter reading of its words.
        found = sorted(finder(folded), key=lambda claim: (claim.start - claim.end, claim.start))
        spans: set[tuple[int, int]] = set()
        for claim in dict.fromkeys(found):
            span = (claim.start, claim.end)
            if span in spans or not any(taken[claim.start : claim.end]):
                taken[claim.start : claim.end] = b"\x01" * (claim.end - claim.start)
                spans.add(span)
                kept.append(claim)
    return tuple(sorted(kept, key=lambda claim: (claim.start, claim.end)))


def find_identifier(identifier: str, text: str) -> tuple[tuple[int, int], ...]:
    """Where `identifier` stands in `fold(text)` as a token of its own, with a hyphen, a blank or nothing between its parts, in any case."""
    parts = [re.escape(part) for part in re.split(r"[\s-]+", fold(identifier)) if part]
    if not parts:
        return ()
    pattern = re.compile(r"(?<![\w-])(?<!\d[.,])" + r"(?:\s?-\s?|\s?)".join(parts) + r"(?![\w-])(?!\.\d)", _FLAGS)
    return tuple(match.span() for match in pattern.finditer(fold(text)))


def find_phrase(phrase: str, text: str) -> tuple[tuple[int, int], ...]:
    """Where the words of `phrase` stand in `fold(text)` one after the other, as whole words, in any case."""
    words = [re.escape(word) for word in re.split(r"[\s-]+", fold(phrase)) if word]
    if not words:
        return ()
    pattern = re.compile(r"(?<![\w-])" + r"[\s-]+".join(words) + r"(?!\w)(?!-\w)", _FLAGS)
    return tuple(match.span() for match in pattern.finditer(fold(text)))


def same_family(left: str, right: str) -> bool:
    """Whether two identifiers are of one numbering scheme (`460-ET`, `403-D3`): as many parts, each as long, the first of one kind."""
    a, b = left.split("-"), right.split("-")
    return [len(part) for part in a] == [len(part) for part in b] and a[0].isdigit() == b[0].isdigit()


def date_parts(value: str) -> frozenset[str]:
    """The partial dates that a whole date contains: `2020-03-24` gives `2020-03`, `--03-24`, `--03` and `2020`."""
    return frozenset({value[:7], f"--{value[5:]}", f"--{value[5:7]}", value[:4]})


def implied(claims: Iterable[Claim]) -> frozenset[tuple[str, str]]:
    """All (kind, value) pairs that `claims` support, partial dates included. An ambiguous claim supports nothing."""
    pairs: set[tuple[str, str]] = set()
    for claim in claims:
        if len(claim.values) != 1:
            continue
        pairs.add((claim.kind, claim.values[0]))
        if claim.kind == DATE:
            pairs |= {(PARTIAL_DATE, part) for part in date_parts(claim.values[0])}
        elif claim.kind == PARTIAL_DATE and claim.values[0].startswith("--"):
            pairs.add((PARTIAL_DATE, claim.values[0][:4]))
        elif claim.kind == PARTIAL_DATE and len(claim.values[0]) == 7:
            pairs |= {(PARTIAL_DATE, claim.values[0][:4]), (PARTIAL_DATE, f"-{claim.values[0][4:]}")}
    return frozenset(pairs)
