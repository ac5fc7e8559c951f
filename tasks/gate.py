"""The index gate: evaluates a draft against the corpus' golden questions and what serves, and opens or rejects it in one transaction.

Rules
- Only accepted golden questions count; a draft question, written by a program, counts for nothing.
- A draft opens when every expectation of the suite was evaluated and met, among them: no document and no question lost against the index
  that serves, asked the same questions at the same moment.
- Where the open index cannot be asked (its model is gone), its stored score counts if the golden questions are still the same; where
  they are not, the verdict says that nothing was compared.
- A corpus without golden questions opens *unevaluated*: for search, never for filing, and never over an evaluated index.
- What nothing serves any more is pruned after the decision.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from prefect import task
from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.logging import get_run_logger

from tasks.artifacts import artifact_key
from tasks.domain.errors import FilewrightError, PermanentError, TemporaryError
from tasks.domain.evaluation import Score, accepted, is_answerable, parse_golden, score, score_by_kind
from tasks.domain.passages import GoldenQuestion
from tasks.retrieval.expectations import (
    ANSWERED_WITHIN,
    EXPECTATIONS,
    NOTHING_OPEN,
    Baseline,
    GateResult,
    Thresholds,
    evaluate_suite,
)
from tasks.retrieval.facts import DocumentFacts, chunk_facts, document_facts
from tasks.retrieval.generations import (
    DocumentStatus,
    Generation,
    decide,
    document_statuses,
    generation,
    prune,
    serving_generation,
)
from tasks.retrieval.keywords import remove_keywords
from tasks.retrieval.measure import DEPTH, Asked, ask
from tasks.retrieval.search import Index
from tasks.settings import settings
from tasks.store.connection import connect

GOLDEN = "golden.jsonl"
HARMLESS = {"ok", "withdrawn"}
MOST_NAMED = 10  # questions named in a rejection; the artifact has them all


class IndexRejected(PermanentError):
    """The draft did not meet its expectations; the index that was open before goes on serving."""


class IndexOvertaken(PermanentError):
    """A newer generation opened while this draft was built: an older manifest never replaces a newer one."""


@dataclass(frozen=True)
class Compared:
    """What the draft is held against: how the open index `generation` does, and its rank of each answer by question id.

    `how` says in a sentence what was compared, or why nothing was; `ranks` is None where the open index could not be asked.
    """

    how: str
    baseline: Baseline = NOTHING_OPEN
    generation: int | None = None
    ranks: Mapping[str, int | None] | None = None
    by_kind: Mapping[str, Score] | None = None


def golden_questions(folder: Path) -> tuple[GoldenQuestion, ...]:
    """The corpus' accepted golden questions; () where there is no file, or nothing but drafts in it.

    Raises PermanentError where the file is malformed or cannot be read.
    """
    try:
        text = (folder / GOLDEN).read_text(encoding="utf-8")
    except FileNotFoundError:
        return ()
    except (OSError, ValueError) as error:
        raise PermanentError(f"{folder / GOLDEN} cannot be read: {error}") from error
    return accepted(parse_golden(text))


def golden_digest(questions: Sequence[GoldenQuestion]) -> str:
    """A hash of the questions, whatever their order and however their file is written."""
    return hashlib.sha256(repr(sorted(map(repr, questions))).encode()).hexdigest()


def gate_digest(folder: Path) -> str:
    """A hash of everything that the gate's decision depends on besides the index and what serves."""
    rules = repr((Thresholds(), DEPTH, [(row.name, row.wanted) for row in EXPECTATIONS]))
    return hashlib.sha256((golden_digest(golden_questions(folder)) + rules).encode()).hexdigest()


@task(name="index gate", task_run_name="index gate: generation {identity}")
def index_gate(corpus: str, identity: int) -> str:
    """Open generation `identity` or reject it; returns a sentence about what opened.

    Raises IndexRejected where an expectation is not met. The evaluation is kept with the generation and left as artifacts.
    """
    group = settings()
    url = group.store.database_url.get_secret_value()
    questions = golden_questions(group.corpus.corpus_folder / corpus)
    folder = group.store.home / "bm25"
    with connect(url, read_only=True) as connection:
        draft = generation(connection, identity)
        serving = serving_generation(connection, corpus)
        documents = document_facts(connection, draft, serving)
        chunks = chunk_facts(connection, draft)
        statuses = document_statuses(connection, identity)
    asked = _ask_draft(url, draft, folder, questions) if chunks else [Asked(each, None, None) for each in questions]
    compared = _compare(url, serving, folder, questions)
    result = evaluate_suite(
        ranks=[(each.question, each.rank) for each in asked] if questions else None,
        golden=len(questions),
        chunks=chunks,
        documents=documents,
        baseline=compared.baseline,
        thresholds=Thresholds(),
    )
    opened, total = result.opened, score((each.question, each.rank) for each in asked)
    reasons = _reasons(result, asked, compared, documents)
    if not questions and serving is not None and serving.state == "open":
        opened = False
        reasons.insert(0, f"it cannot be evaluated, and generation {serving.id} is: {GOLDEN} has no accepted question")
    with connect(url) as connection:
        state = decide(
            connection,
            identity,
            opened=opened,
            evaluated=bool(questions),
            evaluation=_evaluation(result, asked, compared, total),
        )
    _artifacts(corpus, identity, state, result, asked, compared, reasons)
    _prune(url, corpus, folder)
    if state == "rejected":
        raise IndexRejected(_rejection(corpus, identity, result, reasons, statuses, serving))
    if state == "superseded":
        raise IndexOvertaken(
            f"Index generation {identity} of {corpus} met its expectations, but a newer one opened while it was built; "
            "that one goes on serving."
        )
    if state == "unevaluated":
        return (
            f"Index generation {identity} of {corpus} serves searches, unevaluated: {GOLDEN} has no accepted question, "
            "so nothing may be filed from it."
        )
    return f"Index generation {identity} of {corpus} is open: recall at 4 is {total.recall_at_4:.2f}."


def _ask_draft(url: str, draft: Generation, folder: Path, questions: Sequence[GoldenQuestion]) -> list[Asked]:
    return ask(Index(url, draft, folder), questions) if questions else []


def _compare(url: str, serving: Generation | None, folder: Path, questions: Sequence[GoldenQuestion]) -> Compared:
    """Ask the open index the same questions; closed documents stay out of its answers."""
    if serving is None or serving.state != "open":
        return Compared("No evaluated index is open, so there is nothing to compare with.")
    if not questions:
        return Compared("Not compared: there is no golden question to ask.", generation=serving.id)
    try:
        asked = ask(Index(url, serving, folder), questions)
    except TemporaryError:
        raise
    except PermanentError as error:
        return _compare_stored(serving, questions, error)
    ranks = [(each.question, each.rank) for each in asked]
    total = score(ranks)
    answered = sum(each.rank is not None and each.rank <= ANSWERED_WITHIN for each in asked)
    return Compared(
        f"Compared with generation {serving.id}, asked the same questions now: {answered} answered within {ANSWERED_WITHIN}, "
        f"mean reciprocal rank {total.mrr:.3f}.",
        Baseline(answered, total.mrr),
        serving.id,
        {each.question.id: each.rank for each in asked},
        score_by_kind(ranks),
    )


def _compare_stored(serving: Generation, questions: Sequence[GoldenQuestion], error: PermanentError) -> Compared:
    stored = serving.evaluation or {}
    kept, ranks = stored.get("score"), stored.get("ranks")
    if stored.get("golden") != golden_digest(questions) or not isinstance(kept, dict) or not isinstance(ranks, dict):
        return Compared(
            f"Not compared: generation {serving.id} cannot be searched ({error}), and its stored score is for other golden questions.",
            generation=serving.id,
        )
    answered = sum(rank is not None and rank <= ANSWERED_WITHIN for rank in ranks.values())
    return Compared(
        f"Compared with the stored score of generation {serving.id}, which cannot be searched ({error}): {answered} answered within "
        f"{ANSWERED_WITHIN}, mean reciprocal rank {kept['mrr']:.3f}.",
        Baseline(answered, float(kept["mrr"])),
        serving.id,
        ranks,
        {kind: Score(**each) for kind, each in stored.get("by_kind", {}).items()},
    )


def _reasons(
    result: GateResult, asked: Sequence[Asked], compared: Compared, documents: Sequence[DocumentFacts]
) -> list[str]:
    """What was not met, in words; for questions and documents with their names and what to do. Empty where all was met."""
    reasons = [f"{each.name}: {each.observed}, wanted {each.wanted}" for each in result.results if not each.success]
    if not reasons:
        return []
    if gone := [each.name for each in documents if each.lost]:
        reasons.append(
            f"what serves has {_named(gone)} and the draft cannot read it: mend it, or remove its entry from the corpus if it is to go"
        )
    if emptied := [each.name for each in documents if each.emptied]:
        reasons.append(
            f"nearly all text of {_named(emptied)} is gone: mend it, or give the new version another name if it is meant to be so short"
        )
    lost = [
        each.question.id
        for each in asked
        if _answered((compared.ranks or {}).get(each.question.id)) and not _answered(each.rank)
    ]
    if lost and any(each.name == "no question lost" and not each.success for each in result.results):
        reasons.append(f"the open index answers and the draft does not: {_named(lost)}")
    readable = {each.name for each in documents if each.readable}
    orphans = [
        f"{each.question.id} ({each.question.document})"
        for each in asked
        if is_answerable(each.question) and each.question.document not in readable
    ]
    if orphans:
        reasons.append(
            f"the corpus has no readable document for {_named(orphans)}: put the document back, or remove these questions from {GOLDEN}"
        )
    return reasons


def _answered(rank: int | None) -> bool:
    return rank is not None and rank <= ANSWERED_WITHIN


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def _rejection(
    corpus: str,
    identity: int,
    result: GateResult,
    reasons: Sequence[str],
    statuses: Sequence[DocumentStatus],
    serving: Generation | None,
) -> str:
    unreadable = [f"{row.name}: {row.status}: {row.reason}" for row in statuses if row.status not in HARMLESS]
    if serving is None:
        after = "No index is open, so filing refuses."
    elif serving.state == "open":
        after = f"Generation {serving.id} goes on serving."
    else:
        after = f"Generation {serving.id} goes on serving searches, unevaluated."
    return (
        f"Index generation {identity} of {corpus} was rejected ({result.evaluated} of {result.expected} expectations evaluated): "
        f"{'; '.join(reasons)}. {after}"
        + (
            f" {len(unreadable)} of the corpus' documents could not be read: {' | '.join(unreadable)}"
            if unreadable
            else ""
        )
    )


def _evaluation(result: GateResult, asked: Sequence[Asked], compared: Compared, total: Score) -> dict[str, Any]:
    """What is kept with the generation: enough to compare with it when it can no longer be asked."""
    ranks = [(each.question, each.rank) for each in asked]
    return {
        "opened": result.opened,
        "golden": golden_digest([each.question for each in asked]) if asked else None,
        # Null where nothing was asked: a score of nothing is not a bad score.
        "score": asdict(total) if asked else None,
        "by_kind": {kind: asdict(each) for kind, each in score_by_kind(ranks).items()},
        "ranks": {each.question.id: each.rank for each in asked if is_answerable(each.question)},
        "compared": {"generation": compared.generation, "how": compared.how},
        "expectations": [asdict(each) for each in result.results],
    }


def _artifacts(
    corpus: str,
    identity: int,
    state: str,
    result: GateResult,
    asked: Sequence[Asked],
    compared: Compared,
    reasons: Sequence[str],
) -> None:
    key = artifact_key(corpus)
    word = {"open": "opened", "unevaluated": "opened for search only, unevaluated"}.get(state, state)
    lines = [
        f"# Index gate: generation {identity} of `{corpus}` {word}",
        "",
        f"{result.evaluated} of {result.expected} expectations evaluated. {compared.how}",
        *([] if asked else ["", f"There are no golden questions ({GOLDEN}): nothing may be filed from this index."]),
        *(["", "**Not met**", "", *(f"- {reason}" for reason in reasons)] if reasons else []),
        "",
        "| expectation | observed | wanted | met |",
        "| --- | --- | --- | --- |",
        *(f"| {r.name} | {r.observed} | {r.wanted} | {'yes' if r.success else '**no**'} |" for r in result.results),
    ]
    create_markdown_artifact("\n".join(lines), key=f"index-gate-{key}", description=f"Generation {identity} {word}")
    if not asked:
        return
    create_table_artifact(
        table=_kinds(asked, compared),
        key=f"golden-kinds-{key}",
        description=f"Scores by kind of question: generation {identity}, and the open one",
    )
    open_ranks = compared.ranks or {}
    create_table_artifact(
        table=[
            {
                "id": each.question.id,
                "question": each.question.question,
                "kind": each.question.kind,
                "rank": _shown(each.rank),
                "open rank": _shown(open_ranks.get(each.question.id)),
                "first passage": f"{each.first.chunk.document}, page {each.first.chunk.page}" if each.first else "",
            }
            for each in asked
        ],
        key=f"golden-questions-{key}",
        description=f"Golden questions asked of generation {identity}",
    )


def _kinds(asked: Sequence[Asked], compared: Compared) -> list[dict[str, Any]]:
    """A row for each kind and one for all, the draft's scores beside those of the open index."""
    ranks = [(each.question, each.rank) for each in asked]
    rows = {**score_by_kind(ranks), "all": score(ranks)}
    before = dict(compared.by_kind or {})
    return [
        {
            "kind": kind,
            "questions": each.evaluated,
            "recall at 1": f"{each.recall_at_1:.2f}",
            "recall at 4": f"{each.recall_at_4:.2f}",
            "MRR": f"{each.mrr:.3f}",
            "open recall at 4": f"{before[kind].recall_at_4:.2f}" if kind in before else "-",
            "open MRR": f"{before[kind].mrr:.3f}"
            if kind in before
            else f"{compared.baseline.mrr:.3f}"
            if kind == "all" and compared.ranks is not None
            else "-",
        }
        for kind, each in rows.items()
    ]


def _shown(rank: int | None) -> int | str:
    return "-" if rank is None else rank


def _prune(url: str, corpus: str, folder: Path) -> None:
    """Clean up after the decision; what cannot be cleaned up now is left to the next ingest, and said."""
    log = get_run_logger()
    try:
        with connect(url) as connection:
            pruned = prune(connection, corpus)
    except FilewrightError as error:
        log.warning("Old chunks were not pruned this time: %s", error)
        return
    if pruned.chunks or pruned.sets:
        log.info("Pruned %d chunks and %d chunk sets that nothing serves.", pruned.chunks, pruned.sets)
    remove_keywords(folder, pruned.dead)
