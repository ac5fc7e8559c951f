"""Ranks, scores and the golden file's parser."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.domain.errors import PermanentError
from tasks.domain.evaluation import accepted, answers, parse_golden, rank_of_answer, score, score_by_kind
from tasks.domain.passages import Chunk, GoldenQuestion, Passage

QUESTION = GoldenQuestion("q", "When?", "date", "rule.pdf", (1, 7), ("March 24, 2020",))
UNANSWERABLE = GoldenQuestion("u", "Why?", "unanswerable", None, (), (), answerable=False)
DRAFT = replace(QUESTION, id="d", draft=True)


def passage(text: str, document: str = "rule.pdf", page: int = 1) -> Passage:
    return Passage(Chunk("id", document, page, 0, len(text), text), "title", 0.5, 1)


@pytest.mark.parametrize(
    ("text", "document", "page", "hit"),
    [
        ("in force from March 24, 2020.", "rule.pdf", 1, True),
        ("in force from MARCH\n\n24, 2020.", "rule.pdf", 7, True),
        ("in force from March 24, 2020.", "rule.pdf", 5, False),
        ("in force from March 24, 2020.", "bulletin.pdf", 1, False),
        ("in force from March 25, 2020.", "rule.pdf", 1, False),
    ],
)
def test_a_passage_answers_by_document_page_and_pattern(text: str, document: str, page: int, hit: bool) -> None:
    assert answers(QUESTION, passage(text, document, page)) is hit


@pytest.mark.parametrize(
    ("text", "hit"), [("#60 of them, #30 given", True), ("#30, then #60", True), ("#60 only", False), ("", False)]
)
def test_one_passage_must_match_every_pattern(text: str, hit: bool) -> None:
    assert answers(replace(QUESTION, patterns=("#60", "#30")), passage(text)) is hit


def test_two_passages_with_one_pattern_each_are_no_answer() -> None:
    both = replace(QUESTION, patterns=("#60", "#30"))
    assert rank_of_answer(both, [passage("#60"), passage("#30")]) is None


def test_a_question_without_a_pattern_is_answered_by_nothing() -> None:
    assert not answers(replace(QUESTION, patterns=()), passage("March 24, 2020"))


def test_a_text_that_also_stands_in_the_named_document_answers() -> None:
    elsewhere = passage("March 24, 2020", "copy.pdf", 9)
    assert not answers(QUESTION, elsewhere)
    assert answers(QUESTION, replace(elsewhere, also_at=(("rule.pdf", 7),)))
    assert not answers(QUESTION, replace(elsewhere, also_at=(("rule.pdf", 9), ("other.pdf", 7))))


def test_what_is_shown_counts_and_not_the_chunk_alone() -> None:
    assert answers(QUESTION, replace(passage("in force"), joined="in force from March 24, 2020"))
    assert not answers(QUESTION, replace(passage("March 24, 2020"), joined="something else"))


def test_the_rank_is_the_first_position_that_answers() -> None:
    wrong, right = passage("February 2020"), passage("March 24, 2020")
    assert rank_of_answer(QUESTION, [wrong, wrong, right, right]) == 3
    assert rank_of_answer(QUESTION, [wrong]) is None
    assert rank_of_answer(QUESTION, []) is None
    assert rank_of_answer(UNANSWERABLE, [right]) is None


def test_scores_are_shares_over_answerable_questions() -> None:
    result = score([(QUESTION, 1), (QUESTION, 4), (QUESTION, 5), (QUESTION, None), (UNANSWERABLE, None)])
    assert (result.recall_at_1, result.recall_at_4, result.evaluated) == (0.25, 0.5, 4)
    assert result.mrr == pytest.approx((1 + 1 / 4 + 1 / 5) / 4)


def test_nothing_evaluated_is_no_success() -> None:
    assert score([]) == score([(UNANSWERABLE, None)])
    assert score([]).recall_at_4 == 0.0 and score([]).evaluated == 0


def test_drafts_count_for_nothing() -> None:
    assert score([(QUESTION, None), (DRAFT, 1)]) == score([(QUESTION, None)])
    assert score_by_kind([(DRAFT, 1)]) == {} and score([(DRAFT, 1)]).evaluated == 0
    assert accepted([DRAFT, QUESTION, UNANSWERABLE]) == (QUESTION, UNANSWERABLE)


@given(st.lists(st.none() | st.integers(1, 50), min_size=1))
def test_a_better_rank_never_lowers_a_score(ranks: list[int | None]) -> None:
    before = score([(QUESTION, rank) for rank in ranks])
    after = score([(QUESTION, 1), *((QUESTION, rank) for rank in ranks[1:])])
    assert 0 <= before.recall_at_1 <= before.recall_at_4 <= 1
    assert before.recall_at_1 <= before.mrr + 1e-9 and before.mrr <= 1
    assert after.mrr >= before.mrr - 1e-9 and after.recall_at_4 >= before.recall_at_4


def test_kinds_are_scored_apart() -> None:
    other = GoldenQuestion("q2", "Which?", "table-row", "rule.pdf", (1,), ("x",))
    by_kind = score_by_kind([(QUESTION, 1), (other, None), (UNANSWERABLE, None)])
    assert list(by_kind) == ["date", "table-row"]
    assert (by_kind["date"].recall_at_4, by_kind["table-row"].recall_at_4) == (1.0, 0.0)


GOOD = {
    "id": "a",
    "question": "When?",
    "document": "rule.pdf",
    "pages": [1],
    "answer_patterns": ["x", "y"],
    "answerable": True,
}
NONE: dict[str, object] = {
    "id": "b",
    "question": "Why?",
    "document": None,
    "pages": [],
    "answer_patterns": [],
    "answerable": False,
}


def line(base: Mapping[str, object], **changes: object) -> str:
    return json.dumps({**base, **changes})


def test_a_golden_file_is_read_line_by_line() -> None:
    text = f"\ufeff{line(GOOD)}\r\n\n{line(NONE)}\n{line(GOOD, id='c', kind='date', status='draft')}\n"
    assert parse_golden(text) == (
        GoldenQuestion("a", "When?", "plain", "rule.pdf", (1,), ("x", "y")),
        GoldenQuestion("b", "Why?", "unanswerable", None, (), (), answerable=False),
        GoldenQuestion("c", "When?", "date", "rule.pdf", (1,), ("x", "y"), draft=True),
    )


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_a_file_without_a_line_has_no_question(text: str) -> None:
    assert parse_golden(text) == ()


def test_a_line_separator_inside_a_question_ends_no_line() -> None:
    text = json.dumps({**GOOD, "question": "When\u2028and\x85where?"}, ensure_ascii=False)
    assert parse_golden(text)[0].question == "When\u2028and\x85where?"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "line 1: not JSON"),
        ("[" * 100_000, "line 1: not JSON"),
        ("[]", "expected an object"),
        (line(GOOD, extra=1), "extra unknown"),
        (line(GOOD, pattern="x"), "pattern unknown"),
        (json.dumps({key: value for key, value in GOOD.items() if key != "answerable"}), "answerable missing"),
        ('{"id": "a", "id": "b"}', "the key 'id' is given twice"),
        (line(GOOD, id=7), "id must be a text"),
        (line(GOOD, question=" "), "question must be a text"),
        (line(GOOD, id="a\0"), "id has a NUL or half a character"),
        (line(GOOD, question="what \ud800"), "question has a NUL or half a character"),
        (line(GOOD, document="a\udfff.pdf"), "document has a NUL or half a character"),
        (line(GOOD, kind="a\0"), "kind has a NUL or half a character"),
        (line(GOOD, kind=""), "kind must be a text"),
        (line(GOOD, kind=None), "kind must be a text"),
        (line(GOOD, status="open"), 'status must be "draft"'),
        (line(GOOD, document=None), "document must be a text"),
        (line(GOOD, answerable="yes"), "answerable must be true or false"),
        (line(GOOD, answerable=False), "unanswerable question has no"),
        (line(GOOD, kind="unanswerable"), "does not go with answerable true"),
        (line(NONE, kind="date"), "does not go with answerable false"),
        (line(GOOD, pages=[]), "page numbers"),
        (line(GOOD, pages=3), "page numbers"),
        (line(GOOD, pages=[0]), "page numbers"),
        (line(GOOD, pages=[True]), "page numbers"),
        (line(GOOD, answer_patterns="x"), "answer_patterns must be a list"),
        (line(GOOD, answer_patterns=[]), "answer_patterns must be a list"),
        (line(GOOD, answer_patterns=[1]), "answer_patterns must be a list"),
        (line(GOOD, answer_patterns=["x", "("]), r"pattern '\(' is no regular expression"),
        (line(NONE, answer_patterns=["x"]), "unanswerable question has no"),
        (line(NONE, pages=[1]), "unanswerable question has no"),
        (line(NONE, document="rule.pdf"), "unanswerable question has no"),
        (f"{line(GOOD)}\n\n{line(GOOD)}", r"line 3: the id 'a' is used twice \(first on line 1\)"),
    ],
)
def test_a_bad_golden_file_is_refused_with_its_line(text: str, complaint: str) -> None:
    with pytest.raises(PermanentError, match=rf"golden questions, line \d+: .*{complaint}|{complaint}"):
        parse_golden(text)
