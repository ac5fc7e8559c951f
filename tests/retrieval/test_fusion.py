"""Reciprocal rank fusion."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tasks.domain.answer_types import AnswerType, answer_type
from tasks.retrieval.fusion import HOLDING, RANK_CONSTANT, fuse, rank_for

IDS = st.lists(st.sampled_from("abcdefgh"), max_size=12)
FOR_A_DAY = "From what day is the rule in force?"


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


def test_what_holds_a_day_rises_where_a_day_is_asked_for() -> None:
    rankings = [["vague", "dated"], ["vague", "dated"]]

    def holds(identity: str, wanted: AnswerType) -> bool:
        assert wanted.name == "day"
        return identity == "dated"

    assert [each for each, _ in rank_for(FOR_A_DAY, rankings, holds)] == ["dated", "vague"]
    assert [each for each, _ in rank_for("What does the rule require?", rankings, holds)] == ["vague", "dated"]


@given(st.lists(IDS, min_size=1, max_size=3), st.sets(st.sampled_from("abcdefgh")))
def test_the_type_of_answer_only_moves_what_was_ranked(rankings: list[list[str]], holding: set[str]) -> None:
    plain = fuse(rankings)
    moved = rank_for(FOR_A_DAY, rankings, lambda identity, _: identity in holding)
    assert sorted(each for each, _ in moved) == sorted(each for each, _ in plain)
    scores, before = dict(moved), dict(plain)
    if len(rankings) == 1:
        assert moved == plain
    else:
        assert all((scores[each] > before[each]) == (each in holding) for each in scores)


def test_a_ranking_by_type_is_no_longer_than_the_others() -> None:
    many = [str(number) for number in range(3 * HOLDING)]
    moved = dict(rank_for(FOR_A_DAY, [many, many], lambda *_: True))
    plain = dict(fuse([many, many]))
    assert sum(moved[each] > plain[each] for each in many) == HOLDING


def test_the_question_of_these_tests_asks_for_a_day() -> None:
    found = answer_type(FOR_A_DAY)
    assert found is not None and found.name == "day"
