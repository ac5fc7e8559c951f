"""The text layer of a PDF as lines with their places, by PDFium.

It decides nothing about the text except which characters form a line. It never renders, never recognises characters in pictures, and
holds one page open at a time. PDFium reads the columns of the Federal Register in the right order and marks a hyphen at a line end;
both are why it is used.
"""

from __future__ import annotations

import ctypes
import itertools
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from tasks.documents.layout import Line
from tasks.domain.text import LINE_BREAK_HYPHEN

_PDFIUM_HYPHEN = 0x02
"""What PDFium's character interface returns for a line-end hyphen; its text interface returns U+FFFE for the same."""

_WIDE_BLANK = 7.5
_TURNED = 0.1


class UnreadablePdf(Exception):
    """PDFium refused the file; `kind` is encrypted or broken, the message is for a person."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class PdfPage:
    """The lines of one page in PDFium's reading order; `top` and `bottom` are the page's edges in the lines' coordinates."""

    number: int
    top: float
    bottom: float
    lines: tuple[Line, ...]
    problem: str = ""


class PdfFile:
    """An open PDF. Use it in a `with` block; `pages()` holds one page open at a time."""

    def __init__(self, path: Path) -> None:
        """Raises UnreadablePdf when PDFium cannot open the file or finds no page in it."""
        import pypdfium2
        import pypdfium2.raw as raw

        try:
            self._document = pypdfium2.PdfDocument(path)
        except pypdfium2.PdfiumError as error:
            if getattr(error, "err_code", None) in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY):
                raise UnreadablePdf("encrypted", "it is protected by a password") from error
            raise UnreadablePdf("broken", "it is damaged, cut off or not a PDF at all") from error
        self.page_count = len(self._document)
        if self.page_count == 0:
            self._document.close()
            raise UnreadablePdf("broken", "it has no page")

    def __enter__(self) -> PdfFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._document.close()

    def pages(self) -> Iterator[PdfPage]:
        """Every page in order. A page that cannot be loaded comes without lines and with a `problem`."""
        for index in range(self.page_count):
            yield _read_page(self._document, index)


def _read_page(document: Any, index: int) -> PdfPage:
    import pypdfium2

    try:
        page = document[index]
    except pypdfium2.PdfiumError:
        return PdfPage(index + 1, 0.0, 0.0, (), "the page is damaged")
    try:
        text_page = page.get_textpage()
        try:
            left, bottom, right, top = page.get_bbox()
            turned, lines = _lines(text_page)
        finally:
            text_page.close()
    except pypdfium2.PdfiumError:
        return PdfPage(index + 1, 0.0, 0.0, (), "the page is damaged")
    finally:
        page.close()
    if turned:
        corners = [_turn(x, y, turned)[1] for x in (left, right) for y in (bottom, top)]
        bottom, top = min(corners), max(corners)
    return PdfPage(index + 1, top, bottom, lines)


@dataclass(slots=True)
class _Character:
    text: str
    left: float
    right: float
    x: float
    baseline: float
    height: float
    angle: float
    bold: bool
    italic: bool


def _lines(text_page: Any) -> tuple[float, tuple[Line, ...]]:
    """The angle at which most of the page's text runs, and its lines turned by that angle."""
    runs = _runs(text_page)
    angles = Counter(round(run[0].angle, 1) % round(2 * math.pi, 1) for run in runs for _ in run)
    if not angles:
        return 0.0, ()
    main = angles.most_common(1)[0][0]
    main = 0.0 if abs(main) < _TURNED or abs(main - 2 * math.pi) < _TURNED else main
    return main, tuple(_line(run, main) for run in runs)


def _runs(text_page: Any) -> list[list[_Character]]:
    """Characters of each line that have a place; line ends and generated blanks only separate."""
    import pypdfium2.raw as raw

    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    x, y = ctypes.c_double(), ctypes.c_double()
    loose = raw.FS_RECTF()
    faces = _Faces(text_page)
    runs: list[list[_Character]] = [[]]
    high = ""
    for index in range(text_page.count_chars()):
        code = raw.FPDFText_GetUnicode(text_page, index)
        if code in (0x0A, 0x0D):
            runs.append([])
            continue
        if 0xD800 <= code < 0xDC00:
            high = chr(code)
            continue
        character = LINE_BREAK_HYPHEN if code in (_PDFIUM_HYPHEN, 0xFFFE) else chr(code)
        if high:
            pair = (high + character).encode("utf-16-le", "surrogatepass")
            character, high = pair.decode("utf-16-le", "ignore"), ""
        raw.FPDFText_GetCharBox(text_page, index, left, right, bottom, top)
        raw.FPDFText_GetCharOrigin(text_page, index, x, y)
        raw.FPDFText_GetLooseCharBox(text_page, index, loose)
        blank = character.isspace()
        runs[-1].append(
            _Character(
                character,
                left.value,
                right.value,
                x.value,
                y.value,
                abs(loose.top - loose.bottom),
                0.0 if blank else raw.FPDFText_GetCharAngle(text_page, index),
                *((False, False) if blank else faces.at(index)),
            )
        )
    return [run for run in runs if any(not character.text.isspace() for character in run)]


class _Faces:
    """Whether a character is set in a bold and in a slanting face, by its font's name: flags and weights in PDFs are mostly not set."""

    def __init__(self, text_page: Any) -> None:
        self._text_page = text_page
        self._buffer = ctypes.create_string_buffer(128)
        self._flags = ctypes.c_int()

    def at(self, index: int) -> tuple[bool, bool]:
        import pypdfium2.raw as raw

        size = raw.FPDFText_GetFontInfo(self._text_page, index, self._buffer, 128, self._flags)
        name = self._buffer.value.lower() if 0 < size <= 128 else b""
        bold = b"bold" in name or b"black" in name or b"heavy" in name
        return bold, b"italic" in name or b"oblique" in name


def _line(run: list[_Character], main: float) -> Line:
    visible = [character for character in run if not character.text.isspace()]
    first, last = visible[0], visible[-1]
    angle = first.angle
    upright = min(abs(angle - main), abs(abs(angle - main) - 2 * math.pi)) <= _TURNED
    line = Line(
        text="".join(character.text for character in run).strip(),
        left=first.left,
        right=max(character.right for character in visible),
        baseline=first.baseline,
        last_baseline=last.baseline,
        size=median(character.height for character in visible),
        bold_start=first.bold,
        bold_end=last.bold,
        italic=all(character.italic for character in visible),
        upright=upright,
        gaps=tuple(
            following.left
            for before, following in itertools.pairwise(visible)
            if following.left - before.right > _WIDE_BLANK
        ),
    )
    if not main:
        return line
    left, baseline = _turn(first.x, first.baseline, main)
    right, last_baseline = _turn(last.x, last.baseline, main)
    return replace(line, left=left, right=right, baseline=baseline, last_baseline=last_baseline, size=10.0, gaps=())


def _turn(x: float, y: float, angle: float) -> tuple[float, float]:
    """The point turned so that text at PDFium's `angle` (clockwise, radians) runs to the right."""
    cosine, sine = math.cos(angle), math.sin(angle)
    return x * cosine - y * sine, x * sine + y * cosine
