"""Bordered boxes on a screenshot: text fields, select boxes, buttons.

Decides: where the boxes are, what fills them and whether one carries a drop-down mark. Never reads text (see ocr.py) and knows
nothing of any page.

Rules: a box is a pair of long level edges of nearly equal extent joined by upright edges at both ends. Of boxes that lie around
one another within a few pixels (border, focus ring, shadow) the innermost counts. A box that holds another box is a panel, and
boxes that share a side are cells of a table: neither can be clicked into.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]

_EDGE = 14  # least step of a colour channel (0-255) that counts as an edge; the palest usual border (#ddd on white) steps 34
_LEAST_WIDTH, _LEAST_HEIGHT, _MOST_HEIGHT = 28, 16, 260
_SLACK = 4  # pixels by which the two level edges may differ in extent
_CORNER = 10  # a rounded corner shortens the level edges by its radius
_NEST = 9  # border, outline offset and focus ring of one control lie within this many pixels


@dataclass(frozen=True, slots=True)
class Rect:
    """Screen pixels; `right` and `bottom` are exclusive."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def width(self) -> int:
        return self.right - self.left

    @property
    def height(self) -> int:
        return self.bottom - self.top

    @property
    def centre(self) -> tuple[int, int]:
        return (self.left + self.right) // 2, (self.top + self.bottom) // 2

    def holds(self, x: float, y: float) -> bool:
        return self.left <= x < self.right and self.top <= y < self.bottom

    def encloses(self, other: Rect, slack: int = 0) -> bool:
        return (
            self.left - slack <= other.left
            and self.top - slack <= other.top
            and self.right + slack >= other.right
            and self.bottom + slack >= other.bottom
        )


@dataclass(frozen=True, slots=True)
class Shape:
    """One box: `rect` is its interior, `outline` the whole with border; `fill` the interior's usual colour.

    `drop_mark` is True where a small mark stands alone at the right end, as on a select box.
    """

    rect: Rect
    outline: Rect
    fill: tuple[int, int, int]
    drop_mark: bool

    @property
    def dark(self) -> bool:
        red, green, blue = self.fill
        return 0.299 * red + 0.587 * green + 0.114 * blue < 150


def find_shapes(pixels: Pixels) -> tuple[Shape, ...]:
    """The boxes of an RGB picture (height x width x 3), from top to bottom and left to right."""
    signed = pixels.astype(np.int16)
    level = np.abs(np.diff(signed, axis=0)).max(axis=2) > _EDGE
    upright = np.abs(np.diff(signed, axis=1)).max(axis=2) > _EDGE
    candidates = _pair(_runs(level), upright)
    boxes = _innermost(candidates)
    loose = [
        (inner, outer)
        for inner, outer in boxes
        if not any(inner is not other and inner.encloses(other) for other, _ in boxes)
        and not _shares_side(inner, boxes)
    ]
    shapes = [Shape(inner, outer, _fill(pixels, inner), _drop_mark(pixels, inner)) for inner, outer in loose]
    return tuple(sorted(shapes, key=lambda shape: (shape.rect.top, shape.rect.left)))


def _runs(level: NDArray[np.bool_]) -> list[tuple[int, int, int]]:
    """Level edges as (row, first column, end column); the edge lies between `row - 1` and `row`."""
    runs = []
    for row in np.flatnonzero(level.sum(axis=1) >= _LEAST_WIDTH):
        padded = np.concatenate(([0], level[row].astype(np.int8), [0]))
        steps = np.diff(padded)
        for start, end in zip(np.flatnonzero(steps == 1), np.flatnonzero(steps == -1), strict=True):
            if end - start >= _LEAST_WIDTH:
                runs.append((int(row) + 1, int(start), int(end)))
    return runs


def _pair(runs: list[tuple[int, int, int]], upright: NDArray[np.bool_]) -> list[Rect]:
    rects = []
    for index, (top, left, right) in enumerate(runs):
        for bottom, other_left, other_right in runs[index + 1 :]:
            height = bottom - top
            if height > _MOST_HEIGHT:
                break
            if height < _LEAST_HEIGHT or abs(left - other_left) > _SLACK or abs(right - other_right) > _SLACK:
                continue
            trim = min(_CORNER, height // 3)
            rows = upright[top + trim : bottom - trim]
            # Column c of `upright` is the edge between pixels c and c + 1.
            left_at = _upright_near(rows, left - _CORNER, left + _SLACK, from_left=False)
            right_at = _upright_near(rows, right - _SLACK - 1, right + _CORNER, from_left=True)
            if left_at is not None and right_at is not None:
                rects.append(Rect(left_at + 1, top, right_at + 1, bottom))
    return rects


def _upright_near(rows: NDArray[np.bool_], first: int, last: int, *, from_left: bool) -> int | None:
    first, last = max(first, 0), min(last, rows.shape[1] - 1)
    if first > last or not len(rows):
        return None
    hits = np.flatnonzero(rows[:, first : last + 1].mean(axis=0) >= 0.85)
    if not len(hits):
        return None
    return first + int(hits[0] if from_left else hits[-1])


def _innermost(rects: list[Rect]) -> list[tuple[Rect, Rect]]:
    """Groups of boxes around one another become (innermost, outermost)."""
    groups: list[list[Rect]] = []
    for rect in sorted(rects, key=lambda rect: rect.width * rect.height):
        for group in groups:
            if rect.encloses(group[0], slack=1) and _around(rect, group[0]):
                group.append(rect)
                break
        else:
            groups.append([rect])
    return [(group[0], group[-1]) for group in groups]


def _around(outer: Rect, inner: Rect) -> bool:
    return (
        abs(outer.left - inner.left) <= _NEST
        and abs(outer.top - inner.top) <= _NEST
        and abs(outer.right - inner.right) <= _NEST
        and abs(outer.bottom - inner.bottom) <= _NEST
    )


def _shares_side(rect: Rect, boxes: list[tuple[Rect, Rect]]) -> bool:
    """A cell of a table: a neighbour begins where it ends, over the same extent."""
    for other, _ in boxes:
        if other is rect:
            continue
        same_columns = abs(other.left - rect.left) <= 2 and abs(other.right - rect.right) <= 2
        if same_columns and (0 <= other.top - rect.bottom <= 2 or 0 <= rect.top - other.bottom <= 2):
            return True
        same_rows = abs(other.top - rect.top) <= 2 and abs(other.bottom - rect.bottom) <= 2
        if same_rows and (0 <= other.left - rect.right <= 2 or 0 <= rect.left - other.right <= 2):
            return True
    return False


def _fill(pixels: Pixels, rect: Rect) -> tuple[int, int, int]:
    inside = pixels[rect.top + 2 : rect.bottom - 2, rect.left + 2 : rect.right - 2].reshape(-1, 3).astype(np.int32) >> 3
    # Colours in steps of 8, packed into one number each: counting rows of three is a hundred times slower.
    usual = int(np.bincount((inside[:, 0] << 10) | (inside[:, 1] << 5) | inside[:, 2]).argmax())
    return ((usual >> 10) << 3) + 4, ((usual >> 5 & 31) << 3) + 4, ((usual & 31) << 3) + 4


def ink(pixels: Pixels, rect: Rect) -> NDArray[np.bool_]:
    """True where a pixel of the box's interior differs clearly from its fill."""
    inside = pixels[rect.top : rect.bottom, rect.left : rect.right].astype(np.int16)
    fill = np.array(_fill(pixels, rect), dtype=np.int16)
    return np.asarray(np.abs(inside - fill).max(axis=2) > 48)


def _drop_mark(pixels: Pixels, rect: Rect) -> bool:
    if rect.width < 40 or rect.height > 60:
        return False
    marks = ink(pixels, rect)
    marks[:2] = marks[-2:] = False
    marks[:, -2:] = False
    end = marks[:, -34:]
    columns = np.flatnonzero(end.any(axis=0))
    if not len(columns):
        return False
    # The rightmost group of inked columns, apart from what stands left of it by a clear gap.
    gaps = np.flatnonzero(np.diff(columns) > 3)
    start = columns[gaps[-1] + 1] if len(gaps) else columns[0]
    width = int(columns[-1] - start + 1)
    if start < 4 or not 5 <= width <= 16:
        return False
    rows = np.flatnonzero(end[:, start:].any(axis=1))
    height = int(rows[-1] - rows[0] + 1)
    middle = (rows[0] + rows[-1]) / 2
    return bool(2 <= height <= 10 and height < width and abs(middle - rect.height / 2) <= 5)
