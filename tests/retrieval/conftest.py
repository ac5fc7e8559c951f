"""Generations in a real database, with vectors that tests choose."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import date

import pytest

from tasks.domain.chunking import chunk_page, source_of
from tasks.domain.passages import Page
from tasks.retrieval.embedding import EmbeddingModel, embedding_model
from tasks.retrieval.generations import (
    Precision,
    add_document,
    begin_document,
    chunks_to_embed,
    create_draft,
    decide,
    finish_document,
    generation,
    index_set,
    store_chunks,
    store_pages,
    store_vectors,
)
from tasks.store.connection import Connection, connect
from tests.conftest import Database

Draft = Callable[..., int]
Texts = Sequence[str] | Sequence[Page]
Dates = Mapping[str, tuple[date | None, date | None]]

READER = "test-reader/1"
SPLITTER = "test-splitter/1"


def one_direction(text: str) -> list[float]:
    return [1.0] + [0.0] * 383


def direction_of(text: str) -> list[float]:
    """A vector of the text's own: equal texts have equal vectors, others are hardly ever near."""
    raw = [byte - 127.5 for n in range(12) for byte in hashlib.sha256(f"{n} {text}".encode()).digest()]
    length = sum(value * value for value in raw) ** 0.5
    return [value / length for value in raw]


def store(connection: Connection, corpus: str, texts: Texts, *, sha256: str = "", reader: str = READER) -> int:
    """Store a document version, by default under a hash of its texts; returns its id."""
    pages = [each if isinstance(each, Page) else Page("", n, each) for n, each in enumerate(texts, start=1)]
    digest = sha256 or hashlib.sha256("\f".join(page.text for page in pages).encode()).hexdigest()
    begun = begin_document(connection, corpus, digest, reader, len(pages))
    store_pages(connection, begun.id, pages)
    finish_document(connection, begun.id)
    return begun.id


def cut(connection: Connection, chunk_set: int, document: int, texts: Texts, sha256: str = "") -> int:
    """Store the chunks of a document version, without vectors."""
    pages = [each if isinstance(each, Page) else Page("", n, each) for n, each in enumerate(texts, start=1)]
    source = source_of(sha256 or str(document), READER)
    return store_chunks(
        connection, chunk_set, document, (chunk for page in pages for chunk in chunk_page(page, source=source))
    )


@pytest.fixture
def draft(database: Database) -> Draft:
    """Write a draft generation, by default of one document a.pdf with one page.

    `documents` has page texts (or pages) by name; two names with the same texts are one document version. `dates` has (effective_from,
    effective_to) by name, `vectors` gives a text's vector, `opened` opens the draft at once.
    """

    def make(
        texts: Texts = ("One page.",),
        *,
        documents: Mapping[str, Texts] | None = None,
        dates: Dates | None = None,
        model: EmbeddingModel | None = None,
        vectors: Callable[[str], Sequence[float]] = one_direction,
        digest: str = "f",
        corpus: str = "c",
        precision: Precision = "single",
        splitter: str = SPLITTER,
        opened: bool = False,
        evaluated: bool = True,
    ) -> int:
        with connect(database.filing_url) as connection:
            identity = create_draft(
                connection,
                corpus,
                splitter=splitter,
                model=model or embedding_model("minilm"),
                digest=digest,
                precision=precision,
            )
            chunk_set = generation(connection, identity).set_id
            assert chunk_set is not None
            for name, each in (documents or {"a.pdf": texts}).items():
                document = store(connection, corpus, each)
                first, last = (dates or {}).get(name, (None, None))
                add_document(
                    connection,
                    identity,
                    name=name,
                    title=name.removesuffix(".pdf").upper(),
                    document=document,
                    status="ok",
                    reason="",
                    effective_from=first,
                    effective_to=last,
                )
                cut(connection, chunk_set, document, each)
                while batch := chunks_to_embed(connection, chunk_set, document):
                    store_vectors(connection, chunk_set, [i for i, _ in batch], [vectors(text) for _, text in batch])
            index_set(connection, chunk_set)
            if opened:
                decide(connection, identity, opened=True, evaluation={}, evaluated=evaluated)
        return identity

    return make
