"""Ranks, scores and the golden file's parser."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.domain.errors import PermanentError
from tasks.domain.evaluation import answers, parse_golden, rank_of_answer, score, score_by_kind
from tasks.domain.passages import Chunk, GoldenQuestion, Passage

QUESTION = GoldenQuestion("q", "When?", "date", "rule.pdf", (1, 7), "March 24, 2020")
UNANSWERABLE = GoldenQuestion("u", "Why?", "unanswerable", None, (), None)


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


@given(st.lists(st.none() | st.integers(1, 50), min_size=1))
def test_a_better_rank_never_lowers_a_score(ranks: list[int | None]) -> None:
    before = score([(QUESTION, rank) for rank in ranks])
    after = score([(QUESTION, 1), *((QUESTION, rank) for rank in ranks[1:])])
    assert 0 <= before.recall_at_1 <= before.recall_at_4 <= 1
    assert before.recall_at_1 <= before.mrr + 1e-9 and before.mrr <= 1
    assert after.mrr >= before.mrr - 1e-9 and after.recall_at_4 >= before.recall_at_4


def test_kinds_are_scored_apart() -> None:
    other = GoldenQuestion("q2", "Which?", "table-row", "rule.pdf", (1,), "x")
    by_kind = score_by_kind([(QUESTION, 1), (other, None), (UNANSWERABLE, None)])
    assert list(by_kind) == ["date", "table-row"]
    assert (by_kind["date"].recall_at_4, by_kind["table-row"].recall_at_4) == (1.0, 0.0)


GOOD = {"id": "a", "question": "When?", "kind": "date", "document": "rule.pdf", "pages": [1], "pattern": "x"}
NONE = {"id": "b", "question": "Why?", "kind": "unanswerable", "document": None, "pages": [], "pattern": None}


def test_a_golden_file_is_read_line_by_line() -> None:
    questions = parse_golden(f"{json.dumps(GOOD)}\n\n{json.dumps(NONE)}\n")
    assert questions == (
        GoldenQuestion("a", "When?", "date", "rule.pdf", (1,), "x"),
        GoldenQuestion("b", "Why?", "unanswerable", None, (), None),
    )


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "line 1: not JSON"),
        ("[]", "expected an object"),
        (json.dumps({**GOOD, "extra": 1}), "expected an object"),
        (json.dumps({**GOOD, "question": " "}), "question must be a text"),
        (json.dumps({**GOOD, "document": None}), "document must be a text"),
        (json.dumps({**GOOD, "pages": []}), "page numbers"),
        (json.dumps({**GOOD, "pages": [0]}), "page numbers"),
        (json.dumps({**GOOD, "pages": [True]}), "page numbers"),
        (json.dumps({**GOOD, "pattern": "("}), "no regular expression"),
        (json.dumps({**NONE, "pattern": "x"}), "unanswerable question has no"),
        (json.dumps({**NONE, "pages": [1]}), "unanswerable question has no"),
        (f"{json.dumps(GOOD)}\n{json.dumps(GOOD)}", "line 2: the id 'a' is used twice"),
        ("\n", "no question"),
    ],
)
def test_a_bad_golden_file_is_refused_with_its_line(line: str, complaint: str) -> None:
    with pytest.raises(PermanentError, match=complaint):
        parse_golden(line)
