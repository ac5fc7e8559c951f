"""The boxes of an ingest: plan, then extract, dehyphenate, chunk, embed and upsert, each mapped over the documents.

Every box gives a value for each document, also for one that cannot be read: its status and reason travel with it to the end, so a bad
file stops no other. Page text is stored once by content; a document that did not change is not read again, and a text that did not
change is not embedded again.
"""

from __future__ import annotations

from dataclasses import dataclass

from prefect import runtime, task
from prefect.artifacts import create_table_artifact
from prefect.logging import get_run_logger

from tasks.artifacts import artifact_key
from tasks.documents import Entry, Manifest, load_manifest, locate
from tasks.documents.read import READER, Extract, Status, dehyphenate, extract
from tasks.domain.chunking import chunk_page, splitter_name
from tasks.domain.errors import FilewrightError, TemporaryError
from tasks.domain.passages import Chunk
from tasks.gate import gate_digest
from tasks.retries import RETRIES
from tasks.retrieval.embedding import content_hash, embedding_model, load_embedder
from tasks.retrieval.generations import (
    add_document,
    create_draft,
    document_pages,
    document_statuses,
    fingerprint,
    known_document,
    known_vectors,
    open_generation,
    store_document,
    upsert_chunks,
)
from tasks.settings import settings
from tasks.store.connection import connect


@dataclass(frozen=True)
class Plan:
    """What this ingest has to do. `unchanged` names the open generation that already is what it would make, or is None."""

    manifest: Manifest
    digest: str
    unchanged: int | None


@dataclass(frozen=True)
class Extracted:
    """A document on its way.

    `known` is the stored version where it was read before, `raw` what was just read; where there is neither, `status` says why.
    """

    entry: Entry
    known: int | None = None
    raw: Extract | None = None
    status: str = "ok"
    reason: str = ""


@dataclass(frozen=True)
class Stored:
    """A document whose pages are in Postgres, or the reason why they are not."""

    entry: Entry
    document: int | None
    status: str
    reason: str


@dataclass(frozen=True)
class Chunked:
    document: Stored
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True)
class Embedded:
    """`vectors` is in the order of the chunks; `computed` counts those that no earlier generation had."""

    chunked: Chunked
    vectors: tuple[tuple[float, ...], ...]
    computed: int


@task(name="plan", task_run_name="plan {corpus}", **RETRIES)
def plan(corpus: str) -> Plan:
    """Read the manifest, and find out whether the open index already is what this ingest would build."""
    group = settings()
    folder = group.corpus.corpus_folder / corpus
    manifest = load_manifest(folder)
    model = embedding_model(group.retrieval.embedding_model)
    digest = fingerprint(
        {
            "documents": sorted((entry.name, entry.title, entry.sha256) for entry in manifest.documents),
            "reader": READER,
            "splitter": splitter_name(group.retrieval.chunk_size, group.retrieval.chunk_overlap),
            "model": (model.name, model.revision),
            "gate": gate_digest(folder),
        }
    )
    with connect(group.store.database_url.get_secret_value(), read_only=True) as connection:
        serving = open_generation(connection, corpus)
        same = serving is not None and serving.fingerprint == digest
        if same and serving is not None:
            same = all(row.status == "ok" for row in document_statuses(connection, serving.id))
    return Plan(manifest, digest, serving.id if same and serving is not None else None)


@task(name="draft", task_run_name="draft {corpus}", **RETRIES)
def draft(corpus: str, plan: Plan) -> int:
    """Begin a new index generation; nothing searches it before the gate has opened it."""
    group = settings()
    with connect(group.store.database_url.get_secret_value()) as connection:
        return create_draft(
            connection,
            corpus,
            splitter=splitter_name(group.retrieval.chunk_size, group.retrieval.chunk_overlap),
            model=embedding_model(group.retrieval.embedding_model),
            digest=plan.digest,
        )


@task(name="extract", task_run_name="extract {entry.name}", **RETRIES)
def extract_document(corpus: str, entry: Entry) -> Extracted:
    """Find the file by its sha256 and read its text layer, unless this version was read before."""
    group = settings()
    with connect(group.store.database_url.get_secret_value(), read_only=True) as connection:
        known = known_document(connection, corpus, entry.name, entry.sha256, READER)
    if known is not None:
        return Extracted(entry, known=known)
    try:
        path = locate(
            entry,
            folder=group.corpus.corpus_folder / corpus,
            mirror=group.corpus.corpus_mirror,
            cache=group.store.home / "downloads",
            download=group.corpus.corpus_download,
        )
    except (FilewrightError, OSError) as error:
        # An address that does not answer is tried again; after that it is this document's status, and the others go on.
        if isinstance(error, TemporaryError) and runtime.task_run.run_count <= RETRIES["retries"]:
            raise
        return Extracted(entry, status=Status.MISSING, reason=str(error))
    raw = extract(path, entry.name)
    return Extracted(entry, raw=raw, status=raw.status, reason=raw.reason)


@task(name="dehyphenate", task_run_name="dehyphenate {extracted.entry.name}", **RETRIES)
def dehyphenate_document(corpus: str, extracted: Extracted) -> Stored:
    """Join what line breaks split, drop page furniture, clean, and store each page's text once."""
    entry = extracted.entry
    if extracted.known is not None:
        return Stored(entry, extracted.known, "ok", "unchanged since it was read")
    if extracted.raw is None or extracted.status != "ok":
        return Stored(entry, None, str(extracted.status), extracted.reason)
    result = dehyphenate(extracted.raw)
    if result.status != "ok":
        return Stored(entry, None, str(result.status), result.reason)
    with connect(settings().store.database_url.get_secret_value()) as connection:
        document = store_document(connection, corpus, entry.name, entry.sha256, READER, result.pages)
    return Stored(entry, document, "ok", result.reason)


@task(name="chunk", task_run_name="chunk {stored.entry.name}", **RETRIES)
def chunk_document(stored: Stored) -> Chunked:
    """Cut the stored pages into overlapping windows."""
    if stored.document is None:
        return Chunked(stored, ())
    group = settings()
    size, overlap = group.retrieval.chunk_size, group.retrieval.chunk_overlap
    with connect(group.store.database_url.get_secret_value(), read_only=True) as connection:
        pages = document_pages(connection, stored.document)
    return Chunked(stored, tuple(chunk for page in pages for chunk in chunk_page(page, size=size, overlap=overlap)))


@task(name="embed", task_run_name="embed {chunked.document.entry.name}", **RETRIES)
def embed_document(chunked: Chunked) -> Embedded:
    """Compute the vectors of texts that no generation of the same model has yet."""
    group = settings()
    model = embedding_model(group.retrieval.embedding_model)
    with connect(group.store.database_url.get_secret_value(), read_only=True) as connection:
        vectors = known_vectors(connection, model, [chunk.text for chunk in chunked.chunks])
    fresh = list(dict.fromkeys(c.text for c in chunked.chunks if content_hash(c.text) not in vectors))
    if fresh:
        computed = load_embedder(model.name).passages(fresh)
        vectors |= {content_hash(text): vector for text, vector in zip(fresh, computed, strict=True)}
    return Embedded(chunked, tuple(tuple(vectors[content_hash(c.text)]) for c in chunked.chunks), len(fresh))


@task(
    name="upsert",
    task_run_name="upsert {embedded.chunked.document.entry.name}",
    **RETRIES,
)
def upsert_document(generation: int, embedded: Embedded) -> int:
    """Write the document's chunks, vectors and status into the draft; returns how many chunks it has there."""
    stored = embedded.chunked.document
    with connect(settings().store.database_url.get_secret_value()) as connection:
        add_document(
            connection,
            generation,
            name=stored.entry.name,
            title=stored.entry.title,
            document=stored.document,
            status=stored.status,
            reason=stored.reason,
        )
        if stored.document is None:
            return 0
        count = upsert_chunks(connection, generation, stored.document, embedded.chunked.chunks, embedded.vectors)
    get_run_logger().info("%s: %d chunks, %d newly embedded", stored.entry.name, count, embedded.computed)
    return count


@task(name="report documents", task_run_name="report documents of generation {generation}")
def report_documents(corpus: str, generation: int) -> tuple[str, ...]:
    """Leave the table of documents as an artifact; returns a line for each document that could not be read."""
    with connect(settings().store.database_url.get_secret_value(), read_only=True) as connection:
        rows = document_statuses(connection, generation)
    create_table_artifact(
        table=[
            {
                "document": row.name,
                "title": row.title,
                "status": row.status,
                "pages": row.pages,
                "chunks": row.chunks,
                "reason": row.reason,
            }
            for row in rows
        ],
        key=f"documents-{artifact_key(corpus)}",
        description=f"Documents of corpus {corpus} in index generation {generation}",
    )
    return tuple(f"{row.name}: {row.status}: {row.reason}" for row in rows if row.status != "ok")


class DocumentsUnreadable(FilewrightError):
    """The manifest names documents that this ingest could not read; everything else was done."""


def require_all_read(problems: tuple[str, ...]) -> None:
    """Raise DocumentsUnreadable with every document that could not be read."""
    if problems:
        raise DocumentsUnreadable(
            f"{len(problems)} of the manifest's documents could not be read. The others are indexed and the gate has decided on them. "
            + " | ".join(problems)
        )
