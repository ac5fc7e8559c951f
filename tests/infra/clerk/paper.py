"""Pages drawn on paper: pictures of forms in the fonts and sizes that a browser would show, made without one.

A page is a list of parts, drawn from top to bottom; `draw` returns the picture and where each part was put.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

FONTS = Path("/usr/share/fonts/truetype/dejavu")
SANS, SERIF, MONO = "DejaVuSans", "DejaVuSerif", "DejaVuSansMono"
INK, RED, BLUE, PAPER = (24, 30, 38), (176, 0, 32), (11, 74, 143), (255, 255, 255)


@dataclass(frozen=True)
class Heading:
    text: str


@dataclass(frozen=True)
class Text:
    """A line of text; `red` makes it a warning."""

    text: str
    red: bool = False


@dataclass(frozen=True)
class Link:
    text: str


@dataclass(frozen=True)
class Entry:
    """A label with its field below: a text field, or a select box with its mark."""

    label: str
    content: str = ""
    select: bool = False
    warning: str = ""


@dataclass(frozen=True)
class Options:
    """An open list of choices; the marked one is drawn light on blue."""

    texts: tuple[str, ...]
    marked: int = 0


@dataclass(frozen=True)
class Button:
    text: str


@dataclass(frozen=True)
class Row:
    """A name and its value side by side, as on a review page."""

    name: str
    value: str


Part = Heading | Text | Link | Entry | Options | Button | Row


@dataclass(frozen=True)
class Drawn:
    """`places` maps the text of a part (a field's label) to its clickable box, as (left, top, right, bottom)."""

    png: bytes
    places: dict[str, tuple[int, int, int, int]] = field(default_factory=dict)

    def holds(self, name: str, point: Sequence[int]) -> bool:
        left, top, right, bottom = self.places[name]
        return left <= point[0] < right and top <= point[1] < bottom


def draw(*parts: Part, size: tuple[int, int] = (1024, 768), font: str = SANS) -> Drawn:
    picture = Image.new("RGB", size, PAPER)
    pen = ImageDraw.Draw(picture)
    plain = ImageFont.truetype(str(FONTS / f"{font}.ttf"), 16)
    bold = ImageFont.truetype(str(FONTS / f"{font}-Bold.ttf"), 16)
    large = ImageFont.truetype(str(FONTS / f"{font}-Bold.ttf"), 26)
    left, right, top = 44, size[0] - 44, 30
    places: dict[str, tuple[int, int, int, int]] = {}

    def wrapped(text: str, at: int, width: int, style: ImageFont.FreeTypeFont, colour: tuple[int, int, int]) -> None:
        nonlocal top
        line = ""
        for word in text.split():
            if line and style.getlength(f"{line} {word}") > width:
                pen.text((at, top), line, font=style, fill=colour)
                top += 21
                line = word
            else:
                line = f"{line} {word}".strip()
        pen.text((at, top), line, font=style, fill=colour)
        top += 21

    for part in parts:
        if isinstance(part, Heading):
            pen.text((left, top), part.text, font=large, fill=INK)
            top += 44
        elif isinstance(part, Text):
            wrapped(part.text, left, right - left, bold if part.red else plain, RED if part.red else INK)
            top += 12
        elif isinstance(part, Link):
            width = int(plain.getlength(part.text))
            pen.text((left, top), part.text, font=plain, fill=BLUE)
            pen.line((left, top + 18, left + width, top + 18), fill=BLUE)
            places[part.text] = (left, top, left + width, top + 20)
            top += 34
        elif isinstance(part, Entry):
            wrapped(part.label, left, right - left, bold, INK)
            if part.warning:
                wrapped(part.warning, left, right - left, bold, RED)
            top += 3
            box = (left, top, left + 300 if part.select else right, top + 38)
            pen.rectangle(box, outline=INK, width=1)
            pen.text((left + 10, top + 9), part.content, font=plain, fill=INK)
            if part.select:
                x, y = box[2] - 18, top + 17
                pen.line((x, y, x + 4, y + 4, x + 8, y), fill=INK, width=2)
            places[part.label] = box
            top += 54
        elif isinstance(part, Options):
            top -= 16
            pen.rectangle((left, top, left + 300, top + 27 * len(part.texts) + 8), outline=(205, 205, 205))
            top += 4
            for number, text in enumerate(part.texts):
                if number == part.marked:
                    pen.rectangle((left + 5, top, left + 295, top + 26), fill=(53, 132, 228))
                pen.text((left + 13, top + 4), text, font=plain, fill=PAPER if number == part.marked else INK)
                places[text] = (left, top, left + 300, top + 27)
                top += 27
            top += 20
        elif isinstance(part, Button):
            width = int(bold.getlength(part.text)) + 44
            pen.rectangle((left, top, left + width, top + 42), fill=(19, 107, 67))
            pen.text((left + 22, top + 11), part.text, font=bold, fill=PAPER)
            places[part.text] = (left, top, left + width, top + 42)
            top += 58
        else:
            start = top
            wrapped(part.name, left, 380, bold, INK)
            end, top = top, start
            wrapped(part.value, left + 410, right - left - 410, plain, INK)
            top = max(end, top) + 10
            pen.line((left, top - 5, right, top - 5), fill=(195, 202, 211))
    assert top <= size[1], "the page does not fit on the paper"
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return Drawn(buffer.getvalue(), places)
