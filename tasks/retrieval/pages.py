"""The page text of one generation: what the grader reads. It never reads chunks, which overlap."""

from __future__ import annotations

from tasks.domain.passages import Page
from tasks.store.connection import Connection


def generation_pages(connection: Connection, generation: int) -> tuple[Page, ...]:
    """Every page of every readable document of `generation`, by document and number; withdrawn ones too, because a filing may have cited
    them while they stood."""
    rows = connection.execute(
        "SELECT g.name, p.number, p.text, p.origin, p.confidence, p.problem FROM corpus.generation_documents g "
        "JOIN corpus.pages p ON p.document_id = g.document_id "
        "WHERE g.generation_id = %s ORDER BY g.name, p.number",
        (generation,),
    )
    return tuple(Page(*row) for row in rows)
