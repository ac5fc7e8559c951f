"""What retrieval speaks about: pages, chunks cut from them, passages found, questions with known answers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a document as it is stored, once, apart from chunks: `number` counts from 1, `text` is normalised."""

    document: str
    number: int
    text: str


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
    """A chunk that a search returned: `rank` counts from 1, `score` is the fused score (higher is better)."""

    chunk: Chunk
    title: str
    score: float
    rank: int


@dataclass(frozen=True, slots=True)
class GoldenQuestion:
    """A question with a known place of its answer.

    Labelled by document, pages and a pattern (a regular expression that the answering passage must match), never by chunk id, so
    that re-chunking keeps the labels. `document` is None for an unanswerable question.
    """

    id: str
    question: str
    kind: str
    document: str | None
    pages: tuple[int, ...]
    pattern: str | None
