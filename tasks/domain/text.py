"""How extracted text becomes the text that is stored: characters, line ends, hyphens, page furniture.

It decides which characters survive, how broken lines are joined, and which lines belong to the page and not to the document. It never
guesses words from a dictionary of English: the only vocabulary is the document's own.

Rules
- Dashes are facts. `460–ET` (en dash) and `460-ET` (hyphen) are both kept as they are written; matching them is the reader's business.
- A hyphen at a line end is ambiguous: `adminis-/trative` is one word, `third-/party` is two. `joins_words` decides by this table,
  first row that applies:

      the word parts have a digit, or the second starts with an upper-case letter   hyphen stays    24-/hour, 460-/ET, non-/Federal
      the break is inside an address (://, www., @ or / in the token)                hyphen stays    about-the-/epidemic
      the document writes the joined word elsewhere                                  parts join      require-/ments
      the document writes the hyphenated word elsewhere                              hyphen stays    over-/the-counter
      both parts stand alone in the document and have three letters or more          hyphen stays    third-/party
      otherwise                                                                      parts join      adminis-/trative

- An en or em dash at a line end is followed by no blank, unless a blank stands before it (`Part C –/Simplification`).
- A line is furniture when it stands in a page's margin and its wording (digits left out) returns in the margins of other pages, or when it
  is a page number there, or a typesetter's imprint anywhere. A bare number is a page number only if it counts along with the pages:
  the last line of a column may be one too.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
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

_IMPRINT = re.compile(r"^VerDate\b.*\bJkt\b|\bFmt \d+\b.*\bSfmt \d+\b|^\S+ on [A-Z0-9]{8,} with [A-Z]+$")
_BARE_NUMBER = re.compile(r"^[0-9]{1,5}$")
_PAGE_NUMBER = re.compile(
    r"^(?:page\s+[0-9ivxlc]{1,7}|[-–—]\s*[0-9]{1,5}\s*[-–—]|(?:page\s+)?[0-9]{1,5}\s*(?:of|/)\s*[0-9]{1,5})$",
    re.IGNORECASE,
)


def normalise(text: str) -> str:
    """Clean characters and blanks of `text`, keeping its line structure; applying it twice changes nothing more.

    Ligatures are spelled out, private-use bullets become `•`, doubled single quotes one double quote, blank-like characters one blank.
    NUL, other controls, lone surrogates and invisible format characters go, soft hyphens too. Dashes stay as they are. Runs of blanks
    become one, no line starts or ends with a blank, and no more than one empty line stands between two lines.
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
    return not (len(last) >= 3 and len(first) >= 3 and last in known and first in known)


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


def leftover_hyphens(text: str) -> tuple[str, ...]:
    """Places in stored text that still show a line-break hyphen, with a little context; empty for clean text.

    The index gate demands none. Looked for: PDFium's mark, a soft hyphen, and a hyphen before a line end or a blank that a lower-case
    letter follows (a suspended hyphen as in "over- or inappropriate" is the writer's own and is not one).
    """
    pattern = rf"{LINE_BREAK_HYPHEN}|\u00ad|(?<=[^\W\d_])-(?:\n|[ ](?!(?:and|or|to|nor|but|und|through)\b))(?=[a-z])"
    return tuple(text[max(0, match.start() - 20) : match.end() + 20] for match in re.finditer(pattern, text))


@dataclass(frozen=True, slots=True)
class Furniture:
    """What a document prints on every page: `running` holds keys of running heads and feet, `offsets` the differences between printed
    and counted page numbers."""

    running: frozenset[str] = frozenset()
    offsets: frozenset[int] = frozenset({0})


def furniture_key(line: str) -> str:
    """The wording of a line without digits, case and spacing, so that running heads of different pages are equal."""
    return " ".join(re.sub(r"\d+", " ", line).lower().split())


def learn_furniture(margins: Sequence[Sequence[str]]) -> Furniture:
    """What returns in the margins of a document's pages; `margins` holds, from page 1, the lines in each page's top or bottom margin.

    A line runs when at least two pages, and at least a third of them (left and right pages may differ, chapters too), carry it. A bare
    number is a page number when as many pages print it with the same distance from the page's own count, or when it is that count.
    """
    needed = max(2, -(-len(margins) // 3))
    lines = Counter(key for page in margins for key in {furniture_key(line) for line in page})
    distances = Counter(
        distance
        for count, page in enumerate(margins, start=1)
        for distance in {int(line.strip()) - count for line in page if _BARE_NUMBER.match(line.strip())}
    )
    return Furniture(
        running=frozenset(key for key, pages in lines.items() if key and pages >= needed),
        offsets=frozenset({0} | {distance for distance, pages in distances.items() if pages >= needed}),
    )


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
