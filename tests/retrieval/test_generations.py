"""Generations: decided once, one open at a time, vectors kept, drafts invisible."""

from __future__ import annotations

import threading

import psycopg
import pytest

from tasks.domain.errors import PermanentError
from tasks.retrieval.embedding import EmbeddingModel, content_hash, embedding_model
from tasks.retrieval.generations import (
    chunks_of,
    decide,
    known_vectors,
    newest_generation,
    open_generation,
)
from tasks.retrieval.pages import generation_pages
from tasks.retrieval.search import Index, nearest
from tasks.store.connection import connect
from tests.conftest import Database
from tests.retrieval.conftest import Draft


def state(database: Database) -> list[str]:
    with psycopg.connect(database.audit_url) as connection:
        return [row[0] for row in connection.execute("SELECT state FROM corpus.generations ORDER BY id")]


def test_a_draft_serves_nobody(database: Database, draft: Draft) -> None:
    draft()
    with connect(database.filing_url) as connection:
        assert open_generation(connection, "c") is None


def test_opening_supersedes_the_one_before_in_the_same_moment(database: Database, draft: Draft) -> None:
    first, second = draft(), draft(digest="g")
    with connect(database.filing_url) as connection:
        decide(connection, first, opened=True, evaluation={})
    with connect(database.filing_url) as connection:
        decide(connection, second, opened=True, evaluation={})
    assert state(database) == ["superseded", "open"]


def test_a_rejection_leaves_the_old_one_serving(database: Database, draft: Draft) -> None:
    first, second = draft(), draft(digest="g")
    with connect(database.filing_url) as connection:
        decide(connection, first, opened=True, evaluation={"score": 1})
        decide(connection, second, opened=False, evaluation={})
        serving, newest = open_generation(connection, "c"), newest_generation(connection, "c")
    assert serving is not None and serving.id == first and serving.evaluation == {"score": 1}
    assert newest is not None and newest.id == second and newest.state == "rejected"


def test_a_decision_that_breaks_off_changes_nothing(database: Database, draft: Draft) -> None:
    first, second = draft(), draft(digest="g")
    with connect(database.filing_url) as connection:
        decide(connection, first, opened=True, evaluation={})
    with pytest.raises(KeyboardInterrupt), connect(database.filing_url) as connection:
        decide(connection, second, opened=True, evaluation={})
        raise KeyboardInterrupt
    assert state(database) == ["open", "draft"]


@pytest.mark.parametrize("opened", [True, False])
def test_a_generation_is_decided_once(database: Database, draft: Draft, opened: bool) -> None:
    identity = draft()
    with connect(database.filing_url) as connection:
        decide(connection, identity, opened=opened, evaluation={})
    with pytest.raises(PermanentError, match="not a draft"), connect(database.filing_url) as connection:
        decide(connection, identity, opened=True, evaluation={})


def test_two_drafts_that_open_at_once_leave_one_open(database: Database, draft: Draft) -> None:
    identities = [draft(digest=str(n)) for n in range(4)]
    barrier = threading.Barrier(4)

    def run(identity: int) -> None:
        barrier.wait()
        with connect(database.filing_url) as connection:
            decide(connection, identity, opened=True, evaluation={})

    threads = [threading.Thread(target=run, args=(identity,)) for identity in identities]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Whatever the order was, the newest of those that met their expectations serves.
    assert state(database) == ["superseded", "superseded", "superseded", "open"]


def test_an_older_draft_never_replaces_a_newer_index(database: Database, draft: Draft) -> None:
    older, newer = draft(), draft(digest="g")
    with connect(database.filing_url) as connection:
        assert decide(connection, newer, opened=True, evaluation={}) == "open"
        assert decide(connection, older, opened=True, evaluation={}) == "superseded"
    assert state(database) == ["superseded", "open"]


def test_vectors_of_equal_text_are_found_again_for_the_same_model_only(database: Database, draft: Draft) -> None:
    draft(["Known text."], vectors=lambda text: [0.0, 1.0] + [0.0] * 382)
    same, other = embedding_model("minilm"), EmbeddingModel("minilm", "w", "another revision")
    with connect(database.filing_url) as connection:
        assert known_vectors(connection, same, ["Known text.", "New text."]) == {
            content_hash("Known text."): [0.0, 1.0] + [0.0] * 382
        }
        assert known_vectors(connection, other, ["Known text."]) == {}


def test_a_search_finds_k_rows_of_its_own_generation_among_many_others(database: Database, draft: Draft) -> None:
    near = [1.0] + [0.0] * 383
    far = [0.6, 0.8] + [0.0] * 382
    for number in range(6):
        draft([f"Noise {number} {page}." for page in range(40)], vectors=lambda text: near, digest=str(number))
    mine = draft([f"Mine {page}." for page in range(10)], vectors=lambda text: far, digest="mine")
    with connect(database.filing_url) as connection:
        found = nearest(connection, mine, near, 10)
        assert set(found) == {chunk.id for chunk in chunks_of(connection, mine)}


def test_a_query_is_refused_by_an_index_of_another_revision(database: Database, draft: Draft, tmp_path: object) -> None:
    identity = draft(model=EmbeddingModel("minilm", "w", "another revision"))
    with connect(database.filing_url) as connection:
        decide(connection, identity, opened=True, evaluation={})
        serving = open_generation(connection, "c")
    assert serving is not None
    with pytest.raises(PermanentError, match="do not compare"):
        Index(database.filing_url, serving, tmp_path)  # type: ignore[arg-type]


def test_chunks_map_back_to_stored_pages(database: Database, draft: Draft) -> None:
    identity = draft(["First page. " * 80, "Second page. " * 80])
    with connect(database.audit_url) as connection:
        pages = {(page.document, page.number): page.text for page in generation_pages(connection, identity)}
        for chunk in chunks_of(connection, identity):
            assert pages[chunk.document, chunk.page][chunk.start : chunk.end] == chunk.text
