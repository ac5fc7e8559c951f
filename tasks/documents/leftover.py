"""Words of a web page or Word file that its reader left out, so that nothing is lost without a word.

It decides which text of a file a person would see as the document's, by a reader of its own that knows no depth or size limit, and which of
it is not in the elements. It changes nothing.

Rules
- Text is compared by letters and digits alone, a piece at a time: a piece whose words are all among the elements' words is there.
- Of a web page everything counts but what a browser does not show as text, menus and fields to fill in (`_NO_TEXT`).
- Of a Word file the body, footnotes and endnotes count, deleted text does not; heads, feet and comments do not.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from html.parser import HTMLParser

MOST_NAMED = 5
MOST_COMPARED = 200
"""Pieces that are looked for letter by letter; beyond, a file has lost enough to be told."""

_WORD = re.compile(r"[^\W_]+")
_NO_TEXT = frozenset(
    "audio button canvas datalist del dialog head iframe nav noembed noframes noscript object script select style svg template "
    "textarea title video xml".split()
)


def left_out(pieces: Iterable[str], texts: Sequence[str]) -> str:
    """A clause about the words of `pieces` that are not in `texts`; empty where all are there."""
    there = {word for text in texts for word in _words(text)}
    stream = ""
    missing: list[str] = []
    compared = 0
    for piece in pieces:
        words = [word for word in _words(piece) if word not in there]
        if not words:
            continue
        # The elements may have joined a word that the file writes in pieces.
        compared += 1
        if compared <= MOST_COMPARED:
            stream = stream or "".join(word for text in texts for word in _words(text))
            words = [word for word in words if word not in stream]
        missing += words
    distinct = list(dict.fromkeys(missing))
    if not distinct:
        return ""
    shown = ", ".join(word[:40] for word in distinct[:MOST_NAMED])
    more = f" and {len(distinct) - MOST_NAMED} more" if len(distinct) > MOST_NAMED else ""
    return f"words of the file that its reader left out: {shown}{more}"


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).replace("\u00ad", "").casefold())


def texts_of_page(page: str) -> Iterator[str]:
    """The pieces of text between the tags of a web page, those that no reader should show left out."""
    found = _Texts()
    found.feed(page)
    found.close()
    yield from found.pieces


class _Texts(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._within: dict[str, int] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _NO_TEXT:
            self._within[tag] = self._within.get(tag, 0) + 1
        elif tag == "body":
            self._within.pop("head", None)

    def handle_endtag(self, tag: str) -> None:
        if self._within.get(tag, 0) > 1:
            self._within[tag] -= 1
        else:
            self._within.pop(tag, None)

    def handle_data(self, data: str) -> None:
        if not self._within:
            self.pieces.append(data)
