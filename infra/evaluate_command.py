"""`python3 -m infra evaluate`: the index gate's table for the index that serves, on the corpus' golden questions or on another file.

It decides nothing and changes nothing: it opens no index and closes none, also where the numbers are bad.

Rules
- The index that serves is the open one, else the unevaluated one, which is for search only; the heading says which.
- Standard output has the table, or with `--json` one JSON value; progress and warnings go to standard error.
- Exit codes: 0 evaluated, 1 no index serves or it cannot be searched, 2 the golden file is missing, malformed or without a question.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.environment import Environment

if TYPE_CHECKING:
    from tasks.domain.evaluation import Score
    from tasks.domain.passages import GoldenQuestion
    from tasks.retrieval.generations import Generation
    from tasks.retrieval.measure import Asked, Leg
    from tasks.retrieval.search import Index

BAD_INPUT = 2
GOLDEN = "golden.jsonl"
SHOWN_MISSES = 40


def run(options: argparse.Namespace, environment: Environment) -> int:
    """Evaluate and print; returns the exit code. Raises FilewrightError where the index cannot be opened or searched."""
    from tasks.domain.errors import PermanentError
    from tasks.settings import settings

    group = settings()
    folder = group.corpus.corpus_folder / options.corpus
    try:
        questions = golden(options.golden or folder / GOLDEN)
    except PermanentError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    index = serving(group.store.database_url.get_secret_value(), options.corpus, group.store.home / "bm25")
    warn_of_strangers(questions, index.documents)
    legs = asked(index, questions)
    if options.json:
        print(json.dumps(as_json(options.corpus, index.generation, legs), ensure_ascii=False, indent=1))
    else:
        print("\n".join(table(options.corpus, index.generation, legs)))
    return 0


def golden(path: Path) -> tuple[GoldenQuestion, ...]:
    """The questions of a golden file that count. Raises PermanentError that says which file, which line and what to do."""
    from tasks.domain.errors import PermanentError
    from tasks.domain.evaluation import accepted, parse_golden

    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise PermanentError(
            f"{path} is missing. Name a file of questions with --golden FILE.jsonl, or draft some: python3 -m infra suggest-golden."
        ) from None
    except (OSError, ValueError) as error:
        raise PermanentError(f"{path} cannot be read as UTF-8 text: {error}") from error
    try:
        questions = parse_golden(text)
    except PermanentError as error:
        raise PermanentError(f"{path}: {error}") from error
    counted = accepted(questions)
    if not any(question.answerable for question in counted):
        drafts = len(questions) - len(counted)
        what = (
            f"only drafts ({drafts}); accept some: python3 -m infra suggest-golden"
            if drafts
            else "no answerable question"
        )
        raise PermanentError(f"{path} has {what}, so there is nothing to measure.")
    return counted


def serving(url: str, corpus: str, folder: Path) -> Index:
    """The index that serves the corpus. Raises PermanentError where there is none."""
    from tasks.domain.errors import PermanentError
    from tasks.retrieval.generations import serving_generation
    from tasks.retrieval.search import Index
    from tasks.store.connection import connect

    with connect(url, read_only=True) as connection:
        generation = serving_generation(connection, corpus)
    if generation is None:
        raise PermanentError(
            f"No index of {corpus!r} serves. Make one: prefect deployment run ingest/ingest --param corpus={corpus} --watch"
        )
    return Index(url, generation, folder)


def warn_of_strangers(questions: Sequence[GoldenQuestion], documents: Sequence[str]) -> None:
    """Say on standard error which documents the questions name and the index does not have: such a question cannot be answered."""
    strangers = sorted({question.document for question in questions if question.document} - set(documents))
    for name in strangers:
        count = sum(question.document == name for question in questions)
        print(
            f"warning: the index has no document {name!r}, so {count} question{'s' * (count > 1)} cannot be answered. "
            f"It has: {', '.join(documents)}.",
            file=sys.stderr,
        )


def asked(index: Index, questions: Sequence[GoldenQuestion]) -> dict[Leg, list[Asked]]:
    """Every question asked of both retrievers together and of each alone."""
    from tasks.retrieval.measure import LEGS, ask

    answers: dict[Leg, list[Asked]] = {}
    for leg in LEGS:
        print(f"asking {len(questions)} questions: {leg} ...", file=sys.stderr, flush=True)
        answers[leg] = ask(index, questions, leg=leg)
    return answers


def as_json(corpus: str, generation: Generation, legs: Mapping[Leg, Sequence[Asked]]) -> dict[str, Any]:
    """The value that `--json` prints. `document` and `page` of a question are those of the best passage; null where nothing was found."""
    scores = {leg: _scores(each) for leg, each in legs.items()}
    total, by_kind = scores["fused"]
    return {
        "corpus": corpus,
        "generation": generation.id,
        "state": generation.state,
        "embedding_model": generation.embedding_model,
        **asdict(total),
        "by_kind": {kind: asdict(score) for kind, score in by_kind.items()},
        "legs": {
            leg: {**asdict(total), "by_kind": {kind: asdict(score) for kind, score in by_kind.items()}}
            for leg, (total, by_kind) in scores.items()
            if leg != "fused"
        },
        "questions": [
            {
                "id": one.question.id,
                "kind": one.question.kind,
                "answerable": one.question.answerable,
                "rank": one.rank,
                "document": one.first.chunk.document if one.first else None,
                "page": one.first.chunk.page if one.first else None,
            }
            for one in legs["fused"]
        ],
    }


def table(corpus: str, generation: Generation, legs: Mapping[Leg, Sequence[Asked]]) -> list[str]:
    """Lines for people: recall at 1 and 4 and mean reciprocal rank by kind, for both retrievers together and each alone."""
    scores = {leg: _scores(each) for leg, each in legs.items()}
    total, kinds = scores["fused"]
    silent = len(legs["fused"]) - total.evaluated
    lines = [
        f"Index generation {generation.id} of {corpus} ({_state(generation.state)}), {generation.embedding_model}, "
        f"{generation.splitter}: {total.evaluated} answerable questions"
        + (f", {silent} unanswerable ones (they have no rank)" if silent else ""),
        "",
        f"{'':16}{'':>6}  " + "".join(f"{leg:^23}" for leg in scores),
        f"{'kind':16}{'asked':>6}  " + f"{'recall@1':>9}{'@4':>6}{'MRR':>6}  " * len(scores),
    ]
    for kind in (*kinds, "all"):
        row = [total if kind == "all" else by_kind[kind] for total, by_kind in scores.values()]
        lines.append(f"{kind:16}{row[0].evaluated:>6}  " + "".join(_cells(score) for score in row))
    missed = [one for one in legs["fused"] if one.question.answerable and (one.rank is None or one.rank > 4)]
    if missed:
        lines += ["", "Not among the first four:"]
        lines += [
            f"  {one.rank or '-':>3}  {one.question.id}: {one.question.question}" for one in missed[:SHOWN_MISSES]
        ]
    if len(missed) > SHOWN_MISSES:
        lines.append(f"       and {len(missed) - SHOWN_MISSES} more (--json has all)")
    return lines


def _scores(asked: Sequence[Asked]) -> tuple[Score, dict[str, Score]]:
    from tasks.domain.evaluation import score, score_by_kind

    ranks = [(one.question, one.rank) for one in asked]
    return score(ranks), score_by_kind(ranks)


def _cells(score: Score) -> str:
    return f"{score.recall_at_1:>9.2f}{score.recall_at_4:>6.2f}{score.mrr:>6.2f}  "


def _state(state: str) -> str:
    return "search only, not evaluated by the gate" if state == "unevaluated" else state
