"""The vector leg: a filter never costs results, whatever the index finds; half precision ranks by the full vectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.postgres import EmbeddedPostgres
from tasks.domain.errors import PermanentError
from tasks.domain.passages import Chunk, Page
from tasks.retrieval import vectors
from tasks.retrieval.embedding import Vectors, embedding_model
from tasks.retrieval.generations import (
    Precision,
    begin_document,
    finish_document,
    index_set,
    open_set,
    store_chunks,
    store_pages,
    store_vectors,
)
from tasks.retrieval.reading import SearchConnection
from tasks.retrieval.vectors import approximate, exact, exact_is_cheaper, nearest
from tasks.store.connection import connect
from tests.conftest import Database, fresh_database

# One document has nearly everything, some are so rare that an index scan would give up before it meets them.
SIZES = (2_000, 300, 40, 7, 1)


def made_up(count: int, seed: int) -> Vectors:
    """Vectors of length 1 in clusters, as texts about a few subjects have."""
    random = np.random.default_rng(seed)
    subjects = np.random.default_rng(7).normal(size=(30, 384))
    raw = subjects[random.integers(30, size=count)] + 1.5 * random.normal(size=(count, 384))
    return (raw / np.linalg.norm(raw, axis=1, keepdims=True)).astype(np.float32)


@dataclass(frozen=True)
class Filled:
    """A chunk set in a database: documents by number, and each chunk's vector by its id."""

    database: Database
    connection: SearchConnection
    chunk_set: int
    documents: tuple[int, ...]
    ids: tuple[str, ...]
    owners: tuple[int, ...]
    vectors: Vectors
    precision: Precision

    def truth(self, vector: Vectors, k: int, documents: set[int]) -> list[str]:
        """The nearest ids by an exact scan in memory."""
        order = np.argsort(-(self.vectors @ vector), kind="stable")
        return [self.ids[n] for n in order if self.owners[n] in documents][:k]

    def eligible(self, documents: set[int]) -> int:
        return sum(owner in documents for owner in self.owners)


def fill(database: Database, precision: Precision) -> Filled:
    ids: list[str] = []
    owners: list[int] = []
    documents = []
    all_vectors = made_up(sum(SIZES), seed=1)
    with connect(database.filing_url) as connection:
        chunk_set = open_set(connection, "c", splitter="s", model=embedding_model("minilm"), precision=precision)
        for number, size in enumerate(SIZES):
            document = begin_document(connection, "c", f"{number:064x}", "r", 1).id
            store_pages(connection, document, [Page("", 1, "x" * (size + 1))])
            finish_document(connection, document)
            chunks = [Chunk(f"{number}-{n:05}", "", 1, n, n + 1, f"Text {number} {n}.") for n in range(size)]
            store_chunks(connection, chunk_set, document, chunks)
            first = len(ids)
            ids += [chunk.id for chunk in chunks]
            owners += [document] * size
            store_vectors(connection, chunk_set, ids[first:], all_vectors[first : len(ids)])
            documents.append(document)
        index_set(connection, chunk_set)
    return Filled(
        database,
        SearchConnection(database.audit_url),
        chunk_set,
        tuple(documents),
        tuple(ids),
        tuple(owners),
        all_vectors,
        precision,
    )


@pytest.fixture(scope="module", params=["single", "half"])
def filled(request: pytest.FixtureRequest, postgres: EmbeddedPostgres) -> Iterator[Filled]:
    with fresh_database(postgres) as database:
        made = fill(database, request.param)
        yield made
        made.connection.close()


@pytest.fixture
def index_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a set so large that reading every eligible chunk never pays."""
    monkeypatch.setattr(vectors, "exact_is_cheaper", lambda eligible, whole: False)


def search(filled: Filled, vector: Vectors, k: int, documents: set[int]) -> list[str]:
    return filled.connection.run(
        lambda connection: nearest(
            connection,
            filled.chunk_set,
            vector,
            k,
            documents,
            eligible=filled.eligible(documents),
            precision=filled.precision,
        )
    )


@settings(max_examples=60)
@given(chosen=st.sets(st.sampled_from(range(len(SIZES))), min_size=1), k=st.integers(1, 80), seed=st.integers(0, 10**6))
def test_no_filter_costs_a_result(filled: Filled, chosen: set[int], k: int, seed: int) -> None:
    """Against an exact scan: as many as there are, of the right documents, in the right order, and hardly any missed."""
    (vector,) = made_up(1, seed)
    documents = {filled.documents[number] for number in chosen}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors, "exact_is_cheaper", lambda eligible, whole: False)
        found = search(filled, vector, k, documents)
    truth = filled.truth(vector, k, documents)
    assert len(found) == len(set(found)) == len(truth)
    assert {filled.owners[filled.ids.index(identity)] for identity in found} <= documents
    distances = [float(filled.vectors[filled.ids.index(identity)] @ vector) for identity in found]
    assert distances == sorted(distances, reverse=True)
    if 0 not in chosen:
        assert found == truth or len(set(found) & set(truth)) >= 0.9 * len(truth)


@pytest.mark.usefixtures("index_first")
def test_the_index_finds_what_an_exact_scan_finds(filled: Filled) -> None:
    """Recall at 10 over 40 queries, with and without a filter."""
    for documents in (set(filled.documents), {filled.documents[1], filled.documents[2]}):
        hits = 0
        for seed in range(40):
            (vector,) = made_up(1, 1_000 + seed)
            hits += len(set(search(filled, vector, 10, documents)) & set(filled.truth(vector, 10, documents)))
        assert hits / 400 >= 0.95


@pytest.mark.usefixtures("index_first")
def test_a_document_that_the_index_scan_never_meets_is_found_by_an_exact_one(filled: Filled) -> None:
    """The farthest chunk of all, alone in its document, with a scan that may look at few rows."""
    rare = filled.documents[-1]
    vector = -filled.vectors[-1]

    def scan(connection: psycopg.Connection) -> tuple[list[str], list[str]]:  # type: ignore[type-arg]
        connection.execute("SET hnsw.max_scan_tuples = 50")
        connection.execute("SET hnsw.ef_search = 10")
        try:
            return (
                approximate(connection, filled.chunk_set, vector, 1, [rare], filled.precision),
                nearest(connection, filled.chunk_set, vector, 1, [rare], eligible=1, precision=filled.precision),
            )
        finally:
            connection.execute("RESET hnsw.max_scan_tuples")
            connection.execute("RESET hnsw.ef_search")

    by_index, found = filled.connection.run(scan)
    assert by_index == []  # else this test shows nothing
    assert found == [filled.ids[-1]]


def test_the_queries_use_the_indexes_that_were_built_for_them(filled: Filled) -> None:
    """The set's own HNSW index, and none for the exact scan."""
    seen: list[str] = []

    def explained(connection: psycopg.Connection) -> None:  # type: ignore[type-arg]
        class Explaining:
            def execute(self, statement: str, values: object, **options: object) -> list[tuple[str]]:
                plan = connection.execute(f"EXPLAIN {statement}", values).fetchall()  # type: ignore[arg-type]
                seen.append("\n".join(row[0] for row in plan))
                return []

        (vector,) = made_up(1, 5)
        approximate(Explaining(), filled.chunk_set, vector, 5, list(filled.documents), filled.precision)  # type: ignore[arg-type]
        exact(Explaining(), filled.chunk_set, vector, 5, list(filled.documents))  # type: ignore[arg-type]

    filled.connection.run(explained)
    name = f"chunks_{filled.chunk_set}_by_vector"
    assert name in seen[0] and name not in seen[1]


def test_chunks_that_are_gone_are_not_passed_over(filled: Filled) -> None:
    """Somebody pruned, or the vectors are not yet there: fewer than there should be is an error, not a short answer."""
    (vector,) = made_up(1, 3)
    with pytest.raises(PermanentError, match="Postgres has fewer"):
        filled.connection.run(
            lambda connection: nearest(
                connection, filled.chunk_set, vector, 5, [filled.documents[-1]], eligible=3, precision=filled.precision
            )
        )


@pytest.mark.parametrize("eligible", [0, 1])
def test_more_than_there_is_gives_what_there_is(filled: Filled, eligible: int) -> None:
    documents = {filled.documents[-1]} if eligible else set()
    assert len(search(filled, made_up(1, 4)[0], 50, documents)) == eligible


@given(eligible=st.integers(0, 10**6), more=st.integers(0, 10**6))
def test_a_rarer_filter_is_never_less_worth_an_exact_scan(eligible: int, more: int) -> None:
    whole = eligible + more
    if exact_is_cheaper(eligible, whole):
        assert all(exact_is_cheaper(fewer, whole) for fewer in (0, eligible // 2, max(0, eligible - 1)))
    else:
        assert not exact_is_cheaper(whole, whole) or whole == eligible
