"""How extracted text becomes the text that is stored: characters, line ends, hyphens, page furniture.

It decides which characters survive, how broken lines are joined, and which lines belong to the page and not to the document.
It never guesses words from a dictionary of English: the only vocabulary is the document's own.

Rules
- Dashes are facts. `460–ET` (en dash) and `460-ET` (hyphen) are both kept as they are written; matching them is the reader's
  business.
- A hyphen at a line end is ambiguous: `adminis-/trative` is one word, `third-/party` is two. `joins_words` decides by this table,
  first row that applies:

      the word parts have a digit, or the second starts with an upper-case letter   hyphen stays    24-/hour, 460-/ET, non-/Federal
      the break is inside an address (://, www., @ or / in the token)                hyphen stays    about-the-/epidemic
      the document writes the joined word elsewhere                                  parts join      require-/ments
      the document writes the hyphenated word elsewhere                              hyphen stays    over-/the-counter
      both parts stand alone in the document and have three letters or more          hyphen stays    cut-/over
      the first part is a numeral or `self`, the second four letters or more and     hyphen stays    third-/party
        not how a longer numeral ends
      otherwise                                                                      parts join      adminis-/trative

- An en or em dash at a line end is followed by no blank, unless a blank stands before it (`Part C –/Simplification`).
- A line is furniture when it stands in a page's margin and its wording (digits left out) returns in the margins of other
  pages, or when it is a page number there, or a typesetter's imprint anywhere. A bare number is a page number only if it
  counts along with the pages: the last line of a column may be one too.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

LINE_BREAK_HYPHEN = "\ufffe"
"""PDFium's mark for a hyphen that stands at the end of a line; it is a non-character, so no real text contains it."""

_LIGATURES = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
_BULLETS = dict.fromkeys("\uf0b7\uf0a7\uf0a8\uf076\uf0d8\u2023\u25cf\u25aa\u25e6\u2043", "•")
_CHARACTERS = str.maketrans(_LIGATURES | _BULLETS)

# Blank-like characters that mean "one blank" to a reader, and characters that a reader cannot see at all.
_BLANK = re.compile(r"[\t\v\f\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_LINE_END = re.compile(r"\r\n?|[\u2028\u2029]")
_INVISIBLE = re.compile(
    r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb\uffff"
    r"\ud800-\udfff]"
)
# The Government Publishing Office sets a double quotation mark as two single ones.
_DOUBLED_QUOTES = (("‘‘", "“"), ("’’", "”"))

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_BEFORE_HYPHEN = re.compile(r"[^\W_]+(?:-[^\W_]+)*\Z")
_AFTER_HYPHEN = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_BROKEN = re.compile(rf"{LINE_BREAK_HYPHEN}[ \n]*")
_HYPHEN_AT_END = re.compile(r"(?<=[^\W_])[-\u2010]\Z")
_DASH_AT_END = re.compile(r"(?<=\S)[–—]\Z")
_ADDRESS = re.compile(r"(?:://|www\.|@)\S*\Z")
_ADDRESS_GOES_ON = re.compile(r"(?:(?:://|www\.)\S*|https?:/)[/_]\Z")

# English words that form compounds with a hyphen and begin hardly any longer word; a short document may have no better witness.
_COMPOUNDING = frozenset("first third fourth fifth two three four five six seven eight nine self".split())
_NUMERAL_ENDS = ("teen", "tieth", "eenth", "ieth", "less", "hood")

_IMPRINT = re.compile(r"^VerDate\b.*\bJkt\b|\bFmt \d+\b.*\bSfmt \d+\b|^\S+ on [A-Z0-9]{8,} with [A-Z]+$")
_BARE_NUMBER = re.compile(r"^[0-9]{1,5}$")
_PAGE_NUMBER = re.compile(
    r"^(?:page\s+[0-9ivxlc]{1,7}|[-–—]\s*[0-9]{1,5}\s*[-–—]|(?:page\s+)?[0-9]{1,5}\s*(?:of|/)\s*[0-9]{1,5})$",
    re.IGNORECASE,
)


def normalise(text: str) -> str:
    """Clean characters and blanks of `text`, keeping its line structure; applying it twice changes nothing more.

    Ligatures are spelled out, private-use bullets become `•`, doubled single quotes one double quote, blank-like characters
    one blank. NUL, other controls, lone surrogates and invisible format characters go, soft hyphens too. Dashes stay as they
    are. Runs of blanks become one, no line starts or ends with a blank, and no more than one empty line stands between two lines.
    """
    text = _INVISIBLE.sub("", text)
    text = unicodedata.normalize("NFC", text).translate(_CHARACTERS)
    text = _LINE_END.sub("\n", text)
    text = _BLANK.sub(" ", text)
    text = re.sub("\u00ad *\n *", "", text).replace("\u00ad", "")
    for doubled, quote in _DOUBLED_QUOTES:
        text = text.replace(doubled, quote)
    text = re.sub(" {2,}", " ", text)
    text = re.sub(" ?\n ?", "\n", text)
    text = re.sub("\n{3,}", "\n\n", text)
    return unicodedata.normalize("NFC", text).strip(" \n")


def vocabulary(lines: Iterable[str]) -> frozenset[str]:
    """The words that a document writes whole, in lower case: hyphenated ones as one word and by their parts.

    Words that touch a line-break hyphen are left out, because they are what the vocabulary is asked about.
    """
    found: set[str] = set()
    broken = False
    for line in lines:
        whole = re.sub(rf"\S*{LINE_BREAK_HYPHEN}\s*\S*", " ", line.strip())
        if broken:
            whole = re.sub(r"\A\S+", " ", whole)
        broken = line.strip().endswith((LINE_BREAK_HYPHEN, "-", "\u2010", "\u00ad"))
        if broken:
            whole = re.sub(r"\S+\Z", " ", whole)
        for word in _WORD.findall(whole):
            lowered = word.lower()
            found.add(lowered)
            found.update(lowered.split("-"))
    return frozenset(found)


def joins_words(before: str, after: str, known: frozenset[str]) -> bool:
    """Whether the text before and after a line-break hyphen is one word without it, by the table at the head of this module."""
    left_match, right_match = _BEFORE_HYPHEN.search(before), _AFTER_HYPHEN.match(after)
    if left_match is None or right_match is None:
        return False
    left, right = left_match.group(), right_match.group()
    token = before[before.rfind(" ") + 1 :]
    if any(character.isdigit() for character in left + right) or right[0].isupper():
        return False
    if _ADDRESS.search(token) or "/" in token:
        return False
    last, first = left.split("-")[-1].lower(), right.split("-")[0].lower()
    if last + first in known:
        return True
    if f"{last}-{first}" in known or f"{left}-{right}".lower() in known:
        return False
    if len(last) >= 3 and len(first) >= 3 and last in known and first in known:
        return False
    return not (last in _COMPOUNDING and len(first) >= 4 and not first.startswith(_NUMERAL_ENDS))


def dehyphenate(text: str, known: frozenset[str]) -> str:
    """Replace every line-break mark (with the blanks after it) by nothing or by a hyphen; none is left."""
    pieces = _BROKEN.split(text)
    joined = pieces[0]
    for piece in pieces[1:]:
        if joined and piece and not joined[-1].isspace():
            joined += piece if joins_words(joined, piece, known) else "-" + piece
        else:
            joined += piece
    return joined


def join_lines(lines: Sequence[str], known: frozenset[str]) -> str:
    """One paragraph from its lines, in order: a blank between them, hyphens and dashes at line ends resolved."""
    text = ""
    for line in (normalise(line) for line in lines):
        if not line:
            continue
        if not text:
            text = line
        elif _HYPHEN_AT_END.search(text):
            text = text[:-1] + LINE_BREAK_HYPHEN + line
        elif text.endswith(LINE_BREAK_HYPHEN) or _DASH_AT_END.search(text) or _ADDRESS_GOES_ON.search(text):
            text += line
        else:
            text += " " + line
    return normalise(dehyphenate(text, known))


_SOURCE_HYPHEN = re.compile(r"(?<=[^\W_])[-\u2010]\n[ \t]*(?=[^\W_])")
_LIST_START = re.compile(r"\s*(?:[-*+•▪]|\(?[0-9a-zA-Z]{1,3}[.)])\s")
_COLUMN_GAP = re.compile(r"\S(?: {2,}|\t)\S")
_NARROWEST = 40


def mark_hyphens(text: str) -> str:
    """Text whose lines were broken by an editor: a hyphen in a word at a line end becomes LINE_BREAK_HYPHEN, the line goes on."""
    return _SOURCE_HYPHEN.sub(LINE_BREAK_HYPHEN, text)


def unwrap(text: str) -> str:
    """Plain text with each wrapped paragraph on one line; every other line stays as it is.

    A block of lines was wrapped when it is at least 40 wide, at each of its line ends the next word would not have fitted in, and it shows
    no columns or list: then breaks are blanks, and nothing but white space changes.
    """
    return "\n\n".join(_unwrapped(block) for block in re.split(r"\n[ \t]*\n", text))


def _unwrapped(block: str) -> str:
    lines = block.rstrip().split("\n")
    width = max(len(line.rstrip()) for line in lines)
    wrapped = width >= _NARROWEST and all(
        len(line.rstrip()) + 1 + len((after.split() or [""])[0]) > width and not _LIST_START.match(after)
        for line, after in itertools.pairwise(lines)
    )
    if not wrapped or any(_COLUMN_GAP.search(line) for line in lines):
        return block
    return " ".join(line.strip() for line in lines)


def leftover_hyphens(text: str) -> tuple[str, ...]:
    """Places in stored text that still show a line-break hyphen, with a little context; empty for clean text.

    The index gate demands none. Looked for: PDFium's mark, a soft hyphen, and a hyphen before a line end or a blank that a
    lower-case letter follows (a suspended hyphen as in "over- or inappropriate" is the writer's own and is not one).
    """
    pattern = rf"{LINE_BREAK_HYPHEN}|\u00ad|(?<=[^\W\d_])-(?:\n|[ ](?!(?:and|or|to|nor|but|und|through)\b))(?=[a-z])"
    return tuple(text[max(0, match.start() - 20) : match.end() + 20] for match in re.finditer(pattern, text))


@dataclass(frozen=True, slots=True)
class Furniture:
    """What a document prints on every page: `running` holds keys of running heads and feet, `offsets` the differences
    between printed and counted page numbers."""

    running: frozenset[str] = frozenset()
    offsets: frozenset[int] = frozenset({0})


def furniture_key(line: str) -> str:
    """The wording of a line without digits, case and spacing, so that running heads of different pages are equal."""
    return " ".join(re.sub(r"\d+", " ", line).lower().split())


LONG_STRETCH = 10
"""Pages in a row (left and right pages may differ) on which a line in the margin returns to be a running head of a chapter."""


class Margins:
    """Learns, page by page, what returns in the margins of a document; memory grows with distinct lines, not with pages.

    A line runs when at least two pages, and at least a third of them (left and right pages may differ, chapters too), carry
    it, or when it has letters and stands on at least every second page of a stretch with LONG_STRETCH of them. A bare number
    is a page number when as many pages print it with the same distance from the page's own count, or when it is that count.
    """

    def __init__(self) -> None:
        self._pages = 0
        self._lines: dict[str, _Returns] = {}
        self._distances: dict[int, _Returns] = {}

    def add(self, lines: Iterable[str]) -> None:
        """The lines in the top and bottom margin of the next page."""
        self._pages += 1
        stripped = [line.strip() for line in lines]
        for key in {furniture_key(line) for line in stripped}:
            self._lines.setdefault(key, _Returns()).on(self._pages)
        for distance in {int(line) - self._pages for line in stripped if _BARE_NUMBER.match(line)}:
            self._distances.setdefault(distance, _Returns()).on(self._pages)

    def furniture(self) -> Furniture:
        """What the pages given so far have in common."""
        needed = max(2, -(-self._pages // 3))
        return Furniture(
            running=frozenset(
                key
                for key, seen in self._lines.items()
                if key and (seen.pages >= needed or (seen.longest >= LONG_STRETCH and any(map(str.isalpha, key))))
            ),
            offsets=frozenset({0})
            | {
                distance
                for distance, seen in self._distances.items()
                if seen.pages >= needed or seen.longest >= LONG_STRETCH
            },
        )


@dataclass(slots=True)
class _Returns:
    """On how many pages something stands, and on how many of its longest stretch."""

    pages: int = 0
    longest: int = 0
    _last: int = -9
    _stretch: int = 0

    def on(self, page: int) -> None:
        self.pages += 1
        self._stretch = self._stretch + 1 if page - self._last <= 2 else 1
        self.longest = max(self.longest, self._stretch)
        self._last = page


def learn_furniture(margins: Iterable[Iterable[str]]) -> Furniture:
    """What returns in the margins of a document's pages, given from page 1; the rule is that of `Margins`."""
    learned = Margins()
    for page in margins:
        learned.add(page)
    return learned.furniture()


_MARK = re.compile(r"[0-9]{1,3}(?:[,–-][0-9]{1,3})*,?")
_SUPERSCRIPT = str.maketrans("0123456789+-−–", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻")
_POWER = re.compile(r"[-+−–]?[0-9]+")
_UNIT = re.compile(r"(?:(?<=[^A-Za-z])|\A)(?:[A-Za-z]|[ckmnµd]m|ft|in|yd|mi)\Z")


def write_raised(text: str, raised: Sequence[bool], notes: frozenset[str] = frozenset()) -> str:
    """`text` of one line with its raised characters written by the table at the head of this module.

    `raised` has a value for each character; `notes` are the numbers of the footnotes on the same page. Every character of
    `text` is kept in order (digits as superscript ones where they are exponents); blanks and brackets are added.
    """
    pieces: list[str] = []
    end = 0
    for start, stop in _raised_runs(raised):
        pieces.append(text[end:start])
        pieces.append(_raised_run(text[start:stop], text[:start], text[stop:], notes))
        end = stop
    return "".join([*pieces, text[end:]])


def _raised_runs(raised: Sequence[bool]) -> Iterable[tuple[int, int]]:
    start = None
    for at, high in enumerate([*raised, False]):
        if high and start is None:
            start = at
        elif not high and start is not None:
            yield start, at
            start = None


def _raised_run(run: str, before: str, after: str, notes: frozenset[str]) -> str:
    number = _MARK.fullmatch(run) is not None
    if not before.strip():
        return f"[{run}] " if number and after.strip() else run
    last = before[-1]
    if last.isdigit() and after[:1] in {"/", "⁄"}:
        return f" {run}"
    if last.isdigit() and _POWER.fullmatch(run) and run not in notes:
        return run.translate(_SUPERSCRIPT)
    if number and after[:1] not in {"/", "⁄"}:
        return run.translate(_SUPERSCRIPT) if _POWER.fullmatch(run) and _UNIT.search(before) else f"[{run}]"
    if _POWER.fullmatch(run) and _UNIT.search(before):
        return run.translate(_SUPERSCRIPT)
    letter = len(run) == 1 and "a" <= run <= "z" and not after[:1].isalnum()
    if letter and ((before[-3:].isalpha() and len(before) >= 3) or last in ".,;:)]”’\"'"):
        return f"[{run}]"
    return run


def garbled(text: str) -> bool:
    """Whether most of a text layer cannot be text: at least 20 visible characters, over 30 % of which have no meaning by their code
    (replacement, private-use, unassigned or control characters), as a font without its table of characters gives."""
    visible = [character for character in text if not character.isspace() and character != LINE_BREAK_HYPHEN]
    senseless = sum(
        character == "\ufffd" or unicodedata.category(character) in {"Co", "Cn", "Cc", "Cs"} for character in visible
    )
    return len(visible) >= 20 and senseless > 0.3 * len(visible)


_CLOSING = re.compile(r"^\s*(?:\[FR Doc\.?\s|BILLING CODE\s+\S)")
_REGISTER = re.compile(r"\bFederal Register\s*/\s*Vol\.")
_OPENING = re.compile(r"^\s*AGENCY:")


def closes_register_document(line: str) -> bool:
    """Whether a line is one with which a document in the Federal Register ends."""
    return _CLOSING.match(line) is not None


def is_register_page(lines: Iterable[str]) -> bool:
    """Whether a page carries the Federal Register's running head."""
    return any(_REGISTER.search(line) for line in lines)


def foreign_lines(lines: Sequence[str], *, first: bool, last: bool) -> tuple[int, int]:
    """Which lines of a Federal Register page are the document's own: `lines[start:stop]`.

    `first` and `last` say whether it is the document's first and last page; a page between them is all its own. Where more than one
    document of a single page could be meant, nothing is cut.
    """
    start, stop = 0, len(lines)
    if not (first or last):
        return start, stop
    ends = _closings(lines)
    if first and last:
        openings = [at for at, line in enumerate(lines) if _OPENING.match(line)]
        if len(openings) != 1:
            return start, stop
        start = max((end for end in ends if end <= openings[0]), default=0)
        return start, min((end for end in ends if end > openings[0]), default=stop)
    if first:
        cut = max(ends, default=0)
        openings = [at for at, line in enumerate(lines) if _OPENING.match(line)]
        return (start, stop) if cut >= stop or (openings and openings[-1] < cut) else (cut, stop)
    return start, min(ends, default=stop)


def _closings(lines: Sequence[str]) -> list[int]:
    """Positions after the last line of each document's end: its `[FR Doc.` lines to the bracket, and its billing code."""
    ends: list[int] = []
    at = 0
    while at < len(lines):
        if not _CLOSING.match(lines[at]):
            at += 1
            continue
        if "BILLING" not in lines[at]:
            at += next((more for more, line in enumerate(lines[at : at + 3]) if "]" in line), 0)
        at += 1
        if at < len(lines) and _CLOSING.match(lines[at]):
            continue
        ends.append(at)
    return ends


def is_page_mark(line: str) -> bool:
    """Whether a line says nothing but which page this is, or is a typesetter's imprint, wherever it stands."""
    stripped = line.strip()
    return any(pattern.search(stripped) for pattern in (_IMPRINT, _BARE_NUMBER, _PAGE_NUMBER))


def is_furniture(line: str, *, page: int, in_margin: bool, furniture: Furniture) -> bool:
    """Whether a line of page `page` belongs to the page and not to the document."""
    stripped = line.strip()
    if _IMPRINT.search(stripped):
        return True
    if not in_margin:
        return False
    if _BARE_NUMBER.match(stripped):
        return int(stripped) - page in furniture.offsets
    return bool(_PAGE_NUMBER.match(stripped)) or furniture_key(stripped) in furniture.running
