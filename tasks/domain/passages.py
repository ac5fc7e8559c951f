"""What retrieval speaks about: pages, chunks cut from them, passages found, questions with known answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Literal

Origin = Literal["text", "ocr", "none"]


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a document as it is stored, once, apart from chunks: `number` counts from 1, `text` is normalised.

    `origin` says where the text is from: the file's own text, character recognition (then `confidence` is the mean over its words, 0 to
    1), or nowhere (the page is empty or could not be read, and then `problem` says why).
    """

    document: str
    number: int
    text: str
    origin: Origin = "text"
    confidence: float | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A window over one page.

    `start` and `end` are character offsets into the stored page text, so `text == page.text[start:end]`.
    `id` is a hash of content, span and splitter version: equal input gives an equal id in every generation.
    """

    id: str
    document: str
    page: int
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk that a search returned: `rank` counts from 1, `score` is the fused score (higher is better).

    `effective_from` and `effective_to` are the document's, both inclusive, None for an open end. `also_at` names other places (document,
    page) with the same text. `joined` is what is shown where the chunk was joined with its neighbours on the page, and `shown` then has
    the ids of all chunks in it, this one first.
    """

    chunk: Chunk
    title: str
    score: float
    rank: int
    effective_from: date | None = None
    effective_to: date | None = None
    also_at: tuple[tuple[str, int], ...] = ()
    origin: Origin = "text"
    confidence: float | None = None
    joined: str = ""
    shown: tuple[str, ...] = ()

    @property
    def chunk_ids(self) -> tuple[str, ...]:
        """The ids of all chunks whose text is shown."""
        return self.shown or (self.chunk.id,)

    @property
    def text(self) -> str:
        """The text that is shown; all of it stands on the chunk's page."""
        return self.joined or self.chunk.text


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A document that a search did not look into, because it was not in force in the period asked for."""

    document: str
    effective_from: date | None
    effective_to: date | None


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found: at most `asked` passages, best first.

    `left_out` has the documents that were not searched; `shortfall` says in a sentence why there are fewer passages than asked for and
    which documents that were asked for are unknown or withdrawn, and is empty otherwise.
    """

    passages: tuple[Passage, ...]
    asked: int
    left_out: tuple[LeftOut, ...] = ()
    shortfall: str = ""


@dataclass(frozen=True, slots=True)
class GoldenQuestion:
    """A question with a known place of its answer.

    Labelled by document, pages and patterns (regular expressions that one passage must all match), never by chunk id, so that
    re-chunking keeps the labels. `document` is None for an unanswerable question. A `draft` was written by a program and counts for
    nothing until a person accepts it.
    """

    id: str
    question: str
    kind: str
    document: str | None
    pages: tuple[int, ...]
    patterns: tuple[str, ...]
    answerable: bool = True
    draft: bool = False
