"""Reciprocal rank fusion: several rankings of ids become one."""

from __future__ import annotations

from collections.abc import Sequence

# Cormack, Clarke and Büttcher (SIGIR 2009): 60 worked on all their collections, and results hardly move around it.
RANK_CONSTANT = 60


def fuse(rankings: Sequence[Sequence[str]], *, constant: int = RANK_CONSTANT) -> list[tuple[str, float]]:
    """Ids with their fused score, best first; ties go to the id that stands first in an earlier ranking.

    An id's score is the sum of 1 / (constant + rank) over the rankings that hold it, rank from 1. An id that a ranking holds twice
    counts with its better rank.
    """
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, identity in enumerate(dict.fromkeys(ranking), start=1):
            scores[identity] = scores.get(identity, 0.0) + 1 / (constant + rank)
    return sorted(scores.items(), key=lambda item: -item[1])
