"""BM25: what counts as the same word, and that files which are missing, stale or damaged are built again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.domain.answer_types import TYPES
from tasks.domain.errors import PermanentError, TemporaryError
from tasks.retrieval import keywords
from tasks.retrieval.generations import generation
from tasks.retrieval.keywords import (
    CONTENTS,
    Damaged,
    KeywordIndex,
    Row,
    build_keywords,
    open_keywords,
    remove_keywords,
    tokens,
)
from tasks.store.connection import connect
from tests.conftest import Database
from tests.retrieval.conftest import Draft

TEXTS = {
    "field": "The Quantity Prescribed (460–ET) field names what was prescribed.",
    "other": "The Fill Number (403–D3) field counts refills.",
    "party": "A third-party administrator sends the claim.",
    "empty": "*** --- ***",
}


def rows(texts: dict[str, str] | None = None) -> list[Row]:
    """Chunks of four documents, numbered far apart."""
    chosen = TEXTS if texts is None else texts
    return [
        (identity, 10_000_000_000 + number, 1, 0, len(text), text)
        for number, (identity, text) in enumerate(chosen.items())
    ]


@pytest.fixture
def index(tmp_path: Path) -> KeywordIndex:
    return KeywordIndex.write(tmp_path / "1-abc", rows())


def ranked(index: KeywordIndex, query: str, k: int) -> list[str]:
    return index.ids(index.rank(query, k))


# ------------------------------------------------------------------------------------------------------------------------- words
@pytest.mark.parametrize("dash", ["-", "\u2010", "\u2011", "\u2012", "\u2013", "\u2014", "\u2212"])
def test_every_kind_of_dash_finds_the_identifier(index: KeywordIndex, dash: str) -> None:
    assert ranked(index, f"What is 460{dash}ET?", 2)[0] == "field"


@pytest.mark.parametrize("query", ["third-party", "third party", "PARTY"])
def test_a_compound_is_found_whole_and_by_its_parts(index: KeywordIndex, query: str) -> None:
    assert ranked(index, query, 4) == ["party"]


@pytest.mark.parametrize("query", ["", "   ", "the of and", "***", "zebra"])
def test_a_query_without_a_known_word_finds_nothing(index: KeywordIndex, query: str) -> None:
    assert index.rank(query, 4) == []


def test_tokens_keep_identifiers_whole() -> None:
    assert tokens("Field 460–ET, Version D.0") == ["field", "460-et", "460", "et", "version", "d.0", "d", "0"]


# -------------------------------------------------------------------------------------------------------------- ranking and masks
WORDS = st.lists(st.sampled_from("rule field claim refill date quantity".split()), min_size=1, max_size=6).map(" ".join)


@settings(max_examples=40)
@given(
    texts=st.lists(WORDS, min_size=1, max_size=30), query=WORDS, k=st.integers(1, 40), chosen=st.sets(st.integers(0, 4))
)
def test_a_mask_loses_nothing(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], query: str, k: int, chosen: set[int]
) -> None:
    """Against the ranking without a mask, from which the other documents are struck."""
    made = KeywordIndex.write(
        tmp_path_factory.mktemp("bm25") / "1-abc",
        [(f"{n:03}", 5 + n * 5 // len(texts), 1, n, n + 1, text) for n, text in enumerate(texts)],
    )
    allowed = {5 + number for number in chosen}
    everything = made.rank(query, len(texts))
    struck = [p for p in everything if int(made.document_ids[made.documents[p]]) in allowed]
    assert made.rank(query, k, made.allowed(allowed)) == struck[:k]
    assert made.rank(query, k) == everything[:k]


def test_equal_scores_come_in_reading_order(tmp_path: Path) -> None:
    made = KeywordIndex.write(tmp_path / "1-abc", rows({f"{n:02}": "the same rule" for n in range(40)}))
    assert made.rank("rule", 10) == list(range(10))


def test_positions_and_ids_belong_together(index: KeywordIndex) -> None:
    assert index.positions(list(TEXTS)) == [0, 1, 2, 3] and index.ids([2, 0]) == ["party", "field"]
    assert index.positions([]) == []
    for stranger in ("aaa", "zzz", "fiel"):
        with pytest.raises(PermanentError):
            index.positions([stranger])


def test_places_are_kept_as_they_are(index: KeywordIndex) -> None:
    assert [int(index.document_ids[number]) for number in index.documents] == [row[1] for row in rows()]
    assert [int(end) for end in index.ends] == [len(text) for text in TEXTS.values()]


def test_the_types_of_value_are_kept_with_each_chunk(tmp_path: Path) -> None:
    texts = {"a": "on March 24, 2020", "b": "about $5 or 7 percent", "c": "nothing", "d": "see www.example.org"}
    made = KeywordIndex.write(tmp_path / "1-abc", rows(texts))
    for each in TYPES:
        assert [made.holds(position, each) for position in range(4)] == [each.in_text(text) for text in texts.values()]


def test_chunks_out_of_order_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="out of order"):
        KeywordIndex.write(tmp_path / "1-abc", reversed(rows()))
    assert list(tmp_path.iterdir()) == []


# --------------------------------------------------------------------------------------------------------------- files on the disk
def test_opened_files_rank_like_those_just_built(index: KeywordIndex, tmp_path: Path) -> None:
    assert KeywordIndex(tmp_path / "1-abc").rank("fill field", 4) == index.rank("fill field", 4)


def test_the_files_are_mapped_and_not_read_into_memory(index: KeywordIndex) -> None:
    for array in (index.documents, index.pages, index.starts, index.ends, index.values, index._ids, index._by_id):
        assert isinstance(array.base, np.memmap)
    assert all(isinstance(index._bm25.scores[key].base, np.memmap) for key in ("data", "indices", "indptr"))


def test_several_builders_of_one_folder_do_no_harm(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        built = list(pool.map(lambda _: KeywordIndex.write(tmp_path / "x", rows()), range(4)))
    assert {tuple(ranked(each, "460-ET", 1)) for each in built} == {("field",)}
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 0xFF
    path.write_bytes(data)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "a file is gone": lambda folder: (folder / "ids.npy").unlink(),
    "a file is cut short": lambda folder: os.truncate(folder / "data.csc.index.npy", 40),
    "a byte is flipped": lambda folder: flip(folder / "indices.csc.index.npy"),
    "the contents are not there": lambda folder: (folder / CONTENTS).unlink(),
    "the contents are no JSON": lambda folder: (folder / CONTENTS).write_text("{"),
    "the contents list nothing": lambda folder: (folder / CONTENTS).write_text(
        json.dumps({"version": keywords.VERSION, "files": {}})
    ),
    "the contents are something else": lambda folder: (folder / CONTENTS).write_text("[1]"),
    "another version wrote them": lambda folder: (folder / CONTENTS).write_text(
        (folder / CONTENTS).read_text().replace(f'"version": {keywords.VERSION}', '"version": 0')
    ),
    "everything is gone but the folder": lambda folder: [path.unlink() for path in folder.iterdir()],
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_damaged_files_are_noticed_and_replaced(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    folder = tmp_path / "1-abc"
    KeywordIndex.write(folder, rows())
    damage(folder)
    with pytest.raises(Damaged):
        KeywordIndex(folder)
    again = KeywordIndex.write(folder, rows())
    assert ranked(again, "460-ET", 1) == ["field"]
    assert [path.name for path in tmp_path.iterdir()] == ["1-abc"]


def test_files_that_cannot_be_written_are_a_temporary_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TemporaryError, match="BM25 files cannot be written"):
        KeywordIndex.write(tmp_path / "file" / "1-abc", rows())


# -------------------------------------------------------------------------------------------------------------------- from Postgres
def opened(database: Database, identity: int, folder: Path) -> KeywordIndex:
    with connect(database.audit_url, read_only=True) as connection:
        return open_keywords(connection, generation(connection, identity), folder)


def test_files_are_built_once_and_used_again(database: Database, draft: Draft, tmp_path: Path) -> None:
    identity = draft(["A rule about fees.", "Zebras graze."])
    with connect(database.filing_url) as connection:
        built = build_keywords(connection, generation(connection, identity), tmp_path)
    stamp = (built / CONTENTS).stat().st_mtime_ns
    index = opened(database, identity, tmp_path)
    assert index.folder == built and (built / CONTENTS).stat().st_mtime_ns == stamp
    assert [int(index.pages[position]) for position in index.rank("zebras", 4)] == [2]


def test_damaged_files_are_built_again_from_postgres(database: Database, draft: Draft, tmp_path: Path) -> None:
    identity = draft(["A rule about fees.", "Zebras graze."])
    before = opened(database, identity, tmp_path)
    (before.folder / "ids.npy").unlink()
    assert opened(database, identity, tmp_path).rank("zebras", 4) == before.rank("zebras", 4)


def test_files_of_other_content_are_never_used(database: Database, draft: Draft, tmp_path: Path) -> None:
    """A database that was made anew counts its generations from 1 again: same number, other chunks."""
    identity = draft(["A rule about fees."])
    first = opened(database, identity, tmp_path)
    with connect(database.filing_url) as connection:
        connection.execute("DELETE FROM corpus.chunks")
        connection.execute("UPDATE corpus.documents SET sha256 = %s", ("e" * 64,))
        connection.execute(
            "INSERT INTO corpus.chunks (set_id, id, document_id, page, start_offset, end_offset, text, text_sha256) "
            "SELECT g.set_id, 'new', d.id, 1, 0, 6, 'Zebras', 'x' FROM corpus.generations g, corpus.documents d"
        )
    second = opened(database, identity, tmp_path)
    assert second.folder != first.folder and second.folder.name.split("-")[0] == first.folder.name.split("-")[0]
    assert ranked(second, "zebras", 4) == ["new"] and second.rank("fees", 4) == []


def test_files_of_generations_that_nothing_searches_go(tmp_path: Path) -> None:
    for name in ("1-0123456789abcdef", "12-0123456789abcdef", "2-0123456789abcdef", "notes", "1-x"):
        (tmp_path / name).mkdir()
    assert remove_keywords(tmp_path, {1, 2}) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1-x", "12-0123456789abcdef", "notes"]
    assert remove_keywords(tmp_path / "none", {1}) == 0
