"""`python3 -m infra sweep`: chunk size and overlap against embedding model and ranking, on a corpus' golden questions.

It decides nothing: which size a new index is cut with is a setting. It needs no services: the documents are read, cut and embedded in this
process and searched in memory, exactly, with the words, the fusion and the joining of the product's search.

Rules
- The models are those whose weights are on this machine; nothing is downloaded.
- Each row has both scores: of chunks as they were cut, and as a search shows them, joined with their neighbours. A larger chunk holds more
  text, so that only the second compares sizes at about equal length.
- Standard output has the table, or with `--json` one JSON value; progress goes to standard error.
- Exit codes: 0 measured, 1 a document cannot be had or the plot not be written, 2 there are no such corpus or no golden questions.

Cost: every chunk of every size is embedded once for each model; about 20 seconds for the federal corpus on one core.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.environment import Environment
from infra.evaluate_command import BAD_INPUT, GOLDEN, golden

if TYPE_CHECKING:
    from tasks.domain.evaluation import Score
    from tasks.domain.passages import GoldenQuestion, Page

CUTS = ((300, 60), (500, 90), (800, 120), (1100, 150))
"""Chunk size and overlap in characters."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Row:
    """One measurement: how pages were cut, by what they were ranked, and the scores of chunks as cut and as shown."""

    size: int
    overlap: int
    chunks: int
    model: str
    leg: str
    as_cut: Score
    as_shown: Score


def run(options: argparse.Namespace, environment: Environment) -> int:
    """Measure and print; returns the exit code. Raises FilewrightError where a document cannot be had or a model not be loaded."""
    from tasks.domain.errors import PermanentError
    from tasks.settings import settings

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    folder = settings().corpus.corpus_folder / options.corpus
    try:
        questions = golden(folder / GOLDEN)
    except PermanentError as error:
        say(str(error))
        return BAD_INPUT
    if options.plot is not None and not options.plot.resolve().parent.is_dir():
        say(f"{options.plot.resolve().parent} is not a folder: the plot would have no place.")
        return BAD_INPUT
    pages, titles = corpus_pages(folder, say)
    rows = measure(pages, titles, questions, models=available(), say=say)
    if options.json:
        print(json.dumps(as_json(options.corpus, rows), indent=1))
    else:
        print("\n".join(table(options.corpus, rows)))
    if options.plot is not None:
        plot(options.corpus, rows, options.plot)
        say(f"plot: {options.plot}")
    return 0


def available() -> list[str]:
    """Names of the embedding models whose weights are on this machine."""
    from tasks.retrieval.embedding import MODELS, cached_weights

    return [name for name, model in MODELS.items() if model.packaged or cached_weights(model) is not None]


def corpus_pages(folder: Path, say: Say) -> tuple[list[Page], dict[str, str]]:
    """The text of every document that counts, and their titles by name. Raises PermanentError where a document cannot be had or read."""
    from tasks.documents import Status, catalogue, locate, read_pages
    from tasks.domain.errors import PermanentError
    from tasks.settings import settings

    group = settings()
    found = catalogue(folder)
    for refused in found.refused:
        say(f"left out: {refused.name} ({refused.status}): {refused.reason}")
    pages: list[Page] = []
    for entry in found.entries:
        say(f"reading {entry.name} ...")
        path = locate(
            entry,
            folder=folder,
            mirror=group.corpus.corpus_mirror,
            cache=group.store.home / "downloads",
            download=group.corpus.corpus_download,
        )
        result = read_pages(path, entry.name)
        if result.status is not Status.OK:
            raise PermanentError(f"{entry.name} cannot be read ({result.status}): {result.reason}")
        pages += result.pages
    return pages, {entry.name: entry.title for entry in found.entries}


def measure(
    pages: Sequence[Page],
    titles: dict[str, str],
    questions: Sequence[GoldenQuestion],
    *,
    models: Sequence[str],
    cuts: Sequence[tuple[int, int]] | None = None,
    say: Say,
) -> list[Row]:
    """A row for each cut, model and ranking. BM25 knows no model and is measured once for each cut, under the model name `-`."""
    from tasks.domain.evaluation import score
    from tasks.retrieval.embedding import load_embedder
    from tasks.retrieval.exact import ExactIndex
    from tasks.retrieval.measure import LEGS, Leg, Searchable, ask

    def scored(index: Searchable, leg: Leg) -> Score:
        return score((one.question, one.rank) for one in ask(index, questions, leg=leg))

    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="filewright-sweep-") as folder:
        for name in models:
            embedder = load_embedder(name)
            query = cache(embedder.query)
            for size, overlap in CUTS if cuts is None else cuts:
                say(f"{name}: cutting at {size}/{overlap} and embedding ...")
                index = ExactIndex(
                    pages,
                    titles,
                    Path(folder) / f"{name}-{size}-{overlap}",
                    passages=embedder.passages,
                    query=query,
                    size=size,
                    overlap=overlap,
                )
                for leg in LEGS:
                    if leg == "bm25" and name != models[0]:
                        continue
                    model = "-" if leg == "bm25" else name
                    cut, shown = scored(index.as_cut(), leg), scored(index, leg)
                    rows.append(Row(size, overlap, len(index.chunks), model, leg, cut, shown))
    return sorted(rows, key=lambda row: (row.size, row.overlap, LEGS.index(row.leg), row.model))


def as_json(corpus: str, rows: Sequence[Row]) -> dict[str, Any]:
    """The value that `--json` prints."""
    return {"corpus": corpus, "rows": [asdict(row) for row in rows]}


def table(corpus: str, rows: Sequence[Row]) -> list[str]:
    """Lines for people."""
    evaluated = rows[0].as_cut.evaluated if rows else 0
    lines = [
        f"{corpus}: {evaluated} answerable questions; recall at 1 and 4 and mean reciprocal rank",
        "",
        f"{'':9}{'':>8}  {'':12}{'':10}{'as cut':^23}{'as shown':^23}",
        f"{'cut':9}{'chunks':>8}  {'model':12}{'ranking':10}" + f"{'recall@1':>9}{'@4':>6}{'MRR':>6}  " * 2,
    ]
    for row in rows:
        cells = "".join(
            f"{score.recall_at_1:>9.2f}{score.recall_at_4:>6.2f}{score.mrr:>6.2f}  "
            for score in (row.as_cut, row.as_shown)
        )
        lines.append(f"{f'{row.size}/{row.overlap}':9}{row.chunks:>8}  {row.model:12}{row.leg:10}{cells}".rstrip())
    return lines


def plot(corpus: str, rows: Sequence[Row], path: Path) -> None:
    """Recall at 4 against the chunk size, a line for each model and ranking. Raises PermanentError where it cannot be written."""
    from tasks.domain.errors import PermanentError

    try:
        import matplotlib
    except ImportError as error:
        raise PermanentError(
            "The plot needs matplotlib, which is not installed here; the table needs nothing."
        ) from error
    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    lines: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        lines.setdefault((row.leg, row.model), []).append(row)
    for axes, title, which in (
        (left, "chunks as cut", lambda row: row.as_cut),
        (right, "as a search shows them", lambda row: row.as_shown),
    ):
        for (leg, model), measured in lines.items():
            label = leg if model == "-" else f"{leg}, {model}"
            axes.plot(
                [f"{row.size}/{row.overlap}" for row in measured],
                [which(row).recall_at_4 for row in measured],
                marker="o",
                label=label,
            )
        axes.set_title(title)
        axes.set_xlabel("chunk size / overlap (characters)")
        axes.grid(alpha=0.3)
    left.set_ylabel("recall at 4")
    right.legend()
    figure.suptitle(f"{corpus}: {rows[0].as_cut.evaluated} golden questions")
    try:
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as error:
        raise PermanentError(f"The plot cannot be written to {path}: {error}") from error
