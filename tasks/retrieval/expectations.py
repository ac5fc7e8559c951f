"""The index gate's expectations: a Great Expectations suite, and nothing else, decides whether a draft may open.

The only file that knows `great_expectations`. Each row of EXPECTATIONS is one expectation over one of two tables: `questions`
(one row per golden question, with the rank of its answer) and `chunks` (one row per chunk of the draft).

A checkpoint without an evaluated expectation succeeds in Great Expectations, so success here also demands that every row of the table
was evaluated and that none raised.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tasks.domain.errors import TemporaryError
from tasks.domain.evaluation import is_answerable
from tasks.domain.passages import Chunk, GoldenQuestion
from tasks.domain.text import leftover_hyphens


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
        "questions",
        "mean of hit_at_4 at least {recall_at_4}",
        lambda gx, p: gx.ExpectColumnMeanToBeBetween(column="hit_at_4", min_value=p["recall_at_4"], max_value=1),
    ),
    Row(
        "recall at 1",
        "questions",
        "mean of hit_at_1 at least {recall_at_1}",
        lambda gx, p: gx.ExpectColumnMeanToBeBetween(column="hit_at_1", min_value=p["recall_at_1"], max_value=1),
    ),
    Row(
        "mean reciprocal rank",
        "questions",
        "mean of reciprocal_rank at least {mrr}",
        lambda gx, p: gx.ExpectColumnMeanToBeBetween(column="reciprocal_rank", min_value=p["mrr"], max_value=1),
    ),
    Row(
        "every question evaluated",
        "questions",
        "{questions} rows",
        lambda gx, p: gx.ExpectTableRowCountToEqual(value=p["questions"]),
    ),
    Row(
        "some questions answerable",
        "questions",
        "at least {least_answerable} answerable questions",
        lambda gx, p: gx.ExpectColumnSumToBeBetween(column="answerable", min_value=p["least_answerable"]),
    ),
    Row(
        "no empty chunk",
        "chunks",
        "every text has a character that is no blank",
        lambda gx, p: gx.ExpectColumnValuesToMatchRegex(column="text", regex=r"(?s).*\S"),
    ),
    Row(
        "page within the document",
        "chunks",
        "every page number exists",
        lambda gx, p: gx.ExpectColumnValuesToBeInSet(column="page_exists", value_set=[True]),
    ),
    Row(
        "no leftover line-break hyphen",
        "chunks",
        "no text holds one",
        lambda gx, p: gx.ExpectColumnMaxToBeBetween(column="leftover_hyphens", min_value=0, max_value=0),
    ),
    Row(
        "one embedding model",
        "chunks",
        "one model and revision",
        lambda gx, p: gx.ExpectColumnUniqueValueCountToBeBetween(column="embedding", min_value=1, max_value=1),
    ),
)


def evaluate_suite(
    *,
    ranks: Sequence[tuple[GoldenQuestion, int | None]],
    golden: int,
    chunks: Sequence[Chunk],
    page_counts: Mapping[str, int],
    embeddings: Sequence[str],
    thresholds: Thresholds,
    expectations: Sequence[Row] = EXPECTATIONS,
) -> GateResult:
    """Run the suite.

    `ranks` has each evaluated question with the rank of its answer (None: not among the passages, or unanswerable), `golden` the number
    of questions that the corpus has; `embeddings` the model and revision of each chunk, in the order of `chunks`. `expectations` is the
    suite; what is missing from it is missing from the decision, so a shorter one never opens.
    Raises TemporaryError where Great Expectations itself breaks.
    """
    import great_expectations
    import pandas
    from great_expectations.data_context.types.base import ProgressBarsConfig

    parameters = {**asdict(thresholds), "questions": golden, "least_answerable": 1}
    answerable = [(question, rank) for question, rank in ranks if is_answerable(question)]
    hit = {question.id: rank for question, rank in answerable}
    tables = {
        "questions": pandas.DataFrame(
            {
                "id": [question.id for question, _ in ranks],
                "answerable": [int(question.id in hit) for question, _ in ranks],
                # Means are over answerable questions: Great Expectations leaves missing values out of a mean.
                "hit_at_1": [_hit(hit, question.id, 1) for question, _ in ranks],
                "hit_at_4": [_hit(hit, question.id, 4) for question, _ in ranks],
                "reciprocal_rank": [_reciprocal(hit, question.id) for question, _ in ranks],
            }
        ),
        "chunks": pandas.DataFrame(
            {
                "text": [chunk.text for chunk in chunks],
                "page_exists": [1 <= chunk.page <= page_counts.get(chunk.document, 0) for chunk in chunks],
                "leftover_hyphens": [len(leftover_hyphens(chunk.text)) for chunk in chunks],
                "embedding": list(embeddings),
            }
        ),
    }
    logging.getLogger("great_expectations").setLevel(logging.ERROR)
    try:
        context = great_expectations.get_context(mode="ephemeral")
        context.variables.progress_bars = ProgressBarsConfig(globally=False)
        source = context.data_sources.add_pandas("index-gate")
        definitions = {}
        for table in tables:
            suite = context.suites.add(great_expectations.ExpectationSuite(name=table))
            for row in expectations:
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

    wanted = {row.name: row.wanted.format(**parameters) for row in expectations}
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
    complete = {result.name for result in results} == {row.name for row in EXPECTATIONS}
    opened = complete and evaluated == len(EXPECTATIONS) > 0 and all(result.success for result in results)
    return GateResult(opened, len(EXPECTATIONS), evaluated, tuple(results))


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
