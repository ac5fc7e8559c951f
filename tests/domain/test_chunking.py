"""Windows over a page: spans, sentence ends, ids."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tasks.domain.chunking import OVERLAP, SIZE, chunk_page, splitter_name
from tasks.domain.passages import Page
from tasks.domain.text import normalise

WORD = st.text(st.sampled_from("abcdefgXYZ019–-§(“"), min_size=1, max_size=30)
PROSE = st.lists(
    st.tuples(WORD, st.sampled_from([" ", " ", " ", ". ", ".\n\n", "\n\n", "; ", "? ", ".” "])), max_size=120
).map(lambda pieces: normalise("".join(word + end for word, end in pieces)))
RAW = st.text(st.sampled_from("ab.  \n\n;X"), max_size=400)


@st.composite
def measures(draw: st.DrawFn) -> tuple[int, int]:
    size = draw(st.integers(2, 300))
    return size, draw(st.integers(0, (size - 1) // 2))


@given(PROSE | RAW, measures())
def test_a_chunk_is_what_its_span_says_and_fits(text: str, measure: tuple[int, int]) -> None:
    size, overlap = measure
    for chunk in chunk_page(Page("a.pdf", 3, text), size=size, overlap=overlap):
        assert chunk.text == text[chunk.start : chunk.end]
        assert 0 <= chunk.start < chunk.end <= len(text) and chunk.end - chunk.start <= size
        assert chunk.text.strip()
        assert (chunk.document, chunk.page) == ("a.pdf", 3)


@given(PROSE, measures())
def test_every_character_of_a_stored_page_lies_in_a_chunk(text: str, measure: tuple[int, int]) -> None:
    size, overlap = measure
    chunks = chunk_page(Page("a.pdf", 1, text), size=size, overlap=overlap)
    covered = {position for chunk in chunks for position in range(chunk.start, chunk.end)}
    # Blank windows are only possible where the whole window is smaller than the blanks between paragraphs.
    missing = set(range(len(text))) - covered
    assert all(text[position].isspace() for position in missing) and (size <= 4 or not missing)


@given(RAW, measures())
def test_every_visible_character_of_any_text_lies_in_a_chunk(text: str, measure: tuple[int, int]) -> None:
    size, overlap = measure
    chunks = chunk_page(Page("a.pdf", 1, text), size=size, overlap=overlap)
    covered = {position for chunk in chunks for position in range(chunk.start, chunk.end)}
    assert all(position in covered for position, character in enumerate(text) if not character.isspace())


@given(PROSE, measures())
def test_starts_and_ends_grow_and_the_overlap_keeps_its_measure(text: str, measure: tuple[int, int]) -> None:
    size, overlap = measure
    chunks = chunk_page(Page("a.pdf", 1, text), size=size, overlap=overlap)
    for first, second in itertools.pairwise(chunks):
        assert first.start < second.start and first.end < second.end
        assert first.end - second.start <= overlap


@given(PROSE)
def test_the_same_page_has_the_same_chunks_and_no_id_twice(text: str) -> None:
    page = Page("a.pdf", 1, text)
    chunks = chunk_page(page)
    assert chunks == chunk_page(page)
    assert len({chunk.id for chunk in chunks}) == len(chunks)


def test_an_id_depends_on_document_page_span_text_and_splitter() -> None:
    text = "A sentence that stands here. " * 30
    first = chunk_page(Page("a.pdf", 1, text))[0]
    others = [
        chunk_page(Page("b.pdf", 1, text))[0],
        chunk_page(Page("a.pdf", 2, text))[0],
        chunk_page(Page("a.pdf", 1, text.replace("stands", "stayed")))[0],
        chunk_page(Page("a.pdf", 1, text), size=SIZE, overlap=OVERLAP - 1)[0],
    ]
    assert len({first.id, *(other.id for other in others)}) == 5
    assert len(first.id) == 32


def test_a_window_ends_with_a_sentence_and_the_next_begins_with_one() -> None:
    text = " ".join(f"Sentence number {n} says something short about the drug." for n in range(40))
    chunks = chunk_page(Page("a.pdf", 1, text))
    assert len(chunks) > 3
    assert all(chunk.text.endswith(".") and chunk.text.startswith("Sentence") for chunk in chunks)


def test_a_paragraph_end_is_better_than_a_later_sentence_end_and_a_heading_closes_no_window() -> None:
    first = "One sentence of the first paragraph. " * 8
    text = f"{first.strip()}\n\nA heading without a full stop\n\n{'More text follows here. ' * 30}".strip()
    chunk = chunk_page(Page("a.pdf", 1, text))[0]
    assert chunk.text == first.strip()


@pytest.mark.parametrize(
    "abbreviation", ["Pub. L. 114", "No. 16", "(21 U.S.C. 812)", "Vol. 85", "Dr. Smith", "D.0 Standard"]
)
def test_an_abbreviation_ends_no_sentence(abbreviation: str) -> None:
    text = f"{'word ' * 60}ends here. And then {abbreviation} comes {'more ' * 200}"
    chunk = chunk_page(Page("a.pdf", 1, text))[0]
    assert chunk.text.endswith("ends here.")


def test_a_footnote_number_belongs_to_the_sentence_that_it_closes() -> None:
    text = f"{'word ' * 60}for the refills.2 The next sentence {'goes on ' * 200}"
    assert chunk_page(Page("a.pdf", 1, text))[0].text.endswith("refills.2")


def test_text_without_a_blank_is_cut_hard() -> None:
    chunks = chunk_page(Page("a.pdf", 1, "x" * 1200))
    assert next((chunk.start, chunk.end) for chunk in chunks) == (0, SIZE)
    assert chunks[-1].end == 1200


def test_a_page_without_text_has_no_chunk() -> None:
    assert chunk_page(Page("a.pdf", 1, "")) == ()
    assert chunk_page(Page("a.pdf", 1, " \n ")) == ()


@given(st.integers(-5, 400), st.integers(-5, 400))
def test_measures_that_cannot_advance_are_refused(size: int, overlap: int) -> None:
    assume(size < 2 or overlap < 0 or overlap * 2 >= size)
    with pytest.raises(ValueError, match="overlap"):
        chunk_page(Page("a.pdf", 1, "text"), size=size, overlap=overlap)


def test_the_splitter_name_says_version_and_measures() -> None:
    assert splitter_name(500, 90) == splitter_name() == "sentence-window/1:500/90"
    assert splitter_name(1100, 150) != splitter_name()
