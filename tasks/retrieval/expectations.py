"""The index gate's expectations: a Great Expectations suite, and nothing else, decides whether a draft may open.

The only file that knows `great_expectations`. Each row of EXPECTATIONS is one expectation over one of three tables: `questions` (one row
per golden question, with the rank of its answer), `chunks` (one row per readable document version, with counts of what is wrong with its
chunks) and `documents` (one row per name, in the draft or in the index that serves).

Thresholds alone would let an index open that answers less than the one that it replaces, so the draft is also held against what serves: no
document and no question may be lost. A corpus without golden questions is judged by its documents and chunks alone, and the index that
opens is marked unevaluated.

A checkpoint without an evaluated expectation succeeds in Great Expectations, so success here also demands that every row of the table
was evaluated and that none raised. Cost: a second or two, however large the index is; the counts are made before.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tasks.domain.errors import TemporaryError
from tasks.domain.evaluation import is_answerable
from tasks.domain.passages import GoldenQuestion
from tasks.retrieval.facts import ChunkFacts, DocumentFacts

QUESTIONS, CHUNKS, DOCUMENTS = "questions", "chunks", "documents"
ANSWERED_WITHIN = 4  # passages that a search returns to the agent
MRR_MAY_FALL_BY = 0.02
"""Less than one answer's fall from the first place to the second among 25 questions: what a new document in the index may cost."""
HYPHENS_PER_CHUNK = 0.01
"""Recognised text and unusual type keep a broken word here and there; a reader that fails leaves one in every few chunks."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The least that an index must reach over its answerable golden questions.

    recall@4 is what the agent sees (a search returns four passages). Measured on the federal corpus with the packaged model, BM25 fused:
    recall@4 19 of 22 and MRR .77; the thresholds leave room for a few questions, and none for one retriever failing.
    """

    recall_at_1: float = 0.50
    recall_at_4: float = 0.80
    mrr: float = 0.60


@dataclass(frozen=True, slots=True)
class Result:
    """One expectation's answer. `observed` is what was measured, `wanted` what the suite demands, both as text for people."""

    name: str
    success: bool
    observed: str
    wanted: str


@dataclass(frozen=True, slots=True)
class GateResult:
    """`opened` is the decision: every expectation of the suite evaluated, none raised, all met."""

    opened: bool
    expected: int
    evaluated: int
    results: tuple[Result, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the suite: which table, and how Great Expectations states it."""

    name: str
    table: str
    wanted: str
    build: Callable[[Any, Mapping[str, Any]], Any]


EXPECTATIONS: tuple[Row, ...] = (
    Row(
        "recall at 4",
        QUESTIONS,
        "mean of hit_at_4 at least {recall_at_4}",
        lambda gx, p: gx.ExpectColumnMeanToBeBetween(column="hit_at_4", min_value=p["recall_at_4"], max_value=1),
    ),
    Row(
        "recall at 1",
        QUESTIONS,
        "mean of hit_at_1 at least {recall_at_1}",
        lambda gx, p: gx.ExpectColumnMeanToBeBetween(column="hit_at_1", min_value=p["recall_at_1"], max_value=1),
    ),
    Row(
        "mean reciprocal rank",
        QUESTIONS,
        "mean of reciprocal_rank at least {mrr}",
        lambda gx, p: gx.ExpectColumnMeanToBeBetween(column="reciprocal_rank", min_value=p["mrr"], max_value=1),
    ),
    Row(
        "every question evaluated",
        QUESTIONS,
        "{questions} rows",
        lambda gx, p: gx.ExpectTableRowCountToEqual(value=p["questions"]),
    ),
    Row(
        "some questions answerable",
        QUESTIONS,
        "at least {least_answerable} answerable questions",
        lambda gx, p: gx.ExpectColumnSumToBeBetween(column="answerable", min_value=p["least_answerable"]),
    ),
    Row(
        "no question lost",
        QUESTIONS,
        "at least {answered} answered within 4, as many as by the open index",
        lambda gx, p: gx.ExpectColumnSumToBeBetween(column="answered", min_value=p["answered"]),
    ),
    Row(
        "no worse ranks",
        QUESTIONS,
        "mean of reciprocal_rank at least {open_mrr:.3f}, 0.02 less than by the open index",
        lambda gx, p: gx.ExpectColumnMeanToBeBetween(column="reciprocal_rank", min_value=p["open_mrr"], max_value=1),
    ),
    Row(
        "text in every document",
        CHUNKS,
        "at least one chunk each, and one document at least",
        lambda gx, p: gx.ExpectColumnMinToBeBetween(column="chunks", min_value=1),
    ),
    Row(
        "no empty chunk",
        CHUNKS,
        "every text has a character that is no blank",
        lambda gx, p: gx.ExpectColumnMaxToBeBetween(column="empty", min_value=0, max_value=0),
    ),
    Row(
        "text stands on its page",
        CHUNKS,
        "every chunk is its page's text from start to end",
        lambda gx, p: gx.ExpectColumnMaxToBeBetween(column="off_page", min_value=0, max_value=0),
    ),
    Row(
        "no line-break mark",
        CHUNKS,
        "no text holds PDFium's mark or a soft hyphen",
        lambda gx, p: gx.ExpectColumnMaxToBeBetween(column="marks", min_value=0, max_value=0),
    ),
    Row(
        "hardly a leftover line-break hyphen",
        CHUNKS,
        "at most {hyphens}, one in a hundred chunks",
        lambda gx, p: gx.ExpectColumnSumToBeBetween(column="hyphens", min_value=0, max_value=p["hyphens"]),
    ),
    Row(
        "every chunk has a vector",
        CHUNKS,
        "none is without",
        lambda gx, p: gx.ExpectColumnMaxToBeBetween(column="without_vector", min_value=0, max_value=0),
    ),
    Row(
        "one embedding model",
        CHUNKS,
        "one model and revision",
        lambda gx, p: gx.ExpectColumnUniqueValueCountToBeBetween(column="embedding", min_value=1, max_value=1),
    ),
    Row(
        "no document lost",
        DOCUMENTS,
        "what serves and is still named is readable",
        lambda gx, p: gx.ExpectColumnValuesToBeInSet(column="lost", value_set=[False]),
    ),
    Row(
        "no document emptied",
        DOCUMENTS,
        "a new version keeps a tenth of the text",
        lambda gx, p: gx.ExpectColumnValuesToBeInSet(column="emptied", value_set=[False]),
    ),
)


@dataclass(frozen=True, slots=True)
class Baseline:
    """How the open index does on the same golden questions: questions answered within 4, and mean reciprocal rank."""

    answered: int = 0
    mrr: float = 0.0


NOTHING_OPEN = Baseline()


def expected_rows(*, evaluated: bool) -> tuple[Row, ...]:
    """The whole suite, or what is left of it where there are no golden questions."""
    return tuple(row for row in EXPECTATIONS if evaluated or row.table != QUESTIONS)


def evaluate_suite(
    *,
    ranks: Sequence[tuple[GoldenQuestion, int | None]] | None,
    golden: int,
    chunks: Sequence[ChunkFacts],
    documents: Sequence[DocumentFacts],
    baseline: Baseline = NOTHING_OPEN,
    thresholds: Thresholds,
    expectations: Sequence[Row] | None = None,
) -> GateResult:
    """Run the suite.

    `ranks` has each evaluated question with the rank of its answer (None: not among the passages, or unanswerable), `golden` the number
    of questions that the corpus has; `ranks` is None where it has none, and then only the rows about chunks and documents are expected.
    `baseline` is what the open index reaches on the same questions. `expectations` is the suite; what is missing from it is missing from
    the decision, so a shorter one never opens. Raises TemporaryError where Great Expectations itself breaks.
    """
    import great_expectations
    import pandas
    from great_expectations.data_context.types.base import ProgressBarsConfig

    expected = expected_rows(evaluated=ranks is not None)
    suite_rows = expected if expectations is None else expectations
    parameters = {
        **asdict(thresholds),
        "questions": golden,
        "least_answerable": 1,
        "answered": baseline.answered,
        "open_mrr": max(0.0, baseline.mrr - MRR_MAY_FALL_BY),
        "hyphens": int(sum(row.chunks for row in chunks) * HYPHENS_PER_CHUNK),
    }
    hit = {question.id: rank for question, rank in ranks or () if is_answerable(question)}
    tables = {
        QUESTIONS: pandas.DataFrame(
            {
                "id": [question.id for question, _ in ranks or ()],
                "answerable": [int(question.id in hit) for question, _ in ranks or ()],
                # Means are over answerable questions: Great Expectations leaves missing values out of a mean.
                "hit_at_1": [_hit(hit, question.id, 1) for question, _ in ranks or ()],
                "hit_at_4": [_hit(hit, question.id, ANSWERED_WITHIN) for question, _ in ranks or ()],
                "reciprocal_rank": [_reciprocal(hit, question.id) for question, _ in ranks or ()],
                "answered": [int(_hit(hit, question.id, ANSWERED_WITHIN) or 0) for question, _ in ranks or ()],
            }
        ),
        CHUNKS: pandas.DataFrame([asdict(row) for row in chunks], columns=list(ChunkFacts.__slots__)),
        DOCUMENTS: pandas.DataFrame([asdict(row) for row in documents], columns=list(DocumentFacts.__slots__)),
    }
    if ranks is None:
        del tables[QUESTIONS]
    logging.getLogger("great_expectations").setLevel(logging.ERROR)
    try:
        context = great_expectations.get_context(mode="ephemeral")
        context.variables.progress_bars = ProgressBarsConfig(globally=False)
        source = context.data_sources.add_pandas("index-gate")
        definitions = {}
        for table in tables:
            suite = context.suites.add(great_expectations.ExpectationSuite(name=table))
            for row in suite_rows:
                if row.table == table:
                    expectation = row.build(great_expectations.expectations, parameters)
                    expectation.meta = {"name": row.name}
                    suite.add_expectation(expectation)
            batch = source.add_dataframe_asset(name=table).add_batch_definition_whole_dataframe(table)
            definitions[table] = great_expectations.ValidationDefinition(name=table, data=batch, suite=suite)
        outcomes = [
            definition.run(batch_parameters={"dataframe": tables[table]}) for table, definition in definitions.items()
        ]
    except Exception as error:
        raise TemporaryError(f"The index gate could not run its suite ({type(error).__name__}: {error}).") from error

    wanted = {row.name: row.wanted.format(**parameters) for row in suite_rows}
    results, raised = [], 0
    for outcome in outcomes:
        for each in outcome.results:
            name = str(each.expectation_config.meta["name"])  # type: ignore[union-attr]  # each was built with one
            failed_to_run = bool((each.exception_info or {}).get("raised_exception")) or any(
                isinstance(info, dict) and info.get("raised_exception") for info in (each.exception_info or {}).values()
            )
            raised += failed_to_run
            results.append(
                Result(name, bool(each.success) and not failed_to_run, _observed(each, failed_to_run), wanted[name])
            )
    evaluated = len(results) - raised
    complete = {result.name for result in results} == {row.name for row in expected}
    opened = complete and evaluated == len(expected) > 0 and all(result.success for result in results)
    return GateResult(opened, len(expected), evaluated, tuple(results))


def _hit(ranks: Mapping[str, int | None], identity: str, k: int) -> float | None:
    if identity not in ranks:
        return None
    rank = ranks[identity]
    return float(rank is not None and rank <= k)


def _reciprocal(ranks: Mapping[str, int | None], identity: str) -> float | None:
    if identity not in ranks:
        return None
    rank = ranks[identity]
    return 0.0 if rank is None else 1 / rank


def _observed(each: Any, failed_to_run: bool) -> str:
    if failed_to_run:
        return "could not be evaluated"
    result = each.result or {}
    if "observed_value" in result:
        value = result["observed_value"]
        return f"{value:.3f}" if isinstance(value, float) else str(value)
    return f"{result.get('unexpected_count', 0)} of {result.get('element_count', 0)} rows break it"
