"""Ranked chunks become passages: nothing is shown twice, nothing crosses a page, nothing that was found is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tasks.retrieval.joining import SHOWN, Around, Hit, Shown, arrange, folded


def page_of(lengths: list[int], overlap: int = 20, document: int = 1, page: int = 1, first: int = 0) -> list[Hit]:
    """The chunks of a page, in reading order; each shares `overlap` characters with the one before."""
    chunks, start = [], 0
    for number, length in enumerate(lengths):
        end = start + length
        chunks.append(Hit(first + number, document, page, start, end, f"words {document} {page} {number}", 1.0))
        start = max(start + 1, end - overlap)
    return chunks


def around(chunks: list[Hit]) -> Around:
    by_position = {chunk.position: chunk for chunk in chunks}

    def there(position: int, other: int) -> tuple[int, int, int] | None:
        here, found = by_position[position], by_position.get(other)
        if found is None or (found.document, found.page) != (here.document, here.page):
            return None
        return found.position, found.start, found.end

    return lambda position: (there(position, position - 1), there(position, position + 1))


def test_a_hit_is_shown_with_both_neighbours_where_they_fit() -> None:
    chunks = page_of([500] * 5)
    (shown,) = arrange([chunks[2]], 1, around(chunks))
    assert (shown.start, shown.end) == (chunks[1].start, chunks[3].end)
    assert shown.positions == [2, 3, 1]


def test_what_follows_goes_before_what_precedes() -> None:
    chunks = page_of([700] * 3)
    (shown,) = arrange([chunks[1]], 1, around(chunks))
    assert (shown.start, shown.end) == (chunks[1].start, chunks[2].end)


def test_a_chunk_larger_than_the_cap_is_shown_whole_and_alone() -> None:
    chunks = page_of([4_000] * 3)
    (shown,) = arrange([chunks[1]], 1, around(chunks))
    assert (shown.start, shown.end) == (chunks[1].start, chunks[1].end)


def test_a_hit_within_what_is_shown_makes_room_for_another_passage() -> None:
    chunks = page_of([500] * 9)
    shown = arrange([chunks[1], chunks[2], chunks[0], chunks[7]], 2, around(chunks))
    assert [each.hit.position for each in shown] == [1, 7]


def test_the_same_words_elsewhere_are_named_and_no_passage() -> None:
    first, second = page_of([100]), page_of([100], document=2, page=3, first=1)
    twin = Hit(9, 2, 3, 0, 100, first[0].text.upper().replace(" ", "\n "), 0.5)
    (shown,) = arrange([first[0], twin], 4, around([*first, *second, twin]))
    assert shown.also_at == [(2, 3)]


def test_dashes_blanks_and_case_make_no_other_words() -> None:
    assert folded(" The 460–ET\n field\u00ad ") == folded("the 460-et FIELD") == folded("the 460\u2011ET field")
    assert folded("460-ET") != folded("461-ET")


@st.composite
def rankings(draw: st.DrawFn) -> tuple[list[Hit], list[Hit]]:
    chunks: list[Hit] = []
    for document in range(1, draw(st.integers(1, 3)) + 1):
        for page in range(1, draw(st.integers(1, 2)) + 1):
            lengths = draw(st.lists(st.integers(30, 900), min_size=1, max_size=8))
            chunks += page_of(lengths, draw(st.integers(0, 25)), document, page, len(chunks))
    return chunks, draw(st.permutations(chunks))[: draw(st.integers(0, len(chunks)))]


@given(rankings(), st.integers(1, 6))
def test_whatever_is_ranked(given_: tuple[list[Hit], list[Hit]], k: int) -> None:
    chunks, hits = given_
    shown = arrange(hits, k, around(chunks))
    assert len(shown) <= k
    assert [each.hit for each in shown] == sorted((each.hit for each in shown), key=hits.index)
    for each in shown:
        assert each.start <= each.hit.start and each.hit.end <= each.end
        assert each.end - each.start <= max(SHOWN, each.hit.end - each.hit.start)
        held = [chunk for chunk in chunks if chunk.position in each.positions]
        assert {(chunk.document, chunk.page) for chunk in held} == {(each.hit.document, each.hit.page)}
        assert (min(c.start for c in held), max(c.end for c in held)) == (each.start, each.end)
        assert each.positions[0] == each.hit.position and len(set(each.positions)) == len(each.positions)
    if len(shown) < k:
        # Nothing that was found is left out while there is room.
        assert all(any(covers(each, hit) for each in shown) for hit in hits)


def covers(shown: Shown, hit: Hit) -> bool:
    return (
        (shown.hit.document, shown.hit.page) == (hit.document, hit.page)
        and shown.start <= hit.start
        and hit.end <= shown.end
    )
