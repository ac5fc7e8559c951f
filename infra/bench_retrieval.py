"""`python3 -m infra bench retrieval`: how retrieval behaves with ten thousand chunks, a hundred thousand, a million.

It builds index generations of synthetic chunks (synthetic.py) in a Postgres of its own, through the product's own functions, and measures
what it prints: building, size and memory, each leg of a search under each filter, recall against an exact scan, and one document more. It
judges nothing: a target stands beside its figure, and the exit code is 0 unless something breaks.

Rules
- A leg is measured as a search calls it: the same function, connection, depth and session settings.
- What is compared is measured by turns in one run: the leg and the exact scan, the search and the embedding of its query.
- A time is from the caller's side, with everything in the files' and Postgres' caches after a warm-up.
- The question vectors of the SQL leg are made like real ones (synthetic.py); the fused search is asked real golden questions, a word of
  each exchanged so that no two are equal.

Cost: about 5 minutes for 100,000 chunks on two cores, most of it loading and the vector index; a million takes over an hour, 8 GB of disk
and 5 GB of memory.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.environment import Environment
from infra.measuring import Times, clocked, memory, own_postgres, processor_ms, say, table, times

if TYPE_CHECKING:
    from infra.synthetic import Floats, Language, VectorShape
    from tasks.domain.passages import Chunk, Page
    from tasks.retrieval.generations import Generation
    from tasks.retrieval.search import Index

SIZES = (10_000, 100_000)
CHUNKS_OF_A_DOCUMENT = 330
QUESTIONS = 200  # timed calls of each leg; their 95 % quantile is the tenth slowest
COMPARED = 100  # of them also asked of an exact scan: recall over 1,000 neighbours
WARM_UP = 20  # calls of each leg that do not count, at most half as many as count
MODEL = "minilm"  # its weights are in a package, so the bench needs no network
CORPUS = "sample"  # its documents are in the repository

# Targets on two cores.
SQL_P95_MS = {100_000: 20.0, 1_000_000: 50.0}  # up to that many chunks
RECALL = 0.95
SEARCH_TO_EMBEDDING = 1.3

Report = Callable[[str], None]


@dataclass(frozen=True)
class Building:
    """Seconds of database work for the rows, of the vector index, of the BM25 files and of opening them; sizes in MB.

    `index_memory` is the peak of the Postgres process that built the vector index, the shared buffers it touched included.
    """

    load: float
    vector_index: float
    bm25: float
    open: float
    rows_mb: float
    index_mb: float
    bm25_mb: float
    index_memory: float


@dataclass(frozen=True)
class SqlLeg:
    """The vector leg under one filter: `way` is how the product answers (by its index, or exactly), `exact` the exact scan of the same run.

    `processor` is what the Postgres process itself needed: it stays the same on a busy machine.
    """

    filter: str
    eligible: int
    way: str
    times: Times
    processor: Times
    exact: Times
    recall_at_10: float
    least_recall: float


@dataclass(frozen=True)
class OneMore:
    """Seconds for one document of `chunks` chunks more, in an index that is built: its rows with their vectors, and the BM25 files anew."""

    chunks: int
    rows: float
    bm25: float


@dataclass(frozen=True)
class Measured:
    """One size. Memory in MB: `backend` of the Postgres process that answers searches, `process` the peak of this one."""

    chunks: int
    documents: int
    building: Building
    sql: tuple[SqlLeg, ...]
    bm25: Mapping[str, Times]
    embedding: Times
    search: Times
    one_more: OneMore
    backend: Mapping[str, float]
    process: Mapping[str, float]

    @property
    def search_to_embedding(self) -> float:
        """How many times the query's own embedding a whole search takes, by their medians."""
        return self.search.p50 / self.embedding.p50


@dataclass
class Built:
    """A generation in Postgres: `chunks_of` counts by document number; `targets` are vectors with the document that they are from."""

    generation: Generation
    chunks_of: dict[int, int] = field(default_factory=dict)
    targets: list[tuple[int, Floats]] = field(default_factory=list)
    load: float = 0.0


def run(options: argparse.Namespace, environment: Environment) -> int:
    """Measure the sizes in `options.chunks`, and print a table or JSON. Raises PostgresUnavailable where no server of its own can run."""
    sizes = tuple(options.chunks or SIZES)
    began = datetime.now(UTC)
    vectors, measured = measure(sizes, report=say)
    if options.json:
        print(json.dumps(as_json(began, vectors, measured), indent=1))
    else:
        print(as_text(vectors, measured))
    return 0


def measure(
    sizes: Sequence[int], *, report: Report = say, questions: int = QUESTIONS, compared: int = COMPARED
) -> tuple[dict[str, Any], list[Measured]]:
    """Build and measure each size, one after the other; returns the check of the vectors' distribution, and the figures.

    `compared` of the `questions` are also asked of an exact scan.
    """
    import numpy as np

    from infra.synthetic import Language, VectorShape
    from tasks.retrieval.embedding import load_embedder

    report("reading the sample corpus, for its words and its vectors")
    pages, chunks = sample_corpus()
    real = load_embedder(MODEL).passages([chunk.text for chunk in chunks])
    shape, language = VectorShape.fit(np.asarray(real, np.float32)), Language.of([page.text for page in pages])
    check = check_vectors(shape, np.asarray(real, np.float32))
    results = []
    with own_postgres() as postgres, tempfile.TemporaryDirectory(prefix="filewright-bm25-") as folder:
        for size in sizes:
            bench = _Bench(postgres.database(f"chunks_{size}"), Path(folder), shape, language, report)
            results.append(bench.measure(size, questions, compared))
    return check, results


def sample_corpus() -> tuple[tuple[Page, ...], tuple[Chunk, ...]]:
    """The sample corpus as an ingest reads and cuts it."""
    from tasks.documents import catalogue
    from tasks.documents.read import read_pages
    from tasks.domain.chunking import chunk_page
    from tasks.settings import ROOT

    folder = ROOT / "corpus" / CORPUS
    pages = tuple(
        page
        for entry in catalogue(folder).entries
        for page in read_pages(folder / "documents" / entry.name, entry.name).pages
    )
    return pages, tuple(chunk for page in pages for chunk in chunk_page(page))


def golden_questions() -> list[str]:
    """The text of every golden question of the repository's corpora."""
    from tasks.settings import ROOT

    lines = (
        line
        for file in sorted((ROOT / "corpus").glob("*/golden.jsonl"))
        for line in file.read_text("utf-8").splitlines()
    )
    return [str(json.loads(line)["question"]) for line in lines if line.strip()]


def check_vectors(shape: VectorShape, real: Floats) -> dict[str, Any]:
    """Neighbourhoods of synthetic and of real vectors, at the same number of documents and passages."""
    import numpy as np

    from infra.synthetic import REAL, REAL_SHAPE, neighbourhood

    rng = np.random.default_rng(7)
    documents, each = REAL_SHAPE
    made = np.concatenate([shape.document(rng, each) for _ in range(documents)])
    return {
        "real": asdict(REAL),
        "synthetic": asdict(neighbourhood(made)),
        "sample_corpus": asdict(neighbourhood(real)),
    }


class _Bench:
    """Builds and measures in one database. `url` is the filing worker's, whose rights are those of an ingest."""

    def __init__(self, url: str, folder: Path, shape: VectorShape, language: Language, report: Report) -> None:
        self._url, self._folder, self._shape, self._language, self._report = url, folder, shape, language, report

    def measure(self, size: int, questions: int, compared: int) -> Measured:
        from tasks.retrieval.search import Index

        built, building = self.build(size)
        opening, index = clocked(lambda: Index(self._url, built.generation, self._folder))
        self._report(f"{size:,} chunks: asking")
        try:
            sql, backend = self._sql_legs(built, questions, compared)
            words = self._words(index, built, questions)
            embedding, search = self._search(index, questions)
        finally:
            index.close()
        self._report(f"{size:,} chunks: one document more")
        one_more = self._one_more(built)
        return Measured(
            size,
            len(built.chunks_of),
            Building(**{**asdict(building), "open": opening}),
            sql,
            words,
            embedding,
            search,
            one_more,
            backend,
            memory(),
        )

    # ------------------------------------------------------------------------------------------------------------------- building
    def build(self, size: int) -> tuple[Built, Building]:
        """A serving generation of exactly `size` chunks, through what an ingest calls."""
        import numpy as np

        from tasks.domain.chunking import splitter_name
        from tasks.retrieval.embedding import embedding_model
        from tasks.retrieval.generations import create_draft, decide, generation, index_set
        from tasks.retrieval.keywords import build_keywords
        from tasks.store.connection import connect

        corpus, rng = f"bench-{size}", np.random.default_rng(size)
        with connect(self._url) as connection:
            draft = create_draft(
                connection, corpus, splitter=splitter_name(), model=embedding_model(MODEL), digest=f"{size} chunks"
            )
            built = Built(generation(connection, draft))
        # A document must be smaller than the filter of 1 % of them.
        each = max(3, min(CHUNKS_OF_A_DOCUMENT, size // 100))
        told = done = 0
        while done < size:
            done += self._add(built, rng, min(each, size - done), f"document {len(built.chunks_of) + 1}")
            if done - told >= 10_000 or done == size:
                told = done
                self._report(f"{size:,} chunks: {done:,} stored")
        with connect(self._url) as connection:
            chunk_set = _set(built)
            seconds, _ = clocked(lambda: index_set(connection, chunk_set))
            index_memory = memory(connection.info.backend_pid)["peak"]
            row = connection.execute(
                "SELECT pg_table_size(%(rows)s::regclass), pg_relation_size(%(index)s::regclass)",
                {"rows": f"corpus.chunks_{chunk_set}", "index": f"corpus.chunks_{chunk_set}_by_vector"},
            ).fetchone()
            assert row is not None
        self._report(f"{size:,} chunks: vector index built in {seconds:.0f} s")
        with connect(self._url) as connection:
            bm25_seconds, files = clocked(lambda: build_keywords(connection, built.generation, self._folder))
            decide(connection, draft, opened=True, evaluated=False, evaluation={})
        return built, Building(
            built.load,
            seconds,
            bm25_seconds,
            0.0,
            row[0] / 1e6,
            row[1] / 1e6,
            sum(path.stat().st_size for path in files.iterdir()) / 1e6,
            index_memory,
        )

    def _add(self, built: Built, rng: Any, chunks: int, name: str) -> int:
        """Store one document of exactly `chunks` chunks with its vectors, and list it in the generation."""
        from tasks.domain.chunking import chunk_page, source_of
        from tasks.domain.passages import Page
        from tasks.retrieval.generations import (
            BATCH,
            add_document,
            begin_document,
            finish_document,
            store_chunks,
            store_pages,
            store_vectors,
        )
        from tasks.store.connection import connect

        digest, reader = sha256(f"{built.generation.corpus} {name}".encode()).hexdigest(), "synthetic/1"
        source = source_of(digest, reader)
        pages: list[Page] = []
        cut: list[Chunk] = []
        while len(cut) < chunks:
            page = Page(name, len(pages) + 1, self._language.page(rng))
            windows = list(chunk_page(page, source=source))
            if len(cut) + len(windows) > chunks:
                # The last page ends with its last chunk that counts.
                windows = windows[: chunks - len(cut)]
                page = Page(name, page.number, page.text[: windows[-1].end])
            pages.append(page)
            cut += windows
        vectors = self._shape.document(rng, len(cut))
        built.targets += [(0, vectors[n]) for n in rng.integers(0, len(cut), 4)]

        def work() -> int:
            with connect(self._url) as connection:
                document = begin_document(connection, built.generation.corpus, digest, reader, len(pages)).id
                store_pages(connection, document, pages)
                finish_document(connection, document)
                store_chunks(connection, _set(built), document, cut)
                for first in range(0, len(cut), BATCH):
                    batch = cut[first : first + BATCH]
                    store_vectors(
                        connection, _set(built), [chunk.id for chunk in batch], vectors[first : first + len(batch)]
                    )
                add_document(
                    connection, built.generation.id, name=name, title=name, document=document, status="ok", reason=""
                )
            return document

        seconds, document = clocked(work)
        built.load += seconds
        built.chunks_of[document] = len(cut)
        built.targets[-4:] = [(document, vector) for _, vector in built.targets[-4:]]
        return len(cut)

    # ---------------------------------------------------------------------------------------------------------------------- asking
    def _sql_legs(self, built: Built, questions: int, compared: int) -> tuple[tuple[SqlLeg, ...], dict[str, float]]:
        import numpy as np

        from tasks.retrieval.reading import SearchConnection

        rng = np.random.default_rng(11)
        chosen = [built.targets[n] for n in rng.integers(0, len(built.targets), questions)]
        vectors = self._shape.questions(rng, np.stack([vector for _, vector in chosen]))
        everything = list(built.chunks_of)
        connection = SearchConnection(self._url)
        try:
            legs = []
            for name, share in FILTERS.items():
                count = 1 if share is None else max(1, round(share * len(everything)))
                filters = [self._filter(rng, everything, document, count) for document, _ in chosen]
                legs.append(self._sql_leg(connection, built, name, vectors, filters, compared))
            return tuple(legs), memory(connection.run(lambda each: each.info.backend_pid))
        finally:
            connection.close()

    @staticmethod
    def _filter(rng: Any, everything: Sequence[int], document: int, count: int) -> Sequence[int]:
        """`count` documents, with the one that the question is about."""
        if count >= len(everything):
            return everything
        others = [int(other) for other in rng.choice(everything, count, replace=False) if other != document]
        return [document, *others[: count - 1]]

    def _sql_leg(
        self,
        connection: Any,
        built: Built,
        name: str,
        vectors: Floats,
        filters: Sequence[Sequence[int]],
        compared: int,
    ) -> SqlLeg:
        from tasks.retrieval.search import CANDIDATES
        from tasks.retrieval.vectors import exact, exact_is_cheaper, nearest

        whole, chunk_set = sum(built.chunks_of.values()), _set(built)

        def ours(vector: Floats, documents: Sequence[int], eligible: int) -> list[str]:
            found: list[str] = connection.run(
                lambda each: nearest(each, chunk_set, vector, CANDIDATES, documents, eligible=eligible, whole=whole)
            )
            return found

        def scan(vector: Floats, documents: Sequence[int]) -> list[str]:
            found: list[str] = connection.run(lambda each: exact(each, chunk_set, vector, CANDIDATES, documents))
            return found

        sizes = [sum(built.chunks_of[document] for document in documents) for documents in filters]
        asked = list(zip(vectors, filters, sizes, strict=True))
        for vector, documents, eligible in asked[: warm_up(len(asked))]:
            ours(vector, documents, eligible)
        seconds, scans, recalls, spent = [], [], [], []
        backend = connection.run(lambda each: each.info.backend_pid)
        every = max(1, len(asked) // max(compared, 1))
        for number, (vector, documents, eligible) in enumerate(asked):
            before = processor_ms(backend)
            taken, found = clocked(lambda: ours(vector, documents, eligible))  # noqa: B023  # called at once
            seconds.append(taken)
            spent.append((processor_ms(backend) - before) / 1000)
            if number % every == 0:
                taken, truth = clocked(lambda: scan(vector, documents))  # noqa: B023
                scans.append(taken)
                recalls.append(recall(found, truth))
        middle = sorted(sizes)[len(sizes) // 2]
        return SqlLeg(
            name,
            middle,
            "exact" if exact_is_cheaper(middle, whole) else "index",
            times(seconds),
            times(spent),
            times(scans),
            sum(recalls) / len(recalls),
            min(recalls),
        )

    def _questions(self, count: int, seed: int) -> list[str]:
        """Golden questions, a word of each exchanged."""
        import numpy as np

        rng, texts = np.random.default_rng(seed), golden_questions()
        made = []
        for number in range(count):
            words = texts[number % len(texts)].split()
            words[int(rng.integers(0, len(words)))] = self._language.draw(rng, 1)[0]
            made.append(" ".join(words))
        return made

    def _words(self, index: Index, built: Built, questions: int) -> dict[str, Times]:
        import numpy as np

        from tasks.retrieval.keywords import open_keywords
        from tasks.retrieval.search import CANDIDATES
        from tasks.store.connection import connect

        with connect(self._url, read_only=True) as connection:
            keywords = open_keywords(connection, built.generation, self._folder)
        rng, everything = np.random.default_rng(13), list(built.chunks_of)
        found = {}
        for name, share in FILTERS.items():
            count = 1 if share is None else max(1, round(share * len(everything)))
            documents = [int(each) for each in rng.choice(everything, count, replace=False)]
            mask = None if count >= len(everything) else keywords.allowed(documents)
            before = warm_up(questions)
            texts = self._questions(before + questions, 17)
            for text in texts[:before]:
                keywords.rank(text, CANDIDATES, mask)
            found[name] = times([clocked(lambda: keywords.rank(text, CANDIDATES, mask))[0] for text in texts[before:]])  # noqa: B023
        return found

    def _search(self, index: Index, questions: int) -> tuple[Times, Times]:
        """Embedding alone and whole searches, by turns, each of texts that the other has not seen."""
        from tasks.retrieval.embedding import load_embedder
        from tasks.settings import RetrievalSettings

        embedder, passages = load_embedder(MODEL), int(RetrievalSettings.model_fields["passages"].default)
        before = warm_up(questions)
        alone, asked = self._questions(before + questions, 19), self._questions(before + questions, 23)
        embedding, search = [], []
        for number, (first, second) in enumerate(zip(alone, asked, strict=True)):
            taken = clocked(lambda: embedder.query(first))[0]  # noqa: B023
            whole = clocked(lambda: index.search(second, passages))[0]  # noqa: B023
            if number >= before:
                embedding.append(taken)
                search.append(whole)
        return times(embedding), times(search)

    def _one_more(self, built: Built) -> OneMore:
        import numpy as np

        from tasks.retrieval.keywords import build_keywords
        from tasks.store.connection import connect

        chunks, before = max(built.chunks_of.values()), built.load
        self._add(built, np.random.default_rng(29), chunks, "one document more")
        with connect(self._url) as connection:
            seconds, _ = clocked(lambda: build_keywords(connection, built.generation, self._folder))
        return OneMore(chunks, built.load - before, seconds)


FILTERS: Mapping[str, float | None] = {
    "all documents": 1.0,
    "10 % of them": 0.1,
    "1 % of them": 0.01,
    "one document": None,
}


def _set(built: Built) -> int:
    assert built.generation.set_id is not None
    return built.generation.set_id


def warm_up(questions: int) -> int:
    """How many calls go before the ones that count."""
    return min(WARM_UP, questions // 2)


def recall(found: Sequence[str], truth: Collection[str], depth: int = 10) -> float:
    """The share of the nearest `depth` that the first `depth` found have; 1 where there is nothing to find."""
    wanted = set(list(truth)[:depth])
    return len(wanted.intersection(found[:depth])) / len(wanted) if wanted else 1.0


# ------------------------------------------------------------------------------------------------------------------------ printing
@dataclass(frozen=True)
class Target:
    """A figure with its target; `limit` is the most, or the least where `at_least`."""

    chunks: int
    what: str
    value: float
    limit: float
    at_least: bool = False

    @property
    def reached(self) -> bool:
        return self.value >= self.limit if self.at_least else self.value <= self.limit


def targets(measured: Sequence[Measured]) -> list[Target]:
    """What each size is held against. Beyond the largest size that has a target, that target stands."""
    found = []
    for each in measured:
        limit = next((ms for size, ms in SQL_P95_MS.items() if each.chunks <= size), max(SQL_P95_MS.values()))
        for leg in each.sql:
            found.append(Target(each.chunks, f"SQL leg p95 ms, {leg.filter}", leg.times.p95, limit))
            found.append(
                Target(each.chunks, f"SQL leg recall@10, {leg.filter}", leg.recall_at_10, RECALL, at_least=True)
            )
        found.append(Target(each.chunks, "search p50 / embedding p50", each.search_to_embedding, SEARCH_TO_EMBEDDING))
    return found


def as_json(began: datetime, vectors: Mapping[str, Any], measured: Sequence[Measured]) -> dict[str, Any]:
    return {
        "began": began.isoformat(timespec="seconds"),
        "vectors": dict(vectors),
        "sizes": [{**asdict(each), "search_to_embedding": each.search_to_embedding} for each in measured],
        "targets": [{**asdict(each), "reached": each.reached} for each in targets(measured)],
    }


def as_text(vectors: Mapping[str, Any], measured: Sequence[Measured]) -> str:
    """The tables, the check of the vectors and the targets, for a person."""
    columns = [f"{each.chunks:,}" for each in measured]

    def row(name: str, value: Callable[[Measured], str]) -> list[str]:
        return [name, *(value(each) for each in measured)]

    build = [
        row("documents", lambda m: f"{m.documents:,}"),
        row("rows loaded, s", lambda m: f"{m.building.load:.1f}"),
        row("vector index built, s", lambda m: f"{m.building.vector_index:.1f}"),
        row("BM25 files built, s", lambda m: f"{m.building.bm25:.1f}"),
        row("index opened, s", lambda m: f"{m.building.open:.2f}"),
        row("rows, MB", lambda m: f"{m.building.rows_mb:,.0f}"),
        row("vector index, MB", lambda m: f"{m.building.index_mb:,.0f}"),
        row("BM25 files, MB", lambda m: f"{m.building.bm25_mb:,.0f}"),
        row("Postgres while building, peak MB", lambda m: f"{m.building.index_memory:,.0f}"),
        row("Postgres while searching, MB of its own", lambda m: f"{m.backend['own']:,.0f}"),
        row("... with shared buffers", lambda m: f"{m.backend['now']:,.0f}"),
        row("this process, peak MB (torch included)", lambda m: f"{m.process['peak']:,.0f}"),
        row("one document more: its chunks", lambda m: f"{m.one_more.chunks}"),
        row("... rows and vectors, s", lambda m: f"{m.one_more.rows:.2f}"),
        row("... BM25 files anew, s", lambda m: f"{m.one_more.bm25:.1f}"),
    ]
    legs: list[list[str]] = []
    for each in measured:
        for leg in each.sql:
            ratio = leg.exact.p50 / leg.times.p50
            legs.append(
                [
                    f"{each.chunks:,}: vectors, {leg.filter} ({leg.eligible:,}, {leg.way})",
                    *_pair(leg.times),
                    f"{leg.processor.p95:.2f}",
                    f"{leg.recall_at_10:.3f}",
                    f"{leg.exact.p50:.1f}",
                    f"{ratio:.1f}",
                ]
            )
        for name, found in each.bm25.items():
            legs.append([f"{each.chunks:,}: BM25, {name}", *_pair(found), "", "", "", ""])
        legs.append([f"{each.chunks:,}: embedding the query", *_pair(each.embedding), "", "", "", ""])
        legs.append([f"{each.chunks:,}: whole search", *_pair(each.search), "", "", "", ""])
    goals = [
        [
            f"{goal.chunks:,}: {goal.what}",
            f"{goal.value:.3g}",
            f"{'>=' if goal.at_least else '<='} {goal.limit:g}",
            "reached" if goal.reached else "missed",
        ]
        for goal in targets(measured)
    ]
    neighbours = [
        [
            name,
            *(f"{value:.2f}" for value in (*vectors[key]["nearest"], vectors[key]["tenth"])),
            f"{vectors[key]['dimension']:.1f}",
        ]
        for name, key in (
            ("real passages, many subjects", "real"),
            ("synthetic, as many", "synthetic"),
            ("the sample corpus", "sample_corpus"),
        )
    ]
    return "\n\n".join(
        (
            table(["chunks", *columns], build),
            table(["leg", "p50 ms", "p95 ms", "processor p95", "recall@10", "exact p50 ms", "exact / ours"], legs),
            table(["target", "measured", "target", ""], goals),
            table(["cosine to", "nearest 10 %", "50 %", "90 %", "tenth", "dimension"], neighbours),
        )
    )


def _pair(found: Times) -> tuple[str, str]:
    return f"{found.p50:.2f}", f"{found.p95:.2f}"
