"""A generation to file from, and claims."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tasks.ledger.filings import Attempt, claim
from tests.conftest import Database

REQUEST: dict[str, Any] = {
    "corpus": "sample",
    "form": "qi-report",
    "report_id": "QI-2025-014",
    "quarter": "Q3 2025",
    "department": "Pharmacy",
    "model": "offline",
    "lease_seconds": 30,
}


@pytest.fixture
def generation(database: Database) -> int:
    with psycopg.connect(database.filing_url) as connection:
        row = connection.execute(
            "INSERT INTO corpus.generations (corpus, splitter, embedding_model, embedding_revision, fingerprint) "
            "VALUES ('sample', 's', 'minilm', 'r', 'f') RETURNING id"
        ).fetchone()
    assert row is not None
    return int(row[0])


@pytest.fixture
def claimed(database: Database, generation: int) -> Callable[..., Attempt]:
    """Claim the usual filing, with some of the request changed."""

    def make(**changes: Any) -> Attempt:
        return claim(database.filing_url, **{**REQUEST, "generation": generation, **changes})

    return make
