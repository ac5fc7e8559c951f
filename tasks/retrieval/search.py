"""Searches one index generation: vectors and BM25, fused by reciprocal rank.

Both retrievers are needed from the start: with the packaged model's vectors alone the rule's effective date is not among the
first four passages. A query is only ever embedded with the generation's own model.
"""

from __future__ import annotations

from pathlib import Path

from pgvector import Vector
from pgvector.psycopg import register_vector

from tasks.domain.errors import PermanentError
from tasks.domain.passages import Chunk, Passage
from tasks.retrieval.embedding import content_hash, embedding_model, load_embedder
from tasks.retrieval.fusion import fuse
from tasks.retrieval.generations import Generation, chunks_of
from tasks.retrieval.keywords import KeywordIndex
from tasks.store.connection import Connection, connect

# Candidates that each retriever brings to the fusion; a dozen times what a search returns.
CANDIDATES = 50
LONGEST_QUERY = 1_000  # characters; the embedding models read about 256 word pieces and drop the rest


class Index:
    """One generation, ready to be searched; thread-safe for reading. `folder` is where BM25 files are kept."""

    def __init__(self, url: str, generation: Generation, folder: Path) -> None:
        """Loads the generation's embedding model. Raises PermanentError where its revision is not the installed one."""
        model = embedding_model(generation.embedding_model)
        if model.revision != generation.embedding_revision:
            raise PermanentError(
                f"Index generation {generation.id} was made with {model.name} {generation.embedding_revision}, and "
                f"{model.revision} is installed. Their vectors do not compare: run ingest/ingest again."
            )
        self.generation = generation
        self._url = url
        self._embedder = load_embedder(generation.embedding_model)
        with connect(url, read_only=True) as connection:
            self._chunks = {chunk.id: chunk for chunk in chunks_of(connection, generation.id)}
            self._titles = dict(
                connection.execute(
                    "SELECT name, title FROM corpus.generation_documents WHERE generation_id = %s", (generation.id,)
                ).fetchall()
            )
        if not self._chunks:
            raise PermanentError(f"Index generation {generation.id} has no chunks: no document gave any text.")
        # The chunks are in the name because a database that was made anew counts its generations from 1 again.
        files = folder / f"{generation.id}-{content_hash(' '.join(self._chunks))[:16]}"
        self._keywords = (
            KeywordIndex(files)
            if files.exists()
            else KeywordIndex.build(files, list(self._chunks), [chunk.text for chunk in self._chunks.values()])
        )

    def search(self, query: str, k: int) -> tuple[Passage, ...]:
        """At most `k` passages, best first; nothing for a query without a word."""
        text = query.strip()[:LONGEST_QUERY].replace("\0", " ")
        if not text:
            return ()
        fused = fuse([self.by_vector(text, CANDIDATES), self.by_keyword(text, CANDIDATES)])
        return tuple(
            Passage(chunk, self._titles.get(chunk.document, chunk.document), score, rank)
            for rank, (chunk, score) in enumerate(
                ((self._chunks[identity], score) for identity, score in fused[:k]), start=1
            )
        )

    def by_vector(self, query: str, k: int) -> list[str]:
        """Ids of the `k` nearest chunks by cosine."""
        vector = self._embedder.query(query)
        with connect(self._url, read_only=True) as connection:
            return nearest(connection, self.generation.id, vector, k)

    def by_keyword(self, query: str, k: int) -> list[str]:
        """Ids of at most `k` chunks by BM25."""
        return self._keywords.rank(query, k)

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """Every chunk of the generation, by document, page and offset."""
        return tuple(self._chunks.values())


def nearest(connection: Connection, generation: int, vector: list[float], k: int) -> list[str]:
    """Ids of the `k` nearest chunks of one generation.

    The HNSW index spans all generations, so the scan is iterative: it goes on until `k` rows of this generation are found.
    """
    register_vector(connection)
    connection.execute("SET LOCAL hnsw.iterative_scan = strict_order")
    connection.execute("SET LOCAL hnsw.ef_search = 100")
    rows = connection.execute(
        "SELECT id FROM corpus.chunks WHERE generation_id = %s ORDER BY embedding <=> %s LIMIT %s",
        (generation, Vector(vector), k),
    )
    return [str(row[0]) for row in rows]
