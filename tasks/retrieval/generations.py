"""Index generations in Postgres: written as drafts, decided once, at most one of a corpus open at a time.

A generation is a list of document versions and the chunk set that they are cut into. Pages are stored once by content (corpus, sha256,
reader) and chunks once by document version and set, so a document that did not change costs a new generation one row, under however many
names. A set is one splitter, one embedding model and one precision of the vector index, in a partition of its own: vectors of two models
never meet.

States: draft → open (evaluated), unevaluated (no golden questions: search only, never filing) or rejected; a later one supersedes the
first two. A document that is withdrawn from the corpus is closed in what serves at once (`closed_at`), whatever the next draft's fate.

It never reads a file, never computes a vector and never says whether an index is good: it keeps what others found and decided.

Every function works in the caller's transaction. What is killed half-way goes on: pages in batches that are whole or absent, chunks of a
document whole or absent, vectors filled in batches (null: still to be computed).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice
from typing import Any, Literal

from pgvector import Vector
from pgvector.psycopg import register_vector
from psycopg import errors
from psycopg.types.json import Jsonb

from tasks.domain.errors import PermanentError, TemporaryError
from tasks.domain.passages import Chunk, Page
from tasks.retrieval.embedding import EmbeddingModel, content_hash
from tasks.store.connection import Connection, one

Precision = Literal["single", "half"]

BATCH = 512  # chunks whose vectors are filled in one transaction: 0.8 MB of vectors
ROWS_AT_ONCE = 2_000  # rows that a server-side cursor fetches: about 1 MB of chunk text
KEPT_AFTER_DECISION = (
    "1 day"  # how long chunks that nothing serves any more are kept, for the filings and ingests that still use them
)
INDEX_MEMORY_MB = (64, 2_048)  # least and most memory of an index build
BYTES_PER_INDEXED_CHUNK = 3_000  # a vector of 384 floats (1,536 bytes) and its links in the graph, measured generously
DROP_WAIT = "5s"  # to drop a set, Postgres waits for running searches, and new ones wait behind it


@dataclass(frozen=True, slots=True)
class Generation:
    """`set_id` is None where the chunks are gone: rejected, or superseded for long."""

    id: int
    corpus: str
    splitter: str
    embedding_model: str
    embedding_revision: str
    fingerprint: str
    state: str
    evaluation: Mapping[str, Any] | None = None
    set_id: int | None = None
    precision: Precision = "single"


@dataclass(frozen=True, slots=True)
class DocumentStatus:
    """What became of one document of the corpus in one generation; `status` is ok where it is readable.

    Both dates are inclusive, None is an open end. `closed`: withdrawn since, so no search returns it.
    """

    name: str
    title: str
    status: str
    reason: str
    pages: int
    chunks: int
    effective_from: date | None = None
    effective_to: date | None = None
    closed: bool = False


@dataclass(frozen=True, slots=True)
class LiveDocument:
    """A name under which a generation serves a document version: readable, and not withdrawn since."""

    document: int
    name: str
    title: str
    effective_from: date | None
    effective_to: date | None


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document version: `pages` are stored so far, of `page_count`; `finished` where all are."""

    id: int
    pages: int
    page_count: int
    finished: bool


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """A document that `generation` serves and the corpus no longer names; `now` where it was closed by this call."""

    generation: int
    name: str
    title: str
    now: bool


@dataclass(frozen=True, slots=True)
class Pruned:
    """What `prune` removed: rows, sets, and `dead`, the generations that can no longer be searched."""

    chunks: int
    sets: int
    dead: tuple[int, ...]


# ------------------------------------------------------------------------------------------------------------------- generations
def fingerprint(parts: Mapping[str, Any]) -> str:
    """One hash over everything that an index and its evaluation depend on; equal input needs no new generation."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def open_generation(connection: Connection, corpus: str) -> Generation | None:
    """The evaluated generation that is open: the only one that a filing may answer from."""
    return _find(connection, "g.corpus = %s AND g.state = 'open'", (corpus,))


def serving_generation(connection: Connection, corpus: str) -> Generation | None:
    """What a search gets: the open generation, else the unevaluated one."""
    return open_generation(connection, corpus) or _find(
        connection, "g.corpus = %s AND g.state = 'unevaluated'", (corpus,)
    )


def newest_generation(connection: Connection, corpus: str) -> Generation | None:
    return _find(connection, "g.corpus = %s", (corpus,))


def generation(connection: Connection, identity: int) -> Generation:
    """Raises PermanentError where there is none."""
    found = _find(connection, "g.id = %s", (identity,))
    if found is None:
        raise PermanentError(f"There is no index generation {identity}.")
    return found


def _find(connection: Connection, where: str, values: tuple[Any, ...]) -> Generation | None:
    row = connection.execute(
        "SELECT g.id, g.corpus, g.splitter, g.embedding_model, g.embedding_revision, g.fingerprint, g.state, g.evaluation, "
        "g.set_id, coalesce(s.precision, 'single') "
        f"FROM corpus.generations g LEFT JOIN corpus.chunk_sets s ON s.id = g.set_id WHERE {where} ORDER BY g.id DESC LIMIT 1",
        values,
    ).fetchone()
    return None if row is None else Generation(*row)


def open_set(
    connection: Connection, corpus: str, *, splitter: str, model: EmbeddingModel, precision: Precision = "single"
) -> int:
    """The chunk set of this corpus, splitter, model and precision; made, with a partition of its own, where there is none."""
    row = connection.execute(
        "SELECT corpus.open_set(%s, %s, %s, %s, %s)", (corpus, splitter, model.name, model.revision, precision)
    ).fetchone()
    return int(one(row)[0])


def create_draft(
    connection: Connection,
    corpus: str,
    *,
    splitter: str,
    model: EmbeddingModel,
    digest: str,
    precision: Precision = "single",
) -> int:
    """A new draft; drafts of the corpus that were left behind by killed runs a day ago are removed."""
    _lock_corpus(connection, corpus)
    connection.execute(
        "DELETE FROM corpus.generations WHERE corpus = %s AND state = 'draft' AND created_at < now() - interval '1 day'",
        (corpus,),
    )
    chunk_set = open_set(connection, corpus, splitter=splitter, model=model, precision=precision)
    row = connection.execute(
        "INSERT INTO corpus.generations (corpus, splitter, embedding_model, embedding_revision, fingerprint, set_id) "
        "VALUES (%s, %s, %s, %s, %s, %s) RETURNING id",
        (corpus, splitter, model.name, model.revision, digest, chunk_set),
    ).fetchone()
    return int(one(row)[0])


def _lock_corpus(connection: Connection, corpus: str) -> None:
    """Drafts begin, are decided and are cleaned up one after the other in one corpus."""
    connection.execute("SELECT pg_advisory_xact_lock(hashtext('corpus.generations'), hashtext(%s))", (corpus,))


# ------------------------------------------------------------------------------------------------------------- documents and pages
def known_document(connection: Connection, corpus: str, sha256: str, reader: str) -> int | None:
    """The document version with these bytes that this reader has read to the end, or None."""
    row = connection.execute(
        "SELECT id FROM corpus.documents WHERE corpus = %s AND sha256 = %s AND reader = %s AND finished_at IS NOT NULL",
        (corpus, sha256, reader),
    ).fetchone()
    return None if row is None else int(row[0])


def document_reason(connection: Connection, document: int) -> str:
    """What its reader said when it was read: damaged pages, pages without text, pages of recognised text."""
    return str(one(connection.execute("SELECT reason FROM corpus.documents WHERE id = %s", (document,)).fetchone())[0])


def begin_document(connection: Connection, corpus: str, sha256: str, reader: str, page_count: int) -> StoredDocument:
    """Begin to store a document version of `page_count` pages (at least 1), or go on with one that was begun before."""
    connection.execute(
        "INSERT INTO corpus.documents (corpus, sha256, reader, page_count) VALUES (%s, %s, %s, %s) "
        "ON CONFLICT (corpus, sha256, reader) DO NOTHING",
        (corpus, sha256, reader, page_count),
    )
    row = connection.execute(
        "SELECT d.id, (SELECT count(*) FROM corpus.pages p WHERE p.document_id = d.id), d.page_count, d.finished_at IS NOT NULL "
        "FROM corpus.documents d WHERE corpus = %s AND sha256 = %s AND reader = %s",
        (corpus, sha256, reader),
    ).fetchone()
    return StoredDocument(*one(row))


def store_pages(connection: Connection, document: int, pages: Sequence[Page]) -> int:
    """Store a batch of pages; returns how many were new. A page that is stored already stays as it is, whoever stored it.

    Two runs that read the same file at once may both call this: the document is locked until the transaction ends.
    """
    _lock_document(connection, document)
    known = {
        row[0]
        for row in connection.execute(
            "SELECT number FROM corpus.pages WHERE document_id = %s AND number = ANY(%s)",
            (document, [page.number for page in pages]),
        )
    }
    fresh = [page for page in pages if page.number not in known]
    with (
        connection.cursor() as cursor,
        cursor.copy("COPY corpus.pages (document_id, number, text, origin, confidence, problem) FROM STDIN") as copy,
    ):
        for page in fresh:
            copy.write_row((document, page.number, page.text, page.origin, page.confidence, page.problem))
    return len(fresh)


def _lock_document(connection: Connection, document: int) -> None:
    # hashint8, because a document's number may outgrow the lock's four bytes.
    connection.execute("SELECT pg_advisory_xact_lock(hashtext('corpus.documents'), hashint8(%s))", (document,))


def finish_document(connection: Connection, document: int, reason: str = "") -> None:
    """Say that every page is stored. Raises TemporaryError where one is missing: the next try stores it."""
    _lock_document(connection, document)
    row = connection.execute(
        "UPDATE corpus.documents d SET finished_at = coalesce(finished_at, now()), reason = %s WHERE id = %s "
        "AND page_count = (SELECT count(*) FROM corpus.pages p WHERE p.document_id = d.id) RETURNING id",
        (reason, document),
    ).fetchone()
    if row is None:
        raise TemporaryError(f"Document {document} does not have all of its pages yet: read it again.")


def discard_document(connection: Connection, document: int) -> None:
    """Forget a document version that was begun and turned out to be unreadable; a finished one stays."""
    _lock_document(connection, document)
    connection.execute("DELETE FROM corpus.documents WHERE id = %s AND finished_at IS NULL", (document,))


def document_pages(connection: Connection, document: int, name: str = "") -> Iterator[Page]:
    """The pages of a document version in order, as they come: memory holds one fetch of them. `name` is what they carry."""
    with connection.cursor(name=f"pages_{document}") as cursor:
        cursor.itersize = 100
        cursor.execute(
            "SELECT number, text, origin, confidence, problem FROM corpus.pages WHERE document_id = %s ORDER BY number",
            (document,),
        )
        for row in cursor:
            yield Page(name, *row)


def add_document(
    connection: Connection,
    generation: int,
    *,
    name: str,
    title: str,
    document: int | None,
    status: str,
    reason: str,
    effective_from: date | None = None,
    effective_to: date | None = None,
) -> None:
    """Say what became of a document in this generation; a repeated call replaces the first."""
    connection.execute(
        "INSERT INTO corpus.generation_documents "
        "(generation_id, name, title, document_id, status, reason, effective_from, effective_to) "
        "VALUES (%s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (generation_id, name) DO UPDATE SET title = excluded.title, "
        "document_id = excluded.document_id, status = excluded.status, reason = excluded.reason, "
        "effective_from = excluded.effective_from, effective_to = excluded.effective_to",
        (generation, name, title, document, status, reason, effective_from, effective_to),
    )


def document_statuses(connection: Connection, generation: int) -> tuple[DocumentStatus, ...]:
    """One row per name, by name. Counts chunks by index: the cost grows with the number of chunks, a second for a million."""
    rows = connection.execute(
        "SELECT g.name, g.title, g.status, g.reason, coalesce(d.page_count, 0), "
        "(SELECT count(*) FROM corpus.chunks c WHERE c.set_id = n.set_id AND c.document_id = g.document_id), "
        "g.effective_from, g.effective_to, g.closed_at IS NOT NULL "
        "FROM corpus.generation_documents g JOIN corpus.generations n ON n.id = g.generation_id "
        "LEFT JOIN corpus.documents d ON d.id = g.document_id WHERE g.generation_id = %s ORDER BY g.name",
        (generation,),
    )
    return tuple(DocumentStatus(*row) for row in rows)


def live_documents(connection: Connection, generation: int) -> tuple[LiveDocument, ...]:
    """What a search may return, by name; a document version with two names stands here twice."""
    rows = connection.execute(
        "SELECT document_id, name, title, effective_from, effective_to FROM corpus.generation_documents "
        "WHERE generation_id = %s AND document_id IS NOT NULL AND closed_at IS NULL ORDER BY name",
        (generation,),
    )
    return tuple(LiveDocument(*row) for row in rows)


def close_documents(connection: Connection, corpus: str, named: Collection[str]) -> tuple[Withdrawn, ...]:
    """Close, in what serves, every document whose name is not among `named`; no search returns it once this is committed.

    Also in what served until lately, because a filing that began with it goes on searching it. Returns all that are withdrawn from what
    serves, also those closed before.
    """
    rows = connection.execute(
        "UPDATE corpus.generation_documents d SET closed_at = coalesce(d.closed_at, now()) FROM corpus.generations g "
        "WHERE g.id = d.generation_id AND g.corpus = %s AND g.state IN ('open', 'unevaluated') "
        "AND d.document_id IS NOT NULL AND d.name <> ALL(%s) "
        "RETURNING g.id, d.name, d.title, d.closed_at = now()",
        (corpus, list(named)),
    ).fetchall()
    connection.execute(
        "UPDATE corpus.generation_documents d SET closed_at = now() FROM corpus.generations g "
        "WHERE g.id = d.generation_id AND g.corpus = %s AND g.state = 'superseded' "
        f"AND g.decided_at > now() - interval '{KEPT_AFTER_DECISION}' "
        "AND d.document_id IS NOT NULL AND d.closed_at IS NULL AND d.name <> ALL(%s)",
        (corpus, list(named)),
    )
    return tuple(Withdrawn(*row) for row in sorted(rows))


Version = tuple[str, str, date | None, date | None]
"""sha256, reader, effective_from and effective_to of a document as the corpus has it now."""


def reopen_documents(connection: Connection, corpus: str, versions: Mapping[str, Version]) -> tuple[str, ...]:
    """Undo the closing of documents that are back under their name, byte for byte and with the same dates: with others it could be
    found for a period in which it is not in force, so it waits for the next generation."""
    rows = connection.execute(
        "UPDATE corpus.generation_documents d SET closed_at = NULL FROM corpus.generations g, corpus.documents v, "
        "unnest(%s::text[], %s::text[], %s::text[], %s::date[], %s::date[]) AS named(name, sha256, reader, first, last) "
        "WHERE g.id = d.generation_id AND g.corpus = %s AND g.state IN ('open', 'unevaluated') AND v.id = d.document_id "
        "AND d.closed_at IS NOT NULL AND d.name = named.name AND v.sha256 = named.sha256 AND v.reader = named.reader "
        "AND d.effective_from IS NOT DISTINCT FROM named.first AND d.effective_to IS NOT DISTINCT FROM named.last "
        "RETURNING d.name",
        (list(versions), *(list(column) for column in zip(*versions.values(), strict=True)), corpus)
        if versions
        else ([], [], [], [], [], corpus),
    ).fetchall()
    return tuple(sorted({str(row[0]) for row in rows}))


# ---------------------------------------------------------------------------------------------------------------- chunks and vectors
def has_chunks(connection: Connection, chunk_set: int, document: int) -> bool:
    """Whether the document version has been cut for this set. Chunks of a document are stored whole, in one transaction."""
    row = connection.execute(
        "SELECT EXISTS (SELECT FROM corpus.chunks WHERE set_id = %s AND document_id = %s)", (chunk_set, document)
    ).fetchone()
    return bool(one(row)[0])


def store_chunks(connection: Connection, chunk_set: int, document: int, chunks: Iterable[Chunk]) -> int:
    """Write a document's chunks, without vectors; returns how many. Nothing is written where the document has chunks in the set.

    `chunks` is consumed as it comes, `ROWS_AT_ONCE` held at a time; the document is locked until the transaction ends, which must hold all
    of its chunks or none.
    """
    _lock_document(connection, document)
    if has_chunks(connection, chunk_set, document):
        return 0
    count, rest = 0, iter(chunks)
    # Several COPYs, because no other statement (the page cursor's next fetch) can run within one.
    while batch := list(islice(rest, ROWS_AT_ONCE)):
        with (
            connection.cursor() as cursor,
            cursor.copy(
                "COPY corpus.chunks (set_id, id, document_id, page, start_offset, end_offset, text, text_sha256) FROM STDIN"
            ) as copy,
        ):
            for c in batch:
                copy.write_row((chunk_set, c.id, document, c.page, c.start, c.end, c.text, content_hash(c.text)))
        count += len(batch)
    return count


def count_chunks(connection: Connection, chunk_set: int, document: int) -> tuple[int, int]:
    """How many chunks the document version has in the set, and how many of them still lack a vector."""
    row = connection.execute(
        "SELECT (SELECT count(*) FROM corpus.chunks WHERE set_id = %(set)s AND document_id = %(document)s), "
        "(SELECT count(*) FROM corpus.chunks WHERE set_id = %(set)s AND document_id = %(document)s AND embedding IS NULL)",
        {"set": chunk_set, "document": document},
    ).fetchone()
    whole, missing = one(row)
    return int(whole), int(missing)


def chunks_to_embed(
    connection: Connection, chunk_set: int, document: int, limit: int = BATCH
) -> tuple[tuple[str, str], ...]:
    """The next chunks without a vector, as (id, text), in page order; empty when the document is done."""
    rows = connection.execute(
        "SELECT id, text FROM corpus.chunks WHERE set_id = %s AND document_id = %s AND embedding IS NULL "
        "ORDER BY page, start_offset LIMIT %s",
        (chunk_set, document, limit),
    ).fetchall()
    return tuple((str(identity), str(text)) for identity, text in rows)


def fill_known_vectors(connection: Connection, chunk_set: int, ids: Sequence[str]) -> frozenset[str]:
    """Give these chunks the vectors that any set of the same model and revision has for the same text; returns the ids that got one.

    Works within Postgres, by the index on the text's hash: some 10 ms for a batch.
    """
    sets = [
        row[0]
        for row in connection.execute(
            "SELECT other.id FROM corpus.chunk_sets mine JOIN corpus.chunk_sets other "
            "USING (embedding_model, embedding_revision) WHERE mine.id = %s",
            (chunk_set,),
        )
    ]
    rows = connection.execute(
        "WITH wanted AS (SELECT id, text_sha256 FROM corpus.chunks WHERE set_id = %(set)s AND id = ANY(%(ids)s)), "
        "known AS (SELECT DISTINCT ON (text_sha256) text_sha256, embedding FROM corpus.chunks WHERE set_id = ANY(%(sets)s) "
        "AND text_sha256 = ANY(ARRAY(SELECT text_sha256 FROM wanted)) AND embedding IS NOT NULL) "
        "UPDATE corpus.chunks c SET embedding = known.embedding FROM wanted JOIN known USING (text_sha256) "
        "WHERE c.set_id = %(set)s AND c.id = wanted.id RETURNING c.id",
        {"set": chunk_set, "ids": list(ids), "sets": sets},
    ).fetchall()
    return frozenset(str(row[0]) for row in rows)


def store_vectors(connection: Connection, chunk_set: int, ids: Sequence[str], vectors: Any) -> None:
    """Write the vectors of these chunks: `vectors[n]`, 384 numbers of length 1 together, is that of `ids[n]`.

    One statement with both lists in binary, because the filing worker's role may not make temporary tables. Raises ValueError where the two
    differ in length, PermanentError where a chunk is gone.
    """
    register_vector(connection)
    pairs = list(zip(ids, (Vector(vector) for vector in vectors), strict=True))
    if not pairs:
        return
    updated = connection.execute(
        "UPDATE corpus.chunks c SET embedding = new.embedding FROM unnest(%b::text[], %b::vector[]) AS new(id, embedding) "
        "WHERE c.set_id = %s AND c.id = new.id",
        ([identity for identity, _ in pairs], [vector for _, vector in pairs], chunk_set),
    ).rowcount
    if updated != len(pairs):
        raise PermanentError(f"{len(pairs) - updated} chunks of set {chunk_set} are gone while they were embedded.")


def index_set(connection: Connection, chunk_set: int) -> bool:
    """Build the set's vector index; False where it has one already (rows added later go into it one by one).

    Its memory and time limits are set for the rest of the caller's transaction: about 3 kB a chunk, at least 64 MB, at most 2 GB (beyond,
    the build goes on more slowly, on disk), and no statement timeout. Writers of the set wait meanwhile, searches do not. Where the
    machine's shared memory is too small for workers (a container has 64 MB of it), one process builds alone.
    """
    connection.execute("SELECT pg_advisory_xact_lock(hashtext('corpus.index_set'), hashint8(%s))", (chunk_set,))
    count = int(
        one(connection.execute("SELECT count(*) FROM corpus.chunks WHERE set_id = %s", (chunk_set,)).fetchone())[0]
    )
    least, most = INDEX_MEMORY_MB
    memory = min(most, max(least, count * BYTES_PER_INDEXED_CHUNK // 1_000_000))
    connection.execute(
        "SELECT set_config('maintenance_work_mem', %s, true), set_config('statement_timeout', '0', true)",
        (f"{memory}MB",),
    )
    try:
        with connection.transaction():
            return bool(one(connection.execute("SELECT corpus.index_set(%s)", (chunk_set,)).fetchone())[0])
    except errors.DiskFull:
        connection.execute("SELECT set_config('max_parallel_maintenance_workers', '0', true)")
        return bool(one(connection.execute("SELECT corpus.index_set(%s)", (chunk_set,)).fetchone())[0])


def iterate_chunks(connection: Connection, generation: int) -> Iterator[Chunk]:
    """Every chunk that the generation serves, as they come: memory holds one fetch.

    By document version, page and offset. A document version with several names carries the first of them.
    """
    with connection.cursor(name=f"chunks_{generation}") as cursor:
        cursor.itersize = ROWS_AT_ONCE
        cursor.execute(
            "SELECT c.id, d.name, c.page, c.start_offset, c.end_offset, c.text FROM corpus.generations g "
            "JOIN (SELECT document_id, min(name) AS name FROM corpus.generation_documents "
            "WHERE generation_id = %(generation)s AND closed_at IS NULL AND document_id IS NOT NULL GROUP BY document_id) d ON true "
            "JOIN corpus.chunks c ON c.set_id = g.set_id AND c.document_id = d.document_id "
            "WHERE g.id = %(generation)s ORDER BY c.document_id, c.page, c.start_offset",
            {"generation": generation},
        )
        for row in cursor:
            yield Chunk(*row)


def chunks_of(connection: Connection, generation: int) -> tuple[Chunk, ...]:
    """Every chunk that the generation serves, at once: for small corpora and tests."""
    return tuple(iterate_chunks(connection, generation))


# ------------------------------------------------------------------------------------------------------------------------- decisions
def incomplete_documents(connection: Connection, generation: int) -> tuple[str, ...]:
    """Names of readable documents that have no chunk in the generation's set, or one without a vector."""
    rows = connection.execute(
        "SELECT d.name FROM corpus.generation_documents d JOIN corpus.generations g ON g.id = d.generation_id "
        "WHERE g.id = %s AND d.document_id IS NOT NULL AND ("
        "NOT EXISTS (SELECT FROM corpus.chunks c WHERE c.set_id = g.set_id AND c.document_id = d.document_id) "
        "OR EXISTS (SELECT FROM corpus.chunks c WHERE c.set_id = g.set_id AND c.document_id = d.document_id AND c.embedding IS NULL)"
        ") ORDER BY d.name",
        (generation,),
    )
    return tuple(str(row[0]) for row in rows)


def decide(
    connection: Connection, identity: int, *, opened: bool, evaluation: Mapping[str, Any], evaluated: bool = True
) -> str:
    """Open or reject a draft, in the caller's transaction: what served before is superseded in the same moment.

    `evaluated=False` with `opened=True`: there were no golden questions, so it opens for search only, and never over an evaluated one.
    Returns the draft's new state: open, unevaluated, rejected, or superseded where a newer generation opened while this one was built.
    Raises PermanentError where the generation is no draft (a decision is made once), or is to open while a chunk lacks its vector.
    """
    row = connection.execute(
        "SELECT corpus, state FROM corpus.generations WHERE id = %s FOR UPDATE", (identity,)
    ).fetchone()
    if row is None or row[1] != "draft":
        raise PermanentError(f"Index generation {identity} is {'missing' if row is None else row[1]}, not a draft.")
    _lock_corpus(connection, row[0])
    state = ("open" if evaluated else "unevaluated") if opened else "rejected"
    if opened:
        incomplete = incomplete_documents(connection, identity)
        if incomplete:
            raise PermanentError(
                f"Index generation {identity} cannot open: {len(incomplete)} documents lack chunks or vectors "
                f"({', '.join(incomplete[:5])}). Run ingest/ingest again."
            )
        serving = serving_generation(connection, row[0])
        if serving is not None and serving.id > identity:
            state = "superseded"
        elif not evaluated and serving is not None and serving.state == "open":
            state = "rejected"
        else:
            # What was withdrawn while the draft was built stays withdrawn, though its list is older.
            connection.execute(
                "UPDATE corpus.generation_documents d SET closed_at = before.closed_at "
                "FROM corpus.generation_documents before JOIN corpus.generations served ON served.id = before.generation_id "
                "JOIN corpus.generations mine ON mine.id = %s WHERE served.corpus = mine.corpus "
                "AND served.state IN ('open', 'unevaluated') AND d.generation_id = mine.id AND d.name = before.name "
                "AND d.document_id IS NOT NULL AND before.closed_at > mine.created_at",
                (identity,),
            )
            connection.execute(
                "UPDATE corpus.generations SET state = 'superseded', decided_at = now() "
                "WHERE corpus = %s AND state IN ('open', 'unevaluated')",
                (row[0],),
            )
    connection.execute(
        "UPDATE corpus.generations SET state = %s, decided_at = now(), evaluation = %s WHERE id = %s",
        (state, Jsonb(dict(evaluation)), identity),
    )
    return state


def prune(connection: Connection, corpus: str) -> Pruned:
    """Delete the chunks that nothing serves, may yet serve, or was decided about within the last day; drop the sets without any left.

    Page text and the rows of generations stay: a filing in the ledger names the generation that it answered from, and its grader reads the
    pages. Nothing is pruned while a draft is being built, because its documents are listed last. The space of deleted rows is used again
    after Postgres' own vacuum. Raises TemporaryError where searches keep a set busy for 5 s.
    """
    _lock_corpus(connection, corpus)
    drafts = connection.execute(
        "SELECT EXISTS (SELECT FROM corpus.generations WHERE corpus = %s AND state = 'draft')", (corpus,)
    )
    if one(drafts.fetchone())[0]:
        return Pruned(0, 0, ())
    kept_generations = (
        "SELECT id, set_id FROM corpus.generations WHERE corpus = %(corpus)s "
        f"AND (state IN ('open', 'unevaluated') OR decided_at > now() - interval '{KEPT_AFTER_DECISION}')"
    )
    values: dict[str, Any] = {"corpus": corpus}
    dead = connection.execute(
        "SELECT id FROM corpus.generations WHERE corpus = %(corpus)s AND state <> 'draft' "
        f"AND id NOT IN (SELECT id FROM ({kept_generations}) kept) ORDER BY id",
        values,
    ).fetchall()
    unused = connection.execute(
        "SELECT id FROM corpus.chunk_sets WHERE corpus = %(corpus)s "
        f"AND id NOT IN (SELECT set_id FROM ({kept_generations}) kept WHERE set_id IS NOT NULL)",
        values,
    ).fetchall()
    connection.execute("SELECT set_config('lock_timeout', %s, true)", (DROP_WAIT,))
    for (chunk_set,) in unused:
        connection.execute("SELECT corpus.drop_set(%s)", (chunk_set,))
    # Document versions by set first, which are few, so that the chunks are found by index and not by reading them all.
    doomed = connection.execute(
        "SELECT s.id, array_agg(v.id) FROM corpus.chunk_sets s JOIN corpus.documents v USING (corpus) "
        "WHERE s.corpus = %(corpus)s AND NOT EXISTS ("
        f"SELECT FROM ({kept_generations}) kept JOIN corpus.generation_documents d ON d.generation_id = kept.id "
        "WHERE kept.set_id = s.id AND d.document_id = v.id) GROUP BY s.id",
        values,
    ).fetchall()
    deleted = sum(
        connection.execute(
            "DELETE FROM corpus.chunks WHERE set_id = %s AND document_id = ANY(%s)", (chunk_set, documents)
        ).rowcount
        for chunk_set, documents in doomed
    )
    return Pruned(deleted, len(unused), tuple(int(row[0]) for row in dead))
