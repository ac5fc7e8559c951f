"""The search in memory finds what the product's search finds, so that what is measured with it holds for the product."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks.documents import load_manifest, read_pages
from tasks.domain.evaluation import parse_golden
from tasks.domain.passages import Page, Passage
from tasks.retrieval.embedding import load_embedder
from tasks.retrieval.exact import ExactIndex
from tasks.retrieval.generations import generation
from tasks.retrieval.measure import LEGS
from tasks.retrieval.search import Index
from tasks.store.connection import connect
from tests.conftest import CORPORA, Database
from tests.retrieval.conftest import Draft

SAMPLE = CORPORA / "sample"


@pytest.fixture(scope="module")
def pages() -> dict[str, tuple[Page, ...]]:
    """The sample corpus' pages by document."""
    return {
        entry.name: read_pages(SAMPLE / "documents" / entry.name, entry.name).pages
        for entry in sorted(load_manifest(SAMPLE).documents, key=lambda entry: entry.name)
    }


@pytest.fixture(scope="module")
def exact(pages: dict[str, tuple[Page, ...]], tmp_path_factory: pytest.TempPathFactory) -> ExactIndex:
    folder = tmp_path_factory.mktemp("exact") / "bm25"
    embedder = load_embedder("minilm")
    everything = [page for each in pages.values() for page in each]
    return ExactIndex(everything, {}, folder, passages=embedder.passages, query=embedder.query)


def seen(passage: Passage) -> tuple[str, int, int, int, str]:
    chunk = passage.chunk
    return chunk.document, chunk.page, chunk.start, chunk.end, passage.text


def test_it_finds_what_the_search_of_an_index_finds(
    database: Database, draft: Draft, pages: dict[str, tuple[Page, ...]], exact: ExactIndex, tmp_path: Path
) -> None:
    """For every golden question of the sample corpus and each ranking, place by place and word by word."""
    embedder = load_embedder("minilm")
    identity = draft(documents=pages, vectors=lambda text: embedder.passages([text])[0].tolist(), opened=True)
    with connect(database.audit_url, read_only=True) as connection:
        index = Index(database.audit_url, generation(connection, identity), tmp_path / "bm25")
    questions = parse_golden((SAMPLE / "golden.jsonl").read_text(encoding="utf-8"))
    compared = 0
    for leg in LEGS:
        for question in questions:
            ours = exact.search(question.question, 10, leg=leg)
            theirs = index.search(question.question, 10, leg=leg)
            assert [seen(each) for each in ours.passages] == [seen(each) for each in theirs.passages], question.id
            assert [each.score for each in ours.passages] == pytest.approx([each.score for each in theirs.passages])
            compared += len(ours.passages)
    assert compared > 10 * len(questions)


def test_as_cut_shows_single_chunks_and_leaves_the_index_as_it_was(exact: ExactIndex) -> None:
    joined = exact.search("When does the rule take effect?", 4).passages
    single = exact.as_cut().search("When does the rule take effect?", 4).passages
    assert any(each.joined for each in joined) and not any(each.joined for each in single)
    assert [seen(each) for each in exact.search("When does the rule take effect?", 4).passages] == [
        seen(each) for each in joined
    ]


@pytest.mark.parametrize("query", ["", "   ", "?!", "\0"])
def test_a_query_without_a_word_finds_nothing(exact: ExactIndex, query: str) -> None:
    assert exact.search(query, 4).passages == ()


def test_pages_without_a_word_are_no_index(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no page has a word"):
        ExactIndex([Page("a.pdf", 1, "")], {}, tmp_path / "x", passages=lambda texts: None, query=lambda text: None)  # type: ignore[arg-type, return-value]
