"""The text layer of a PDF as lines with their places, and its pages as pictures, by PDFium.

It decides which characters form a line, which of them are raised (footnote marks, exponents), and whether a page has to be
recognised because its text layer says nothing. It never recognises characters itself, and holds one page open at a time.
PDFium reads the columns of the Federal Register in the right order and marks a hyphen at a line end; both are why it is used.

A page needs recognition, first row that applies
    it has no object at all                                                   no: it is empty
    no character of its text layer is a letter or a digit                     yes
    most of its text layer cannot be text (`garbled` in domain/text.py)       yes
    pictures cover PICTURE_SHARE of it and outside its margins is no word     yes: a scan with a page number
    pictures cover SOME_SHARE of it and it has less than FEW_WORDS            yes: a scan with a stamp or under a cover note; its text
                                                                              layer stays unless twice as much is recognised
    otherwise                                                                 no

PDFium is not safe for threads, cannot be interrupted and may crash on a hostile file: it is only entered in the process of
`worker.py`, which has one thread and may be ended.
"""

from __future__ import annotations

import ctypes
import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, BinaryIO

from tasks.documents.layout import Line, stands_in_margin
from tasks.documents.ocr import DPI, NoRecognition, recognise, recogniser
from tasks.domain.passages import Origin
from tasks.domain.text import LINE_BREAK_HYPHEN, garbled, write_raised

if TYPE_CHECKING:
    from PIL.Image import Image

_PDFIUM_HYPHEN = 0x02
"""What PDFium's character interface returns for a line-end hyphen; its text interface returns U+FFFE for the same."""

MOST_CHARACTERS = 400_000
"""A dense page of the Federal Register has 7,000; what is beyond this is not read, and the page says so."""

PICTURE_SHARE = 0.5
"""The part of a page that pictures must cover for the page to count as a scan with a stamp."""

SOME_SHARE, FEW_WORDS = 0.2, 50
"""A page with a picture of that size and fewer words than this in its text layer may have its text in the picture."""

MOST_PIXELS = 40_000_000
"""A page is rendered smaller than asked where it would have more: 300 dpi of a sheet of about 22 by 20 inches."""

_WIDE_BLANK = 7.5
_TURNED = 0.1
_RAISED_SIZE, _RAISED_BY = 0.8, 0.12


DAMAGED = "damaged: "
"""How a problem begins when something of the page is lost, other than a page that merely has no word."""


class UnreadablePdf(Exception):
    """PDFium refused the file; `kind` is encrypted or broken, the message is for a person."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class PdfPage:
    """The lines of one page in reading order; `top` and `bottom` are the page's edges in the lines' coordinates (points, y up).

    `problem` begins with DAMAGED where something of the page is lost. `confidence` is 0 to 1, for recognised pages only.
    """

    number: int
    top: float
    bottom: float
    lines: tuple[Line, ...]
    problem: str = ""
    origin: Origin = "text"
    confidence: float | None = None


class PdfFile:
    """An open PDF. Use it in a `with` block; `pages()` holds one page open at a time."""

    def __init__(self, path: Path) -> None:
        """Raises UnreadablePdf when PDFium cannot open the file or finds no page in it."""
        import pypdfium2
        import pypdfium2.raw as raw

        try:
            self._document = pypdfium2.PdfDocument(_source(path), autoclose=True)
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

    def pages(self, first: int = 1, last: int | None = None) -> Iterator[PdfPage]:
        """Pages `first` to `last` (from 1, both inclusive) by their text layer.

        A page that cannot be loaded comes without lines and with a `problem`; one that has to be recognised has the origin
        `none`, and what its text layer has, if anything.
        """
        for number in range(first, (self.page_count if last is None else min(last, self.page_count)) + 1):
            yield _read_page(self._document, number)

    def render(self, number: int, dpi: int) -> tuple[Image, float]:
        """Page `number` (from 1) as a grey picture, and how many of its pixels are a point.

        Raises UnreadablePdf when it cannot be drawn.
        """
        import pypdfium2

        try:
            page = self._document[number - 1]
        except pypdfium2.PdfiumError as error:
            raise UnreadablePdf("broken", "the page cannot be drawn") from error
        try:
            width, height = page.get_size()
            scale = dpi / 72
            area = width * height * scale * scale
            if not 0 < area < math.inf:
                raise UnreadablePdf("broken", "the page has no size")
            scale *= min(1.0, math.sqrt(MOST_PIXELS / area))
            bitmap = page.render(scale=scale, grayscale=True)
            try:
                return bitmap.to_pil().copy(), scale
            finally:
                bitmap.close()
        except pypdfium2.PdfiumError as error:
            raise UnreadablePdf("broken", "the page cannot be drawn") from error
        finally:
            page.close()


def _source(path: Path) -> Path | BinaryIO:
    """The path, or the open file where its name is no UTF-8, which PDFium wants."""
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError:
        return path.open("rb")
    return path


def _read_page(document: Any, number: int) -> PdfPage:
    import pypdfium2

    lost = lost_page(number, "the page cannot be loaded")
    try:
        page = document[number - 1]
    except pypdfium2.PdfiumError:
        return lost
    try:
        text_page = page.get_textpage()
        try:
            left, bottom, right, top = page.get_bbox()
            count = text_page.count_chars()
            turned, lines = _lines(text_page, min(count, MOST_CHARACTERS))
        finally:
            text_page.close()
        kind = _needs(page, lines, top=top, bottom=bottom)
    except pypdfium2.PdfiumError:
        return lost
    finally:
        page.close()
    if turned:
        corners = [_turn(x, y, turned)[1] for x in (left, right) for y in (bottom, top)]
        bottom, top = min(corners), max(corners)
    problem = f"{DAMAGED}only the first {MOST_CHARACTERS} characters are read" if count > MOST_CHARACTERS else ""
    if kind == "nothing":
        return PdfPage(number, top, bottom, (), problem or EMPTY, "none")
    return PdfPage(number, top, bottom, lines, problem, "none" if kind == "recognition" else "text")


EMPTY = "there is nothing on the page"


def lost_page(number: int, why: str) -> PdfPage:
    """A page of which nothing could be read; `why` is a clause for a person."""
    return PdfPage(number, 0.0, 0.0, (), DAMAGED + why, "none")


def recognised(pdf: PdfFile, page: PdfPage) -> PdfPage:
    """The page with its text from recognition.

    Where there is none, `problem` says why, and words of the text layer are kept unless they are no text.
    """
    kept = () if garbled("".join(line.text for line in page.lines)) else page.lines
    kept = kept if any(character.isalnum() for line in kept for character in line.text) else ()

    def unread(why: str) -> PdfPage:
        return replace(page, lines=kept, problem=why, origin="text" if kept else "none")

    if not recogniser():
        return unread(NO_RECOGNISER)
    try:
        picture, scale = pdf.render(page.number, DPI)
        found = recognise(picture, scale=scale)
    except (UnreadablePdf, NoRecognition) as error:
        return unread(f"its text has to be recognised, and {error}")
    if not any(character.isalnum() for line in found.lines for character in line.text):
        return unread("no word was recognised on it")
    if _in_body(kept, page) and _letters(found.lines) <= 2 * _letters(kept):
        return replace(page, origin="text")
    return PdfPage(
        page.number, picture.height / scale, 0.0, found.lines, page.problem, "ocr", confidence=found.confidence
    )


def _in_body(lines: Sequence[Line], page: PdfPage) -> bool:
    return any(
        line.upright and not stands_in_margin(line, top=page.top, bottom=page.bottom) and _letters([line])
        for line in lines
    )


def _letters(lines: Sequence[Line]) -> int:
    return sum(character.isalnum() for line in lines for character in line.text)


NO_RECOGNISER = "its text has to be recognised, and tesseract is not installed"


def as_record(page: PdfPage) -> dict[str, Any]:
    """The page as values that JSON can hold; `from_record` gives it back."""
    return {
        "number": page.number,
        "top": page.top,
        "bottom": page.bottom,
        "problem": page.problem,
        "origin": page.origin,
        "confidence": page.confidence,
        "lines": [[getattr(line, field.name) for field in fields(Line)] for line in page.lines],
    }


def from_record(record: dict[str, Any]) -> PdfPage:
    """The page that `as_record` made into a record."""
    lines = tuple(replace(Line(*line), gaps=tuple(line[-1])) for line in record["lines"])
    return PdfPage(**{**record, "lines": lines})


def _needs(page: Any, lines: Sequence[Line], *, top: float, bottom: float) -> str:
    """`nothing`, `recognition` or `text`, by the table at the head of this module."""
    import pypdfium2.raw as raw

    said = [line for line in lines if any(character.isalnum() for character in line.text)]
    if not said:
        return "recognition" if raw.FPDFPage_CountObjects(page) > 0 else "nothing"
    if garbled("".join(line.text for line in lines)):
        return "recognition"
    body = [line for line in said if line.upright and not stands_in_margin(line, top=top, bottom=bottom)]
    few = sum(len(line.text.split()) for line in said) < FEW_WORDS
    if body and not few:
        return "text"
    return "recognition" if _pictures_cover(page, SOME_SHARE if few else PICTURE_SHARE) else "text"


def _pictures_cover(page: Any, share: float) -> bool:
    """Whether pictures cover that part of the page; a scan is one picture, or strips of one width."""
    import pypdfium2.raw as raw

    width, height = page.get_size()
    covered = 0.0
    for found in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=4):
        left, bottom, right, top = found.get_bounds()
        covered += max(0.0, min(right, width) - max(left, 0.0)) * max(0.0, min(top, height) - max(bottom, 0.0))
    return covered >= share * width * height


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


def _lines(text_page: Any, count: int) -> tuple[float, tuple[Line, ...]]:
    """The angle at which most of the page's text runs, and its lines turned by that angle."""
    runs = _runs(text_page, count)
    angles = Counter[float]()
    for run in runs:
        first = next(character for character in run if not character.text.isspace())
        angles[round(first.angle, 1) % round(2 * math.pi, 1)] += len(run)
    if not angles:
        return 0.0, ()
    main = angles.most_common(1)[0][0]
    main = 0.0 if abs(main) < _TURNED or abs(main - 2 * math.pi) < _TURNED else main
    raised = [_raised(run) if not main else [False] * len(run) for run in runs]
    notes = frozenset(filter(None, (_note_number(run, high) for run, high in zip(runs, raised, strict=True))))
    return main, tuple(_line(run, main, high, notes) for run, high in zip(runs, raised, strict=True))


def _raised(run: list[_Character]) -> list[bool]:
    """Which characters are smaller and stand higher than the line: 0.8 of its type at most, 0.12 of it above its baseline at least.

    The Government Publishing Office sets marks at 0.65 and 0.26.
    """
    visible = [character for character in run if not character.text.isspace()]
    size = median(character.height for character in visible)
    baseline = median(character.baseline for character in visible)
    return [
        not character.text.isspace()
        and character.height <= _RAISED_SIZE * size
        and character.baseline - baseline >= _RAISED_BY * size
        for character in run
    ]


def _note_number(run: list[_Character], raised: list[bool]) -> str:
    """The raised number with which a footnote's first line begins; empty for any other line."""
    text = "".join(character.text for character in run)
    start = len(text) - len(text.lstrip())
    number = "".join(itertools.takewhile(str.isdigit, (text[at] for at in range(start, len(text)) if raised[at])))
    return number if number and all(raised[start : start + len(number)]) else ""


def _runs(text_page: Any, count: int) -> list[list[_Character]]:
    """Characters of each line that have a place; line ends and generated blanks only separate."""
    import pypdfium2.raw as raw

    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    x, y = ctypes.c_double(), ctypes.c_double()
    loose = raw.FS_RECTF()
    handle = text_page.raw
    faces = _Faces(handle)
    runs: list[list[_Character]] = [[]]
    high = ""
    for index in range(count):
        code = raw.FPDFText_GetUnicode(handle, index)
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
        if character.isspace():
            # Nothing asks where a blank stands, and every question to PDFium costs as much as the next.
            runs[-1].append(_Character(character, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, bold=False, italic=False))
            continue
        raw.FPDFText_GetCharBox(handle, index, left, right, bottom, top)
        raw.FPDFText_GetCharOrigin(handle, index, x, y)
        raw.FPDFText_GetLooseCharBox(handle, index, loose)
        runs[-1].append(
            _Character(
                character,
                left.value,
                right.value,
                x.value,
                y.value,
                abs(loose.top - loose.bottom),
                raw.FPDFText_GetCharAngle(handle, index),
                *faces.at(index),
            )
        )
    return [run for run in runs if any(not character.text.isspace() for character in run)]


class _Faces:
    """Whether a character is set in a bold and in a slanting face, by its font's name: flags and weights in PDFs are mostly not set."""

    def __init__(self, handle: Any) -> None:
        import pypdfium2.raw as raw

        self._ask = raw.FPDFText_GetFontInfo
        self._handle = handle
        self._buffer = ctypes.create_string_buffer(128)
        self._flags = ctypes.c_int()
        self._known: dict[bytes, tuple[bool, bool]] = {}

    def at(self, index: int) -> tuple[bool, bool]:
        size = self._ask(self._handle, index, self._buffer, 128, self._flags)
        name = self._buffer.value if 0 < size <= 128 else b""
        if name not in self._known:
            lower = name.lower()
            bold = b"bold" in lower or b"black" in lower or b"heavy" in lower
            self._known[name] = bold, b"italic" in lower or b"oblique" in lower
        return self._known[name]


def _line(run: list[_Character], main: float, raised: list[bool], notes: frozenset[str]) -> Line:
    visible = [character for character in run if not character.text.isspace()]
    first, last = visible[0], visible[-1]
    angle = first.angle
    upright = min(abs(angle - main), abs(abs(angle - main) - 2 * math.pi)) <= _TURNED
    line = Line(
        text=_text(run, raised, notes),
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


def _text(run: list[_Character], raised: list[bool], notes: frozenset[str]) -> str:
    if not any(raised):
        return "".join(character.text for character in run).strip()
    # A character beyond the basic plane is one here and one in a string; PDFium may give none or several for a ligature.
    text = "".join(character.text for character in run)
    mask = [high for character, high in zip(run, raised, strict=True) for _ in character.text]
    return write_raised(text, mask, notes).strip()


def _turn(x: float, y: float, angle: float) -> tuple[float, float]:
    """The point turned so that text at PDFium's `angle` (clockwise, radians) runs to the right."""
    cosine, sine = math.cos(angle), math.sin(angle)
    return x * cosine - y * sine, x * sine + y * cosine
