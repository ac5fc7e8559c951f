"""A search over a real index: what may be found, what is said about what is not, and what it takes to survive."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.postgres import EmbeddedPostgres
from tasks.domain.errors import PermanentError, TemporaryError
from tasks.domain.passages import Page, SearchResult
from tasks.domain.periods import Period, day, in_force, quarter
from tasks.retrieval import search as module
from tasks.retrieval.embedding import EmbeddingModel, embedding_model
from tasks.retrieval.generations import close_documents, generation, open_set, prune, reopen_documents
from tasks.retrieval.search import BEST, CANDIDATES, NO_WORD, Index, query_text
from tasks.store.connection import connect
from tests.conftest import Database, fresh_database
from tests.retrieval.conftest import READER, Draft, direction_of

Opened = Callable[..., Index]
FEES = {
    "old.pdf": ["The fee was 10 dollars."],
    "new.pdf": ["The fee is 12 dollars.", "Zebras graze."],
    "always.pdf": ["A fee is due."],
}
DATES = {"old.pdf": (None, date(2019, 12, 31)), "new.pdf": (date(2020, 1, 1), None)}


@pytest.fixture
def opened(database: Database, draft: Draft, tmp_path: Path) -> Iterator[Opened]:
    """Writes and opens a generation as `draft` does, and gives its index; with vectors by text unless a test says more."""
    with ExitStack() as stack:

        def make(*positional: object, **options: object) -> Index:
            options.setdefault("vectors", direction_of)
            identity = draft(*positional, opened=True, **options)
            with connect(database.audit_url, read_only=True) as connection:
                found = generation(connection, identity)
            index = Index(database.audit_url, found, tmp_path / "bm25")
            stack.callback(index.close)
            return index

        yield make


def places(result: SearchResult) -> list[tuple[str, int]]:
    return [(passage.chunk.document, passage.chunk.page) for passage in result.passages]


def documents(result: SearchResult) -> set[str]:
    return {document for document, _ in places(result)}


# ------------------------------------------------------------------------------------------------------------- what may be found
def test_a_period_finds_what_was_in_force_and_names_what_was_not(opened: Opened) -> None:
    index = opened(documents=FEES, dates=DATES)
    result = index.search("What is the fee?", 4, period=quarter("Q4 2019"))
    assert documents(result) == {"old.pdf", "always.pdf"}
    assert [(each.document, each.effective_from, each.effective_to) for each in result.left_out] == [
        ("new.pdf", date(2020, 1, 1), None)
    ]
    assert [each.effective_to for each in result.passages if each.chunk.document == "old.pdf"] == [date(2019, 12, 31)]


def test_a_period_that_touches_both_finds_both(opened: Opened) -> None:
    index = opened(documents=FEES, dates=DATES)
    result = index.search("What is the fee?", 9, period=Period(date(2019, 12, 31), date(2020, 1, 1)))
    assert documents(result) == set(FEES) and result.left_out == ()


def test_any_period_finds_exactly_what_the_rule_says(postgres: EmbeddedPostgres, tmp_path: Path) -> None:
    """Against `in_force`, over many documents with any dates."""
    start = date(2020, 1, 1)
    ends = st.none() | st.integers(0, 40).map(lambda n: start + timedelta(days=n))
    spans = {
        f"{number}.pdf": (first, last)
        for number, (first, last) in enumerate(
            (a, b)
            for a in (None, *(start + timedelta(days=n) for n in (0, 7, 20)))
            for b in (None, *(start + timedelta(days=n) for n in (20, 25, 33)))
        )
    }
    with fresh_database(postgres) as database:
        draft = _draft(database)
        identity = draft(
            documents={name: [f"The fee of {name} is due."] for name in spans}, dates=spans, vectors=direction_of
        )
        with connect(database.audit_url, read_only=True) as connection:
            index = Index(database.audit_url, generation(connection, identity), tmp_path)

        @settings(max_examples=15)
        @given(first=ends, length=st.integers(0, 30))
        def holds(first: date | None, length: int) -> None:
            period = None if first is None else Period(first, first + timedelta(days=length))
            result = index.search("What is the fee?", 50, period=period)
            inside = {name for name, span in spans.items() if period is None or in_force(*span, period)}
            assert documents(result) == inside
            assert {each.document for each in result.left_out} == set(spans) - inside

        holds()
        index.close()


def _draft(database: Database) -> Draft:
    from tests.retrieval import conftest

    return conftest.draft.__wrapped__(database)  # type: ignore[attr-defined,no-any-return]


def test_a_document_that_is_withdrawn_while_an_index_is_open_is_gone_at_once(
    opened: Opened, database: Database
) -> None:
    index = opened(documents=FEES)
    assert "new.pdf" in documents(index.search("What is the fee?", 9))
    with connect(database.filing_url) as connection:
        close_documents(connection, "c", ["old.pdf", "always.pdf"])
    assert documents(index.search("What is the fee?", 9)) == {"old.pdf", "always.pdf"}
    only = index.search("What is the fee?", 9, documents=["new.pdf"])
    assert only.passages == () and "Withdrawn from the corpus: new.pdf." in only.shortfall
    with connect(database.filing_url) as connection:
        sha256 = connection.execute(
            "SELECT d.sha256 FROM corpus.documents d JOIN corpus.generation_documents g ON g.document_id = d.id WHERE g.name = 'new.pdf'"
        ).fetchone()
        assert sha256 is not None
        reopen_documents(connection, "c", {"new.pdf": (sha256[0], READER, None, None)})
    assert documents(index.search("What is the fee?", 9)) == set(FEES)


def test_everything_withdrawn_is_nothing_found_and_said(opened: Opened, database: Database) -> None:
    index = opened(documents=FEES)
    with connect(database.filing_url) as connection:
        close_documents(connection, "c", [])
    result = index.search("What is the fee?", 4)
    assert result.passages == () and "all were withdrawn" in result.shortfall


def test_a_filter_by_name_finds_a_rare_document_among_many_others(opened: Opened) -> None:
    crowd = {
        f"{number}.pdf": [f"The fee is due on day {number} of {page}." for page in range(20)] for number in range(30)
    }
    index = opened(documents=crowd | {"rare.pdf": ["Nothing of the kind stands here."]})
    for leg in ("fused", "vectors"):
        result = index.search("When is the fee due?", 1, documents=["rare.pdf"], leg=leg)  # type: ignore[arg-type]
        assert places(result) == [("rare.pdf", 1)]


def test_a_name_that_the_index_does_not_have_is_said(opened: Opened) -> None:
    index = opened(documents=FEES)
    result = index.search("fee", 4, documents=["old.pdf", "typo.pdf"])
    assert documents(result) == {"old.pdf"} and "no document named typo.pdf" in result.shortfall
    assert "no document named typo.pdf" in index.search("fee", 4, documents=["typo.pdf"]).shortfall
    enough = index.search("fee", 1, documents=["old.pdf", "typo.pdf"])
    assert len(enough.passages) == 1 and enough.shortfall == "The index has no document named typo.pdf."


def test_a_document_with_two_names_is_found_once_under_one_that_is_in_force(opened: Opened) -> None:
    same = ["The fee is 12 dollars."]
    index = opened(documents={"a.pdf": same, "b.pdf": same}, dates={"a.pdf": (date(2021, 1, 1), None)})
    (both,) = index.search("fee", 4).passages
    assert (both.chunk.document, both.also_at) == ("a.pdf", (("b.pdf", 1),))
    earlier = index.search("fee", 4, period=day(date(2020, 5, 5)))
    assert [(each.chunk.document, each.title, each.also_at) for each in earlier.passages] == [("b.pdf", "B", ())]
    assert [each.document for each in earlier.left_out] == ["a.pdf"]
    assert documents(index.search("fee", 4, documents=["b.pdf"])) == {"b.pdf"}


# -------------------------------------------------------------------------------------------------- duplicates, neighbours, order
def test_the_same_words_are_one_passage_that_names_its_other_places(opened: Opened) -> None:
    index = opened(
        documents={
            "a.pdf": ["The 460-ET field, as required."],
            "b.pdf": ["Other words.", "The  460–ET FIELD, as required."],
            "c.pdf": ["The 460\u2011et field,\nas required."],
        }
    )
    result = index.search("460-ET field", 4)
    first = result.passages[0]
    assert {(first.chunk.document, first.chunk.page), *first.also_at} == {("a.pdf", 1), ("b.pdf", 2), ("c.pdf", 1)}
    assert len(result.passages) == 2


def test_duplicates_that_fill_every_candidate_hide_nothing(opened: Opened) -> None:
    """More copies than a ranking brings: the search goes deeper until there are enough passages."""
    copies = {
        f"{number:03}.pdf": [f"The fee is due.{' ' * (number % 3)}", f"Page {number} of fees."] for number in range(9)
    }
    flood = ["The fee  is due." if page % 2 else "The fee is  due." for page in range(2 * CANDIDATES)]
    index = opened(
        documents=copies | {"flood.pdf": flood},
        vectors=lambda text: direction_of("same" if text.split() == "The fee is due.".split() else text),
    )
    result = index.search("The fee is due.", 10)
    assert len(result.passages) == 10 and result.shortfall == ""
    everything = index.search("The fee is due.", 300)
    assert len(everything.passages) == 10 and everything.shortfall.startswith("10 of 300 passages found")


def long_page(mark: str, sentences: int = 24) -> str:
    return " ".join(f"{mark} sentence {number} has a few words of its own to fill it." for number in range(sentences))


def test_a_hit_is_shown_with_its_neighbours_and_cited_by_its_page(opened: Opened) -> None:
    pages = [long_page("First"), long_page("Middle").replace("sentence 12 has", "zebra 12 has"), long_page("Last")]
    index = opened(pages)
    passage = index.search("zebra", 1, leg="bm25").passages[0]
    assert passage.chunk.page == 2 and "zebra" in passage.chunk.text
    assert passage.text in pages[1] and passage.chunk.text in passage.text
    assert len(passage.chunk.text) < len(passage.text) <= 1_600
    assert passage.chunk_ids[0] == passage.chunk.id and len(passage.chunk_ids) == 3


def test_no_text_is_shown_twice_where_hits_lie_side_by_side(opened: Opened) -> None:
    page = long_page("Zebra", 60)
    index = opened([page])
    result = index.search("zebra sentence", 4)
    spans = sorted((page.index(each.text), page.index(each.text) + len(each.text)) for each in result.passages)
    overlap = max(0, *(before[1] - after[0] for before, after in pairwise(spans)))
    assert overlap <= 90  # what two chunks share
    assert all(end - start <= 1_600 for start, end in spans)


def test_scores_fall_and_ranks_count(opened: Opened) -> None:
    result = opened(documents=FEES).search("fee", 4)
    assert [each.rank for each in result.passages] == [1, 2, 3, 4]
    scores = [each.score for each in result.passages]
    assert scores == sorted(scores, reverse=True) and 0 < scores[-1] <= scores[0] <= BEST


def test_recognised_text_says_so(opened: Opened) -> None:
    index = opened([Page("", 1, "The fee is due.", "ocr", 0.5), Page("", 2, "No scan.")])
    found = {each.chunk.page: (each.origin, each.confidence) for each in index.search("fee", 4).passages}
    assert found == {1: ("ocr", 0.5), 2: ("text", None)}


def test_fewer_passages_than_asked_for_are_explained(opened: Opened) -> None:
    index = opened(documents=FEES)
    assert index.search("fee", 4).shortfall == ""
    assert index.search("fee", 9).shortfall.startswith("4 of 9 passages found: what was searched has 4 chunks")
    assert "no other passage shares a word" in index.search("zebras", 2, leg="bm25").shortfall


# ------------------------------------------------------------------------------------------------------------------ hostile input
@pytest.mark.parametrize("query", ["", "  \n", "\0", "???", "—", "\ud800", "🦓", "\u200b"])
def test_a_query_without_a_word_finds_nothing_and_says_so(opened: Opened, query: str) -> None:
    result = opened().search(query, 4)
    assert (result.passages, result.shortfall) == ((), NO_WORD)


@pytest.mark.parametrize(
    "query",
    [
        "fee " * 250_000,
        "\ud800 fee \udfff",
        "100% fee_",
        "'; DROP TABLE corpus.chunks; --",
        "the of and",
        "費用はいくらですか",
        "сколько стоит",
        "a\0b",
        "%s %(x)s {0}",
        "\x1b[2J fee",
    ],
    ids=["1 MB", "surrogates", "wildcards", "sql", "stop words", "japanese", "russian", "nul", "formats", "terminal"],
)
def test_a_strange_query_is_only_a_query(opened: Opened, query: str) -> None:
    index = opened(documents=FEES)
    assert len(index.search(query, 4).passages) == 4
    assert len(index.by_vector(query, 2)) == 2


@given(st.text(st.characters(), max_size=1_200))
def test_a_query_s_text_is_bounded_and_can_be_encoded(query: str) -> None:
    text = query_text(query)
    assert len(text) <= module.LONGEST_QUERY and text == text.strip() and "\0" not in text
    text.encode("utf-8")


@pytest.mark.parametrize("k", [0, -1])
def test_none_asked_for_is_a_mistake(opened: Opened, k: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        opened().search("fee", k)


# ------------------------------------------------------------------------------------------------------------ models and precision
def test_a_query_is_refused_by_an_index_of_another_revision(database: Database, draft: Draft, tmp_path: Path) -> None:
    identity = draft(model=EmbeddingModel("minilm", "w", "another revision"))
    with connect(database.audit_url, read_only=True) as connection:
        found = generation(connection, identity)
    with pytest.raises(PermanentError, match="do not compare"):
        Index(database.audit_url, found, tmp_path)


def test_vectors_of_two_models_never_meet(opened: Opened, database: Database, draft: Draft) -> None:
    """The same chunks of the same documents, with another model's vectors beside them."""
    index = opened(documents=FEES)
    draft(documents=FEES, model=embedding_model("bge-small"), vectors=lambda text: direction_of(f"bge {text}"))
    ids = index.by_vector("fee", 50)
    assert len(ids) == len(set(ids)) == 4
    with psycopg.connect(database.audit_url) as connection:
        rows = connection.execute(
            "SELECT set_id, count(*), count(DISTINCT id) FROM corpus.chunks GROUP BY 1"
        ).fetchall()
    assert [row[1:] for row in rows] == [(4, 4), (4, 4)]


def test_half_precision_finds_the_same(opened: Opened) -> None:
    single = opened(documents=FEES, corpus="c")
    half = opened(documents=FEES, corpus="d", precision="half")
    for query in ("fee", "zebra", "dollars due"):
        assert places(half.search(query, 4)) == places(single.search(query, 4))


# -------------------------------------------------------------------------------------------------------------------- staying alive
def backends(database: Database) -> list[tuple[int, str]]:
    with psycopg.connect(database.superuser_url) as connection:
        return connection.execute(
            "SELECT pid, state FROM pg_stat_activity WHERE application_name = 'filewright-search' AND datname = current_database()"
        ).fetchall()


def test_a_connection_that_was_killed_between_two_searches_is_made_again(opened: Opened, database: Database) -> None:
    index = opened(documents=FEES)
    before = places(index.search("fee", 4))
    with psycopg.connect(database.superuser_url, autocommit=True) as connection:
        for pid, _ in backends(database):
            connection.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))
    assert places(index.search("fee", 4)) == before
    assert len(backends(database)) == 1


def test_a_server_that_is_gone_is_a_temporary_error(
    opened: Opened, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = opened(documents=FEES)
    index.search("fee", 4)
    with psycopg.connect(database.superuser_url, autocommit=True) as connection:
        connection.execute(f'ALTER DATABASE "{database.name}" CONNECTION LIMIT 0')
        for pid, _ in backends(database):
            connection.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))
    with pytest.raises(TemporaryError):
        index.search("fee", 4)
    with psycopg.connect(database.superuser_url, autocommit=True) as connection:
        connection.execute(f'ALTER DATABASE "{database.name}" CONNECTION LIMIT -1')
    assert len(index.search("fee", 4).passages) == 4


def test_no_transaction_and_no_lock_is_held_between_searches(opened: Opened, database: Database) -> None:
    """To make a chunk set, Postgres needs a lock that a search would hold until its transaction ends."""
    index = opened(documents=FEES)
    index.search("fee", 4)
    assert [state for _, state in backends(database)] == ["idle"]
    with connect(database.filing_url) as connection:
        connection.execute("SET LOCAL lock_timeout = '2s'")
        open_set(connection, "c", splitter="another", model=embedding_model("minilm"))


def test_a_search_cannot_write(opened: Opened) -> None:
    index = opened()
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        index._connection.run(lambda connection: connection.execute("DELETE FROM corpus.chunks"))


def test_threads_share_an_index(opened: Opened, database: Database) -> None:
    index = opened(documents=FEES, dates=DATES)
    queries = ["fee", "zebras graze", "What is due?", "10 dollars"] * 3
    wanted = [places(index.search(query, 3, period=day(date(2019, 1, 1)))) for query in queries]
    barrier = threading.Barrier(6)

    def ask(part: int) -> list[list[tuple[str, int]]]:
        barrier.wait()
        return [places(index.search(query, 3, period=day(date(2019, 1, 1)))) for query in queries[part::6]]

    with ThreadPoolExecutor(6) as pool:
        for part, found in enumerate(pool.map(ask, range(6))):
            assert found == wanted[part::6]
    assert len(backends(database)) == 1


def test_an_index_whose_chunks_were_pruned_says_so(opened: Opened, database: Database, draft: Draft) -> None:
    """Not fewer passages, and not none: a filing that still works with it must stop."""
    index = opened(documents=FEES)
    draft(documents={"b.pdf": ["Other."]}, splitter="another", digest="g", opened=True)
    with psycopg.connect(database.owner_url) as connection:
        connection.execute(
            "UPDATE corpus.generations SET decided_at = now() - interval '2 days' WHERE state = 'superseded'"
        )
    with connect(database.filing_url) as connection:
        prune(connection, "c")
    for leg in ("fused", "vectors", "bm25"):
        with pytest.raises(PermanentError, match=r"Run ingest|Search that one"):
            index.search("fee", 4, leg=leg)  # type: ignore[arg-type]


def test_an_index_of_a_generation_that_was_removed_says_so(opened: Opened, database: Database) -> None:
    index = opened(documents=FEES)
    with psycopg.connect(database.owner_url) as connection:
        connection.execute("DELETE FROM corpus.generations")
    with pytest.raises(PermanentError, match="no longer lists"):
        index.search("fee", 4)


def test_what_has_no_chunks_is_no_index(database: Database, tmp_path: Path, draft: Draft) -> None:
    identity = draft(["  "])
    with connect(database.audit_url, read_only=True) as connection:
        found = generation(connection, identity)
    with pytest.raises(PermanentError, match="no chunks"):
        Index(database.audit_url, found, tmp_path)


def test_the_filters_that_are_kept_are_bounded(opened: Opened) -> None:
    index = opened(documents=FEES)
    for number in range(3 * module.FILTERS_KEPT):
        index.by_keyword("fee", 2, period=day(date(2020, 1, 1) + timedelta(days=number)))
    assert len(index._scopes) == module.FILTERS_KEPT
