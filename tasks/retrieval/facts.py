"""What is so about a draft: counts by document, for the gate's suite to judge.

It measures and decides nothing. It reads chunks as they come, never all at once; a hundred thousand cost a few seconds.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from tasks.domain.text import LINE_BREAK_HYPHEN, leftover_hyphens
from tasks.retrieval.generations import Generation, document_statuses, iterate_chunks, live_documents
from tasks.store.connection import Connection

SHRUNK = 0.1
"""A new version with less than this share of the old one's characters is more likely a scan that could not be read than a revision."""
LEAST_CHARACTERS = 200
"""A version with fewer characters than this has nothing that could be lost by mistake."""
MARKS = (LINE_BREAK_HYPHEN, "\u00ad")


@dataclass(frozen=True, slots=True)
class DocumentFacts:
    """One name of a draft, or of the index that serves while it is decided upon.

    `lost`: what serves has the document, the corpus still names it, and the draft cannot read it. `emptied`: the draft can, but nearly all
    of its text is gone.
    """

    name: str
    readable: bool
    lost: bool
    emptied: bool


@dataclass(frozen=True, slots=True)
class ChunkFacts:
    """The chunks of one document version. Counts of those that break a rule, except `chunks`, which counts all; `embedding` names the
    model and revision of the set that they are in."""

    name: str
    embedding: str
    chunks: int
    empty: int
    off_page: int
    marks: int
    hyphens: int
    without_vector: int


def document_facts(connection: Connection, draft: Generation, serving: Generation | None) -> tuple[DocumentFacts, ...]:
    """One row per name, by name. Documents that were withdrawn from what serves are not lost."""
    drafted = {row.name: row.document for row in live_documents(connection, draft.id)}
    served = {row.name: row.document for row in live_documents(connection, serving.id)} if serving else {}
    sizes: dict[int, int] = dict(
        connection.execute(
            "SELECT document_id, sum(length(text)) FROM corpus.pages WHERE document_id = ANY(%s) GROUP BY document_id",
            (sorted({*drafted.values(), *served.values()}),),
        ).fetchall()
    )
    names = {row.name for row in document_statuses(connection, draft.id)} | set(served)
    rows = []
    for name in sorted(names):
        now, before = drafted.get(name), served.get(name)
        size = sizes.get(before, 0) if before is not None else 0
        emptied = now is not None and size >= LEAST_CHARACTERS and sizes.get(now, 0) < size * SHRUNK
        rows.append(DocumentFacts(name, now is not None, before is not None and now is None, emptied))
    return tuple(rows)


def chunk_facts(connection: Connection, draft: Generation) -> tuple[ChunkFacts, ...]:
    """One row per readable document version, under the first of its names; none where no document is readable."""
    marks: Counter[str] = Counter()
    hyphens: Counter[str] = Counter()
    for chunk in iterate_chunks(connection, draft.id):
        marks[chunk.document] += any(mark in chunk.text for mark in MARKS)
        hyphens[chunk.document] += len(leftover_hyphens(chunk.text))
    rows = connection.execute(
        "SELECT d.name, s.embedding_model || ' ' || s.embedding_revision, count(c.id), "
        r"count(c.id) FILTER (WHERE c.text !~ '\S'), "
        "count(c.id) FILTER (WHERE substr(p.text, c.start_offset + 1, c.end_offset - c.start_offset) <> c.text), "
        "count(c.id) FILTER (WHERE c.embedding IS NULL) "
        "FROM (SELECT document_id, min(name) AS name FROM corpus.generation_documents "
        "WHERE generation_id = %s AND document_id IS NOT NULL AND closed_at IS NULL GROUP BY document_id) d "
        "LEFT JOIN corpus.chunk_sets s ON s.id = %s "
        "LEFT JOIN corpus.chunks c ON c.set_id = s.id AND c.document_id = d.document_id "
        "LEFT JOIN corpus.pages p ON p.document_id = c.document_id AND p.number = c.page "
        "GROUP BY d.name, s.embedding_model, s.embedding_revision ORDER BY d.name",
        (draft.id, draft.set_id),
    )
    return tuple(
        ChunkFacts(name, embedding or "none", chunks, empty, off_page, marks[name], hyphens[name], without_vector)
        for name, embedding, chunks, empty, off_page, without_vector in rows
    )
