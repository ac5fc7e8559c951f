"""Where a fact came from: a document and a page, and how people write that down.

Decides which documents and pages a text cites. It never decides whether they exist in an index, carry anything, or are denied in the prose
around them: that is the grader's work.

Rules
- A document is its file name in the corpus, whole: `rule.pdf` is not cited by `final-rule.pdf`, `other/rule.pdf` or `rule.pdf.txt`.
  Case is free where no other document differs only by case, and the extension may be missing where one document has that stem.
- Pages come as `page 1`, `p. 1`, `pp. 1-2`, `pages 1, 3 and 5`, `page 1 of 7`, `first page`, `document#page=1`, `document:1`.
- Pages belong to the document that they follow, or to the one that they lead up to: `page 1 of rule.pdf`.
- A range is expanded to at most `RANGE_LIMIT` pages. "All pages", "passim", "et seq." and "ff." name no page that can be checked.
- What cannot be read (a reversed range, page zero, pages without a document) is a reference with a `problem`, never an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from tasks.domain.characters import fold
from tasks.domain.claims import CITE, DATE, IDENTIFIER, PARTIAL_DATE, find_claims

RANGE_LIMIT = 50


@dataclass(frozen=True, slots=True)
class Citation:
    """`document` is the file's name in the corpus; `page` counts from 1; `quote` is the words relied on, or empty."""

    document: str
    page: int
    quote: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    start: int
    end: int
    pages: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Reference:
    """One mention of a document, of pages, or of both, in a text.

    `document` is the corpus' name for it, or the name as written where no document of the corpus is meant (`known` is False), or empty.
    `pages` are in the order of the text, without repeats. `total` is N of "page 1 of N". `problem` says what cannot be read, or is empty.
    `parts` are its words' places in `fold(text)`, each with the pages that it names: none for the document's own name.
    """

    document: str
    known: bool
    pages: tuple[int, ...]
    text: str
    parts: tuple[Part, ...]
    problem: str = ""
    total: int | None = None

    @property
    def citations(self) -> tuple[Citation, ...]:
        return tuple(Citation(self.document, page) for page in self.pages) if self.document else ()


@dataclass(frozen=True, slots=True)
class _Token:
    start: int
    end: int
    document: str = ""
    known: bool = False
    pages: tuple[int, ...] = ()
    problem: str = ""
    total: int | None = None


_NAMES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_RANKS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_WORDS = {name: number for number, name in enumerate(_NAMES, 1)}
_ORDINALS = {rank: number for number, rank in enumerate(_RANKS, 1)}

_FILE = re.compile(
    r"[\w(][\w.\-/\\%+()~]*\.(?:pdf|html?|docx?|txt|text|md|rtf|xml|odt|csv|json)(?![\w-])(?!\.\w)", re.IGNORECASE
)
_NUMBER = r"(?:\d{1,9}(?!\d)(?!-?[A-Za-z_])(?!\.\d)(?!-(?:[\s),.;\]]|$))|(?:" + "|".join(_WORDS) + r")(?![\w-]))"
_PAGE_WORD = r"(?:pages?|pgs?|pp?|pag)"
_HEAD = rf"(?<![\w-]){_PAGE_WORD}\.?\s?(?:(?:nos?\.?|numbers?|#|:|=)\s?)?"
_MORE = rf"(?:\s?(?P<sep>-|to|through|thru|and|or|&|/)\s?|\s?,\s?(?:(?P<conj>and|or|&)\s)?)(?:{_PAGE_WORD}\.?\s?)?"
_PAGES = re.compile(rf"(?:#\s?page\s?=\s?|{_HEAD})(?P<first>{_NUMBER})", re.IGNORECASE)
_CONTINUED = re.compile(_MORE + rf"(?P<number>{_NUMBER})", re.IGNORECASE)
_LIST_GOES_ON = re.compile(r"\s?(?:[),.;:\]]|$|and\b|or\b|of\b|&|-|in\b|from\b)", re.IGNORECASE)
_TOTAL = re.compile(r"\s?(?:of|/)\s?(\d{1,9})(?!\w)(?![.-]\w)", re.IGNORECASE)
_ORDINAL_PAGE = re.compile(
    r"(?<![\w-])(?:(?P<digits>\d{1,6})(?:st|nd|rd|th)|(?P<word>" + "|".join(_ORDINALS) + r"))\s(?:page|pg\.?)(?![\w-])",
    re.IGNORECASE,
)
_AFTER_DOCUMENT = re.compile(r"(?:\s?[#:]\s?|\s?[(\[]|,\s?)(?P<first>\d{1,9})(?=\s?(?:[),.;\]]|$))(?:[)\]])?")
_BROAD = re.compile(
    r"(?<![\w-])(?:(?:all|every|each|any)\s(?:of\s)?(?:the\s|its\s)?(?:\w+\s){0,2}?pages?|(?:the\s)?(?:entire|whole|full)\s(?:document|file|rule)|"
    r"passim|throughout|et\sseq|front\sto\sback|cover\sto\scover)(?![\w-])\.?",
    re.IGNORECASE,
)
_FOLLOWING = re.compile(
    r"\s?(?:\+|ff?\.?(?!\w)|et\sseq\.?|and\s(?:the\s)?(?:following|onwards?|beyond)|onwards?(?!\w))", re.IGNORECASE
)
_UNREADABLE_PAGE = re.compile(
    rf"(?<![\w-]){_PAGE_WORD}\.?\s(?:[ivxlc]+(?!\w)|\d[\w.-]*|\?+|x+(?!\w)|n(?!\w))", re.IGNORECASE
)
_FORWARD_WORDS = re.compile(
    r"\s?(?:of|in|from|at|within)\s(?:the\s)?(?:(?:document|file|pdf|source|rule|attached)\s?:?\s?)?[\"'(\[]*",
    re.IGNORECASE,
)
_FORWARD_MARKS = re.compile(r"[\s,:;()\[\]\"'|-]*(?:document|file|source)?[\s:\"'(\[]*", re.IGNORECASE)


def _value(text: str) -> int:
    lowered = text.lower()
    return _WORDS[lowered] if lowered in _WORDS else int(lowered)


def _documents(folded: str, documents: Iterable[str]) -> list[_Token]:
    names: dict[str, list[str]] = {}
    stems: dict[str, list[str]] = {}
    for document in sorted(set(documents)):
        name = fold(document)
        names.setdefault(name.casefold(), []).append(document)
        stem, dot, _ = name.rpartition(".")
        # A stem that is a plain word would be found in any prose.
        if dot and re.search(r"[\d_-]", stem):
            stems.setdefault(stem.casefold(), []).append(document)
    forms = [(form, found) for form, found in names.items()] + [
        (form, found) for form, found in stems.items() if form not in names
    ]
    tokens: list[_Token] = []

    def free(start: int, end: int) -> bool:
        return all(end <= token.start or start >= token.end for token in tokens)

    for form, found in sorted(forms, key=lambda item: (-len(item[0]), item[0])):
        pattern = re.compile(r"(?<![\w./\\%+~-])" + re.escape(form) + r"(?![\w%+~-])(?!\.\w)(?![/\\]\w)", re.IGNORECASE)
        for match in pattern.finditer(folded):
            exact = [document for document in found if fold(document) == match[0]]
            document = exact[0] if exact else found[0]
            if free(*match.span()):
                clear = len(found) == 1 or len(exact) == 1
                tokens.append(
                    _Token(
                        *match.span(),
                        document=document if clear else match[0],
                        known=clear,
                        problem="" if clear else "more than one document has this name",
                    )
                )
    for match in _FILE.finditer(folded):
        start = match.start() + (1 if match[0].startswith("(") else 0)
        if free(start, match.end()):
            tokens.append(_Token(start, match.end(), document=folded[start : match.end()], known=False))
    return tokens


def _expand(numbers: list[tuple[str, int]]) -> tuple[tuple[int, ...], str]:
    """Pages of a list of (separator before, number), and what is wrong with it."""
    pages: list[int] = []
    problem = ""
    for separator, number in numbers:
        if number < 1:
            problem = f"there is no page {number}"
            continue
        if separator in {"-", "to", "through", "thru"} and pages:
            first = pages[-1]
            if number < first:
                problem = f"the range {first}-{number} runs backwards"
                continue
            if number - first >= RANGE_LIMIT:
                problem = f"the range {first}-{number} is longer than {RANGE_LIMIT} pages"
            pages.extend(range(first + 1, min(number, first + RANGE_LIMIT - 1) + 1))
        else:
            if separator == "or":
                problem = "the pages are alternatives"
            pages.append(number)
    return tuple(dict.fromkeys(pages)), problem


def _page_list(folded: str, match: re.Match[str]) -> _Token:
    numbers = [("", _value(match["first"]))]
    end = match.end()
    plural = re.search(r"pages|pgs|pp", match[0], re.IGNORECASE) is not None
    while len(numbers) < RANGE_LIMIT and (more := _CONTINUED.match(folded, end)):
        separator = (more["sep"] or more["conj"] or ",").lower()
        named = re.search(_PAGE_WORD, more[0][: more.start("number") - more.start()], re.IGNORECASE) is not None
        # After a single page a bare number may be anything; it is a page where the list plainly ends or goes on.
        joined = separator == "-" and more[0].startswith("-")
        if not (named or plural or joined or _LIST_GOES_ON.match(folded, more.end())):
            break
        numbers.append((separator, _value(more["number"])))
        end = more.end()
    pages, problem = _expand(numbers)
    total = None
    if len(numbers) == 1 and (of := _TOTAL.match(folded, end)):
        total, end = int(of[1]), of.end()
    if following := _FOLLOWING.match(folded, end):
        problem, end = "it names no last page", following.end()
    return _Token(match.start(), end, pages=pages, problem=problem, total=total)


def _pages(folded: str, documents: list[_Token]) -> list[_Token]:
    taken = bytearray(len(folded))
    for token in documents:
        taken[token.start : token.end] = b"\x01" * (token.end - token.start)
    # Digits of a date, an identifier or a cite are never page numbers: `page 1, 24 March 2020`.
    blank = "".join("\x00" if taken[i] else character for i, character in enumerate(folded))
    masked = list(blank)
    for claim in find_claims(folded):
        spaced = claim.kind == IDENTIFIER and "-" not in claim.text
        if claim.kind in {DATE, PARTIAL_DATE, IDENTIFIER, CITE} and not spaced:
            masked[claim.start : claim.end] = "\x00" * (claim.end - claim.start)
    text = "".join(masked)
    tokens: list[_Token] = []

    def add(token: _Token) -> None:
        if not any(taken[token.start : token.end]):
            taken[token.start : token.end] = b"\x01" * (token.end - token.start)
            tokens.append(token)

    for match in _PAGES.finditer(text):
        add(_page_list(text, match))
    for match in _ORDINAL_PAGE.finditer(text):
        number = int(match["digits"]) if match["digits"] else _ORDINALS[match["word"].lower()]
        pages, problem = _expand([("", number)])
        add(_Token(*match.span(), pages=pages, problem=problem))
    for document in documents:
        if beside := _AFTER_DOCUMENT.match(text, document.end):
            pages, problem = _expand([("", int(beside["first"]))])
            add(_Token(*beside.span(), pages=pages, problem=problem))
    for match in _BROAD.finditer(text):
        add(_Token(*match.span(), problem="it names no single page"))
    for match in _UNREADABLE_PAGE.finditer(blank):
        add(_Token(*match.span(), problem="its page cannot be read"))
    return tokens


@dataclass(slots=True)
class _Bound:
    document: _Token
    pages: list[_Token] = field(default_factory=list)
    forward: bool = False


def parse_citations(text: str, documents: Iterable[str]) -> tuple[Reference, ...]:
    """Every reference in `text`, in order; `documents` are the corpus' names. Any text gives an answer; none raises."""
    folded = fold(text)
    named = _documents(folded, documents)
    tokens = sorted(named + _pages(folded, named), key=lambda token: token.start)
    bound: dict[int, _Bound] = {i: _Bound(token) for i, token in enumerate(tokens) if token.document}
    loose: list[_Token] = []
    for i, token in enumerate(tokens):
        if token.document:
            continue
        before = next((j for j in range(i - 1, -1, -1) if j in bound), None)
        after = i + 1 if i + 1 in bound else None
        between = folded[token.end : tokens[after].start] if after is not None else ""
        joined = after is not None and _FORWARD_WORDS.fullmatch(between) is not None
        beside = after is not None and _FORWARD_MARKS.fullmatch(between) is not None
        # `page 1, a.pdf; page 2, b.pdf`: once pages lead up to their document, the next ones do as well.
        if after is not None and (joined or (beside and (before is None or bound[before].forward))):
            bound[after].pages.append(token)
            bound[after].forward = True
        elif before is not None:
            bound[before].pages.append(token)
        else:
            loose.append(token)
    references = [_reference(folded, entry) for entry in bound.values()]
    for token in loose:
        problem = token.problem or "it names no document"
        references.append(
            Reference(
                "",
                False,
                token.pages,
                folded[token.start : token.end],
                (Part(token.start, token.end, token.pages),),
                problem,
                token.total,
            )
        )
    return tuple(sorted(references, key=lambda reference: reference.parts[0].start))


def _reference(folded: str, entry: _Bound) -> Reference:
    parts = sorted([entry.document, *entry.pages], key=lambda token: token.start)
    pages = tuple(dict.fromkeys(page for token in entry.pages for page in token.pages))
    problem = next((token.problem for token in parts if token.problem), "")
    reference = Reference(
        document=entry.document.document,
        known=entry.document.known,
        pages=pages,
        text=folded[parts[0].start : parts[-1].end],
        parts=tuple(Part(token.start, token.end, token.pages) for token in parts),
        problem=problem,
        total=next((token.total for token in entry.pages if token.total is not None), None),
    )
    return reference if pages or problem else replace(reference, problem="it names no page")
