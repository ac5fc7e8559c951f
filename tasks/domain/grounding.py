"""No fact without a source: which claims of a text stand in no passage of this run and in no fact of the task.

Decides, for a text that is to be typed or that a field holds, which of its claims are unsourced. It never decides whether a claim is true,
whether it answers the question (that is the grader's), or whether the action may be done; and it asks nobody: what a page or a document
asks for is no source, only what a passage states is.

What counts as a claim: the rows of the table in statements.py, and mentions of documents and pages. Whatever is none of them is prose
and needs no source.

Rules
1. Every digit of a text belongs to a claim, whatever it looks like: what no other kind reads is a claim of the kind `token`.
   The exception is the numbers of a list, 1. 2. 3., each at the head of a line.
2. A claim is grounded if an equal claim stands in a passage or in a fact. Equal is equal in value (March 24, 2020 = 2020-03-24;
   460–ET = 460-ET; 21 CFR 1306.13 = 21 C.F.R. § 1306.13), never nearly. A less exact claim stands in a more exact one where
   statements.py says so (2020 in March 24, 2020; 500000 in $500,000), never the other way round. What has no clear value
   (03/04/05, February 30) stands only where it stands in the same words.
3. A citation is a passage that was returned: document and page; a document's bare name, or pages without a document, may also stand in
   a source as words. The claims that it is put beside stand on that document's page, in what was
   returned of it, or are facts of the task. A claim belongs to the citation in brackets after it, else to those of its sentence, else
   to a next sentence that is a citation and nothing else; a claim without a citation may stand in any passage.
4. A word that mixes letters or digits with a look-alike, an invisible or a combining character is unsourced as a whole, unless the same
   characters stand in a passage or a fact: folded it would read as what it only resembles.
5. Sources only add: another passage or fact never makes a grounded text unsourced, and their order changes nothing. (The exception: a
   document whose name cannot be told from prose, with blanks or without an extension, changes what a text says once it is a source.)

Where the whole content of a field is judged, every claim is final. Of a fragment that more keys will lengthen, the claims at its two edges
may be unfinished: `fragment=True` lets them through where what is written may still become something grounded ("March 2" of March 24).
That is good for an early answer only: whoever types must have the field's whole content judged before anything is committed.

Cost: linear in the text and in the passages; each passage is read once (512 are remembered). A field of 200 characters takes about
1 ms, a passage of 1,000 about 20 ms when it is first read, 20,000 characters of the worst kinds 1 s.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from tasks.domain.characters import fold, oddities, visible
from tasks.domain.citation import Reference, parse_citations
from tasks.domain.claims import AMOUNT, DATE, IDENTIFIER, NUMBER, Claim
from tasks.domain.lexicon import ABBREVIATIONS
from tasks.domain.statements import LOOSE, MONTHS, Key, Locale, keys, read, stated

_FLAGS = re.IGNORECASE

MOST_REFERENCES = 300
"""Mentions of documents and pages in one text; no field of a form has as many, and each is compared with the others."""
LONGEST_WORD = 256
"""Characters without a blank: more than a file's name can have."""


@dataclass(frozen=True, slots=True)
class Source:
    """What a search returned of one page: `text` as the model was shown it, `page` counts from 1."""

    document: str
    page: int
    text: str


@dataclass(frozen=True, slots=True)
class _Sources:
    """What the run's passages and the task's facts state, by where they state it."""

    anywhere: frozenset[Key]
    facts: frozenset[Key]
    places: Mapping[tuple[str, int], frozenset[Key]]
    words: frozenset[str]
    texts: frozenset[str]

    def show(self, words: str) -> bool:
        """Whether a passage or a fact has these words, whole, in any case."""
        found = re.compile(rf"(?<![\w-]){re.escape(words.casefold())}(?![\w-])")
        return any(found.search(text) for text in self.texts)

    def at(self, places: Iterable[tuple[str, int]]) -> frozenset[Key]:
        return frozenset().union(*(self.places.get(place, frozenset()) for place in places))


@lru_cache(maxsize=16)
def _gathered(passages: frozenset[Source], facts: frozenset[str], locale: Locale) -> _Sources:
    places: dict[tuple[str, int], frozenset[Key]] = {}
    for passage in passages:
        place = (passage.document, passage.page)
        places[place] = places.get(place, frozenset()) | stated(passage.text, locale)
    task = frozenset[Key]().union(*(stated(fact, locale) for fact in facts))
    texts = [*(passage.text for passage in passages), *facts]
    odd = frozenset(word for text in texts if not text.isascii() for word in _words(text))
    shown = frozenset(fold(text).casefold() for text in texts)
    return _Sources(task.union(*places.values()), task, MappingProxyType(places), odd, shown)


# ------------------------------------------------------------------------------------------------- deceptive characters

# Line and paragraph separators are no blanks here: they are not what a person types between two words.
_BETWEEN_WORDS = re.compile(r"[ \t\r\n\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]+")


def _words(text: str) -> list[str]:
    return _BETWEEN_WORDS.split(unicodedata.normalize("NFC", text))


def _deceptive(word: str) -> bool:
    if word.isascii() and word.isprintable():
        return False
    if not any(oddity.kind != "symbol" for oddity in oddities(word)):
        return False
    return any(
        unicodedata.category(character)[0] == "N"
        or (unicodedata.category(character)[0] == "L" and "LATIN" in unicodedata.name(character, ""))
        for character in word
    )


# ------------------------------------------------------------------------------------------------------------ citations

_MENTION = re.compile(
    r"\.(?:pdf|html?|docx?|txt|text|md|rtf|xml|odt|csv|json)(?!\w)|(?<![\w-])(?:pages?|pgs?|pp?|pag)(?![\w-])", _FLAGS
)
_LONG_WORD = re.compile(rf"\S{{{LONGEST_WORD + 1},}}")
_NO_SINGLE_PAGE = "it names no single page"
_NO_PAGE = "it names no page"
_BESIDE = re.compile(r"[\W_]*(?:(?:of|in|see|the|and|from|through|document|file)(?!\w)[\W_]*)*", _FLAGS)
_JOINING = re.compile(r"[\W_]*(?:(?:and|or|also|see|cf|with)(?!\w)[\W_]*)*", _FLAGS)
_ONLY_SOURCE = re.compile(
    r"(?:\W|\b(?:sources?|see|cited?|from|per|at|in|document|the|as|stated|found|on|reference)\b)*", _FLAGS
)
_SENTENCE = re.compile(r"[.!?;]['\"]?\s")


@dataclass(frozen=True, slots=True)
class _Cited:
    """Mentions of documents that stand together: where they are, what they allow, and whether they stand in brackets."""

    start: int
    end: int
    places: tuple[tuple[str, int], ...]
    bracketed: bool
    text: str


def _far(folded: str, reference: Reference) -> bool:
    """Whether its words that name no page (`throughout`) stand apart from the document, as prose does."""
    pairs = zip(reference.parts, reference.parts[1:], strict=False)
    return any(_BESIDE.fullmatch(folded, left.end, right.start) is None for left, right in pairs)


def _mentions(folded: str, sources: _Sources) -> int:
    """About how many documents and pages a text mentions."""
    lowered = folded.casefold()
    names = {fold(document).casefold() for document, _ in sources.places}
    return len(_MENTION.findall(folded)) + sum(lowered.count(name) for name in names)


def _references(folded: str, sources: _Sources) -> tuple[list[Reference], list[str]]:
    """The mentions of documents and pages, and those among them that are no passage of this run, as written."""
    documents = sorted({document for document, _ in sources.places})
    lowered = folded.casefold()
    wrong = [
        visible(word[0], 60) for word in _LONG_WORD.finditer(folded) if _MENTION.search(word[0])
    ]  # no file has such a name, and a citation has blanks
    shown = _LONG_WORD.sub(lambda word: "\0" * len(word[0]), folded)
    named = [name for name in documents if fold(name).casefold() in lowered]
    first = _judged(folded, shown, named, sources)
    # A document may go by its name without the extension; what reads well without that keeps its reading.
    best = (
        first
        if not first[1] or named == documents
        else min(first, _judged(folded, shown, documents, sources), key=lambda judged: len(judged[1]))
    )
    return best[0], wrong + best[1]


def _judged(folded: str, shown: str, documents: Sequence[str], sources: _Sources) -> tuple[list[Reference], list[str]]:
    kept: list[Reference] = []
    wrong: list[str] = []
    pages_only = re.fullmatch(r"(?:(?:pages?|pgs?|pp?|pag|nos?|and|to|through)(?![^\W\d])|\d|[\W_])+", folded, _FLAGS)
    for reference in parse_citations(shown, documents):
        if not reference.document:
            # Words like "all pages" say nothing without a document; the digits of what cannot be read are judged as claims.
            if reference.pages:
                kept.append(reference)
                returned = {page for _, page in sources.places}
                if not (pages_only and returned.issuperset(reference.pages)) and not sources.show(reference.text):
                    wrong.append(reference.text)
            continue
        kept.append(reference)
        if not reference.known:
            if reference.pages or not sources.show(reference.document):
                wrong.append(reference.text)
            continue
        missing = [page for page in reference.pages if (reference.document, page) not in sources.places]
        unread = reference.problem not in {"", _NO_PAGE} and not (
            reference.problem == _NO_SINGLE_PAGE and _far(folded, reference)
        )
        if unread:
            wrong.append(reference.text)
        elif missing:
            wrong.append(f"{reference.document}, page {', '.join(map(str, missing))}")
        elif reference.total is not None and (NUMBER, str(reference.total)) not in sources.anywhere:
            wrong.append(reference.text)
    return kept, wrong


def _cited(folded: str, references: Sequence[Reference], sources: _Sources) -> list[_Cited]:
    """Groups of neighbouring citations, in order. What is no passage of this run, or only a name that a source gives, is none."""
    depths = _depths(folded)
    groups: list[_Cited] = []
    for reference in references:
        if not reference.pages and sources.show(reference.document):
            continue
        pages = reference.pages or tuple(page for document, page in sources.places if document == reference.document)
        places = tuple((reference.document, page) for page in pages if (reference.document, page) in sources.places)
        if not places:
            continue
        start, end = min(part.start for part in reference.parts), max(part.end for part in reference.parts)
        group = _Cited(start, end, places, depths[start] > 0, folded[start:end])
        if groups and groups[-1].end <= start and _JOINING.fullmatch(folded, groups[-1].end, start):
            before = groups.pop()
            group = _Cited(before.start, end, before.places + places, before.bracketed, folded[before.start : end])
        groups.append(group)
    return groups


def _depths(folded: str) -> list[int]:
    """How many brackets are open at each character; one without an end counts for nothing."""
    depth, depths = 0, [0] * len(folded)
    opened: list[int] = []
    pairs: dict[int, int] = {}
    for i, character in enumerate(folded):
        if character in "([":
            opened.append(i)
        elif character in ")]" and opened:
            begin = opened.pop()
            pairs[begin] = 1
            pairs[i] = -1
    for i in range(len(folded)):
        depth += pairs.get(i, 0)
        depths[i] = depth
    return depths


def _sentences(folded: str, spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Where sentences begin and end; never inside brackets, a claim, a citation, or after an abbreviation."""
    inside = bytearray(len(folded) + 1)
    for start, end in spans:
        inside[start : end - 1] = b"\x01" * max(end - 1 - start, 0)
    depths = _depths(folded)
    cuts = [0]
    for match in _SENTENCE.finditer(folded):
        at = match.start()
        if inside[at] or depths[at]:
            continue
        word = re.search(r"[^\W\d_]*$", folded[max(at - 12, 0) : at])
        name = word[0] if word else ""
        if folded[at] == "." and name and (len(name) == 1 or ABBREVIATIONS.touches(name.lower())):
            continue
        cuts.append(match.end())
    return list(zip(cuts, [*cuts[1:], len(folded)], strict=True))


def _beside(folded: str, claims: Sequence[Claim], groups: Sequence[_Cited]) -> dict[Claim, tuple[_Cited, ...]]:
    """The citations that each claim is put beside; none for a claim whose sentence has none."""
    spans = [*((c.start, c.end) for c in claims), *((g.start, g.end) for g in groups)]
    sentences = _sentences(folded, spans)
    held: list[tuple[list[Claim], list[_Cited]]] = [([], []) for _ in sentences]
    starts = [start for start, _ in sentences]
    for claim in claims:
        held[_place(starts, claim.start)][0].append(claim)
    for group in groups:
        held[_place(starts, group.start)][1].append(group)
    found: dict[Claim, tuple[_Cited, ...]] = {}
    for number, (said, cited) in enumerate(held):
        follows = held[number + 1] if number + 1 < len(held) else ([], [])
        if not cited and follows[1] and not follows[0] and _only_source(folded, sentences[number + 1], follows[1]):
            cited = follows[1][:1]
        position = 0
        for claim in said:
            while position < len(cited) and cited[position].start < claim.end:
                position += 1
            before, after = cited[position - 1 : position] if position else [], cited[position : position + 1]
            between = bool(before and after) and not (before[0].bracketed or after[0].bracketed)
            found[claim] = tuple(before + after if between else after or before)
    return found


def _place(starts: Sequence[int], at: int) -> int:
    low, high = 0, len(starts)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if starts[middle] <= at else (low, middle)
    return low


def _only_source(folded: str, sentence: tuple[int, int], groups: Sequence[_Cited]) -> bool:
    start, end = sentence
    rest = folded[start : groups[0].start] + " " + folded[groups[-1].end : end]
    return _ONLY_SOURCE.fullmatch(rest) is not None


# ------------------------------------------------------------------------------------------------------------- decision

_LIST_NUMBER = re.compile(r"^([ \t]*)(\d{1,3})([.)])(?=[ \t]+\S)", re.MULTILINE)


def _without_list_numbers(text: str) -> str:
    """`text` without 1. 2. 3. at the heads of its lines, where they count up from 1 and there are at least two."""
    marks = list(_LIST_NUMBER.finditer(text))
    if len(marks) < 2 or [int(mark[2]) for mark in marks] != list(range(1, len(marks) + 1)):
        return text
    return _LIST_NUMBER.sub(r"\1", text)


def unsourced(
    text: str,
    *,
    passages: Sequence[Source],
    facts: Sequence[str],
    locale: Locale = "en-US",
    fragment: bool = False,
) -> tuple[str, ...]:
    """Every claim of `text` that stands in none of this run's `passages` and in none of the task's `facts`, as written; empty is grounded.

    In the order of the text, each once. A citation that is no passage is named as a whole; a claim that stands elsewhere than its citation
    says is followed by the citation in brackets. A word with deceptive characters shows them by code point. `fragment` is for a part of a
    field's content (see the module's rules); a whole content is judged without it. Any text gives an answer; none raises.
    """
    given = frozenset(facts)
    if not text.strip() or text.strip() in given:
        return ()
    sources = _gathered(frozenset(passages), given, locale)
    missing = [visible(word) for word in _words(text) if _deceptive(word) and word not in sources.words]
    folded = fold(_without_list_numbers(text))
    if _mentions(folded, sources) > MOST_REFERENCES:
        return (*missing, f"more than {MOST_REFERENCES} documents and pages")
    references, wrong = _references(folded, sources)
    claims = _outside(read(folded).claims, references)
    beside = _beside(folded, claims, _cited(folded, references, sources))
    found: list[tuple[int, str]] = []
    for claim in claims:
        equal = keys(claim, locale)
        if not sources.facts.isdisjoint(equal):
            continue
        if fragment and _unfinished(claim, folded, sources, locale):
            continue
        if sources.anywhere.isdisjoint(equal):
            found.append((claim.start, claim.text))
            continue
        cited = beside.get(claim, ())
        if cited and sources.at(place for group in cited for place in group.places).isdisjoint(equal):
            found.append((claim.start, f"{claim.text} ({cited[-1].text})"))
    for each in wrong:
        at = folded.find(each)
        if not fragment or (at > 0 and at + len(each) < len(folded)):
            found.append((at, each))
    ordered = [each for _, each in sorted(found, key=lambda pair: pair[0])]
    return tuple(dict.fromkeys([*missing, *ordered]))


def _outside(claims: Sequence[Claim], references: Sequence[Reference]) -> list[Claim]:
    """The claims that are not part of a document's name or of its pages."""
    spans = sorted(
        (part.start, part.end)
        for reference in references
        for part in reference.parts
        if part.pages or reference.document
    )
    kept: list[Claim] = []
    position = 0
    for claim in claims:
        while position < len(spans) and spans[position][1] <= claim.start:
            position += 1
        if position == len(spans) or spans[position][0] >= claim.end:
            kept.append(claim)
    return kept


def _unfinished(claim: Claim, folded: str, sources: _Sources, locale: Locale) -> bool:
    """Whether a claim at the edge of a fragment may still become one that stands in a source.

    Loose kinds ("March 2", "46") always may; the others only where a sourced spelling begins, or ends, as they do.
    """
    first, last = " " not in folded[: claim.start], " " not in folded[claim.end :]
    if not (first or last):
        return False
    if claim.kind in LOOSE:
        return True
    begun, ended = folded[claim.start :].upper(), folded[: claim.end].upper()
    return any(
        (last and spelling.startswith(begun)) or (first and spelling.endswith(ended))
        for kind, value in sources.anywhere
        for spelling in _spellings(kind, value, locale)
    )


def _spellings(kind: str, value: str, locale: Locale) -> Iterator[str]:
    """The usual spellings of a sourced value, in capitals, that a fragment may be the beginning or the end of."""
    yield value.upper()
    if kind == DATE:
        year, month, day = (int(part) for part in value.split("-"))
        name = MONTHS[month - 1].upper()
        pair = (month, day) if locale == "en-US" else (day, month)
        yield from (
            f"{name} {day}, {year}",
            f"{day} {name} {year}",
            f"{name[:3]} {day}, {year}",
            f"{day} {name[:3]} {year}",
        )
        yield from ("{}/{}/{}".format(*pair, year), "{:02}/{:02}/{}".format(*pair, year), f"{day:02}.{month:02}.{year}")
    elif kind == AMOUNT and value.startswith("USD ") and value[4:].isdigit():
        yield from (f"${value[4:]}", f"${int(value[4:]):,}")
    elif kind == IDENTIFIER:
        yield value.replace("-", " ")


MOST_NAMED = 8
_ADVICE = (
    "Not done: {named} stands in no passage that a search returned in this run, and in no fact of the task. Look it up with "
    "search_regulations and write only what a passage states, with the document and page that it stands on. "
    "If no passage states it, leave it out."
)


def advice(values: Sequence[str]) -> str:
    """The phrase that the model reads: a fixed sentence with the values named, at most `MOST_NAMED` of them, each cut; empty for none."""
    if not values:
        return ""
    named = ", ".join(f'"{visible(value, 80)}"' for value in values[:MOST_NAMED])
    more = len(values) - MOST_NAMED
    return _ADVICE.format(named=f"{named} and {more} more" if more > 0 else named)
