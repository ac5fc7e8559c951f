"""`python3 -m infra bench ingest`: what an ingest costs, against one that embeds a chunk at a time, in one run.

It runs the boxes of the ingest flow one after the other, in this process and without Prefect, on a database of its own for each
repetition. It judges nothing: a target stands beside its figure, and the exit code is 0 unless something breaks.

Rules
- The baseline is the same ingest, with the same model, that embeds one chunk after the other, all cores for each, and stores them all at
  once.
- Both are run by turns, each as often first as second; the model is loaded and every part has run once before the clock starts.
- Documents are worked on one after the other. The flow has four at a time, so it is not slower than what is shown here.
- The gate is left out on both sides; the BM25 files, which it makes, are not.
- The corpus is the three federal PDFs where they are found (mirror, `../shared/corpus`, download cache), else the sample corpus; which one
  is said.

`--pages N` instead reads and stores a made-up PDF of 50 and one of N pages, each page with another text, and shows time and the most
memory of this process and of the readers below it; `--embed` embeds it as well.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.environment import Environment
from infra.measuring import OwnPostgres, Peaks, clocked, own_postgres, peaks, say, table

if TYPE_CHECKING:
    from infra.synthetic import Language
    from tasks.ingest import Chunked

CORPUS = "bench"
MODEL = "minilm"
REPEATS = 4  # even, so that each side goes first as often as the other
AGAIN = 5  # times that the unchanged corpus is ingested again, each time
SHORT = 50  # pages of the PDF that a long one is compared with

FASTER = 1.5  # than one chunk at a time
UNCHANGED_SHARE = 0.05  # of the first ingest

Report = Callable[[str], None]
Embed = Callable[[int, "Chunked"], Any]


@dataclass(frozen=True)
class Timed:
    """Seconds of one ingest: of each box over all documents, and of all together."""

    boxes: Mapping[str, float]
    chunks: int

    @property
    def total(self) -> float:
        return sum(self.boxes.values())


@dataclass(frozen=True)
class Spread:
    """Seconds over `count` repetitions."""

    least: float
    median: float
    count: int


@dataclass(frozen=True)
class Compared:
    """What `bench ingest` found.

    `ours` and `one_at_a_time` are whole first ingests, with the medians of their boxes; `again` is one with nothing changed, `changed` one
    with one document exchanged for another of one page.
    """

    corpus: str
    documents: int
    chunks: int
    ours: Spread
    one_at_a_time: Spread
    boxes: Mapping[str, float]
    boxes_one_at_a_time: Mapping[str, float]
    again: Spread
    changed: Spread

    @property
    def faster(self) -> float:
        """How many times as fast the ingest is as one that embeds a chunk at a time."""
        return self.one_at_a_time.median / self.ours.median

    @property
    def embedding_faster(self) -> float:
        """The same of embedding alone."""
        return self.boxes_one_at_a_time["embed"] / self.boxes["embed"]

    @property
    def unchanged_share(self) -> float:
        """An ingest with nothing changed, as a share of the first."""
        return self.again.median / self.ours.median


@dataclass(frozen=True)
class Long:
    """One made-up PDF: seconds of each box, and the most MB in each of this process and of its readers."""

    pages: int
    megabytes: float
    seconds: Mapping[str, float]
    memory: Mapping[str, Peaks]
    chunks: int

    @property
    def pages_a_second(self) -> float:
        """Read and stored, without cutting and embedding."""
        return self.pages / (self.seconds["extract"] + self.seconds["dehyphenate"])

    @property
    def most(self) -> float:
        """MB of this process and its readers, at the most of any box."""
        return max(each.own + each.below for each in self.memory.values())


def run(options: argparse.Namespace, environment: Environment) -> int:
    """Measure, and print a table or JSON. Raises PostgresUnavailable where no server of its own can run."""
    began = datetime.now(UTC).isoformat(timespec="seconds")
    if options.pages:
        measured = read_long(options.pages, embed=options.embed, report=say)
        print(json.dumps(long_json(began, measured), indent=1) if options.json else long_text(measured))
    else:
        compared = compare(report=say)
        print(json.dumps(as_json(began, compared), indent=1) if options.json else as_text(compared))
    return 0


# ----------------------------------------------------------------------------------------------------------------- the ingest's boxes
@contextmanager
def surroundings(url: str, home: Path, corpora: Path) -> Iterator[None]:
    """This process' settings name this database, home and corpus folder; no log and no artifact goes to any Prefect server."""
    # Before the logger is switched off, because this import sets logging up and would switch it on again.
    from tasks import ingest as _boxes  # noqa: F401
    from tasks.settings import settings
    from tasks.unattended import without_a_server

    wanted = {
        "FILEWRIGHT_DATABASE_URL": url,
        "FILEWRIGHT_HOME": str(home),
        "FILEWRIGHT_CORPUS_FOLDER": str(corpora),
        "FILEWRIGHT_CORPUS_DOWNLOAD": "false",
        "FILEWRIGHT_EMBEDDING_MODEL": MODEL,
    }
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    settings.cache_clear()
    try:
        with without_a_server():
            yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        settings.cache_clear()


def ingest(embed: Embed | None = None) -> Timed:
    """The flow's boxes on the corpus that the settings name, one document after the other; the draft opens without a gate.

    `embed` takes the place of the box of that name. An ingest that has nothing to do ends after `plan`.
    """
    from tasks import ingest as boxes
    from tasks.retrieval.generations import decide, generation
    from tasks.retrieval.keywords import build_keywords
    from tasks.settings import settings
    from tasks.store.connection import connect

    seconds: dict[str, float] = {}

    def clock(name: str, work: Callable[..., Any], *values: Any) -> Any:
        taken, value = clocked(lambda: work(*values))
        seconds[name] = seconds.get(name, 0.0) + taken
        return value

    plan = clock("plan", boxes.plan.fn, CORPUS)
    if plan.unchanged:
        return Timed(seconds, 0)
    draft = clock("draft", boxes.draft.fn, CORPUS, plan)
    extracted = [clock("extract", boxes.extract_document.fn, CORPUS, each) for each in plan.sources]
    stored = [clock("dehyphenate", boxes.dehyphenate_document.fn, CORPUS, each) for each in extracted]
    chunked = [clock("chunk", boxes.chunk_document.fn, draft, each) for each in stored]
    embedded = [clock("embed", embed or boxes.embed_document.fn, draft, each) for each in chunked]
    chunks = sum(clock("upsert", boxes.upsert_document.fn, CORPUS, draft, each) for each in embedded)
    clock("index", boxes.index_chunks.fn, draft)

    def files() -> None:
        group = settings()
        with connect(group.store.database_url.get_secret_value()) as connection:
            build_keywords(connection, generation(connection, draft), group.store.home / "bm25")

    def open_draft() -> None:
        with connect(settings().store.database_url.get_secret_value()) as connection:
            decide(connection, draft, opened=True, evaluated=False, evaluation={})

    clock("BM25 files", files)
    clock("open", open_draft)
    return Timed(seconds, chunks)


def one_at_a_time(generation: int, chunked: Chunked) -> Any:
    """What the box `embed` is compared with: the library's own `encode`, called for each chunk by itself; all are stored together."""
    from tasks.ingest import Embedded
    from tasks.retrieval.embedding import load_embedder
    from tasks.retrieval.generations import chunks_to_embed, store_vectors
    from tasks.retrieval.generations import generation as find
    from tasks.settings import settings
    from tasks.store.connection import connect

    document = chunked.stored.document
    if document is None:
        return Embedded(chunked, 0)
    embedder = load_embedder(MODEL)
    with connect(settings().store.database_url.get_secret_value()) as connection:
        chunk_set = find(connection, generation).set_id
        assert chunk_set is not None
        batch = chunks_to_embed(connection, chunk_set, document, 1_000_000)
        vectors = [embedder.one_by_the_library(text) for _, text in batch]
        store_vectors(connection, chunk_set, [identity for identity, _ in batch], vectors)
    return Embedded(chunked, len(batch))


# ------------------------------------------------------------------------------------------------------------------------ comparing
def compare(*, report: Report = say, repeats: int = REPEATS, again: int = AGAIN, federal: bool = True) -> Compared:
    """First ingests of both kinds by turns, then the unchanged corpus again, then one changed document."""
    import torch

    label, documents = find_documents() if federal else sample_documents()
    report(f"corpus: {label}")
    threads = torch.get_num_threads()

    def baseline(generation: int, chunked: Chunked) -> Any:
        # The product's batches leave torch with one thread each; a chunk by itself may have all.
        torch.set_num_threads(threads)
        return one_at_a_time(generation, chunked)

    ours: list[Timed] = []
    theirs: list[Timed] = []
    unchanged: list[float] = []
    changed: list[float] = []
    with own_postgres() as postgres, tempfile.TemporaryDirectory(prefix="filewright-bench-") as folder:
        for number in range(repeats + 1):
            # The first round warms up and does not count.
            report("warming up" if not number else f"round {number} of {repeats}")
            for kind in ("ours", "baseline") if number % 2 else ("baseline", "ours"):
                place = Path(folder) / f"{kind}-{number}"
                make_corpus(place / "corpora" / CORPUS, documents)
                url = postgres.database(f"{kind}_{number}")
                with surroundings(url, place / "home", place / "corpora"):
                    first = ingest(baseline if kind == "baseline" else None)
                    if number and kind == "baseline":
                        theirs.append(first)
                    elif number:
                        repeated = [ingest() for _ in range(again)]
                        if any(each.chunks for each in repeated):
                            raise RuntimeError("an ingest of the unchanged corpus made a new index")
                        exchange_smallest(place / "corpora" / CORPUS)
                        ours.append(first)
                        unchanged += [each.total for each in repeated]
                        changed.append(ingest().total)
                shutil.rmtree(place)
    return Compared(
        label,
        len(documents),
        ours[0].chunks,
        spread([each.total for each in ours]),
        spread([each.total for each in theirs]),
        medians(ours),
        medians(theirs),
        spread(unchanged),
        spread(changed),
    )


def spread(seconds: Sequence[float]) -> Spread:
    return Spread(min(seconds), statistics.median(seconds), len(seconds))


def medians(runs: Sequence[Timed]) -> dict[str, float]:
    """Each box's median over the runs."""
    return {name: statistics.median(each.boxes[name] for each in runs) for name in runs[0].boxes}


def find_documents(beside: Path | None = None) -> tuple[str, dict[str, Path]]:
    """What is ingested, in words, and its files by name: the federal PDFs, or the sample corpus where they are not here.

    `beside` is a folder that may have them, by default `../shared/corpus`.
    """
    from tasks.documents import load_manifest, locate
    from tasks.domain.errors import PermanentError
    from tasks.settings import ROOT, settings

    group = settings()
    folder = ROOT / "corpus" / "hipaa"
    manifest = load_manifest(folder)
    shared = beside or ROOT.parent / "shared" / "corpus"
    for mirror in (group.corpus.corpus_mirror, shared if shared.is_dir() else None):
        try:
            files = {
                entry.name: locate(
                    entry, folder=folder, mirror=mirror, cache=group.store.home / "downloads", download=False
                )
                for entry in manifest.documents
            }
        except PermanentError:
            continue
        return f"the {len(files)} federal PDFs", files
    label, files = sample_documents()
    return (
        f"{label}, because the federal PDFs are not here (FILEWRIGHT_CORPUS_MIRROR names a folder that has them)",
        files,
    )


def sample_documents() -> tuple[str, dict[str, Path]]:
    """The sample corpus, and its files by name."""
    from tasks.documents import load_manifest
    from tasks.settings import ROOT

    folder = ROOT / "corpus" / "sample"
    files = {entry.name: folder / "documents" / entry.name for entry in load_manifest(folder).documents}
    return f"the sample corpus' {len(files)} documents", files


def make_corpus(folder: Path, documents: Mapping[str, Path]) -> None:
    """A corpus of copies of these files, not pinned, without golden questions."""
    lines = ['title = "Bench"']
    for name, path in documents.items():
        target = folder / "documents" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        lines += ["[[documents]]", f"name = {json.dumps(name)}", f"title = {json.dumps(name)}"]
    (folder / "corpus.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def exchange_smallest(folder: Path) -> None:
    """Exchange the smallest PDF for one with another text, of one page."""
    import numpy as np

    from infra.synthetic import write_pdf

    smallest = min((folder / "documents").rglob("*.pdf"), key=lambda path: path.stat().st_size)
    write_pdf(smallest, language().pages(np.random.default_rng(31)), 1)


def language() -> Language:
    """The sample corpus' words, on full pages."""
    from infra.bench_retrieval import sample_corpus
    from infra.synthetic import Language

    pages, _ = sample_corpus()
    return Language(Language.of([page.text for page in pages]).words, (2_800, 3_200, 3_600))


# ----------------------------------------------------------------------------------------------------------------- a long document
def read_long(pages: int, *, embed: bool, report: Report = say, short: int = SHORT) -> list[Long]:
    """A PDF of `short` and one of `pages` pages, each in a database of its own; the short one first, so that its memory is its own."""
    import numpy as np

    from infra.synthetic import write_pdf

    words = language()
    measured: list[Long] = []
    with own_postgres() as postgres, tempfile.TemporaryDirectory(prefix="filewright-bench-") as folder:
        for count in (short, pages):
            place = Path(folder) / str(count)
            documents = place / "corpora" / CORPUS / "documents"
            documents.mkdir(parents=True)
            report(f"{count:,} pages: writing")
            write_pdf(documents / "long.pdf", words.pages(np.random.default_rng(count)), count)
            make_manifest = '[[documents]]\nname = "long.pdf"\ntitle = "Long"\n'
            (documents.parent / "corpus.toml").write_text(f'title = "Bench"\n{make_manifest}', encoding="utf-8")
            url = postgres.database(f"pages_{len(measured)}")
            with surroundings(url, place / "home", place / "corpora"):
                measured.append(_read_long(count, documents / "long.pdf", postgres, embed, report))
            shutil.rmtree(place)
    return measured


def _read_long(count: int, path: Path, postgres: OwnPostgres, embed: bool, report: Report) -> Long:
    from tasks import ingest as boxes

    seconds: dict[str, float] = {}
    memories: dict[str, Peaks] = {}

    def measured(name: str, work: Callable[[], Any]) -> Any:
        report(f"{count:,} pages: {name}")
        with peaks(leave_out=[postgres.process]) as found:
            seconds[name], value = clocked(work)
        memories[name] = found
        return value

    plan = boxes.plan.fn(CORPUS)
    draft = boxes.draft.fn(CORPUS, plan)
    extracted = measured("extract", lambda: boxes.extract_document.fn(CORPUS, plan.sources[0]))
    stored = measured("dehyphenate", lambda: boxes.dehyphenate_document.fn(CORPUS, extracted))
    if stored.document is None:
        raise RuntimeError(f"the made-up PDF could not be read: {stored.status}: {stored.reason}")
    chunked = measured("chunk", lambda: boxes.chunk_document.fn(draft, stored))
    if embed:
        measured("embed", lambda: boxes.embed_document.fn(draft, chunked))
    return Long(count, path.stat().st_size / 1e6, seconds, memories, chunked.chunks)


# ------------------------------------------------------------------------------------------------------------------------- printing
def targets(found: Compared) -> list[dict[str, Any]]:
    """Each figure with its target, and whether it is reached."""
    return [
        {
            "what": "times as fast as one chunk at a time",
            "value": found.faster,
            "limit": FASTER,
            "at_least": True,
            "reached": found.faster >= FASTER,
        },
        {
            "what": "ingest of the unchanged corpus / first ingest",
            "value": found.unchanged_share,
            "limit": UNCHANGED_SHARE,
            "at_least": False,
            "reached": found.unchanged_share <= UNCHANGED_SHARE,
        },
    ]


def as_json(began: str, found: Compared) -> dict[str, Any]:
    ratios = {
        "faster": found.faster,
        "embedding_faster": found.embedding_faster,
        "unchanged_share": found.unchanged_share,
    }
    return {"began": began, **asdict(found), **ratios, "targets": targets(found)}


def as_text(found: Compared) -> str:
    """The ingests, their boxes and the targets, for a person."""

    def row(name: str, seconds: Spread) -> list[str]:
        share = seconds.median / found.ours.median
        return [name, f"{seconds.least:.3f}", f"{seconds.median:.3f}", f"{share:.3f}", str(seconds.count)]

    ingests = [
        row("first ingest", found.ours),
        row("first ingest, one chunk at a time", found.one_at_a_time),
        row("nothing changed", found.again),
        row("one document exchanged", found.changed),
    ]
    boxes = [
        [name, f"{seconds:.3f}", f"{found.boxes_one_at_a_time[name]:.3f}"] for name, seconds in found.boxes.items()
    ]
    goals = [
        [
            goal["what"],
            f"{goal['value']:.3g}",
            f"{'>=' if goal['at_least'] else '<='} {goal['limit']:g}",
            "reached" if goal["reached"] else "missed",
        ]
        for goal in targets(found)
    ]
    return "\n\n".join(
        (
            f"Corpus: {found.corpus}; {found.chunks} chunks, model {MODEL}. "
            f"Embedding alone is {found.embedding_faster:.2f} times as fast.",
            table(["ingest", "least s", "median s", "of the first", "runs"], ingests),
            table(["box, median s", "ours", "one at a time"], boxes),
            table(["target", "measured", "target", ""], goals),
        )
    )


def long_json(began: str, measured: Sequence[Long]) -> dict[str, Any]:
    return {
        "began": began,
        "files": [{**asdict(each), "pages_a_second": each.pages_a_second, "most_mb": each.most} for each in measured],
        "memory_ratio": measured[-1].most / measured[0].most,
    }


def long_text(measured: Sequence[Long]) -> str:
    """Time and memory of each box for both files, for a person."""

    def row(name: str, value: Callable[[Long], str]) -> list[str]:
        return [name, *(value(each) for each in measured)]

    rows = [
        row("file, MB", lambda m: f"{m.megabytes:.1f}"),
        row("chunks", lambda m: f"{m.chunks:,}"),
        row("read and stored, pages a second", lambda m: f"{m.pages_a_second:.0f}"),
    ]
    for box in measured[0].seconds:
        rows += [
            row(f"{box}, s", lambda m, b=box: f"{m.seconds[b]:.1f}"),  # type: ignore[misc]
            row("... this process, peak MB", lambda m, b=box: f"{m.memory[b].own:.0f}"),  # type: ignore[misc]
            row("... its readers, peak MB", lambda m, b=box: f"{m.memory[b].below:.0f}"),  # type: ignore[misc]
        ]
    rows.append(row("most of both together, MB", lambda m: f"{m.most:.0f}"))
    ratio = measured[-1].most / measured[0].most
    return "\n\n".join(
        (
            table(["pages", *(f"{each.pages:,}" for each in measured)], rows),
            f"{measured[-1].pages:,} pages need {ratio:.2f} times the memory of {measured[0].pages:,}.",
        )
    )
