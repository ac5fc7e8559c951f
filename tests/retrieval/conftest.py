"""Generations in a real database, with vectors that tests choose."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from tasks.domain.chunking import chunk_page
from tasks.domain.passages import Page
from tasks.retrieval.embedding import EmbeddingModel, embedding_model
from tasks.retrieval.generations import add_document, create_draft, store_document, upsert_chunks
from tasks.store.connection import connect
from tests.conftest import Database

Draft = Callable[..., int]


@pytest.fixture
def draft(database: Database) -> Draft:
    """Write a draft generation of one document with the given page texts; every vector is the same unless `vectors` says more."""

    def make(
        texts: Sequence[str] = ("One page.",),
        *,
        model: EmbeddingModel | None = None,
        vectors: Callable[[str], list[float]] = lambda text: [1.0] + [0.0] * 383,
        digest: str = "f",
        corpus: str = "c",
    ) -> int:
        pages = [Page("a.pdf", number, text) for number, text in enumerate(texts, start=1)]
        with connect(database.filing_url) as connection:
            identity = create_draft(
                connection, corpus, splitter="s", model=model or embedding_model("minilm"), digest=digest
            )
            document = store_document(
                connection, corpus, "a.pdf", f"{hash(tuple(texts)) & (2**64 - 1):064x}", "r", pages
            )
            add_document(connection, identity, name="a.pdf", title="A", document=document, status="ok", reason="")
            chunks = [chunk for page in pages for chunk in chunk_page(page)]
            upsert_chunks(connection, identity, document, chunks, [vectors(chunk.text) for chunk in chunks])
        return identity

    return make
