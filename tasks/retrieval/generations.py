"""Index generations in Postgres: written as drafts, decided once, and one per corpus open at a time.

Cost: one upsert per chunk; vectors of unchanged text are looked up by its hash and never computed again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pgvector import Vector
from pgvector.psycopg import register_vector
from psycopg.types.json import Jsonb

from tasks.domain.errors import PermanentError
from tasks.domain.passages import Chunk, Page
from tasks.retrieval.embedding import EmbeddingModel, content_hash
from tasks.store.connection import Connection, one


@dataclass(frozen=True, slots=True)
class Generation:
    id: int
    corpus: str
    splitter: str
    embedding_model: str
    embedding_revision: str
    fingerprint: str
    state: str
    evaluation: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class DocumentStatus:
    """What became of one document of the manifest in one generation; `status` is ok where it is searchable."""

    name: str
    title: str
    status: str
    reason: str
    pages: int
    chunks: int


COLUMNS = "id, corpus, splitter, embedding_model, embedding_revision, fingerprint, state, evaluation"


def fingerprint(parts: Mapping[str, Any]) -> str:
    """One hash over everything that an index and its evaluation depend on; equal input needs no new generation."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def open_generation(connection: Connection, corpus: str) -> Generation | None:
    return _find(connection, "corpus = %s AND state = 'open'", (corpus,))


def newest_generation(connection: Connection, corpus: str) -> Generation | None:
    return _find(connection, "corpus = %s", (corpus,))


def generation(connection: Connection, identity: int) -> Generation:
    found = _find(connection, "id = %s", (identity,))
    if found is None:
        raise PermanentError(f"There is no index generation {identity}.")
    return found


def _find(connection: Connection, where: str, values: tuple[Any, ...]) -> Generation | None:
    row = connection.execute(
        f"SELECT {COLUMNS} FROM corpus.generations WHERE {where} ORDER BY id DESC LIMIT 1",
        values,
    ).fetchone()
    return None if row is None else Generation(*row)


def create_draft(connection: Connection, corpus: str, *, splitter: str, model: EmbeddingModel, digest: str) -> int:
    """A new draft; drafts of the corpus that were left behind by killed runs are removed."""
    connection.execute("SELECT pg_advisory_xact_lock(hashtext('corpus.generations'), hashtext(%s))", (corpus,))
    connection.execute(
        "DELETE FROM corpus.generations WHERE corpus = %s AND state = 'draft' AND created_at < now() - interval '1 day'",
        (corpus,),
    )
    return int(
        one(
            connection.execute(
                "INSERT INTO corpus.generations (corpus, splitter, embedding_model, embedding_revision, fingerprint) "
                "VALUES (%s, %s, %s, %s, %s) RETURNING id",
                (corpus, splitter, model.name, model.revision, digest),
            ).fetchone()
        )[0]
    )


def known_document(connection: Connection, corpus: str, name: str, sha256: str, reader: str) -> int | None:
    """The stored version of a file that was read before by the same reader, or None."""
    row = connection.execute(
        "SELECT id FROM corpus.documents WHERE corpus = %s AND name = %s AND sha256 = %s AND reader = %s",
        (corpus, name, sha256, reader),
    ).fetchone()
    return None if row is None else int(row[0])


def store_document(
    connection: Connection, corpus: str, name: str, sha256: str, reader: str, pages: Sequence[Page]
) -> int:
    """Store the pages of a file once; returns the document's id."""
    row = connection.execute(
        "INSERT INTO corpus.documents (corpus, name, sha256, reader, page_count) VALUES (%s, %s, %s, %s, %s) "
        "ON CONFLICT (corpus, name, sha256, reader) DO NOTHING RETURNING id",
        (corpus, name, sha256, reader, len(pages)),
    ).fetchone()
    if row is None:
        known = known_document(connection, corpus, name, sha256, reader)
        assert known is not None
        return known
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO corpus.pages (document_id, number, text) VALUES (%s, %s, %s)",
            [(row[0], page.number, page.text) for page in pages],
        )
    return int(row[0])


def document_pages(connection: Connection, document: int) -> tuple[Page, ...]:
    rows = connection.execute(
        "SELECT d.name, p.number, p.text FROM corpus.pages p JOIN corpus.documents d ON d.id = p.document_id "
        "WHERE p.document_id = %s ORDER BY p.number",
        (document,),
    )
    return tuple(Page(*row) for row in rows)


def add_document(
    connection: Connection, generation: int, *, name: str, title: str, document: int | None, status: str, reason: str
) -> None:
    """Say what became of a document in this generation; a repeated call replaces the first."""
    connection.execute(
        "INSERT INTO corpus.generation_documents (generation_id, name, title, document_id, status, reason) "
        "VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (generation_id, name) DO UPDATE "
        "SET title = excluded.title, document_id = excluded.document_id, status = excluded.status, reason = excluded.reason",
        (generation, name, title, document, status, reason),
    )


def known_vectors(connection: Connection, model: EmbeddingModel, texts: Iterable[str]) -> dict[str, list[float]]:
    """Vectors of texts that any generation of the same model and revision holds, by content hash."""
    register_vector(connection)
    hashes = [content_hash(text) for text in texts]
    rows = connection.execute(
        "SELECT DISTINCT ON (c.text_sha256) c.text_sha256, c.embedding FROM corpus.chunks c "
        "JOIN corpus.generations g ON g.id = c.generation_id "
        "WHERE c.text_sha256 = ANY(%s) AND g.embedding_model = %s AND g.embedding_revision = %s",
        (hashes, model.name, model.revision),
    ).fetchall()
    return {digest: vector.to_list() for digest, vector in rows}


def upsert_chunks(
    connection: Connection, generation: int, document: int, chunks: Sequence[Chunk], vectors: Sequence[Sequence[float]]
) -> int:
    """Write chunks with their vectors, `len(chunks) == len(vectors)`; repeatable. Returns how many there are."""
    register_vector(connection)
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO corpus.chunks (generation_id, id, document_id, page, start_offset, end_offset, text, text_sha256, "
            "embedding) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (generation_id, id) DO UPDATE "
            "SET embedding = excluded.embedding",
            [
                (
                    generation,
                    chunk.id,
                    document,
                    chunk.page,
                    chunk.start,
                    chunk.end,
                    chunk.text,
                    content_hash(chunk.text),
                    Vector(list(vector)),
                )
                for chunk, vector in zip(chunks, vectors, strict=True)
            ],
        )
    return len(chunks)


def document_statuses(connection: Connection, generation: int) -> tuple[DocumentStatus, ...]:
    rows = connection.execute(
        "SELECT g.name, g.title, g.status, g.reason, coalesce(d.page_count, 0), "
        "(SELECT count(*) FROM corpus.chunks c WHERE c.generation_id = g.generation_id AND c.document_id = g.document_id) "
        "FROM corpus.generation_documents g LEFT JOIN corpus.documents d ON d.id = g.document_id "
        "WHERE g.generation_id = %s ORDER BY g.name",
        (generation,),
    )
    return tuple(DocumentStatus(*row) for row in rows)


def chunks_of(connection: Connection, generation: int) -> tuple[Chunk, ...]:
    rows = connection.execute(
        "SELECT c.id, d.name, c.page, c.start_offset, c.end_offset, c.text "
        "FROM corpus.chunks c JOIN corpus.documents d ON d.id = c.document_id "
        "WHERE c.generation_id = %s ORDER BY d.name, c.page, c.start_offset",
        (generation,),
    )
    return tuple(Chunk(*row) for row in rows)


def decide(connection: Connection, identity: int, *, opened: bool, evaluation: Mapping[str, Any]) -> str:
    """Open or reject a draft, in the caller's transaction: the old open generation is superseded in the same moment.

    Returns the draft's new state: open, rejected, or superseded where a newer generation opened while this one was built.
    Raises PermanentError where the generation is no draft: a decision is made once.
    """
    row = connection.execute(
        "SELECT corpus, state FROM corpus.generations WHERE id = %s FOR UPDATE", (identity,)
    ).fetchone()
    if row is None or row[1] != "draft":
        raise PermanentError(f"Index generation {identity} is {'missing' if row is None else row[1]}, not a draft.")
    connection.execute("SELECT pg_advisory_xact_lock(hashtext('corpus.generations'), hashtext(%s))", (row[0],))
    state = "open" if opened else "rejected"
    serving = open_generation(connection, row[0])
    if opened and serving is not None and serving.id > identity:
        state = "superseded"
    elif opened:
        connection.execute(
            "UPDATE corpus.generations SET state = 'superseded', decided_at = now() WHERE corpus = %s AND state = 'open'",
            (row[0],),
        )
    connection.execute(
        "UPDATE corpus.generations SET state = %s, decided_at = now(), evaluation = %s WHERE id = %s",
        (state, Jsonb(dict(evaluation)), identity),
    )
    return state
