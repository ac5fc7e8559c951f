"""Characters that a person reads as they are, and those that deceive.

Decides which characters of a text may stand in a filed answer, and folds the many spellings of one character (dashes, quotes, spaces,
compatibility forms) to one. It never decides what a text means.

Rules
- A character that shows nothing, that changes the order of its neighbours, or that is a control is *invisible*.
- A letter or digit outside ASCII, Latin-1 and Latin Extended-A is a *look-alike*: Cyrillic, Greek, full-width, superscript and
  mathematical forms all read as a Latin letter or a digit that they are not. The typographic ligatures (ff to st) are the exception:
  PDFs are full of them.
- A combining mark that does not compose with its base (a stroke through a digit) is *combining*.
- A symbol outside the table of plain ones is a *symbol*: nobody knows what it adds to the statement.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

_LIGATURES = range(0xFB00, 0xFB07)
_LATIN_END = 0x0180
# Letters of Latin-1 and Extended-A that look like another Latin letter or a digit, or are compatibility forms.
_DECEPTIVE_LATIN = frozenset("ªºıĸŉſĿŀĲĳ")
_PLAIN_SYMBOLS = frozenset("$+<=>^`|~¢£¥€¬°±×÷©®™§¶•…→⇒✓✔✅≠≈≤≥✗✘✖❌🚫")
_BLANK_SYMBOLS = frozenset("\u2800")

_EM_DASHES = "\u2014\u2015\u2e3a\u2e3b"
_HYPHENS = "\u2010\u2011\u2012\u2013\u2043\u2212\ufe63\uff0d\u058a"
_FOLDED = str.maketrans(
    dict.fromkeys(_EM_DASHES, " - ")
    | dict.fromkeys(_HYPHENS, "-")
    | dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc`", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"')
)
_DOUBLE_HYPHEN = re.compile(r"-{2,}")
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Oddity:
    """A character that must not pass unread: `kind` is invisible, look-alike, combining or symbol; `index` counts from 0."""

    kind: str
    index: int
    character: str

    @property
    def label(self) -> str:
        """The character as a person can look it up, e.g. `U+0415 CYRILLIC CAPITAL LETTER IE`."""
        name = unicodedata.name(self.character, "no name")
        return f"U+{ord(self.character):04X} {name}"


def _kind(character: str) -> str | None:
    code = ord(character)
    if code < 0x80:
        return "invisible" if (code < 0x20 and character not in "\t\n\r") or code == 0x7F else None
    category = unicodedata.category(character)
    if category in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} or character in _BLANK_SYMBOLS:
        return "invisible"
    if category == "Zs":
        return None
    if category[0] == "M":
        return "combining"
    if category[0] == "L":
        plain = code < _LATIN_END and character not in _DECEPTIVE_LATIN
        return None if plain or code in _LIGATURES else "look-alike"
    if category[0] == "N":
        return "look-alike"
    if category[0] == "S":
        return None if character in _PLAIN_SYMBOLS else "symbol"
    # Punctuation: the dashes and quotes that fold, and those of Latin-1 and of general punctuation that nobody reads as another sign.
    if character in _EM_DASHES or character in _HYPHENS or ord(character) in _FOLDED or character in "¡¿§¶·•…‹›†‡":
        return None
    return "look-alike"


def oddities(text: str) -> tuple[Oddity, ...]:
    """Every deceptive character of `text`, in order. Accents that compose with their letter are none."""
    composed = unicodedata.normalize("NFC", text)
    found = []
    for index, character in enumerate(composed):
        kind = _kind(character)
        if kind is not None:
            found.append(Oddity(kind, index, character))
    return tuple(found)


@lru_cache(maxsize=512)  # a page is read once for every question that cites it
def fold(text: str) -> str:
    """One spelling for each character: NFKC, one hyphen, straight quotes, single blanks; nothing invisible stays.

    An em dash and a double hyphen become a hyphen between blanks (they part clauses), every other dash a bare hyphen (they join
    identifiers and ranges). Case is kept. `fold(fold(text)) == fold(text)`.
    """
    shown = "".join(c for c in text if c in "\t\n\r" or unicodedata.category(c) not in {"Cf", "Cc", "Cs", "Co", "Cn"})
    folded = unicodedata.normalize("NFKC", shown).translate(_FOLDED)
    return _BLANKS.sub(" ", _DOUBLE_HYPHEN.sub(" - ", folded)).strip()


def visible(text: str, limit: int = 160) -> str:
    """`text` as it can be printed in a reason: deceptive characters as their code point, at most `limit` characters."""
    composed = unicodedata.normalize("NFC", text[: limit + 1])
    shown = "".join(f"<U+{ord(c):04X}>" if _kind(c) is not None else c for c in composed)
    shown = _BLANKS.sub(" ", shown).strip()
    return shown if len(text) <= limit else shown[:limit] + "…"
