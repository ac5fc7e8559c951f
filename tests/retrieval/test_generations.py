"""Generations: decided once, one open at a time, documents and vectors kept once, what is killed goes on, what is dead is pruned."""

from __future__ import annotations

import math
import shutil
import threading
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from infra.postgres import EmbeddedPostgres
from tasks.domain.errors import PermanentError, TemporaryError
from tasks.domain.passages import Page
from tasks.retrieval.embedding import EmbeddingModel, embedding_model
from tasks.retrieval.generations import (
    LiveDocument,
    add_document,
    begin_document,
    chunks_of,
    chunks_to_embed,
    close_documents,
    count_chunks,
    create_draft,
    decide,
    discard_document,
    document_pages,
    document_reason,
    document_statuses,
    fill_known_vectors,
    finish_document,
    generation,
    index_set,
    known_document,
    live_documents,
    newest_generation,
    open_generation,
    open_set,
    prune,
    reopen_documents,
    serving_generation,
    store_pages,
    store_vectors,
)
from tasks.retrieval.pages import generation_pages
from tasks.store.connection import connect
from tasks.store.migrate import ROOMS, migrate
from tests.conftest import Database
from tests.retrieval.conftest import READER, SPLITTER, Draft, cut, direction_of, one_direction, store

SHA = "a" * 64
MINILM = embedding_model("minilm")


def state(database: Database) -> list[str]:
    with psycopg.connect(database.audit_url) as connection:
        return [row[0] for row in connection.execute("SELECT state FROM corpus.generations ORDER BY id")]


def count(database: Database, table: str) -> int:
    with psycopg.connect(database.audit_url) as connection:
        row = connection.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier("corpus", table))).fetchone()
    assert row is not None
    return int(row[0])


def set_of(database: Database, identity: int) -> int:
    with connect(database.filing_url) as connection:
        found = generation(connection, identity).set_id
    assert found is not None
    return found


def age(database: Database, *identities: int) -> None:
    """Make these generations' decisions two days old."""
    with psycopg.connect(database.owner_url) as connection:
        connection.execute(
            "UPDATE corpus.generations SET decided_at = now() - interval '2 days' WHERE id = ANY(%s)",
            (list(identities),),
        )


# ------------------------------------------------------------------------------------------------------------------------- decisions
def test_a_draft_serves_nobody(database: Database, draft: Draft) -> None:
    draft()
    with connect(database.filing_url) as connection:
        assert open_generation(connection, "c") is None
        assert serving_generation(connection, "c") is None


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
@pytest.mark.parametrize("evaluated", [True, False])
def test_a_generation_is_decided_once(database: Database, draft: Draft, opened: bool, evaluated: bool) -> None:
    identity = draft()
    with connect(database.filing_url) as connection:
        decide(connection, identity, opened=opened, evaluated=evaluated, evaluation={})
    with pytest.raises(PermanentError, match="not a draft"), connect(database.filing_url) as connection:
        decide(connection, identity, opened=True, evaluation={})


def test_drafts_that_open_at_once_leave_the_newest_open(database: Database, draft: Draft) -> None:
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
    assert state(database) == ["superseded", "superseded", "superseded", "open"]


@pytest.mark.parametrize("evaluated", [True, False])
def test_an_older_draft_never_replaces_a_newer_index(database: Database, draft: Draft, evaluated: bool) -> None:
    older, newer = draft(), draft(digest="g")
    with connect(database.filing_url) as connection:
        assert decide(connection, newer, opened=True, evaluated=evaluated, evaluation={}) != "superseded"
        assert decide(connection, older, opened=True, evaluated=evaluated, evaluation={}) == "superseded"


def test_an_unevaluated_generation_serves_searches_and_no_filing(database: Database, draft: Draft) -> None:
    first = draft(opened=True, evaluated=False)
    with connect(database.filing_url) as connection:
        serving = serving_generation(connection, "c")
        assert serving is not None and serving.id == first
        assert open_generation(connection, "c") is None
    second = draft(digest="g", opened=True, evaluated=False)
    assert state(database) == ["superseded", "unevaluated"]
    third = draft(digest="h", opened=True)
    assert state(database) == ["superseded", "superseded", "open"]
    with connect(database.filing_url) as connection:
        serving = serving_generation(connection, "c")
    assert serving is not None and serving.id == third != second


def test_an_unevaluated_draft_never_takes_the_place_of_an_evaluated_index(database: Database, draft: Draft) -> None:
    draft(opened=True)
    second = draft(digest="g")
    with connect(database.filing_url) as connection:
        assert decide(connection, second, opened=True, evaluated=False, evaluation={}) == "rejected"
    assert state(database) == ["open", "rejected"]


def test_a_draft_opens_only_when_every_chunk_has_its_vector(database: Database, draft: Draft) -> None:
    identity = draft(["First. " * 200, "Second."])
    chunk_set = set_of(database, identity)
    with connect(database.filing_url) as connection:
        document = live_documents(connection, identity)[0].document
        connection.execute(
            "UPDATE corpus.chunks SET embedding = NULL WHERE set_id = %s AND text = 'Second.'", (chunk_set,)
        )
    for evaluated in (True, False):
        with (
            pytest.raises(PermanentError, match=r"lack chunks or vectors \(a\.pdf\)"),
            connect(database.filing_url) as connection,
        ):
            decide(connection, identity, opened=True, evaluated=evaluated, evaluation={})
    with connect(database.filing_url) as connection:
        connection.execute("DELETE FROM corpus.chunks WHERE document_id = %s", (document,))
    with pytest.raises(PermanentError, match="lack chunks"), connect(database.filing_url) as connection:
        decide(connection, identity, opened=True, evaluation={})
    with connect(database.filing_url) as connection:
        assert decide(connection, identity, opened=False, evaluation={}) == "rejected"


# ------------------------------------------------------------------------------------------------------------- documents and pages
def test_a_document_that_was_killed_between_two_batches_goes_on(database: Database) -> None:
    pages = [Page("", n, f"Page {n}.", "ocr" if n % 2 else "text", 0.5 if n % 2 else None) for n in range(1, 8)]
    with connect(database.filing_url) as connection:
        begun = begin_document(connection, "c", SHA, READER, 7)
        assert (begun.pages, begun.finished) == (0, False)
        assert store_pages(connection, begun.id, pages[:3]) == 3
    with pytest.raises(KeyboardInterrupt), connect(database.filing_url) as connection:
        store_pages(connection, begun.id, pages[3:6])
        raise KeyboardInterrupt
    with connect(database.filing_url) as connection:
        assert known_document(connection, "c", SHA, READER) is None
        again = begin_document(connection, "c", SHA, READER, 7)
        assert (again.id, again.pages, again.finished) == (begun.id, 3, False)
        with pytest.raises(TemporaryError, match="all of its pages"):
            finish_document(connection, begun.id)
        assert store_pages(connection, begun.id, pages) == 4
        finish_document(connection, begun.id, "7 pages read.")
        assert known_document(connection, "c", SHA, READER) == begun.id
        assert document_reason(connection, begun.id) == "7 pages read."
        assert begin_document(connection, "c", SHA, READER, 7).finished
        assert list(document_pages(connection, begun.id)) == pages


def test_two_readers_of_one_document_at_once_store_each_page_once(database: Database) -> None:
    with connect(database.filing_url) as connection:
        identity = begin_document(connection, "c", SHA, READER, 60).id
    stored = []
    barrier = threading.Barrier(3)

    def run(reader: int) -> None:
        barrier.wait()
        for first in range(1, 61, 20):
            with connect(database.filing_url) as connection:
                begin_document(connection, "c", SHA, READER, 60)
                stored.append(
                    store_pages(connection, identity, [Page("", n, f"{reader}") for n in range(first, first + 20)])
                )

    threads = [threading.Thread(target=run, args=(reader,)) for reader in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(stored) == 60 == count(database, "pages")


def test_only_an_unfinished_document_is_discarded(database: Database) -> None:
    with connect(database.filing_url) as connection:
        begun = begin_document(connection, "c", SHA, READER, 2)
        store_pages(connection, begun.id, [Page("", 1, "One.")])
        discard_document(connection, begun.id)
        finished = store(connection, "c", ["Text."])
        discard_document(connection, finished)
    assert (count(database, "documents"), count(database, "pages")) == (1, 1)


def test_the_same_bytes_are_another_document_to_another_reader_or_corpus(database: Database) -> None:
    with connect(database.filing_url) as connection:
        store(connection, "c", ["Text."], sha256=SHA)
        assert known_document(connection, "c", SHA, READER) is not None
        assert known_document(connection, "c", SHA, "test-reader/2") is None
        assert known_document(connection, "d", SHA, READER) is None


def test_a_document_with_two_names_is_one_version_with_one_set_of_chunks(database: Database, draft: Draft) -> None:
    identity = draft(documents={"b/rule.pdf": ["Same text."], "a/rule.pdf": ["Same text."], "c.pdf": ["Other text."]})
    with connect(database.audit_url) as connection:
        rows = document_statuses(connection, identity)
        assert [(row.name, row.pages, row.chunks) for row in rows] == [
            ("a/rule.pdf", 1, 1),
            ("b/rule.pdf", 1, 1),
            ("c.pdf", 1, 1),
        ]
        live = live_documents(connection, identity)
        assert live[0].document == live[1].document != live[2].document
        assert [(c.document, c.text) for c in chunks_of(connection, identity)] == [
            ("a/rule.pdf", "Same text."),
            ("c.pdf", "Other text."),
        ]
        assert {page.document for page in generation_pages(connection, identity)} == {row.name for row in rows}


def test_dates_and_reasons_of_a_document_are_kept_and_replaced(database: Database, draft: Draft) -> None:
    first, last = date(2020, 3, 24), date(2024, 12, 31)
    identity = draft(dates={"a.pdf": (first, last)})
    with connect(database.filing_url) as connection:
        document = live_documents(connection, identity)[0].document
        assert live_documents(connection, identity) == (LiveDocument(document, "a.pdf", "A", first, last),)
        add_document(
            connection,
            identity,
            name="a.pdf",
            title="New",
            document=document,
            status="ok",
            reason="why",
            effective_to=last,
        )
        row = document_statuses(connection, identity)[0]
    assert (row.title, row.reason, row.effective_from, row.effective_to, row.closed) == (
        "New",
        "why",
        None,
        last,
        False,
    )


def test_dates_the_wrong_way_round_are_refused_by_the_database(database: Database, draft: Draft) -> None:
    with pytest.raises(psycopg.errors.CheckViolation):
        draft(dates={"a.pdf": (date(2025, 1, 1), date(2024, 1, 1))})


# ------------------------------------------------------------------------------------------------------------- withdrawn documents
def test_a_withdrawn_document_is_closed_in_what_serves_and_not_in_drafts_or_other_corpora(
    database: Database, draft: Draft
) -> None:
    both = {"a.pdf": ["Text A."], "b.pdf": ["Text B."]}
    old = draft(documents=both, opened=True)
    serving = draft(documents=both, digest="g", opened=True)
    waiting = draft(documents=both, digest="h")
    other = draft(documents=both, corpus="d", opened=True)
    with connect(database.filing_url) as connection:
        closed = close_documents(connection, "c", {"a.pdf"})
        assert [(each.generation, each.name, each.title, each.now) for each in closed] == [
            (serving, "b.pdf", "B", True)
        ]
    with connect(database.filing_url) as connection:
        # Told again, also by a run that comes after a killed one, but closed once.
        assert [each.now for each in close_documents(connection, "c", {"a.pdf"})] == [False]
        assert [each.name for each in live_documents(connection, serving)] == ["a.pdf"]
        assert [c.document for c in chunks_of(connection, serving)] == ["a.pdf"]
        assert [row.closed for row in document_statuses(connection, serving)] == [False, True]
        assert [each.name for each in live_documents(connection, old)] == ["a.pdf"]
        for untouched in (waiting, other):
            assert len(live_documents(connection, untouched)) == 2
        # What a filing cited while it stood can still be graded.
        assert {page.document for page in generation_pages(connection, serving)} == {"a.pdf", "b.pdf"}


def test_what_was_withdrawn_while_a_draft_was_built_stays_withdrawn_when_it_opens(
    database: Database, draft: Draft
) -> None:
    both = {"a.pdf": ["Text A."], "b.pdf": ["Text B."], "c.pdf": ["Text C."]}
    draft(documents=both, opened=True)
    with connect(database.filing_url) as connection:
        close_documents(connection, "c", {"a.pdf", "b.pdf"})
    # c.pdf is back, with other dates, when this draft begins; b.pdf goes while it is built, and the run that saw it go comes to nothing.
    waiting = draft(documents=both, digest="h", dates={"c.pdf": (None, date(2020, 1, 1))})
    with connect(database.filing_url) as connection:
        close_documents(connection, "c", {"a.pdf"})
    with connect(database.filing_url) as connection:
        assert decide(connection, waiting, opened=True, evaluation={}) == "open"
        assert [each.name for each in live_documents(connection, waiting)] == ["a.pdf", "c.pdf"]


def test_a_document_that_is_back_byte_for_byte_is_served_again(database: Database, draft: Draft) -> None:
    serving = draft(documents={"a.pdf": ["Text A."], "b.pdf": ["Text B."]}, opened=True, evaluated=False)
    with psycopg.connect(database.audit_url) as connection:
        rows = connection.execute("SELECT sha256 FROM corpus.documents ORDER BY id").fetchall()
    sha = [str(row[0]) for row in rows]
    with connect(database.filing_url) as connection:
        assert len(close_documents(connection, "c", ())) == 2
        assert (
            reopen_documents(
                connection, "c", {"a.pdf": (sha[1], READER, None, None), "b.pdf": (sha[1], "other", None, None)}
            )
            == ()
        )
        assert reopen_documents(connection, "c", {"b.pdf": (sha[1], READER, None, date(2020, 12, 31))}) == ()
        assert reopen_documents(connection, "c", {}) == ()
        assert reopen_documents(connection, "c", {"b.pdf": (sha[1], READER, None, None)}) == ("b.pdf",)
        assert [each.name for each in live_documents(connection, serving)] == ["b.pdf"]


def test_a_withdrawal_counts_in_what_a_running_filing_still_searches(database: Database, draft: Draft) -> None:
    older = draft(documents={"a.pdf": ["One."], "b.pdf": ["Two."]}, opened=True)
    draft(documents={"a.pdf": ["One."], "b.pdf": ["Two."], "c.pdf": ["Three."]}, digest="g", opened=True)
    with connect(database.filing_url) as connection:
        closed = close_documents(connection, "c", {"a.pdf", "c.pdf"})
        assert [(each.generation, each.name) for each in closed] == [(older + 1, "b.pdf")]
        assert [each.name for each in live_documents(connection, older)] == ["a.pdf"]


# ---------------------------------------------------------------------------------------------------------------- chunks and vectors
def test_chunks_of_a_document_are_written_whole_or_not_at_all_and_once(database: Database) -> None:
    texts = ["Sentence of a page. " * 120] * 3
    with connect(database.filing_url) as connection:
        chunk_set = open_set(connection, "c", splitter=SPLITTER, model=MINILM)
        document = store(connection, "c", texts)
    with pytest.raises(KeyboardInterrupt), connect(database.filing_url) as connection:
        assert cut(connection, chunk_set, document, texts) > 3
        raise KeyboardInterrupt
    with connect(database.filing_url) as connection:
        assert count_chunks(connection, chunk_set, document) == (0, 0)
        written = cut(connection, chunk_set, document, texts)
        assert count_chunks(connection, chunk_set, document) == (written, written)
        assert cut(connection, chunk_set, document, texts) == 0
        assert count_chunks(connection, chunk_set, document) == (written, written)


def test_vectors_are_filled_in_batches_and_go_on_where_they_stopped(database: Database) -> None:
    texts = [f"Page {n}." for n in range(10)]
    with connect(database.filing_url) as connection:
        chunk_set = open_set(connection, "c", splitter=SPLITTER, model=MINILM)
        document = store(connection, "c", texts)
        cut(connection, chunk_set, document, texts)
        first = chunks_to_embed(connection, chunk_set, document, 4)
        assert [text for _, text in first] == texts[:4]
        store_vectors(connection, chunk_set, [i for i, _ in first], [direction_of(text) for _, text in first])
        rest = chunks_to_embed(connection, chunk_set, document)
        assert [text for _, text in rest] == texts[4:]
        store_vectors(connection, chunk_set, [i for i, _ in rest], [direction_of(text) for _, text in rest])
        assert count_chunks(connection, chunk_set, document) == (10, 0)
        assert chunks_to_embed(connection, chunk_set, document) == ()
        stored = connection.execute("SELECT text, embedding::text FROM corpus.chunks").fetchall()
    for text, vector in stored:
        values = [float(value) for value in vector.strip("[]").split(",")]
        assert all(math.isclose(a, b, abs_tol=1e-6) for a, b in zip(values, direction_of(text), strict=True))


def test_a_vector_for_a_chunk_that_is_gone_is_an_error(database: Database) -> None:
    with connect(database.filing_url) as connection:
        chunk_set = open_set(connection, "c", splitter=SPLITTER, model=MINILM)
        store_vectors(connection, chunk_set, [], [])
        with pytest.raises(PermanentError, match=r"1 chunks .* are gone"):
            store_vectors(connection, chunk_set, ["none"], [one_direction("")])
        with pytest.raises(ValueError, match="shorter"):
            store_vectors(connection, chunk_set, ["none"], [])


@pytest.mark.parametrize(
    ("model", "splitter", "precision", "known"),
    [
        (MINILM, SPLITTER, "half", True),
        (MINILM, "another splitter", "single", True),
        (EmbeddingModel("minilm", "w", "another revision"), SPLITTER, "single", False),
        (embedding_model("bge-small"), SPLITTER, "single", False),
    ],
)
def test_a_known_text_takes_its_vector_from_any_set_of_the_same_model_only(
    database: Database, draft: Draft, model: EmbeddingModel, splitter: str, precision: str, known: bool
) -> None:
    draft(["Known text."], vectors=direction_of, corpus="elsewhere")
    texts = ["Known text.", "New text."]
    with connect(database.filing_url) as connection:
        chunk_set = open_set(connection, "c", splitter=splitter, model=model, precision=precision)  # type: ignore[arg-type]
        document = store(connection, "c", texts)
        cut(connection, chunk_set, document, texts)
        waiting = dict(chunks_to_embed(connection, chunk_set, document))
        filled = fill_known_vectors(connection, chunk_set, list(waiting))
        assert [waiting[identity] for identity in filled] == (["Known text."] if known else [])
        assert count_chunks(connection, chunk_set, document) == (2, 1 if known else 2)


def test_a_set_is_made_once_and_its_index_holds_its_precision(database: Database) -> None:
    with connect(database.filing_url) as connection:
        one = open_set(connection, "c", splitter=SPLITTER, model=MINILM)
        half = open_set(connection, "c", splitter=SPLITTER, model=MINILM, precision="half")
        assert open_set(connection, "c", splitter=SPLITTER, model=MINILM) == one != half
        for chunk_set in (one, half):
            assert index_set(connection, chunk_set)
            assert not index_set(connection, chunk_set)
            assert connection.execute("SHOW statement_timeout").fetchone() == ("0",)
        definitions = {
            row[0]: row[1]
            for row in connection.execute("SELECT tablename, indexdef FROM pg_indexes WHERE indexdef LIKE '%hnsw%'")
        }
    assert "vector_cosine_ops" in definitions[f"chunks_{one}"] and "halfvec" not in definitions[f"chunks_{one}"]
    assert "halfvec_cosine_ops" in definitions[f"chunks_{half}"]
    with connect(database.filing_url) as connection:
        assert connection.execute("SHOW statement_timeout").fetchone() == ("2min",)


def test_chunks_map_back_to_stored_pages(database: Database, draft: Draft) -> None:
    identity = draft(["First page. " * 80, "Second page. " * 80])
    with connect(database.audit_url) as connection:
        pages = {(page.document, page.number): page.text for page in generation_pages(connection, identity)}
        for chunk in chunks_of(connection, identity):
            assert pages[chunk.document, chunk.page][chunk.start : chunk.end] == chunk.text


# ------------------------------------------------------------------------------------------------------------------------------ pruning
def test_prune_deletes_what_nothing_serves_and_keeps_every_page(database: Database, draft: Draft) -> None:
    first = draft(documents={"a.pdf": ["Shared."], "b.pdf": ["Old."]}, opened=True)
    second = draft(documents={"a.pdf": ["Shared."], "b.pdf": ["New."]}, digest="g", opened=True)
    with connect(database.filing_url) as connection:
        kept = prune(connection, "c")
    assert (kept.chunks, kept.sets, kept.dead) == (0, 0, ())  # superseded a moment ago: a filing may still search it
    age(database, first)
    with connect(database.filing_url) as connection:
        pruned = prune(connection, "c")
        assert (pruned.chunks, pruned.sets, pruned.dead) == (1, 0, (first,))
        assert [c.text for c in chunks_of(connection, second)] == ["Shared.", "New."]
        assert [page.text for page in generation_pages(connection, first)] == ["Shared.", "Old."]
        assert prune(connection, "c").chunks == 0


def test_prune_drops_a_set_that_no_generation_uses(database: Database, draft: Draft) -> None:
    first = draft(opened=True)
    rejected = draft(digest="r", splitter="third")
    with connect(database.filing_url) as connection:
        decide(connection, rejected, opened=False, evaluation={})
    second = draft(digest="g", splitter="another", opened=True)
    elsewhere = draft(corpus="d", opened=True)
    age(database, first, rejected, elsewhere)
    with connect(database.filing_url) as connection:
        pruned = prune(connection, "c")
        assert (pruned.sets, pruned.dead) == (2, (first, rejected))
        assert generation(connection, first).set_id is None
        assert len(chunks_of(connection, second)) == len(chunks_of(connection, elsewhere)) == 1
        assert chunks_of(connection, first) == ()
    assert count(database, "chunk_sets") == 2


@pytest.mark.parametrize("evaluated", [True, False])
def test_prune_keeps_what_serves_however_old(database: Database, draft: Draft, evaluated: bool) -> None:
    serving = draft(opened=True, evaluated=evaluated)
    age(database, serving)
    with connect(database.filing_url) as connection:
        assert prune(connection, "c").chunks == 0
        assert len(chunks_of(connection, serving)) == 1


def test_nothing_is_pruned_while_a_draft_is_built(database: Database, draft: Draft) -> None:
    first = draft(["Old."], opened=True)
    draft(["New."], digest="g", opened=True)
    age(database, first)
    with connect(database.filing_url) as connection:
        create_draft(connection, "c", splitter=SPLITTER, model=MINILM, digest="h")
        assert prune(connection, "c").chunks == 0
    assert count(database, "chunks") == 2


def test_a_draft_that_a_killed_run_left_is_removed_after_a_day(database: Database, draft: Draft) -> None:
    left = draft()
    with psycopg.connect(database.owner_url) as connection:
        connection.execute("UPDATE corpus.generations SET created_at = now() - interval '25 hours'")
    draft(digest="g")
    with connect(database.filing_url) as connection, pytest.raises(PermanentError, match="no index generation"):
        generation(connection, left)


# -------------------------------------------------------------------------------------------------------------------------- upgrading
@pytest.fixture
def older(postgres: EmbeddedPostgres, tmp_path: Path) -> Iterator[Database]:
    """A database as the version before chunk sets left it, and not yet migrated further."""
    admin = postgres.url("postgres", "postgres")
    postgres.provision("older")
    schema = tmp_path / "schema"
    schema.mkdir()
    shutil.copy(dict(ROOMS)["retrieval"] / "0001_index.sql", schema)
    roles = ("filewright_owner", "filewright_filing", "filewright_audit", "filewright_portal", "postgres")
    made = Database("older", *(postgres.url(role, "older") for role in roles))
    migrate(made.owner_url, (("retrieval", schema),))
    yield made
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute("DROP DATABASE older WITH (FORCE)")


def test_an_index_that_was_open_before_the_upgrade_goes_on_serving(older: Database) -> None:
    with psycopg.connect(older.filing_url) as connection:
        for number, (corpus, state) in enumerate(
            [("c", "superseded"), ("c", "open"), ("d", "open"), ("d", "draft")], 1
        ):
            connection.execute(
                "INSERT INTO corpus.generations (corpus, splitter, embedding_model, embedding_revision, fingerprint, state, decided_at) "
                "VALUES (%s, %s, 'minilm', %s, 'f', %s, CASE WHEN %s <> 'draft' THEN now() END)",
                (corpus, SPLITTER, MINILM.revision, state, state),
            )
            for name in ("a.pdf", "b.pdf"):  # the same bytes under two names were two documents then
                row = connection.execute(
                    "INSERT INTO corpus.documents (corpus, name, sha256, reader, page_count) VALUES (%s, %s, %s, 'r', 1) "
                    "ON CONFLICT (corpus, name, sha256, reader) DO UPDATE SET page_count = 1 RETURNING id",
                    (corpus, name, SHA),
                ).fetchone()
                assert row is not None
                connection.execute("INSERT INTO corpus.pages VALUES (%s, 1, 'Text.') ON CONFLICT DO NOTHING", row)
                connection.execute(
                    "INSERT INTO corpus.generation_documents VALUES (%s, %s, 'A', %s, 'ok')", (number, name, row[0])
                )
                connection.execute(
                    "INSERT INTO corpus.chunks VALUES (%s, %s, %s, 1, 0, 5, 'Text.', 'h', %s::vector)",
                    (number, f"{corpus}-{name}", row[0], str(direction_of(name))),
                )
    assert migrate(older.owner_url)
    with connect(older.filing_url) as connection:
        for corpus, identity in (("c", 2), ("d", 3)):
            serving = open_generation(connection, corpus)
            assert serving is not None and (serving.id, serving.precision) == (identity, "single")
            assert [row.name for row in live_documents(connection, identity)] == ["a.pdf", "b.pdf"]
            assert [c.id for c in chunks_of(connection, identity)] == [f"{corpus}-a.pdf", f"{corpus}-b.pdf"]
            nearest = connection.execute(
                "SELECT id FROM corpus.chunks WHERE set_id = %s ORDER BY embedding <=> %s::vector LIMIT 1",
                (serving.set_id, str(direction_of("b.pdf"))),
            ).fetchone()
            assert nearest == (f"{corpus}-b.pdf",)
            assert serving.set_id is not None and not index_set(connection, serving.set_id)
        # Older texts were read by an older reader: none of them is taken for what today's reader gives.
        assert known_document(connection, "c", SHA, "r") is None
        assert [page.text for page in generation_pages(connection, 1)] == ["Text.", "Text."]
