"""Reciprocal rank fusion."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tasks.retrieval.fusion import RANK_CONSTANT, fuse

IDS = st.lists(st.sampled_from("abcdefgh"), max_size=12)


def test_an_id_that_both_rankings_hold_beats_the_first_of_one() -> None:
    assert [identity for identity, _ in fuse([["a", "b"], ["c", "b"]])] == ["b", "a", "c"]


def test_the_score_is_the_sum_of_reciprocal_ranks() -> None:
    assert dict(fuse([["a"], ["b", "a"]]))["a"] == 1 / (RANK_CONSTANT + 1) + 1 / (RANK_CONSTANT + 2)


@given(st.lists(IDS, max_size=4))
def test_every_id_comes_out_once_best_first(rankings: list[list[str]]) -> None:
    fused = fuse(rankings)
    assert sorted(identity for identity, _ in fused) == sorted({i for ranking in rankings for i in ranking})
    assert [score for _, score in fused] == sorted((score for _, score in fused), reverse=True)


@given(IDS)
def test_one_ranking_keeps_its_order(ranking: list[str]) -> None:
    assert [identity for identity, _ in fuse([ranking])] == list(dict.fromkeys(ranking))
