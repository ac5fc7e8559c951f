"""The index gate decides by its suite alone, and only by the whole of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tasks.domain.errors import TemporaryError
from tasks.domain.passages import Chunk, GoldenQuestion
from tasks.retrieval.expectations import EXPECTATIONS, GateResult, Thresholds, evaluate_suite

QUESTIONS = tuple(GoldenQuestion(f"q{n}", "When?", "date", "a.pdf", (1,), "x") for n in range(10))
UNANSWERABLE = GoldenQuestion("u", "Who?", "unanswerable", None, (), None)
CHUNK = Chunk("1", "a.pdf", 1, 0, 9, "Good text")


def gate(**changes: Any) -> GateResult:
    good: dict[str, Any] = {
        "ranks": [*((question, 1) for question in QUESTIONS), (UNANSWERABLE, None)],
        "golden": 11,
        "chunks": [CHUNK],
        "page_counts": {"a.pdf": 1},
        "embeddings": ["minilm 1"],
        "thresholds": Thresholds(),
    }
    return evaluate_suite(**{**good, **changes})


def missed(result: GateResult) -> set[str]:
    return {each.name for each in result.results if not each.success}


def ranked(*ranks: int | None) -> list[tuple[GoldenQuestion, int | None]]:
    return [*zip(QUESTIONS, ranks, strict=True), (UNANSWERABLE, None)]


def test_a_good_draft_opens_with_every_expectation_evaluated() -> None:
    result = gate()
    assert result.opened
    assert result.expected == result.evaluated == len(result.results) == len(EXPECTATIONS) > 0


BAD: dict[str, dict[str, Any]] = {
    "recall at 4": {"ranks": ranked(1, 1, 1, 1, 1, 1, 1, None, None, 5)},
    "recall at 1": {"ranks": ranked(1, 1, 1, 1, 2, 2, 2, 2, 2, 2)},
    "mean reciprocal rank": {"ranks": ranked(1, 1, 1, 1, 4, 4, 4, 4, 4, 4)},
    "every question evaluated": {"golden": 12},
    "some questions answerable": {"ranks": [(UNANSWERABLE, None)], "golden": 1},
    "no empty chunk": {"chunks": [replace(CHUNK, text=" \n")]},
    "page within the document": {"chunks": [replace(CHUNK, page=2)]},
    "no leftover line-break hyphen": {"chunks": [replace(CHUNK, text="a modi\ufffefication")]},
    "one embedding model": {"chunks": [CHUNK, replace(CHUNK, id="2")], "embeddings": ["minilm 1", "bge-small 1"]},
}


def test_every_expectation_has_an_input_that_breaks_it() -> None:
    assert set(BAD) == {row.name for row in EXPECTATIONS}


@pytest.mark.parametrize("name", BAD)
def test_what_breaks_an_expectation_keeps_the_index_closed(name: str) -> None:
    result = gate(**BAD[name])
    assert not result.opened
    assert name in missed(result)


@pytest.mark.parametrize("name", [row.name for row in EXPECTATIONS])
def test_a_suite_with_an_expectation_removed_never_opens(name: str) -> None:
    result = gate(expectations=[row for row in EXPECTATIONS if row.name != name])
    assert missed(result) == set()
    assert not result.opened


def test_an_empty_suite_never_opens() -> None:
    assert not gate(expectations=[]).opened


def test_nothing_evaluated_never_opens() -> None:
    assert not gate(ranks=[], golden=0, chunks=[], embeddings=[]).opened


def test_an_expectation_that_raises_keeps_the_index_closed() -> None:
    broken = replace(
        EXPECTATIONS[0], build=lambda gx, p: gx.ExpectColumnMeanToBeBetween(column="no such column", min_value=0)
    )
    result = gate(expectations=[broken, *EXPECTATIONS[1:]])
    assert not result.opened
    assert result.evaluated == result.expected - 1


def test_a_suite_that_cannot_be_built_is_a_machine_error() -> None:
    broken = replace(EXPECTATIONS[0], build=lambda gx, p: gx.NoSuchExpectation())
    with pytest.raises(TemporaryError, match="could not run"):
        gate(expectations=[broken, *EXPECTATIONS[1:]])
