"""How the lines of a printed page become paragraphs and table rows.

It decides from geometry alone: where lines start, how far apart they are, whether they are bold. It never reads a file and never
changes a line's words. Coordinates are PDF points, x to the right and y up, after a page of turned text has been turned upright.

Rules for a line after the block of lines before it, first row that applies
    the block or the line is a table row, and the line starts at the block's left     new block (the next row)
    the block is a row, or the line stands beside its first line                      same block (another cell, or more of one)
    it starts with a bullet                                                           new block
    its type is larger or smaller                                                     new block (a footnote ends, a title begins)
    all bold against not all bold                                                     new block (a heading ends or begins)
    all italic after the end of a sentence, or upright after a block that began so    new block (a heading in italics)
    a bold first word after the end of a sentence                                     new block (a run-in heading)
    it is indented against the column's left edge                                     new block, unless it hangs below a bullet
    the distance is more than 1.3 times the usual one, in the same column             new block
    otherwise (the next line, or the top of the next column)                          same block

Footnotes are moved behind the body of their page, in order, so that a paragraph goes on in the next column: lines of a type
smaller than 0.9 of the body's, from one that begins with a footnote's number to the end of that column or of that type,
where no line of the body's type stands below them in their column.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MARGIN_SHARE = 0.12
"""The part of a page's height at its top and at its bottom in which running heads and feet stand."""

_BULLET = re.compile(r"\s*(?:[•■○▪●\uf0b7\uf0a7]|\* (?=\w))")
_ENDS = re.compile(r"[.:;)](?:\d{0,2}|\[[\d,–-]+\])\s*\Z")
_NOTE = re.compile(r"\s*\[\d{1,3}\] ")
_NOTE_SIZE = 0.9
_SAME_EDGE = 2.5
_SMALLEST_INDENT, _LARGEST_INDENT = 4.0, 30.0
_CELL_SHIFT = 30.0
_LONGEST_CELL = 15
_WIDE_GAP = 1.3
_OTHER_SIZE = 0.12


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text with its place: `baseline` of its first and `last_baseline` of its last character (they differ after a word
    broken over two lines), `size` the height of its type, `italic` whether all of it slants, `gaps` the x positions at which
    text goes on after a wide blank."""

    text: str
    left: float
    right: float
    baseline: float
    last_baseline: float
    size: float = 10.0
    bold_start: bool = False
    bold_end: bool = False
    italic: bool = False
    upright: bool = True
    gaps: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that belong together. `kind` is paragraph, heading, item (of a list) or row (of a table)."""

    kind: str
    lines: tuple[str, ...]


def stands_in_margin(line: Line, *, top: float, bottom: float) -> bool:
    """Whether a line stands in the page's top or bottom margin; `top` and `bottom` are the page's edges."""
    share = (top - bottom) * MARGIN_SHARE
    return line.baseline >= top - share or line.baseline <= bottom + share


def group_lines(lines: Sequence[Line]) -> tuple[Block, ...]:
    """Blocks in reading order from a page's lines in reading order."""
    if not lines:
        return ()
    edges = _edges(line.left for line in lines)
    # A row of asterisks stands for text left out, and its regular gaps are no columns.
    cells = _edges(gap for line in lines if _has_word(line) for gap in line.gaps)
    pitch = _pitch(lines)
    blocks: list[list[Line]] = [[lines[0]]]
    for line in lines[1:]:
        if _starts_block(line, blocks[-1], edges, cells, pitch):
            blocks.append([line])
        else:
            blocks[-1].append(line)
    return tuple(Block(_kind(block, cells, pitch), tuple(line.text for line in block)) for block in blocks)


def footnotes_last(lines: Sequence[Line]) -> tuple[Line, ...]:
    """The page's lines with its footnotes behind all others; by the rule at the head of this module. No line is lost or changed."""
    sizes = Counter[float]()
    for line in lines:
        sizes[round(line.size, 1)] += len(line.text)
    body_size = sizes.most_common(1)[0][0] if sizes else 0.0
    notes: set[int] = set()
    for start, line in enumerate(lines):
        if start in notes or not _NOTE.match(line.text) or line.size >= _NOTE_SIZE * body_size:
            continue
        run = [start]
        for at in range(start + 1, len(lines)):
            below = lines[at].baseline < lines[at - 1].baseline and abs(lines[at].left - line.left) <= _LARGEST_INDENT
            if not below or lines[at].size >= _NOTE_SIZE * body_size:
                break
            run.append(at)
        lowest, right = lines[run[-1]].baseline, max(lines[at].right for at in run)
        if not any(
            other.baseline < lowest and other.left < right and other.right > line.left
            for at, other in enumerate(lines)
            if at not in run and other.size >= _NOTE_SIZE * body_size
        ):
            notes.update(run)
    kept = [line for at, line in enumerate(lines) if at not in notes]
    return (*kept, *(lines[at] for at in sorted(notes)))


def _starts_block(line: Line, block: list[Line], edges: list[float], cells: list[float], pitch: float) -> bool:
    first, previous = block[0], block[-1]
    row = _is_row(block, cells, pitch)
    below = line.baseline <= first.baseline + pitch / 4
    if below and line.left <= first.left + _SAME_EDGE and (row or _has_cells(line, cells)):
        return True
    if below and line.left > first.left + _CELL_SHIFT and (row or _is_second_cell(line, previous, first, pitch)):
        return False
    bulleted = bool(_BULLET.match(first.text))
    if bool(_BULLET.match(line.text)):
        return True
    if abs(line.size - previous.size) > _OTHER_SIZE * previous.size:
        return True
    if _all_bold(line) != _all_bold(previous):
        return True
    if line.italic != previous.italic and (_ENDS.search(previous.text) if line.italic else first.italic):
        return True
    if line.bold_start and not previous.bold_end and _ENDS.search(previous.text):
        return True
    if _indented(line, previous, edges, goes_on=len(block) > 1) and not (
        bulleted and line.left > first.left + _SAME_EDGE
    ):
        return True
    return previous.last_baseline - line.baseline > _WIDE_GAP * pitch


def _has_word(line: Line) -> bool:
    return any(character.isalnum() for character in line.text)


def _all_bold(line: Line) -> bool:
    return line.bold_start and line.bold_end


def _indented(line: Line, previous: Line, edges: list[float], *, goes_on: bool) -> bool:
    """Further right than an edge at which lines of this page start, unless the line before starts at the same place.

    Where the line before already goes on with a block, its own start is such an edge, however short the column.
    """
    if abs(line.left - previous.left) <= _SAME_EDGE and line.baseline < previous.baseline:
        return False
    known = [*edges, previous.left] if goes_on else edges
    return any(_SMALLEST_INDENT <= line.left - edge <= _LARGEST_INDENT for edge in known)


def _is_row(block: Sequence[Line], cells: list[float], pitch: float) -> bool:
    """A row has an aligned cell gap in its first line, or a second cell that starts at the height of the first."""
    first = block[0]
    return _has_cells(first, cells) or any(
        _is_second_cell(line, previous, first, pitch) for previous, line in itertools.pairwise(block)
    )


def _is_second_cell(line: Line, previous: Line, first: Line, pitch: float) -> bool:
    """Beside the block's first line and to the right of the line before.

    After a jump up by a whole column of text it is the next column of prose instead.
    """
    right = line.left > max(first.right, previous.left + _CELL_SHIFT)
    beside = abs(line.baseline - first.baseline) <= 1.0 and right
    return beside and line.baseline - previous.last_baseline < _LONGEST_CELL * pitch


def _has_cells(line: Line, cells: list[float]) -> bool:
    return _has_word(line) and any(abs(gap - cell) <= _SAME_EDGE for gap in line.gaps for cell in cells)


def _edges(values: Iterable[float]) -> list[float]:
    """Positions that at least three values share (within a point or two), most frequent first."""
    counts = Counter(round(value) for value in values)
    totals = {value: sum(counts.get(value + step, 0) for step in (-1, 0, 1)) for value in counts}
    return [float(value) for value, total in sorted(totals.items(), key=lambda item: (-item[1], item[0])) if total >= 3]


def _pitch(lines: Sequence[Line]) -> float:
    """The distance between lines of running text: the lower quartile, because the larger steps are gaps between paragraphs.

    12 points where no two lines follow each other.
    """
    steps = sorted(
        above.last_baseline - below.baseline
        for above, below in itertools.pairwise(lines)
        if 4.0 < above.last_baseline - below.baseline < 40.0
    )
    return steps[len(steps) // 4] if steps else 12.0


def _kind(block: Sequence[Line], cells: list[float], pitch: float) -> str:
    if _is_row(block, cells, pitch):
        return "row"
    if bool(_BULLET.match(block[0].text)):
        return "item"
    if all(_all_bold(line) for line in block):
        return "heading"
    return "paragraph"
