"""How a page of text is cut into overlapping windows for search.

It decides where windows begin and end. It never changes a character, never crosses a page and knows no embedding model.

Rules
- A window has at most `size` characters; consecutive windows share at most `overlap` and leave nothing between them.
- A window ends, in this order of preference and within its second half: at the last end of a paragraph, at the last end of a sentence,
  after other punctuation or a line end, at a blank, and only then in the middle of a word. A heading is no paragraph: it never closes a
  window while something better is at hand, because it belongs to what follows.
- The next window starts at a sentence that begins inside the overlap, else at a word there.
- `chunk.text == page.text[chunk.start:chunk.end]`; every character of a normalised page lies in a window; starts and ends grow.
- An id is a hash of source, page, span, splitter and text: the same input has the same id on every machine and in every index. The source
  is what the document is (its bytes and how they were read), so a document with two names has one set of chunks.
"""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_left, bisect_right

from tasks.domain.passages import Chunk, Page

SIZE = 500
OVERLAP = 90
SPLITTER_VERSION = "1"
"""Raised with every change that moves a window: ids change with it, and a new index generation is built."""

# A sentence ends at . ! or ? with its closing quotes and brackets, and perhaps a footnote's number ("refills.2"), before a blank and
# something that can start a sentence. `D.0 Standard` is no end, nor is an abbreviation that a capital or a number follows.
_SENTENCE_END = re.compile(r"[.!?][\"'”’)\]]*(?:(?<=[a-z]{2}[.])\d{1,2})?(?=\s+[\"'“‘(\[]*[A-Z0-9§•■])")
_ABBREVIATION = re.compile(
    r"(?:\b(?:[A-Z]|No|Nos|Vol|Pub|Sec|secs?|Mr|Mrs|Ms|Dr|St|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec|Inc|Co|Corp|vs?|cf|e\.g|i\.e"
    r"|Stat|Rev|Fed|Reg|para|approx|Art|Fig|p|pp)|(?:\b[A-Z]\.)+[A-Z])\.\Z"
)
# A paragraph that ends otherwise is a heading or goes on in a list.
_PARAGRAPH_END = re.compile(r"[.!?;][\"'”’)\]]*\d{0,2}\Z")
_WEAKER_END = re.compile(r"[;:,—](?=\s)|\n")


def splitter_name(size: int = SIZE, overlap: int = OVERLAP) -> str:
    """The name that an index generation carries: kind, version and measures, e.g. `sentence-window/1:500/90`."""
    return f"sentence-window/{SPLITTER_VERSION}:{size}/{overlap}"


def source_of(sha256: str, reader: str) -> str:
    """The source of a document's chunks: its bytes, and the reader that made pages of them."""
    return f"{sha256} by {reader}"


def chunk_page(page: Page, *, source: str = "", size: int = SIZE, overlap: int = OVERLAP) -> tuple[Chunk, ...]:
    """Cut one page into windows of at most `size` characters, sharing at most `overlap`; none for a page without text.

    `source` goes into the ids (see `source_of`); without one the document's name does, which is enough outside of an index. The cost is
    linear in the text (but for the logarithm of its sentences), also where a whole file is one page.
    Raises ValueError unless 0 <= overlap < size / 2: a larger overlap could leave a window no room to advance.
    """
    if size < 2 or overlap < 0 or overlap * 2 >= size:
        raise ValueError(f"the overlap ({overlap}) must be at least 0 and less than half of the size ({size})")
    text, chunks, start = page.text, [], 0
    paragraphs, sentences = _paragraph_ends(text), _sentence_ends(text)
    while start < len(text):
        end = _window_end(text, start, size, paragraphs, sentences)
        if text[start:end].strip():
            chunks.append(_chunk(page, start, end, source or page.document, splitter_name(size, overlap)))
        if end == len(text):
            break
        start = _next_start(text, start, end, overlap, sentences)
    return tuple(chunks)


def _chunk(page: Page, start: int, end: int, source: str, splitter: str) -> Chunk:
    text = page.text[start:end]
    key = json.dumps([source, page.number, start, end, splitter, text])
    return Chunk(hashlib.sha256(key.encode()).hexdigest()[:32], page.document, page.number, start, end, text)


def _sentence_ends(text: str) -> list[int]:
    """Offsets just after the last character of a sentence, in order."""
    found = []
    for match in _SENTENCE_END.finditer(text):
        if not _ABBREVIATION.search(text[max(0, match.end() - 12) : match.end()]):
            found.append(match.end())
    return found


def _paragraph_ends(text: str) -> list[int]:
    """Offsets just after the last character of a paragraph, in order; headings left out."""
    ends = [match.start() for match in re.finditer("\n\n", text)]
    starts = [0, *(end + 2 for end in ends)]
    return [end for start, end in zip(starts, ends, strict=False) if _PARAGRAPH_END.search(text[start:end])]


def _window_end(text: str, start: int, size: int, paragraphs: list[int], sentences: list[int]) -> int:
    limit = start + size
    if limit >= len(text):
        return len(text)
    earliest = start + size // 2
    for ends in (paragraphs, sentences):
        last = bisect_right(ends, limit)
        if last and ends[last - 1] > earliest:
            return ends[last - 1]
    weaker = [match.end() for match in _WEAKER_END.finditer(text, earliest, limit)]
    if weaker:
        return weaker[-1]
    blank = max(text.rfind(" ", earliest, limit + 1), text.rfind("\n", earliest, limit + 1))
    return blank if blank > earliest else limit


def _next_start(text: str, start: int, end: int, overlap: int, sentences: list[int]) -> int:
    """The start of the following window: in (start, end], at most `overlap` before `end`, at a sentence or word."""
    earliest = max(start + 1, end - overlap)
    # A sentence's end lies before the blanks that the next one begins after, so one before `earliest` may do too.
    for sentence in sentences[max(0, bisect_left(sentences, earliest) - 1) : bisect_left(sentences, end)]:
        begin = _skip_blanks(text, sentence)
        if earliest <= begin < end:
            return begin
    for position in range(earliest, end):
        if not text[position].isspace() and text[position - 1].isspace():
            return position
    return end


def _skip_blanks(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position
