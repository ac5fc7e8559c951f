"""Reciprocal rank fusion: several rankings of the same things become one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

T = TypeVar("T", bound=Hashable)

# Cormack, Clarke and Büttcher (SIGIR 2009): 60 worked on all their collections, and results hardly move around it.
RANK_CONSTANT = 60


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
