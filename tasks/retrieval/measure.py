"""Asks a search the golden questions and keeps where each answer stood.

It decides nothing: what answers a question is `tasks.domain.evaluation`'s rule, what is good enough is the gate's.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Protocol

from tasks.domain.evaluation import accepted, rank_of_answer
from tasks.domain.passages import GoldenQuestion, Passage, SearchResult

DEPTH = 10  # passages looked through for an answer; beyond, its reciprocal rank is 0

Leg = Literal["fused", "vectors", "bm25"]
LEGS: tuple[Leg, ...] = ("vectors", "bm25", "fused")


class Searchable(Protocol):
    """What is measured: an index that finds at most `k` passages, best first, by both retrievers or by one alone."""

    def search(self, query: str, k: int, *, leg: Leg = ...) -> SearchResult: ...


@dataclass(frozen=True, slots=True)
class Asked:
    """A golden question after it was asked: the rank of its answer from 1 (None: not among the passages) and the best passage, if any."""

    question: GoldenQuestion
    rank: int | None
    first: Passage | None


def ask(
    index: Searchable, questions: Iterable[GoldenQuestion], *, depth: int = DEPTH, leg: Leg = "fused"
) -> list[Asked]:
    """Ask every accepted question, unanswerable ones too (their rank is None); drafts are not asked.

    One search a question, in their order, over all documents whatever period they were in force: a golden set asks about the corpus, not
    about a quarter. What `index.search` raises is passed on.
    """
    asked = []
    for question in accepted(questions):
        passages = index.search(question.question, depth, leg=leg).passages
        asked.append(Asked(question, rank_of_answer(question, passages), passages[0] if passages else None))
    return asked
