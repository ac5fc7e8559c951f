"""Asking golden questions of a search that answers as the test says."""

from __future__ import annotations

import pytest

from tasks.domain.errors import TemporaryError
from tasks.domain.passages import Chunk, GoldenQuestion, Passage, SearchResult
from tasks.retrieval.measure import DEPTH, Leg, ask


class Shelf:
    """Finds its texts in their order, whatever is asked, and keeps what it was asked."""

    def __init__(self, *texts: str) -> None:
        self.texts = texts
        self.asked: list[tuple[str, int, str]] = []

    def search(self, query: str, k: int, *, leg: Leg = "fused") -> SearchResult:
        self.asked.append((query, k, leg))
        passages = tuple(
            Passage(Chunk(str(rank), "a.pdf", 1, 0, len(text), text), "A", 1 / rank, rank)
            for rank, text in enumerate(self.texts[:k], start=1)
        )
        return SearchResult(passages, k)


def question(pattern: str, *, answerable: bool = True, draft: bool = False) -> GoldenQuestion:
    document, pages = ("a.pdf", (1,)) if answerable else (None, ())
    return GoldenQuestion(pattern, f"{pattern}?", "plain", document, pages, (pattern,), answerable, draft)


def test_each_question_is_asked_once_and_keeps_its_rank_and_the_best_passage() -> None:
    shelf = Shelf("red", "green")
    asked = ask(shelf, [question("green"), question("blue")], leg="bm25")
    assert [(each.question.id, each.rank, each.first and each.first.text) for each in asked] == [
        ("green", 2, "red"),
        ("blue", None, "red"),
    ]
    assert shelf.asked == [("green?", DEPTH, "bm25"), ("blue?", DEPTH, "bm25")]


def test_an_answer_below_the_depth_has_no_rank() -> None:
    assert ask(Shelf("red", "green"), [question("green")], depth=1)[0].rank is None


def test_unanswerable_questions_are_asked_and_have_no_rank() -> None:
    shelf = Shelf("red")
    assert [each.rank for each in ask(shelf, [question("red", answerable=False)])] == [None]
    assert shelf.asked


def test_drafts_are_not_asked() -> None:
    shelf = Shelf("red")
    assert ask(shelf, [question("red", draft=True)]) == [] and shelf.asked == []


def test_a_search_that_finds_nothing_has_no_best_passage() -> None:
    assert [(each.rank, each.first) for each in ask(Shelf(), [question("red")])] == [(None, None)]


def test_a_search_that_breaks_is_not_taken_for_one_that_found_nothing() -> None:
    class Broken(Shelf):
        def search(self, query: str, k: int, *, leg: Leg = "fused") -> SearchResult:
            raise TemporaryError("the store is unreachable")

    with pytest.raises(TemporaryError):
        ask(Broken(), [question("red")])
