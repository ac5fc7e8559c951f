"""A page as a person sees it: lines of text, fields with their labels, buttons.

Decides: which text belongs to which box, and what can be clicked. Never decides what a page is for or what goes into a field,
and knows no page in particular.

Rules: a label stands directly above its field or left of it on the same row; lines of text with the same left edge and little
space between them are one block; a box whose text is centred with room on both sides is a button, any other light box a field.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from infra.offline_model.clerk import ocr
from infra.offline_model.clerk.likeness import similarity
from infra.offline_model.clerk.ocr import Reading, Word
from infra.offline_model.clerk.shapes import Rect, Shape, ink


@dataclass(frozen=True, slots=True)
class Line:
    """Words on one row without a wide gap between them; `size` is the usual height of its words in pixels."""

    text: str
    rect: Rect
    red: bool
    size: float


@dataclass(frozen=True, slots=True)
class Field:
    """A box to type into (`select` False) or to choose in (`select` True).

    `label` is the text that names it, without warnings; `content` what stands in it, "" when it is empty.
    """

    label: str
    rect: Rect
    content: str
    select: bool
    warning: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """Something with a caption that can be clicked: a button, or a line of text that may be a link."""

    text: str
    rect: Rect
    button: bool


@dataclass(frozen=True, slots=True)
class Page:
    """What one screenshot shows. `lines` and `blocks` leave out the text inside fields and buttons, `everything` does not."""

    width: int
    height: int
    lines: tuple[Line, ...]
    blocks: tuple[str, ...]
    fields: tuple[Field, ...]
    buttons: tuple[Target, ...]
    everything: tuple[Line, ...]

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(line.text for line in self.lines if line.red)

    def same_as(self, other: Page) -> bool:
        """Whether the two show the same page in the same state, as far as can be read."""
        mine = [self.text, *(field.content for field in self.fields), *(button.text for button in self.buttons)]
        theirs = [other.text, *(field.content for field in other.fields), *(button.text for button in other.buttons)]
        return similarity(" ".join(mine), " ".join(theirs)) > 0.98


def read_page(picture: bytes, *, careful: bool = False) -> Page:
    """The page on a screenshot; `careful` reads it a second way, at twice the time, where the first reading is in doubt.

    Raises ocr.RecognitionError if the recognition program fails.
    """
    return arrange(ocr.read_picture(picture, careful=careful))


def arrange(reading: Reading) -> Page:
    """Sort a reading's words into lines, fields and buttons."""
    inside: dict[int, list[Word]] = {index: [] for index in range(len(reading.shapes))}
    outside: list[Word] = []
    for word in reading.words:
        if not re.search(r"\w", word.text) and len(word.text) < 2:
            continue  # specks, bullets, the remains of borders
        x, y = word.rect.centre
        owner = next((index for index, shape in enumerate(reading.shapes) if shape.outline.holds(x, y)), None)
        (outside if owner is None else inside[owner]).append(word)
    contents = {index: group_lines(words) for index, words in inside.items()}
    for index, content in contents.items():
        if _is_panel(reading.shapes[index], content):
            outside += inside[index]
            inside[index] = []
    lines = group_lines(outside)
    fields, buttons = [], []
    for index, shape in enumerate(reading.shapes):
        content = contents[index]
        if content and not inside[index]:
            continue
        text = " ".join(line.text for line in content)
        if _is_button(shape, content):
            buttons.append(Target(text, shape.outline, True))
        elif not shape.dark:
            unsure = len(text) < 5 or min(word.confidence for word in inside[index]) < 60
            if unsure and _has_ink(reading, shape):
                text = ocr.read_line(reading, shape)
            label, warning = _label(shape.outline, lines, reading.shapes)
            fields.append(Field(label, shape.rect, text, shape.drop_mark, warning))
    everything = sorted(
        [*lines, *(line for words in inside.values() for line in group_lines(words))], key=_from_the_top
    )
    blocks = group_blocks(lines)
    return Page(
        reading.width, reading.height, tuple(lines), tuple(blocks), tuple(fields), tuple(buttons), tuple(everything)
    )


def group_lines(words: Sequence[Word]) -> list[Line]:
    """Words to lines, from top to bottom; a gap wider than two letters or so ends a line."""
    rows: list[list[Word]] = []
    for word in sorted(words, key=lambda word: word.rect.centre[1]):
        for row in rows:
            top = min(other.rect.top for other in row)
            bottom = max(other.rect.bottom for other in row)
            overlap = min(bottom, word.rect.bottom) - max(top, word.rect.top)
            if overlap > 0.5 * min(bottom - top, word.rect.height):
                row.append(word)
                break
        else:
            rows.append([word])
    lines = []
    for row in rows:
        row.sort(key=lambda word: word.rect.left)
        height = max(word.rect.height for word in row)
        part = [row[0]]
        for word in row[1:]:
            if word.rect.left - part[-1].rect.right > max(20, 1.5 * height):
                lines.append(_line(part))
                part = []
            part.append(word)
        lines.append(_line(part))
    return sorted(lines, key=_from_the_top)


def _from_the_top(line: Line) -> tuple[int, int]:
    return line.rect.top, line.rect.left


def _line(words: Sequence[Word]) -> Line:
    rect = Rect(
        min(word.rect.left for word in words),
        min(word.rect.top for word in words),
        max(word.rect.right for word in words),
        max(word.rect.bottom for word in words),
    )
    letters = sum(len(word.text) for word in words)
    red = sum(len(word.text) for word in words if word.red) > 0.5 * letters
    return Line(" ".join(word.text for word in words), rect, red, median(word.rect.height for word in words))


def group_blocks(lines: Sequence[Line]) -> list[str]:
    """Lines that stand close above one another with the same left edge, as one text each."""
    stacks: list[list[Line]] = []
    for line in lines:
        for stack in reversed(stacks):
            if _follows(stack[-1], line):
                stack.append(line)
                break
        else:
            stacks.append([line])
    return [" ".join(line.text for line in stack) for stack in stacks]


def _follows(upper: Line, lower: Line) -> bool:
    gap = lower.rect.top - upper.rect.bottom
    height = max(min(upper.rect.height, lower.rect.height), 12)
    return abs(lower.rect.left - upper.rect.left) <= 8 and -4 <= gap <= 0.95 * height and upper.red == lower.red


def _is_button(shape: Shape, content: Sequence[Line]) -> bool:
    if len(content) != 1 or shape.outline.width > 480 or shape.rect.height > 70 or shape.drop_mark:
        return False
    left = content[0].rect.left - shape.rect.left
    right = shape.rect.right - content[0].rect.right
    if shape.dark:
        return abs(left - right) <= 14
    return abs(left - right) <= 8 and min(left, right) >= 5 and content[0].rect.width >= 0.3 * shape.rect.width


def _is_panel(shape: Shape, content: Sequence[Line]) -> bool:
    """A frame around text that the page says, such as a summary of problems: nothing to type into."""
    if len(content) < 2:
        return any(line.red for line in content) and shape.outline.width > 480
    return any(
        line.red or re.search(r"\b(problem|error|not (?:sent|submitted))\b", line.text, re.I) for line in content
    )


def _has_ink(reading: Reading, shape: Shape) -> bool:
    rect = shape.rect
    right = rect.right - 32 if shape.drop_mark else rect.right - 4
    if right - rect.left < 20:
        return False
    marks = ink(reading.pixels, Rect(rect.left + 4, rect.top + 4, right, rect.bottom - 4))
    # A caret alone is one or two columns wide.
    return bool(marks.any(axis=0).sum() > 4)


def _label(box: Rect, lines: Sequence[Line], shapes: Sequence[Shape]) -> tuple[str, str]:
    """The label of a field and the warning shown with it."""
    others = [shape.outline for shape in shapes if shape.outline != box]
    above = _stack_above(box, lines, others)
    left = [
        line
        for line in lines
        if 0 <= box.left - line.rect.right <= 420
        and min(line.rect.bottom, box.bottom) - max(line.rect.top, box.top) > 0.5 * min(line.rect.height, box.height)
        and not any(line.rect.right <= other.left < box.left and _same_row(other, box) for other in others)
    ]
    if left:
        nearest = max(left, key=lambda line: line.rect.right)
        row = [line for line in left if line.rect.left >= nearest.rect.left - 8]
        # A long label left of its field may run over more lines than the field is high.
        chosen = [line for line in _column(nearest, lines) if line not in row] + row
        chosen.sort(key=lambda line: line.rect.top)
        if not above or len(" ".join(line.text for line in above)) < 3:
            above = chosen
        else:
            gap_above = box.top - above[-1].rect.bottom
            if box.left - nearest.rect.right < gap_above:
                above = chosen
    below = [line for line in lines if line.red and 0 <= line.rect.top - box.bottom <= 16 and _overlaps(line, box)]
    label = " ".join(line.text for line in above if not line.red)
    warning = " ".join(line.text for line in [*above, *below] if line.red)
    return label, warning


def _stack_above(box: Rect, lines: Sequence[Line], others: Sequence[Rect]) -> list[Line]:
    stack: list[Line] = []
    bottom = box.top
    limit = 26  # between the label and its field
    for line in sorted(lines, key=lambda line: -line.rect.bottom):
        if line.rect.bottom > bottom + 4 or not _overlaps(line, box):
            continue
        if bottom - line.rect.bottom > limit or abs(line.rect.left - box.left) > 40:
            break
        if any(
            line.rect.bottom - 2 <= other.top and other.bottom <= bottom + 2 for other in others if _columns(other, box)
        ):
            break
        if stack and not stack[-1].red and not line.red and line.size > 1.5 * stack[-1].size:
            break  # a heading
        stack.append(line)
        bottom = line.rect.top
        limit = 12
    return stack[::-1]


def _column(start: Line, lines: Sequence[Line]) -> list[Line]:
    """The lines stacked with `start`, upwards and downwards."""
    found = [start]
    for line in sorted((line for line in lines if line.rect.top > start.rect.top), key=lambda line: line.rect.top):
        if _follows(found[-1], line):
            found.append(line)
    for line in sorted((line for line in lines if line.rect.top < start.rect.top), key=lambda line: -line.rect.top):
        if _follows(line, found[0]):
            found.insert(0, line)
    return found


def _overlaps(line: Line, box: Rect) -> bool:
    return line.rect.left < box.right and line.rect.right > box.left


def _columns(left: Rect, right: Rect) -> bool:
    return left.left < right.right and left.right > right.left


def _same_row(left: Rect, right: Rect) -> bool:
    return min(left.bottom, right.bottom) - max(left.top, right.top) > 0.5 * min(left.height, right.height)
