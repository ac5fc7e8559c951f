"""Pictures of pages become lines of text with their places and a confidence, by tesseract.

It decides how a page is shown to tesseract, how its words become lines in the coordinates of the page, and what the
confidence is. It never opens a document, and never drops a word because tesseract is unsure of it: the confidence tells.

Rules
- 300 dots an inch, the resolution for which tesseract's models are made (its documentation, "Improving the quality of the output").
- Words of one line of one block form a `Line`; blocks come in tesseract's reading order, which goes column by column.
- The confidence is the mean over the words, 0 to 1, each word counted by its letters, so that specks do not outweigh words.
- A page that reads badly (below UNSURE, or fewer than FEW words) is asked for its orientation once, turned and read again;
  the surer reading counts.

A page costs 1 to 4 seconds of one core and about 150 MB in tesseract's own process.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import TYPE_CHECKING, Any

from tasks.documents.layout import Line

if TYPE_CHECKING:
    from PIL.Image import Image

DPI = 300
PAGE_SECONDS = 60
"""For one reading of one page; a page of 8 megapixels takes 2 to 4."""

UNSURE = 0.6
FEW = 5
_TYPE_SIZE = 10.0
_WIDE_BLANK = 2.5


class NoRecognition(Exception):
    """A page could not be recognised; the message is a clause for a person."""


@dataclass(frozen=True, slots=True)
class Recognised:
    """Lines of a page (points, y up) and the mean confidence of their words, None when there is no word."""

    lines: tuple[Line, ...]
    confidence: float | None


@cache
def recogniser() -> str:
    """The installed tesseract, as `tesseract 5.3.0`, or an empty string where it or its English model is missing."""
    try:
        import pytesseract

        version = str(pytesseract.get_tesseract_version()).split()[0]
        return f"tesseract {version}" if "eng" in pytesseract.get_languages() else ""
    except (ImportError, OSError, RuntimeError, SystemExit):
        # pytesseract raises TesseractNotFoundError (an OSError), and SystemExit for a version that it cannot read.
        return ""


def recognise(picture: Image, *, scale: float, seconds: float = PAGE_SECONDS) -> Recognised:
    """The words of a page's picture; `scale` is its pixels a point. Raises NoRecognition."""
    read = _read(picture, scale, seconds)
    if (read.confidence or 0.0) >= UNSURE and sum(len(line.text.split()) for line in read.lines) >= FEW:
        return read
    angle = _turned_by(picture, seconds)
    if not angle:
        return read
    again = _read(picture.rotate(-angle, expand=True), scale, seconds)
    return max(read, again, key=lambda each: (each.confidence or 0.0) * sum(len(line.text) for line in each.lines))


def _read(picture: Image, scale: float, seconds: float) -> Recognised:
    import pytesseract

    try:
        words = pytesseract.image_to_data(
            picture, lang="eng", config=f"--psm 3 --dpi {DPI}", timeout=seconds, output_type=pytesseract.Output.DICT
        )
    except pytesseract.TesseractNotFoundError as error:
        raise NoRecognition("tesseract is not installed") from error
    except pytesseract.TesseractError as error:
        raise NoRecognition("tesseract failed on it") from error
    except RuntimeError as error:
        raise NoRecognition(f"tesseract took more than {seconds:g} seconds for it") from error
    return lines_of(words, height=picture.height, scale=scale)


def _turned_by(picture: Image, seconds: float) -> int:
    """By how many degrees clockwise the page must be turned to stand upright: 0 where tesseract cannot tell."""
    import pytesseract

    try:
        found = pytesseract.image_to_osd(
            picture, config=f"--dpi {DPI}", timeout=seconds, output_type=pytesseract.Output.DICT
        )
    except (pytesseract.TesseractError, RuntimeError):
        # "Too few characters" is its usual answer to a picture, and a missing model of orientations no reason to lose the page.
        return 0
    return int(found["rotate"])


def lines_of(words: dict[str, list[Any]], *, height: int, scale: float) -> Recognised:
    """Lines from tesseract's table of words (`image_to_data`), in its order; `height` is the picture's, in pixels."""
    found = [
        _Word(
            (words["block_num"][at], words["par_num"][at], words["line_num"][at]),
            str(words["text"][at]).strip(),
            float(words["conf"][at]),
            words["left"][at] / scale,
            (height - words["top"][at] - words["height"][at]) / scale,
            (words["left"][at] + words["width"][at]) / scale,
            words["height"][at] / scale,
        )
        for at in range(len(words["text"]))
        if str(words["text"][at]).strip() and float(words["conf"][at]) >= 0
    ]
    lines = tuple(_line(list(group)) for _, group in itertools.groupby(found, key=lambda word: word.place))
    letters = sum(len(word.text) for word in found)
    confidence = sum(word.confidence * len(word.text) for word in found) / letters / 100 if letters else None
    return Recognised(lines, None if confidence is None else round(min(1.0, max(0.0, confidence)), 4))


@dataclass(frozen=True, slots=True)
class _Word:
    place: tuple[int, int, int]
    text: str
    confidence: float
    left: float
    bottom: float
    right: float
    height: float


def _line(words: Sequence[_Word]) -> Line:
    # A line's bottom is that of most of its words: a descender hangs below it, a quotation mark above.
    bottom = median(word.bottom for word in words)
    tall = median(word.height for word in words)
    return Line(
        text=" ".join(word.text for word in words),
        left=words[0].left,
        right=max(word.right for word in words),
        baseline=bottom,
        last_baseline=bottom,
        # The height of a box depends on the letters in it, so it is no type size.
        size=_TYPE_SIZE,
        gaps=tuple(
            after.left for before, after in itertools.pairwise(words) if after.left - before.right > _WIDE_BLANK * tall
        ),
    )
