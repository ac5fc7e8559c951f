"""BM25: what counts as the same word, and that files can be built again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tasks.retrieval.keywords import KeywordIndex, tokens

TEXTS = {
    "field": "The Quantity Prescribed (460–ET) field names what was prescribed.",
    "other": "The Fill Number (403–D3) field counts refills.",
    "party": "A third-party administrator sends the claim.",
    "empty": "*** --- ***",
}


@pytest.fixture
def index(tmp_path: Path) -> KeywordIndex:
    return KeywordIndex.build(tmp_path / "1-abc", list(TEXTS), list(TEXTS.values()))


@pytest.mark.parametrize("dash", ["-", "\u2010", "\u2011", "\u2012", "\u2013", "\u2014", "\u2212"])
def test_every_kind_of_dash_finds_the_identifier(index: KeywordIndex, dash: str) -> None:
    assert index.rank(f"What is 460{dash}ET?", 2)[0] == "field"


@pytest.mark.parametrize("query", ["third-party", "third party", "PARTY"])
def test_a_compound_is_found_whole_and_by_its_parts(index: KeywordIndex, query: str) -> None:
    assert index.rank(query, 4) == ["party"]


@pytest.mark.parametrize("query", ["", "   ", "the of and", "***", "zebra"])
def test_a_query_without_a_known_word_finds_nothing(index: KeywordIndex, query: str) -> None:
    assert index.rank(query, 4) == []


def test_opened_files_rank_like_those_just_built(index: KeywordIndex, tmp_path: Path) -> None:
    assert KeywordIndex(tmp_path / "1-abc").rank("fill field", 4) == index.rank("fill field", 4)


def test_two_builders_of_one_folder_do_no_harm(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        built = list(
            pool.map(lambda _: KeywordIndex.build(tmp_path / "x", list(TEXTS), list(TEXTS.values())), range(4))
        )
    assert {tuple(each.rank("460-ET", 1)) for each in built} == {("field",)}
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_tokens_keep_identifiers_whole() -> None:
    assert tokens("Field 460–ET, Version D.0") == ["field", "460-et", "460", "et", "version", "d.0", "d", "0"]
