"""The index gate: evaluates a draft against the corpus' golden questions and opens or rejects it in one transaction."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

from prefect import task
from prefect.artifacts import create_markdown_artifact, create_table_artifact

from tasks.artifacts import artifact_key
from tasks.domain.errors import PermanentError
from tasks.domain.evaluation import is_answerable, parse_golden, rank_of_answer, score, score_by_kind
from tasks.domain.passages import GoldenQuestion
from tasks.retrieval.expectations import EXPECTATIONS, GateResult, Thresholds, evaluate_suite
from tasks.retrieval.generations import decide, document_statuses, generation, open_generation
from tasks.retrieval.search import Index
from tasks.settings import settings
from tasks.store.connection import connect

GOLDEN = "golden.jsonl"
DEPTH = 10  # passages looked through for an answer; beyond, its reciprocal rank is 0

Ranked = tuple[GoldenQuestion, int | None]


class IndexRejected(PermanentError):
    """The draft did not meet its expectations; the index that was open before goes on serving."""


class IndexOvertaken(PermanentError):
    """A newer generation opened while this draft was built: an older manifest never replaces a newer one."""


def golden_questions(folder: Path) -> tuple[GoldenQuestion, ...]:
    """The corpus' golden questions. Raises PermanentError where the file is missing or malformed."""
    try:
        text = (folder / GOLDEN).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise PermanentError(
            f"{folder / GOLDEN} is missing: without golden questions nothing shows that the index answers, so it cannot open for filing."
        ) from None
    except (OSError, ValueError) as error:
        raise PermanentError(f"{folder / GOLDEN} cannot be read: {error}") from error
    return parse_golden(text)


def gate_digest(folder: Path) -> str:
    """A hash of everything that the gate's decision depends on besides the index."""
    path = folder / GOLDEN
    golden = path.read_bytes() if path.exists() else b""
    rules = repr((Thresholds(), DEPTH, [(row.name, row.wanted) for row in EXPECTATIONS]))
    return hashlib.sha256(golden + rules.encode()).hexdigest()


@task(name="index gate", task_run_name="index gate: generation {identity}")
def index_gate(corpus: str, identity: int) -> float:
    """Open generation `identity` or reject it; returns its recall at 4.

    Raises IndexRejected where an expectation is not met. The evaluation is kept with the generation and left as artifacts.
    """
    group = settings()
    url = group.store.database_url.get_secret_value()
    questions = golden_questions(group.corpus.corpus_folder / corpus)
    with connect(url, read_only=True) as connection:
        draft = generation(connection, identity)
        serving = open_generation(connection, corpus)
        page_counts = {row.name: row.pages for row in document_statuses(connection, identity)}
    result, ranks, rows = evaluate(draft_index(url, draft, group.store.home), questions, page_counts)
    total = score(ranks)
    evaluation = {
        "opened": result.opened,
        "score": asdict(total),
        "by_kind": {kind: asdict(each) for kind, each in score_by_kind(ranks).items()},
        "expectations": [asdict(each) for each in result.results],
        "questions": rows,
    }
    with connect(url) as connection:
        state = decide(connection, identity, opened=result.opened, evaluation=evaluation)
    _artifacts(corpus, identity, result, rows, serving.id if serving else None)
    if not result.opened:
        missed = "; ".join(f"{r.name}: {r.observed}, wanted {r.wanted}" for r in result.results if not r.success)
        raise IndexRejected(
            f"Index generation {identity} of {corpus} was rejected "
            f"({result.evaluated} of {result.expected} expectations evaluated): {missed}. "
            + (f"Generation {serving.id} goes on serving." if serving else "No index is open, so filing refuses.")
        )
    if state == "superseded":
        raise IndexOvertaken(
            f"Index generation {identity} of {corpus} met its expectations, but a newer one opened while it was built; "
            "that one goes on serving."
        )
    return total.recall_at_4


def draft_index(url: str, draft: Any, home: Path) -> Index | None:
    """The draft, ready to be searched; None where no document gave any text (the suite then rejects it)."""
    try:
        return Index(url, draft, home / "bm25")
    except PermanentError:
        with connect(url, read_only=True) as connection:
            chunks = connection.execute("SELECT 1 FROM corpus.chunks WHERE generation_id = %s LIMIT 1", (draft.id,))
            if chunks.fetchone() is None:
                return None
        raise


def evaluate(
    index: Index | None, questions: tuple[GoldenQuestion, ...], page_counts: dict[str, int]
) -> tuple[GateResult, list[Ranked], list[dict[str, Any]]]:
    """Ask every golden question, run the suite; returns its result, each question's rank, and a row per question for people."""
    ranks: list[Ranked] = []
    rows = []
    for question in questions:
        passages = index.search(question.question, DEPTH) if index is not None else ()
        rank = rank_of_answer(question, passages)
        ranks.append((question, rank))
        first = passages[0].chunk if passages else None
        rows.append(
            {
                "question": question.question,
                "kind": question.kind,
                "answerable": is_answerable(question),
                "rank": rank,
                "first passage": f"{first.document}, page {first.page}" if first else "",
            }
        )
    chunks = index.chunks if index is not None else ()
    model = f"{index.generation.embedding_model} {index.generation.embedding_revision}" if index is not None else ""
    result = evaluate_suite(
        ranks=ranks,
        golden=len(questions),
        chunks=chunks,
        page_counts=page_counts,
        embeddings=[model] * len(chunks),
        thresholds=Thresholds(),
    )
    return result, ranks, rows


def _artifacts(corpus: str, identity: int, result: GateResult, rows: list[dict[str, Any]], serving: int | None) -> None:
    key = artifact_key(corpus)
    word = "opened" if result.opened else "rejected"
    lines = [
        f"# Index gate: generation {identity} of `{corpus}` {word}",
        "",
        f"{result.evaluated} of {result.expected} expectations evaluated. "
        + ("" if result.opened else f"Generation {serving} goes on serving." if serving else "No index is open."),
        "",
        "| expectation | observed | wanted | met |",
        "| --- | --- | --- | --- |",
        *(f"| {r.name} | {r.observed} | {r.wanted} | {'yes' if r.success else '**no**'} |" for r in result.results),
    ]
    create_markdown_artifact("\n".join(lines), key=f"index-gate-{key}", description=f"Generation {identity} {word}")
    create_table_artifact(
        table=[{**row, "rank": row["rank"] if row["rank"] is not None else "-"} for row in rows],
        key=f"golden-questions-{key}",
        description=f"Golden questions asked of generation {identity}",
    )
