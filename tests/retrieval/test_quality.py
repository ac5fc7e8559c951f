"""What retrieval reaches on both corpora: the numbers of corpus/README.md are measured here, and no other README may quote its own.

Whatever says that one chunk size, or one model, is better than another speaks of one model, corpus and set of questions; so both cuts
are pinned for the model in use. Counts of BM25 are exact; where vectors take part one question may go either way, because other
processors round otherwise.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest

from tasks.documents import load_manifest, read_pages
from tasks.domain.evaluation import is_answerable, parse_golden, rank_of_answer
from tasks.domain.passages import GoldenQuestion, Page
from tasks.retrieval.embedding import Vectors, load_embedder
from tasks.retrieval.exact import ExactIndex
from tasks.retrieval.measure import DEPTH, LEGS, Leg, ask
from tests.conftest import CORPORA, REPOSITORY

# Each corpus is embedded once for each cut: half a minute on a machine that does nothing else.
pytestmark = pytest.mark.timeout(600)
MODEL = "minilm"
CUTS = {"500/90": (500, 90), "1100/150": (1100, 150)}
README = CORPORA / "README.md"
Counts = tuple[int, int]
"""Questions answered by the first passage, and by one of the first four."""


@dataclass(frozen=True)
class Measured:
    """One corpus, cut once: the rank of every answerable question by each ranking, of chunks as cut and as shown."""

    index: ExactIndex
    questions: tuple[GoldenQuestion, ...]
    as_cut: Mapping[Leg, tuple[int | None, ...]]
    shown: Mapping[Leg, tuple[int | None, ...]]

    def ranks(self, leg: Leg, kind: str = "") -> list[int | None]:
        pairs = zip(self.questions, self.shown[leg], strict=True)
        return [rank for question, rank in pairs if kind in ("", question.kind)]


@cache
def golden(corpus: str) -> tuple[GoldenQuestion, ...]:
    questions = parse_golden((CORPORA / corpus / "golden.jsonl").read_text(encoding="utf-8"))
    return tuple(question for question in questions if is_answerable(question))


@cache
def pages_of(paths: tuple[tuple[str, Path], ...]) -> tuple[Page, ...]:
    return tuple(page for name, path in paths for page in read_pages(path, name).pages)


@cache
def embedded(question: str) -> Vectors:
    return load_embedder(MODEL).query(question)


@cache
def measured(corpus: str, cut: str, paths: tuple[tuple[str, Path], ...], folder: Path) -> Measured:
    embedder = load_embedder(MODEL)
    size, overlap = CUTS[cut]
    index = ExactIndex(
        pages_of(paths),
        {},
        folder / f"{corpus}-{size}",
        passages=embedder.passages,
        query=embedded,
        size=size,
        overlap=overlap,
    )
    questions = golden(corpus)

    def ranks(index: ExactIndex, leg: Leg) -> tuple[int | None, ...]:
        return tuple(one.rank for one in ask(index, questions, leg=leg))

    cut_index = index.as_cut()
    return Measured(
        index,
        questions,
        {leg: ranks(cut_index, leg) for leg in LEGS},
        {leg: ranks(index, leg) for leg in LEGS},
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("quality")


@pytest.fixture(params=["sample", "hipaa"])
def corpus(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def paths(corpus: str, request: pytest.FixtureRequest) -> tuple[tuple[str, Path], ...]:
    """The corpus' files by name; the federal ones only where they are."""
    if corpus == "hipaa":
        return tuple(sorted(request.getfixturevalue("federal_pdfs").items()))
    folder = CORPORA / corpus
    return tuple((entry.name, folder / "documents" / entry.name) for entry in load_manifest(folder).documents)


def counts(ranks: list[int | None] | tuple[int | None, ...]) -> Counts:
    found = [rank for rank in ranks if rank is not None]
    return sum(rank <= 1 for rank in found), sum(rank <= 4 for rank in found)


def mrr(ranks: list[int | None] | tuple[int | None, ...]) -> float:
    return sum(1 / rank for rank in ranks if rank is not None) / len(ranks)


def rows(mark: str) -> Iterator[list[str]]:
    """The rows of the marked table of corpus/README.md, without its head."""
    text = README.read_text(encoding="utf-8")
    block = re.search(rf"<!-- {mark} -->\n(.*?)\n<!-- end of {mark} -->", text, re.DOTALL)
    assert block is not None, f"corpus/README.md has no table marked {mark}"
    for line in block[1].splitlines()[2:]:
        yield [cell.strip() for cell in line.strip("|").split("|")]


def close(quoted: int, found: int, leg: str) -> bool:
    return abs(quoted - found) <= (0 if leg == "bm25" else 1)


@pytest.mark.parametrize("cut", CUTS)
def test_the_readme_quotes_what_both_cuts_reach(
    corpus: str, cut: str, paths: tuple[tuple[str, Path], ...], folder: Path
) -> None:
    """Recall at 1 and 4 as counts of questions, and the mean reciprocal rank, of chunks as cut and as a search shows them."""
    quoted = [row for row in rows("measured") if row[:2] == [corpus, cut]]
    assert [row[2] for row in quoted] == list(LEGS)
    found = measured(corpus, cut, paths, folder)
    wrong = []
    for leg, (name, _, _, asked, *cells) in zip(LEGS, quoted, strict=True):
        have = (*counts(found.as_cut[leg]), *counts(found.shown[leg]))
        exact = mrr(found.shown[leg])
        numbers, quoted_mrr = [int(cell) for cell in cells[:4]], float(cells[4])
        total = len(found.questions)
        right = (
            int(asked) == total
            and all(close(number, value, leg) for number, value in zip(numbers, have, strict=True))
            and abs(quoted_mrr - exact) <= (0.0051 if leg == "bm25" else 1 / total)
        )
        if not right:
            wrong.append(f"| {name} | {cut} | {leg} | {total} | {' | '.join(map(str, have))} | {exact:.2f} |")
    assert not wrong, "corpus/README.md should say:\n" + "\n".join(wrong)


def test_the_readme_quotes_what_each_kind_reaches(
    corpus: str, paths: tuple[tuple[str, Path], ...], folder: Path
) -> None:
    """Answers among the first four passages, at the cut in use."""
    found = measured(corpus, "500/90", paths, folder)
    kinds = Counter(question.kind for question in found.questions)
    quoted = [row for row in rows("by kind") if row[0] == corpus]
    assert [row[1] for row in quoted] == sorted(kinds)
    wrong = []
    for name, kind, asked, *cells in quoted:
        have = {leg: counts(found.ranks(leg, kind))[1] for leg in LEGS}
        right = int(asked) == kinds[kind] and all(
            close(int(cell), have[leg], leg) for cell, leg in zip(cells, LEGS, strict=True)
        )
        if not right:
            wrong.append(f"| {name} | {kind} | {kinds[kind]} | {' | '.join(str(have[leg]) for leg in LEGS)} |")
    assert not wrong, "corpus/README.md should say:\n" + "\n".join(wrong)


def test_the_right_document_and_page_are_part_of_every_answer(
    corpus: str, paths: tuple[tuple[str, Path], ...], folder: Path
) -> None:
    """The same words under another document's name, or on a page that is not labelled, are no answer."""
    found = measured(corpus, "500/90", paths, folder)
    for question in found.questions:
        passages = found.index.search(question.question, DEPTH).passages
        rank = rank_of_answer(question, passages)
        if rank is None:
            continue
        right = passages[rank - 1]
        assert right.chunk.document == question.document and right.chunk.page in question.pages
        others = {name for name, _ in paths} - {question.document}
        for document, page in [(name, right.chunk.page) for name in others] + [(right.chunk.document, 99)]:
            moved = replace(right, chunk=replace(right.chunk, document=document, page=page), also_at=())
            assert rank_of_answer(question, [moved]) is None, question.id


def test_each_retriever_alone_misses_what_the_other_finds(
    corpus: str, paths: tuple[tuple[str, Path], ...], folder: Path
) -> None:
    """Else the corpus could not show what fusing them is for."""
    found = measured(corpus, "500/90", paths, folder)
    missed = {
        leg: {question.id for question, rank in zip(found.questions, found.shown[leg], strict=True) if (rank or 99) > 4}
        for leg in LEGS
    }
    assert missed["vectors"] - missed["bm25"] and missed["bm25"] - missed["vectors"]
    assert len(missed["fused"]) <= min(len(missed["vectors"]), len(missed["bm25"]))


def test_what_the_filing_asks_is_among_the_first_four(
    corpus: str, paths: tuple[tuple[str, Path], ...], folder: Path
) -> None:
    """The field, the day of effect and the day of compliance are what the report of both corpora is about."""
    found = measured(corpus, "500/90", paths, folder)
    ranks = {question.id: rank for question, rank in zip(found.questions, found.shown["fused"], strict=True)}
    assert {
        name: ranks[name] for name in ("field-number", "effective-date", "compliance-date") if (ranks[name] or 99) > 4
    } == {}


NUMBER = re.compile(r"(?<![\d.$])(?:0?\.\d{2,3}|1\.00)(?![\d.])|\b\d+ of \d+\b|\b\d+/\d+ questions")
# Numbers that another README may repeat because its reader needs them there: file, the words around it, and what it is.
QUOTED: tuple[tuple[str, str, str, Leg], ...] = (("README.md", r"recall at 4\s+([01]\.\d\d)\n", "sample", "fused"),)


def readmes() -> list[Path]:
    return sorted(
        path
        for path in REPOSITORY.rglob("README.md")
        if not any(part.startswith(".") for part in path.relative_to(REPOSITORY).parts)
    )


def without_tables(text: str) -> str:
    return re.sub(r"<!-- (measured|by kind) -->.*?<!-- end of \1 -->", "", text, flags=re.DOTALL)


def test_no_readme_quotes_a_retrieval_number_that_is_not_measured_here() -> None:
    """A paragraph that speaks of recall or reciprocal rank holds no figure, except those of QUOTED."""
    stray = []
    for path in readmes():
        text = without_tables(path.read_text(encoding="utf-8"))
        for file, words, _, _ in QUOTED:
            if path == REPOSITORY / file:
                text = re.sub(words, "\n", text)
        for paragraph in re.split(r"\n\s*\n|\n(?=[-*|] )", text):
            if re.search(r"\brecall\b|\bMRR\b|reciprocal rank\b", paragraph):
                stray += [f"{path.relative_to(REPOSITORY)}: {number}" for number in NUMBER.findall(paragraph)]
    assert stray == []


@pytest.mark.parametrize(("file", "words", "named", "leg"), QUOTED)
def test_a_number_that_another_readme_repeats_is_the_measured_one(
    file: str, words: str, named: str, leg: Leg, request: pytest.FixtureRequest, folder: Path
) -> None:
    text = (REPOSITORY / file).read_text(encoding="utf-8")
    quoted = re.search(words, text)
    assert quoted is not None, f"{file} no longer says it: take it out of QUOTED"
    if named == "hipaa":
        located = tuple(sorted(request.getfixturevalue("federal_pdfs").items()))
    else:
        manifest = load_manifest(CORPORA / named)
        located = tuple((entry.name, CORPORA / named / "documents" / entry.name) for entry in manifest.documents)
    ranks = measured(named, "500/90", located, folder).shown[leg]
    assert float(quoted[1]) == pytest.approx(counts(ranks)[1] / len(ranks), abs=1 / len(ranks) + 0.005)
