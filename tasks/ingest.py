"""The boxes of an ingest: plan, then extract, dehyphenate, chunk, embed and upsert, each mapped over the documents, then index.

The directory is the truth: what the corpus no longer names is closed in what serves before anything else happens. Every box gives a value
for each document, also for one that cannot be read: its status and reason travel with it to the end, so a bad file stops no other.

Page text is stored once by content, chunks once by document version and chunk set, vectors once by text: what did not change is not read,
cut or embedded again, whatever it is called. Two names with the same bytes are one source, which one task works on; other runs wait.

Only ids, counts, statuses and the spool's path go from box to box. A long document streams: pages go into the spool and into Postgres in
batches, chunks and vectors too, so memory does not grow with it, and a killed run goes on after the last whole batch.
"""

from __future__ import annotations

import errno
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prefect import runtime, task
from prefect.artifacts import create_table_artifact
from prefect.futures import PrefectFutureList
from prefect.logging import get_run_logger
from psycopg import errors

from tasks.artifacts import ProgressArtifact, artifact_key
from tasks.documents import Catalogue, Entry, catalogue, locate
from tasks.documents.locate import sha256_of
from tasks.documents.read import Counts, Extract, Status, dehyphenated, extract, reader_of, summary
from tasks.documents.turns import remove_leftovers, turn
from tasks.domain.chunking import chunk_page, source_of, splitter_name
from tasks.domain.errors import FilewrightError, PermanentError, TemporaryError
from tasks.domain.passages import Page
from tasks.gate import gate_digest
from tasks.retries import RETRIES
from tasks.retrieval.embedding import MODELS, choose_model, embedding_model, load_embedder
from tasks.retrieval.generations import (
    Generation,
    Withdrawn,
    add_document,
    begin_document,
    chunks_to_embed,
    close_documents,
    count_chunks,
    create_draft,
    discard_document,
    document_pages,
    document_reason,
    document_statuses,
    fill_known_vectors,
    fingerprint,
    finish_document,
    generation,
    index_set,
    known_document,
    live_documents,
    reopen_documents,
    serving_generation,
    store_chunks,
    store_pages,
    store_vectors,
)
from tasks.settings import settings
from tasks.store.connection import Connection, connect

PAGES_AT_ONCE = 100  # stored in one transaction: what a killed run stores again at most
LONG_PAGES = 200  # from here on a document shows its progress from the first batch on
LONG_CHUNKS = 2_000
SHOWN_EVERY = 10.0  # seconds between two looks at the progress
LEFT_FOR = 86_400.0  # seconds after which nobody comes back to a spool
WITHDRAWN, UNLISTED = "withdrawn", "unlisted"
HARMLESS = {"ok", WITHDRAWN}
DISK_FULL = {errno.ENOSPC, errno.EDQUOT}


@dataclass(frozen=True)
class Source:
    """A file to index: `entries` are all of its names, with titles and dates, and equal in content."""

    entries: tuple[Entry, ...]
    sha256: str
    reader: str

    @property
    def name(self) -> str:
        """Its first name, for people and for the reader."""
        return self.entries[0].name


@dataclass(frozen=True)
class Row:
    """What became of a name that no box works on: refused by the catalogue, or withdrawn from the corpus."""

    name: str
    title: str
    status: str
    reason: str


@dataclass(frozen=True)
class Plan:
    """What this ingest has to do. `unchanged` says that the serving index already is what it would make, and is empty where it is not.

    `model` is the embedding model's name; `problems` has a line for each document of an unchanged index that could not be read.
    """

    digest: str
    model: str
    sources: tuple[Source, ...]
    rows: tuple[Row, ...]
    unchanged: str = ""
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Extracted:
    """A document on its way.

    `known` is the stored version where it was read before, `raw` says where the text of one that was just read is; where there is neither,
    `status` and `reason` say why. `path` is the file.
    """

    source: Source
    known: int | None = None
    raw: Extract | None = None
    path: Path | None = None
    status: str = "ok"
    reason: str = ""


@dataclass(frozen=True)
class Stored:
    """A document whose pages are in Postgres, or the reason why they are not."""

    source: Source
    document: int | None
    status: str
    reason: str


@dataclass(frozen=True)
class Chunked:
    """`chunks` counts the document's chunks in the draft's set."""

    stored: Stored
    chunks: int


@dataclass(frozen=True)
class Embedded:
    """`computed` counts the texts whose vectors no set of the model had."""

    chunked: Chunked
    computed: int


@task(name="plan", task_run_name="plan {corpus}", **RETRIES)
def plan(corpus: str) -> Plan:
    """Read the manifest and the folder, close what was withdrawn, and find out whether the serving index already is what is wanted.

    Costs one reading of every file, for its hash, and a few queries; no model is loaded.
    """
    group = settings()
    folder = group.corpus.corpus_folder / corpus
    for name in remove_leftovers(group.store.home / "extracts", older_than=LEFT_FOR):
        get_run_logger().info("Removed the spool %s, which a run left behind more than a day ago.", name)
    found = catalogue(folder)
    sources = _sources(found)
    # A transaction of its own: whatever goes wrong after it, what was withdrawn is closed.
    with connect(_url()) as connection:
        rows = _rows(found, _close(connection, corpus, found, sources))
        serving = serving_generation(connection, corpus)
    # The corpus stays with its model as long as there is such a model.
    pinned = serving.embedding_model if serving is not None and serving.embedding_model in MODELS else None
    model = embedding_model(choose_model(group.retrieval.embedding_model, pinned, say=get_run_logger().info))
    digest = fingerprint(
        {
            "documents": sorted(
                (e.name, e.title, source.sha256, source.reader, str(e.effective_from), str(e.effective_to))
                for source in sources
                for e in source.entries
            ),
            "refused": sorted((row.name, row.status) for row in found.refused),
            "splitter": _splitter(),
            "model": (model.name, model.revision, group.retrieval.vector_precision),
            "gate": gate_digest(folder),
        }
    )
    with connect(_url(), read_only=True) as connection:
        unchanged, problems = _unchanged(connection, serving, digest, found)
    return Plan(digest, model.name, sources, rows, unchanged, problems)


def _sources(found: Catalogue) -> tuple[Source, ...]:
    """Entries by content, in the manifest's order: the same bytes with the same reader are read once."""
    by_content: dict[tuple[str, str], list[Entry]] = {}
    for entry in found.entries:
        if entry.sha256 is None:
            raise ValueError(f"the catalogue gave no sha256 for {entry.name}")
        by_content.setdefault((entry.sha256, reader_of(entry.name)), []).append(entry)
    return tuple(Source(tuple(entries), *content) for content, entries in by_content.items())


def _rows(found: Catalogue, withdrawn: tuple[Withdrawn, ...]) -> tuple[Row, ...]:
    """A row for each refused name and for each withdrawn one; a name that is both is refused, and told to be closed."""
    closed = {each.name: f"Closed in index generation {each.generation}." for each in withdrawn}
    titles = {entry.name: entry.title for entry in found.manifest.documents}
    refused = {
        row.name: Row(
            row.name, titles.get(row.name, row.name), row.status, f"{row.reason} {closed.get(row.name, '')}".rstrip()
        )
        for row in found.refused
    }
    gone = (
        Row(each.name, each.title, WITHDRAWN, f"No longer in the corpus. {closed[each.name]}")
        for each in withdrawn
        if each.name not in refused
    )
    return (*refused.values(), *gone)


def _close(connection: Connection, corpus: str, found: Catalogue, sources: tuple[Source, ...]) -> tuple[Withdrawn, ...]:
    """Close what the corpus no longer names, open again what is back unchanged; returns everything that is withdrawn."""
    serving = serving_generation(connection, corpus)
    served = [row.name for row in live_documents(connection, serving.id)] if serving is not None else []
    named = {entry.name for entry in found.entries}
    for row in found.refused:
        # An entry that nothing pins is its file: without it there is no document, whatever the manifest still says.
        if row.status == Status.MISSING:
            continue
        # Where files count that no entry names, a refused one is still there; where they do not, it is not part of the corpus.
        if row.status != UNLISTED or found.manifest.unlisted == "index":
            named.add(row.name)
            # A folder that cannot be read says nothing about the documents in it.
            named.update(name for name in served if row.name == "." or name.startswith(f"{row.name}/"))
    withdrawn = close_documents(connection, corpus, named)
    back = reopen_documents(
        connection,
        corpus,
        {
            e.name: (source.sha256, source.reader, e.effective_from, e.effective_to)
            for source in sources
            for e in source.entries
        },
    )
    log = get_run_logger()
    for each in withdrawn:
        if each.now:
            log.warning("%s was withdrawn: index generation %d no longer returns it.", each.name, each.generation)
    for name in back:
        log.info("%s is back as it was: the serving index returns it again.", name)
    return withdrawn


def _unchanged(
    connection: Connection, serving: Generation | None, digest: str, found: Catalogue
) -> tuple[str, tuple[str, ...]]:
    if serving is None or serving.fingerprint != digest:
        return "", ()
    rows = document_statuses(connection, serving.id)
    names = {entry.name for entry in found.entries}
    # A file that was nowhere may be somewhere now: it has a sha256, so its being found changes nothing in the fingerprint.
    if any(row.status == Status.MISSING and row.name in names for row in rows):
        return "", ()
    how = (
        "is open and up to date"
        if serving.state == "open"
        else "is up to date, for search only: it has no golden questions, so nothing may be filed from it"
    )
    problems = tuple(f"{row.name}: {row.status}: {row.reason}" for row in rows if row.status not in HARMLESS)
    return f"Nothing changed: index generation {serving.id} of {serving.corpus} {how}.", problems


@task(name="draft", task_run_name="draft {corpus}", **RETRIES)
def draft(corpus: str, plan: Plan) -> int:
    """Begin a new index generation; nothing searches it before the gate has opened it."""
    with connect(_url()) as connection:
        identity = create_draft(
            connection,
            corpus,
            splitter=_splitter(),
            model=embedding_model(plan.model),
            digest=plan.digest,
            precision=settings().retrieval.vector_precision,
        )
        served = _served(connection, corpus)
        for row in plan.rows:
            add_document(
                connection,
                identity,
                name=row.name,
                title=row.title,
                document=None,
                status=row.status,
                reason=_with_older_version(row.name, row.reason, served),
            )
    return identity


@task(name="extract", task_run_name="extract {source.name}", **RETRIES)
def extract_document(corpus: str, source: Source) -> Extracted:
    """Find the file by its sha256 and read it into the spool, unless this version was read before."""
    group = settings()
    with connect(_url(), read_only=True) as connection:
        known = known_document(connection, corpus, source.sha256, source.reader)
    spool = _spool(source)
    if known is not None:
        if spool.is_dir():  # a run was killed between its last page and this
            with _turn(source, spool):
                shutil.rmtree(spool, ignore_errors=True)
        return Extracted(source, known=known)
    path, problem = _located(corpus, source)
    if path is None:
        return Extracted(source, status=Status.MISSING, reason=problem)
    with _room_told(group.store.home), _turn(source, spool):
        raw = _read_again_or_on(path, source, spool)
        if problem := _changed_meanwhile(path, source):
            shutil.rmtree(spool, ignore_errors=True)
            return Extracted(source, status=Status.MISSING, reason=problem)
        if raw.status is not Status.OK:
            shutil.rmtree(spool, ignore_errors=True)
            return Extracted(source, status=raw.status, reason=raw.reason)
    return Extracted(source, raw=raw, path=path)


def _located(corpus: str, source: Source) -> tuple[Path | None, str]:
    """The file, by whichever of its names it is found; or None and why not."""
    group = settings()
    problems = []
    for entry in source.entries:
        try:
            path = locate(
                entry,
                folder=group.corpus.corpus_folder / corpus,
                mirror=group.corpus.corpus_mirror,
                cache=group.store.home / "downloads",
                download=group.corpus.corpus_download,
            )
            return path, ""
        except (FilewrightError, OSError) as error:
            # An address that does not answer is tried again; after that it is this document's status, and the others go on.
            if isinstance(error, TemporaryError) and runtime.task_run.run_count <= RETRIES["retries"]:
                raise
            problems.append(str(error))
    return None, " ".join(dict.fromkeys(problems))


def _read_again_or_on(path: Path, source: Source, spool: Path) -> Extract:
    shown = _Progress(f"reading {source.name}", "pages", LONG_PAGES)
    try:
        return extract(path, source.name, spool, progress=shown)
    except (FilewrightError, OSError):
        raise
    except Exception as error:
        # A fault of ours that this file brought out; it must stop no other, and is told with the document.
        get_run_logger().exception("Reading %s failed.", source.name)
        return Extract(
            source.name, Status.BROKEN, f"Its reader failed ({type(error).__name__}); see the log.", 0, spool
        )


def _changed_meanwhile(path: Path, source: Source) -> str:
    """Why what was just read does not count: other bytes would be stored as those of `source`, and never be read again."""
    try:
        same = sha256_of(path) == source.sha256
    except OSError:
        same = False
    if same:
        return ""
    return f"{path} changed or went away while it was being read, so nothing of it counts. Run the ingest again once nothing writes to it."


@task(name="dehyphenate", task_run_name="dehyphenate {extracted.source.name}", **RETRIES)
def dehyphenate_document(corpus: str, extracted: Extracted) -> Stored:
    """Join what line breaks split, drop page furniture, clean, and store each page's text once, in batches."""
    source = extracted.source
    if extracted.known is not None:
        with connect(_url(), read_only=True) as connection:
            reason = document_reason(connection, extracted.known)
        return Stored(source, extracted.known, "ok", f"{reason} Unchanged since it was read.".lstrip())
    if extracted.raw is None or extracted.path is None:
        return Stored(source, None, str(extracted.status), extracted.reason)
    raw, spool = extracted.raw, _spool(source)
    with _room_told(settings().store.home), _turn(source, spool):
        with connect(_url(), read_only=True) as connection:
            known = known_document(connection, corpus, source.sha256, source.reader)
            reason = document_reason(connection, known) if known is not None else ""
        if known is None:
            # Another run may have removed the spool since, and a damaged one is only mended by reading on.
            if not spool.is_dir() or (runtime.task_run.run_count or 1) > 1:
                raw = _read_again_or_on(extracted.path, source, spool)
                if problem := _changed_meanwhile(extracted.path, source):
                    shutil.rmtree(spool, ignore_errors=True)
                    return Stored(source, None, Status.MISSING, problem)
            known, status, reason = _store(corpus, source, raw)
        else:
            status = "ok"
        shutil.rmtree(spool, ignore_errors=True)
    return Stored(source, known, status, reason)


def _store(corpus: str, source: Source, raw: Extract) -> tuple[int | None, str, str]:
    """Store the pages of an extract, from where an earlier try stopped; returns the document's id, status and reason."""
    if raw.status is not Status.OK:
        return None, str(raw.status), raw.reason
    with connect(_url()) as connection:
        begun = begin_document(connection, corpus, source.sha256, source.reader, raw.page_count)
        if not begun.finished and begun.page_count != raw.page_count:
            discard_document(connection, begun.id)
            begun = begin_document(connection, corpus, source.sha256, source.reader, raw.page_count)
    counts, batch = Counts(), list[Page]()
    shown = _Progress(f"storing {source.name}", "pages", LONG_PAGES)

    def flush() -> None:
        with connect(_url()) as connection:
            store_pages(connection, begun.id, batch)
        shown(counts.pages, raw.page_count)
        batch.clear()

    try:
        for page in dehyphenated(raw):
            counts.add(page)
            # Pages are stored in order, so as many as there are were stored before.
            if page.number > begun.pages:
                batch.append(page)
            if len(batch) >= PAGES_AT_ONCE:
                flush()
        if batch:
            flush()
        status, reason = summary(raw, counts)
    except (FilewrightError, OSError):
        raise
    except Exception as error:
        get_run_logger().exception("Joining the text of %s failed.", source.name)
        status, reason = Status.BROKEN, f"Its text could not be joined ({type(error).__name__}); see the log."
    with connect(_url()) as connection:
        if status is not Status.OK:
            discard_document(connection, begun.id)
            return None, str(status), reason
        finish_document(connection, begun.id, reason)
    return begun.id, "ok", reason


@task(name="chunk", task_run_name="chunk {stored.source.name}", **RETRIES)
def chunk_document(generation: int, stored: Stored) -> Chunked:
    """Cut the stored pages into overlapping windows, unless this version was cut for the draft's set before."""
    if stored.document is None:
        return Chunked(stored, 0)
    group = settings().retrieval
    source = source_of(stored.source.sha256, stored.source.reader)
    with _room_told(settings().store.home), connect(_url()) as connection:
        chunk_set = _set_of(connection, generation)
        chunks = (
            chunk
            for page in document_pages(connection, stored.document)
            for chunk in chunk_page(page, source=source, size=group.chunk_size, overlap=group.chunk_overlap)
        )
        store_chunks(connection, chunk_set, stored.document, chunks)
        count, _ = count_chunks(connection, chunk_set, stored.document)
    return Chunked(stored, count)


@task(name="embed", task_run_name="embed {chunked.stored.source.name}", **RETRIES)
def embed_document(generation: int, chunked: Chunked) -> Embedded:
    """Fill in the vectors, in batches, each kept at once; only texts that no set of the same model has are computed."""
    document = chunked.stored.document
    if document is None:
        return Embedded(chunked, 0)
    name = chunked.stored.source.name
    with connect(_url(), read_only=True) as connection:
        chunk_set, model = _set_of(connection, generation), _model_of(connection, generation)
        missing = count_chunks(connection, chunk_set, document)[1]
    if not missing:
        return Embedded(chunked, 0)
    home = settings().store.home
    shown = _Progress(f"embedding {name}", "chunks", LONG_CHUNKS)
    computed = done = 0
    lock = home / "extracts" / f"vectors-{chunk_set}-{document}.lock"
    with _room_told(home), turn(lock, _waiting(f"{name} is being embedded by another run: waiting for it.")):
        while True:
            with connect(_url()) as connection:
                batch = chunks_to_embed(connection, chunk_set, document)
                filled = fill_known_vectors(connection, chunk_set, [identity for identity, _ in batch])
            if not batch:
                break
            fresh = {identity: text for identity, text in batch if identity not in filled}
            if fresh:
                texts = list(dict.fromkeys(fresh.values()))
                vectors = dict(zip(texts, load_embedder(model).passages(texts), strict=True))
                with connect(_url()) as connection:
                    store_vectors(connection, chunk_set, list(fresh), [vectors[text] for text in fresh.values()])
                computed += len(texts)
            done += len(batch)
            shown(done, missing)
    return Embedded(chunked, computed)


@task(name="upsert", task_run_name="upsert {embedded.chunked.stored.source.name}", **RETRIES)
def upsert_document(corpus: str, generation: int, embedded: Embedded) -> int:
    """List the document in the draft, under each of its names; returns how many chunks it has there."""
    chunked = embedded.chunked
    stored = chunked.stored
    with connect(_url()) as connection:
        served = _served(connection, corpus) if stored.document is None else {}
        for entry in stored.source.entries:
            add_document(
                connection,
                generation,
                name=entry.name,
                title=entry.title,
                document=stored.document,
                status=stored.status,
                reason=_with_older_version(entry.name, stored.reason, served),
                effective_from=entry.effective_from,
                effective_to=entry.effective_to,
            )
    for entry in stored.source.entries:
        if stored.document is None:
            get_run_logger().warning("%s: %s: %s", entry.name, stored.status, stored.reason)
        else:
            get_run_logger().info("%s: %d chunks, %d newly embedded", entry.name, chunked.chunks, embedded.computed)
    return chunked.chunks


@task(name="index", task_run_name="index generation {generation}", **RETRIES)
def index_chunks(generation: int) -> bool:
    """Build the vector index of the draft's chunk set; False where an earlier draft of the set has built it."""
    with _room_told(settings().store.home), connect(_url()) as connection:
        return index_set(connection, _set_of(connection, generation))


@task(name="report documents", task_run_name="report documents of generation {generation}")
def report_documents(corpus: str, generation: int) -> tuple[str, ...]:
    """Leave the table of documents as an artifact; returns a line for each document that could not be read."""
    with connect(_url(), read_only=True) as connection:
        rows = document_statuses(connection, generation)
    create_table_artifact(
        table=[
            {
                "document": row.name,
                "title": row.title,
                "status": row.status,
                "in force from": str(row.effective_from or ""),
                "in force to": str(row.effective_to or ""),
                "pages": row.pages,
                "chunks": row.chunks,
                "reason": row.reason,
            }
            for row in rows
        ],
        key=f"documents-{artifact_key(corpus)}",
        description=f"Documents of corpus {corpus} in index generation {generation}",
    )
    return tuple(f"{row.name}: {row.status}: {row.reason}" for row in rows if row.status not in HARMLESS)


def finish(*stages: PrefectFutureList[Any]) -> None:
    """Wait for the boxes of every document. Raises what the first broken one raised, and not what that did to those after it."""
    for stage in stages:
        stage.result()


class DocumentsUnreadable(FilewrightError):
    """The corpus has documents that this ingest could not read; everything else was done."""


def require_all_read(problems: tuple[str, ...]) -> None:
    """Raise DocumentsUnreadable with every document that could not be read."""
    if problems:
        raise DocumentsUnreadable(
            f"{len(problems)} of the corpus' documents could not be read. The others are indexed and the gate has decided on them. "
            + " | ".join(problems)
        )


# ------------------------------------------------------------------------------------------------------------------ shared by the boxes
def _url() -> str:
    return settings().store.database_url.get_secret_value()


def _splitter() -> str:
    group = settings().retrieval
    return splitter_name(group.chunk_size, group.chunk_overlap)


def _set_of(connection: Connection, identity: int) -> int:
    found = generation(connection, identity).set_id
    if found is None:
        raise PermanentError(f"Index generation {identity} has no chunk set any more. Run ingest/ingest again.")
    return found


def _model_of(connection: Connection, identity: int) -> str:
    return generation(connection, identity).embedding_model


def _served(connection: Connection, corpus: str) -> dict[str, int]:
    """The names that the serving index can answer from, with its number."""
    serving = serving_generation(connection, corpus)
    return {row.name: serving.id for row in live_documents(connection, serving.id)} if serving is not None else {}


def _with_older_version(name: str, reason: str, served: Mapping[str, int]) -> str:
    if name not in served:
        return reason
    return f"{reason} The version of generation {served[name]} was readable; the gate keeps it serving until this is mended."


def _spool(source: Source) -> Path:
    reader = "".join(c if c.isalnum() or c in ".-" else "_" for c in source.reader)
    return settings().store.home / "extracts" / f"{source.sha256}-{reader}"


def _turn(source: Source, spool: Path) -> AbstractContextManager[None]:
    return turn(
        spool.with_name(f"{spool.name}.lock"), _waiting(f"{source.name} is being read by another run: waiting for it.")
    )


def _waiting(message: str) -> Callable[[], None]:
    return lambda: get_run_logger().info(message)


@contextmanager
def _room_told(home: Path) -> Iterator[None]:
    """A full disk, here or under Postgres, is told as what it is; trying again at once would not help."""
    try:
        yield
    except (OSError, FilewrightError, errors.DiskFull) as error:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, errors.DiskFull) or (isinstance(cause, OSError) and cause.errno in DISK_FULL):
                raise PermanentError(
                    f"The disk is full ({'Postgres' if isinstance(cause, errors.DiskFull) else home}). Nothing is half done: what "
                    "serves goes on serving, and whole batches are kept. Make room and run the ingest again; it goes on where it stopped."
                ) from error
            cause = cause.__cause__
        raise


class _Progress:
    """How far the work on a document is: a bar in the UI and lines in the log, at most every few seconds.

    Nothing for a short document, unless the work takes long all the same: a page that must be recognised takes seconds.
    """

    def __init__(self, what: str, unit: str, long: int) -> None:
        self._what, self._unit, self._long = what, unit, long
        self._bar: ProgressArtifact | None = None
        self._begun = time.monotonic()
        self._shown = 0.0

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if total < self._long and now - self._begun < SHOWN_EVERY:
            return
        if done < total and now - self._shown < SHOWN_EVERY:
            return
        self._shown = now
        if self._bar is None:
            self._bar = ProgressArtifact(f"progress {self._what}", f"Progress of {self._what}")
        self._bar.show(lambda: 100.0 * done / total)
        get_run_logger().info("%s: %d of %d %s", self._what, done, total, self._unit)
