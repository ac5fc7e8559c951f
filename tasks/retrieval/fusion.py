"""Reciprocal rank fusion: several rankings of the same things become one. It knows no index and no database."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from tasks.domain.answer_types import AnswerType, answer_type

T = TypeVar("T", bound=Hashable)

# Cormack, Clarke and Büttcher (SIGIR 2009) took 60 for rankings of a thousand. Here rankings have 50, and what stands first in one counts
# for more: the sweep and tests/retrieval/test_quality.py measure it.
RANK_CONSTANT = 10
HOLDING = 50  # of the ranking by type of answer, at the most


def fuse(rankings: Sequence[Sequence[T]], *, constant: int = RANK_CONSTANT) -> list[tuple[T, float]]:
    """What was ranked with its fused score, best first; ties go to what stands first in an earlier ranking.

    A score is the sum of 1 / (constant + rank) over the rankings that hold it, rank from 1. What a ranking holds twice counts with its
    better rank.
    """
    scores: dict[T, float] = {}
    for ranking in rankings:
        for rank, identity in enumerate(dict.fromkeys(ranking), start=1):
            scores[identity] = scores.get(identity, 0.0) + 1 / (constant + rank)
    return sorted(scores.items(), key=lambda item: -item[1])


def rank_for(
    query: str, rankings: Sequence[Sequence[T]], holds: Callable[[T, AnswerType], bool]
) -> list[tuple[T, float]]:
    """What was ranked, fused, with a ranking more where the query asks for a type of value (tasks/domain/answer_types.py).

    That ranking is the fused one, kept to what holds such a value by `holds`: a question for a day is better answered by a passage that
    names a day than by one about deadlines. It moves what was ranked and brings in nothing new. A single ranking stays as it is.
    """
    fused = fuse(rankings)
    wanted = answer_type(query) if len(rankings) > 1 else None
    if wanted is None:
        return fused
    return fuse([*rankings, [each for each, _ in fused if holds(each, wanted)][:HOLDING]])
