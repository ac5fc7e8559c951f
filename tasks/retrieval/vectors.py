"""The nearest chunks by cosine in one chunk set, among the documents that may be searched.

Decides how: by the set's HNSW index, scanned on and on until enough rows pass the filter, or exactly. A filter never costs results: where
the index gives up before enough are found, an exact scan answers. Where the index holds half-precision vectors, twice as many are taken
from it and ranked again by the full ones.

Cost: an exact scan reads every eligible row, about 1 µs each from memory. The index reads about `ef_search` rows, times the set's size
over the number of eligible chunks. `exact_is_cheaper` compares the two.
"""

from __future__ import annotations

from collections.abc import Collection

from pgvector import HalfVector, Vector

from tasks.domain.errors import PermanentError
from tasks.retrieval.embedding import DIMENSION, Vectors
from tasks.retrieval.generations import Precision
from tasks.store.connection import Connection

# Measured at 100,000 chunks (`python3 -m infra bench retrieval`): an exact scan costs about 0.9 µs of processor time a row, the index 1.4
# to 2 ms over the share of the set that is eligible, so they meet where eligible² is about 2,000 times the set's size.
ALWAYS_EXACT = 2_000
VISITED_COST = 2_000


def exact_is_cheaper(eligible: int, whole: int) -> bool:
    """Whether reading all `eligible` rows costs less than finding enough of them in an index of `whole`."""
    return eligible <= ALWAYS_EXACT or eligible * eligible <= VISITED_COST * whole


def nearest(
    connection: Connection,
    chunk_set: int,
    vector: Vectors,
    k: int,
    documents: Collection[int],
    *,
    eligible: int,
    whole: int | None = None,
    precision: Precision = "single",
) -> list[str]:
    """Ids of the `k` chunks nearest to `vector` among those of `documents`, nearest first; equal distances by id.

    `eligible` is how many chunks these documents have, `whole` how many the set has (by default the same). Returns min(k, eligible) ids.
    Raises PermanentError where Postgres has fewer: somebody removed chunks.
    """
    whole = eligible if whole is None else max(whole, eligible)
    wanted = min(k, eligible)
    if not wanted:
        return []
    if not exact_is_cheaper(eligible, whole):
        found = approximate(connection, chunk_set, vector, wanted, documents, precision)
        if len(found) >= wanted:
            return found
    found = exact(connection, chunk_set, vector, wanted, documents)
    if len(found) < wanted:
        raise PermanentError(
            f"The index should have {eligible} chunks in the documents that were searched, and Postgres has fewer with a vector: they were "
            "pruned, or are not embedded yet. Run ingest/ingest."
        )
    return found


def approximate(
    connection: Connection, chunk_set: int, vector: Vectors, k: int, documents: Collection[int], precision: Precision
) -> list[str]:
    """As the index finds them; fewer than `k` where its scan ends before."""
    # The set's number stands in the text, so that Postgres looks at one partition only; it is a number of ours.
    where = f"FROM corpus.chunks WHERE set_id = {int(chunk_set)} AND document_id = ANY(%(documents)s)"
    values = {"documents": list(documents), "k": k, "vector": Vector(vector)}
    if precision == "half":
        near = f"SELECT id, embedding {where} ORDER BY embedding::halfvec({DIMENSION}) <=> %(half)s LIMIT %(more)s"
        values |= {"half": HalfVector(vector), "more": 2 * k}
    else:
        near = f"SELECT id, embedding {where} ORDER BY embedding <=> %(vector)s LIMIT %(k)s"
    rows = connection.execute(
        f"WITH near AS MATERIALIZED ({near}) SELECT id FROM near ORDER BY embedding <=> %(vector)s, id LIMIT %(k)s",
        values,
        binary=True,
    )
    return [str(row[0]) for row in rows]


def exact(connection: Connection, chunk_set: int, vector: Vectors, k: int, documents: Collection[int]) -> list[str]:
    """By the distance to every eligible row."""
    rows = connection.execute(
        # The sum is no expression that an index gives the order of.
        f"SELECT id FROM corpus.chunks WHERE set_id = {int(chunk_set)} AND document_id = ANY(%(documents)s) "
        "AND embedding IS NOT NULL ORDER BY (embedding <=> %(vector)s) + 0, id LIMIT %(k)s",
        {"documents": list(documents), "k": k, "vector": Vector(vector)},
        binary=True,
    )
    return [str(row[0]) for row in rows]
