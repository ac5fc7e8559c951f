"""Ingest: documents become an index generation, and the index gate decides whether it opens."""

from __future__ import annotations

from prefect import flow, unmapped
from prefect.states import Completed, State
from prefect.task_runners import ThreadPoolTaskRunner

from tasks import gate
from tasks import ingest as boxes


@flow(
    name="ingest",
    flow_run_name="ingest {corpus}",
    task_runner=ThreadPoolTaskRunner(max_workers=4),  # type: ignore[arg-type]
    validate_parameters=True,
)
def ingest(corpus: str = "sample") -> State:
    """Bring a corpus' index up to date.

    Args:
        corpus: name of a folder below the corpus folder, e.g. sample or hipaa.
    """
    plan = boxes.plan(corpus)
    if plan.unchanged:
        boxes.require_all_read(plan.problems)
        return Completed(message=plan.unchanged)
    draft = boxes.draft(corpus, plan)
    extracted = boxes.extract_document.map(unmapped(corpus), list(plan.sources))
    stored = boxes.dehyphenate_document.map(unmapped(corpus), extracted)
    chunked = boxes.chunk_document.map(unmapped(draft), stored)
    embedded = boxes.embed_document.map(unmapped(draft), chunked)
    listed = boxes.upsert_document.map(unmapped(corpus), unmapped(draft), embedded)
    boxes.finish(extracted, stored, chunked, embedded, listed)
    boxes.index_chunks(draft)
    problems = boxes.report_documents(corpus, draft)
    outcome = gate.index_gate(corpus, draft)
    boxes.require_all_read(problems)
    return Completed(message=outcome)
