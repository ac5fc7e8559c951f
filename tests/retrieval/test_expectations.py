"""The index gate decides by its suite alone, and only by the whole of it; what it is told about a draft is so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tasks.domain.errors import TemporaryError
from tasks.domain.passages import GoldenQuestion
from tasks.retrieval.expectations import (
    EXPECTATIONS,
    QUESTIONS,
    Baseline,
    GateResult,
    Row,
    Thresholds,
    evaluate_suite,
    expected_rows,
)
from tasks.retrieval.facts import ChunkFacts, DocumentFacts, chunk_facts, document_facts
from tasks.retrieval.generations import add_document, close_documents, decide, generation
from tasks.store.connection import connect
from tests.conftest import Database
from tests.retrieval.conftest import Draft

ASKED = tuple(GoldenQuestion(f"q{n}", "When?", "date", "a.pdf", (1,), ("x",)) for n in range(10))
UNANSWERABLE = GoldenQuestion("u", "Who?", "unanswerable", None, (), (), answerable=False)
CHUNKS = ChunkFacts("a.pdf", "minilm 1", chunks=120, empty=0, off_page=0, marks=0, hyphens=1, without_vector=0)
OTHER = replace(CHUNKS, name="b.pdf")
DOCUMENT = DocumentFacts("a.pdf", readable=True, lost=False, emptied=False)


def gate(**changes: Any) -> GateResult:
    good: dict[str, Any] = {
        "ranks": [*((question, 1) for question in ASKED), (UNANSWERABLE, None)],
        "golden": 11,
        "chunks": [CHUNKS, OTHER],
        "documents": [DOCUMENT],
        "thresholds": Thresholds(),
    }
    return evaluate_suite(**{**good, **changes})


def missed(result: GateResult) -> set[str]:
    return {each.name for each in result.results if not each.success}


def ranked(*ranks: int | None) -> list[tuple[GoldenQuestion, int | None]]:
    return [*zip(ASKED, ranks, strict=True), (UNANSWERABLE, None)]


def test_a_good_draft_opens_with_every_expectation_evaluated() -> None:
    result = gate()
    assert result.opened
    assert result.expected == result.evaluated == len(result.results) == len(EXPECTATIONS) > 0


def test_a_draft_may_answer_as_many_as_the_open_index_and_rank_a_little_worse() -> None:
    ranks = ranked(*[1] * 9, 3)  # mean 0.933
    assert gate(ranks=ranks, baseline=Baseline(answered=10, mrr=0.95)).opened
    assert missed(gate(ranks=ranks, baseline=Baseline(answered=11, mrr=0.96))) == {"no question lost", "no worse ranks"}


BAD: dict[str, dict[str, Any]] = {
    "recall at 4": {"ranks": ranked(1, 1, 1, 1, 1, 1, 1, None, None, 5)},
    "recall at 1": {"ranks": ranked(1, 1, 1, 1, 2, 2, 2, 2, 2, 2)},
    "mean reciprocal rank": {"ranks": ranked(1, 1, 1, 1, 4, 4, 4, 4, 4, 4)},
    "every question evaluated": {"golden": 12},
    "some questions answerable": {"ranks": [(UNANSWERABLE, None)], "golden": 1},
    "no question lost": {"ranks": ranked(*[1] * 9, 5), "baseline": Baseline(answered=10, mrr=0.9)},
    "no worse ranks": {"ranks": ranked(*[1] * 8, 2, 2), "baseline": Baseline(answered=10, mrr=0.93)},
    "text in every document": {"chunks": [CHUNKS, replace(OTHER, chunks=0, hyphens=0)]},
    "no empty chunk": {"chunks": [CHUNKS, replace(OTHER, empty=1)]},
    "text stands on its page": {"chunks": [CHUNKS, replace(OTHER, off_page=1)]},
    "no line-break mark": {"chunks": [CHUNKS, replace(OTHER, marks=1)]},
    "hardly a leftover line-break hyphen": {"chunks": [CHUNKS, replace(OTHER, hyphens=2)]},
    "every chunk has a vector": {"chunks": [CHUNKS, replace(OTHER, without_vector=1)]},
    "one embedding model": {"chunks": [CHUNKS, replace(OTHER, embedding="bge-small 1")]},
    "no document lost": {"documents": [DOCUMENT, replace(DOCUMENT, name="b.pdf", readable=False, lost=True)]},
    "no document emptied": {"documents": [DOCUMENT, replace(DOCUMENT, name="b.pdf", emptied=True)]},
}
NOT_ABOUT_QUESTIONS = [row.name for row in EXPECTATIONS if row.table != QUESTIONS]


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


@pytest.mark.parametrize("ranks", [ranked(*[1] * 10), None])
def test_an_empty_suite_never_opens(ranks: Any) -> None:
    assert not gate(ranks=ranks, expectations=[]).opened


def test_without_golden_questions_documents_and_chunks_alone_decide() -> None:
    result = gate(ranks=None, golden=0)
    assert result.opened
    assert result.expected == result.evaluated == len(NOT_ABOUT_QUESTIONS) > 0


@pytest.mark.parametrize("name", NOT_ABOUT_QUESTIONS)
def test_without_golden_questions_what_breaks_an_expectation_still_keeps_the_index_closed(name: str) -> None:
    result = gate(ranks=None, golden=0, **BAD[name])
    assert not result.opened and missed(result) == {name}


@pytest.mark.parametrize("name", NOT_ABOUT_QUESTIONS)
def test_without_golden_questions_a_suite_with_an_expectation_removed_never_opens(name: str) -> None:
    rows: Sequence[Row] = [row for row in expected_rows(evaluated=False) if row.name != name]
    assert not gate(ranks=None, golden=0, expectations=rows).opened


def test_nothing_evaluated_never_opens() -> None:
    for ranks in ([], None):
        assert not gate(ranks=ranks, golden=0, chunks=[], documents=[]).opened


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


def test_the_facts_of_a_sound_draft_name_nothing_wrong(database: Database, draft: Draft) -> None:
    identity = draft(documents={"a.pdf": ["A sentence. " * 90, "More."], "copy.pdf": ["A sentence. " * 90, "More."]})
    with connect(database.audit_url) as connection:
        made = generation(connection, identity)
        (facts,) = chunk_facts(connection, made)
        assert facts.chunks > 2 and facts.name == "a.pdf"
        assert facts == ChunkFacts("a.pdf", facts.embedding, facts.chunks, 0, 0, 0, 0, 0)
        assert [row.name for row in document_facts(connection, made, None)] == ["a.pdf", "copy.pdf"]


@pytest.mark.parametrize(
    ("statement", "fact"),
    [
        ("UPDATE corpus.chunks SET text = E' \\n'", "empty"),
        ("UPDATE corpus.chunks SET start_offset = start_offset + 1", "off_page"),
        ("UPDATE corpus.pages SET text = 'Another text altogether.'", "off_page"),
        ("UPDATE corpus.chunks SET text = U&'a modi\\FFFEfication'", "marks"),
        ("UPDATE corpus.chunks SET text = U&'a modi\\00ADfication'", "marks"),
        ("UPDATE corpus.chunks SET text = 'a modi- fication'", "hyphens"),
        ("UPDATE corpus.chunks SET embedding = NULL", "without_vector"),
    ],
)
def test_what_is_wrong_with_a_chunk_is_counted(database: Database, draft: Draft, statement: str, fact: str) -> None:
    identity = draft(["Just one chunk."])
    with connect(database.filing_url) as connection:
        connection.execute(statement)  # type: ignore[arg-type]  # one of the constants above
        (facts,) = chunk_facts(connection, generation(connection, identity))
    assert getattr(facts, fact) == 1


def test_a_document_without_chunks_is_told(database: Database, draft: Draft) -> None:
    identity = draft(documents={"a.pdf": ["Text."], "b.pdf": ["Other."]})
    with connect(database.filing_url) as connection:
        connection.execute("DELETE FROM corpus.chunks WHERE text = 'Other.'")
        assert [row.chunks for row in chunk_facts(connection, generation(connection, identity))] == [1, 0]


def test_what_serves_and_the_draft_cannot_read_is_lost_unless_it_was_withdrawn(
    database: Database, draft: Draft
) -> None:
    long = "A regulation in many words. " * 40
    serving = draft(documents={"a": [long], "b": [long + "b"], "c": [long + "c"], "d": [long + "d"], "e": ["Note."]})
    with connect(database.filing_url) as connection:
        decide(connection, serving, opened=True, evaluation={})
    later = draft(documents={"a": [long], "d": ["A few."], "e": ["-"], "f": ["New."]}, digest="g")
    with connect(database.filing_url) as connection:
        add_document(connection, later, name="b", title="B", document=None, status="no_text", reason="A scan.")
        close_documents(connection, "c", {"a", "b", "d", "e", "f"})
        before, now = generation(connection, serving), generation(connection, later)
        facts = {row.name: row for row in document_facts(connection, now, before)}
        alone = document_facts(connection, now, None)
    assert facts == {
        "a": DocumentFacts("a", readable=True, lost=False, emptied=False),
        "b": DocumentFacts("b", readable=False, lost=True, emptied=False),
        "d": DocumentFacts("d", readable=True, lost=False, emptied=True),
        "e": DocumentFacts("e", readable=True, lost=False, emptied=False),
        "f": DocumentFacts("f", readable=True, lost=False, emptied=False),
    }
    assert not any(row.lost or row.emptied for row in alone)
