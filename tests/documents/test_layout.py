"""Lines with places become paragraphs, list items and table rows."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from tasks.documents.layout import Line, footnotes_last, group_lines, stands_in_margin


def line(
    text: str,
    left: float,
    baseline: float,
    *,
    bold: bool = False,
    run_in: bool = False,
    size: float = 10.0,
    gaps: tuple[float, ...] = (),
) -> Line:
    return Line(
        text,
        left,
        left + 5.0 * len(text),
        baseline,
        baseline,
        size,
        bold_start=bold or run_in,
        bold_end=bold,
        gaps=gaps,
    )


def texts(lines: list[Line]) -> list[str]:
    return [" ".join(block.lines) for block in group_lines(lines)]


def column(left: float, top: float, *words: str) -> list[Line]:
    """Lines at a pitch of 10; a word with a leading blank is indented."""
    return [
        line(word.strip(), left + (9 if word.startswith(" ") else 0), top - 10 * number)
        for number, word in enumerate(words)
    ]


def test_an_indent_begins_a_paragraph() -> None:
    assert texts(column(45, 700, "a1", "a2", "a3", " b1", "b2", " c1", "c2")) == ["a1 a2 a3", "b1 b2", "c1 c2"]


def test_a_paragraph_goes_on_at_the_top_of_the_next_column() -> None:
    lines = column(45, 700, "a1", "a2", "a3", " b1") + column(222, 700, "b2", "b3", "b4", " c1")
    assert texts(lines) == ["a1 a2 a3", "b1 b2 b3 b4", "c1"]


def test_a_wide_gap_begins_a_paragraph() -> None:
    assert texts([*column(45, 700, "a1", "a2", "a3"), *column(45, 665, "b1", "b2")]) == ["a1 a2 a3", "b1 b2"]


def test_a_heading_stands_alone_and_keeps_its_lines_together() -> None:
    lines = [
        line("a1", 45, 700),
        line("Head", 45, 690, bold=True),
        line("goes on", 45, 680, bold=True),
        line("b1", 45, 670),
    ]
    blocks = group_lines(lines)
    assert [(block.kind, block.lines) for block in blocks] == [
        ("paragraph", ("a1",)),
        ("heading", ("Head", "goes on")),
        ("paragraph", ("b1",)),
    ]


def test_a_bold_first_word_begins_a_paragraph_after_a_sentence_only() -> None:
    lines = [line("ends here.", 45, 700), line("DATES: from", 45, 690, run_in=True), line("then", 45, 680)]
    assert texts(lines) == ["ends here.", "DATES: from then"]
    assert texts([line("see the", 45, 700), line("Act of", 45, 690, run_in=True)]) == ["see the Act of"]


def test_smaller_type_ends_a_paragraph() -> None:
    assert texts([line("1 note", 45, 100, size=8), line("body", 45, 700), line("more", 45, 690)]) == [
        "1 note",
        "body more",
    ]


def test_bullets_begin_items_and_hanging_lines_belong_to_them() -> None:
    hanging = [
        line("• one", 45, 700),
        line("goes on", 54, 690),
        line("more", 54, 680),
        line("• two", 45, 670),
        line("too", 54, 660),
    ]
    assert texts(hanging) == ["• one goes on more", "• two too"]
    assert {block.kind for block in group_lines(hanging)} == {"item"}


def test_an_indented_paragraph_after_an_indented_bullet_is_no_part_of_it() -> None:
    assert texts(column(45, 700, "a1", "a2", "a3", " • one", "goes on", " b1", "b2")) == [
        "a1 a2 a3",
        "• one goes on",
        "b1 b2",
    ]


def test_a_table_is_kept_row_by_row() -> None:
    """Cells of one row come together, in order, also where a cell has more lines than its neighbour."""
    lines = []
    for number, top in enumerate((700.0, 660.0, 620.0, 580.0)):
        lines += [
            line(f"day{number} name{number}", 49, top, gaps=(124.0,)),
            line("name goes on", 124, top - 13),
            line(f"what{number}", 285, top),
            line("what goes on", 285, top - 13),
        ]
    lines.append(line("single line row", 49, 540, gaps=(124.0,)))
    assert texts(lines) == [
        *(f"day{number} name{number} name goes on what{number} what goes on" for number in range(4)),
        "single line row",
    ]


def test_no_line_is_lost_or_moved() -> None:
    lines = column(45, 700, "a1", " a2", "a3", "a4") + column(222, 600, "b1", "b2") + column(30, 90, "c")
    assert [text for block in group_lines(lines) for text in block.lines] == [each.text for each in lines]
    assert group_lines([]) == ()


def test_the_margins_are_an_eighth_of_the_page() -> None:
    page = {"top": 792.0, "bottom": 0.0}
    assert stands_in_margin(line("head", 45, 750), **page) and stands_in_margin(line("foot", 45, 40), **page)
    assert not stands_in_margin(line("body", 45, 600), **page)


def test_footnotes_stand_behind_the_body_and_the_paragraph_goes_on_in_the_next_column() -> None:
    body = [*column(45, 700, *["text of the body"] * 4), *column(222, 700, *["text of the body"] * 3)]
    notes = [
        line("[1] first note", 53, 100, size=8),
        line("goes on", 45, 91, size=8),
        line("[2] second note", 53, 82, size=8),
    ]
    for lines in ([*body[:4], *notes, *body[4:]], [*notes, *body]):
        assert texts(list(footnotes_last(lines))) == [
            " ".join(["text of the body"] * 7),
            "[1] first note goes on",
            "[2] second note",
        ]


def test_a_small_numbered_line_above_the_body_is_no_footnote() -> None:
    """A table's note under the table, with the text going on below it, stays where it is."""
    lines = [
        *column(45, 700, "a1", "a2"),
        line("[1] note of a table", 45, 600, size=8),
        *column(45, 500, "b1", "b2", "b3"),
    ]
    assert footnotes_last(lines) == tuple(lines)


def test_a_numbered_line_in_the_bodys_type_is_no_footnote() -> None:
    lines = [line("[1] reference", 45, 100), *column(45, 700, "a1", "a2", "a3")]
    assert footnotes_last(lines) == tuple(lines) and footnotes_last([]) == ()


LINES = st.lists(
    st.builds(
        line,
        st.sampled_from(["[1] note", "[22] note", "body", "goes on", "a longer line of the body"]),
        st.sampled_from([45.0, 53.0, 222.0]),
        st.integers(40, 700).map(float),
        size=st.sampled_from([8.0, 10.0]),
    ),
    max_size=12,
)


@given(LINES)
def test_moving_footnotes_loses_nothing_and_keeps_the_order_of_the_rest(lines: list[Line]) -> None:
    moved = footnotes_last(lines)
    assert sorted(map(id, moved)) == sorted(map(id, lines))
    places = {id(each): at for at, each in enumerate(lines)}
    order = [places[id(each)] for each in moved]
    assert sum(after < before for before, after in itertools.pairwise(order)) <= 1


@given(LINES)
def test_grouping_loses_no_line(lines: list[Line]) -> None:
    assert [text for block in group_lines(lines) for text in block.lines] == [each.text for each in lines]
