"""Words and their places on a screenshot, by the tesseract program.

Decides: what text stands where. Never decides what it means. One run of the program per distinct picture: the result is kept
by the picture's digest.

Rules: the picture is prepared first, because recognition stumbles over exactly what a form is made of. Borders of boxes are
painted over, the text cursor is taken out, each box is turned into black on white, and everything is scaled up twice (at screen
size three labels of seven are missed).
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import subprocess
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np
from PIL import Image

from infra.offline_model.clerk.shapes import Pixels, Rect, Shape, find_shapes

SCALE = 2
_SECONDS = 60  # a screen takes about one; a busy machine may take ten times that
_KEPT = 64  # readings kept: far more than one filing has distinct screens


class RecognitionError(RuntimeError):
    """Tesseract is missing or failed: the machine is broken, not the page."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word; `confidence` is tesseract's, 0 to 100; `red` is True for text in a warning colour."""

    text: str
    rect: Rect
    confidence: float
    red: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """A picture as read: its size in pixels, its words in no promised order, its boxes."""

    width: int
    height: int
    words: tuple[Word, ...]
    shapes: tuple[Shape, ...]
    pixels: Pixels


# A Roman numeral of two or three strokes is read as letters and digits in every mixture; "11" and "111" stay numbers.
_NUMERAL = re.compile(r"(?<!\w)(?=[Il|1]*[Il|])[Il|1]{2,3}(?!\w)")

_readings: OrderedDict[str, Reading] = OrderedDict()
_lock = Lock()


def read_picture(data: bytes, *, careful: bool = False) -> Reading:
    """Read a PNG, JPEG, GIF or WebP picture; raises RecognitionError if the program is missing or fails.

    `careful` is another reading at a larger scale, by lines instead of scattered words: a second opinion.
    """
    key = hashlib.sha256(data).hexdigest() + (":careful" if careful else "")
    with _lock:
        if key in _readings:
            _readings.move_to_end(key)
            return _readings[key]
    with Image.open(io.BytesIO(data)) as picture:
        pixels = np.asarray(picture.convert("RGB"))
    shapes = find_shapes(pixels)
    # Mode 11 finds words anywhere and leaves the layout to page.py; mode 6 reads line by line.
    found = _recognise(prepare(pixels, shapes), psm=6 if careful else 11, scale=SCALE + careful)
    words = tuple(Word(text, rect, confidence, _is_red(pixels, rect)) for text, rect, confidence in found)
    reading = Reading(pixels.shape[1], pixels.shape[0], words, shapes, pixels)
    with _lock:
        _readings[key] = reading
        while len(_readings) > _KEPT:
            _readings.popitem(last=False)
    return reading


def read_line(reading: Reading, shape: Shape) -> str:
    """The single line of text inside one box, cut out and scaled up more: for what the full page did not give."""
    rect = shape.rect
    key = f"{hashlib.sha256(reading.pixels.tobytes()).hexdigest()}:{rect}"
    with _lock:
        if key in _lines:
            return _lines[key]
    cut = prepare(reading.pixels, reading.shapes)[rect.top : rect.bottom, rect.left : rect.right]
    padded = np.full((cut.shape[0] + 16, cut.shape[1] + 16), 255, dtype=np.uint8)
    padded[8:-8, 8:-8] = cut
    text = " ".join(word for word, _, _ in _recognise(padded, psm=7 if rect.height < 50 else 6, scale=3))
    with _lock:
        _lines[key] = text
        while len(_lines) > 8 * _KEPT:
            _lines.popitem(last=False)
    return text


_lines: OrderedDict[str, str] = OrderedDict()


def prepare(pixels: Pixels, shapes: Sequence[Shape]) -> Pixels:
    """The picture in grey as recognition likes it: dark on light, without the boxes' borders and drop-down marks."""
    grey = np.asarray(Image.fromarray(pixels).convert("L")).copy()
    for shape in shapes:
        inner, outer = shape.rect, shape.outline
        inside = grey[inner.top : inner.bottom, inner.left : inner.right]
        inside = _black_on_white(inside if shape.dark else _without_caret(inside))
        if shape.drop_mark:
            inside[:, -30:] = np.median(inside)
        elif inner.height > 40:
            inside[-18:, -18:] = np.median(inside)  # the grip by which a text area is resized
        # The border takes the colour of the page around it, and the rim of the interior that of the fill.
        around = grey[max(0, outer.top - 2), max(0, outer.left - 2)]
        grey[max(0, outer.top - 1) : outer.bottom + 1, max(0, outer.left - 1) : outer.right + 1] = around
        rim = np.median(inside)
        inside[:2], inside[-2:], inside[:, :2], inside[:, -2:] = rim, rim, rim, rim
        grey[inner.top : inner.bottom, inner.left : inner.right] = inside
    return grey


def _black_on_white(inside: Pixels) -> Pixels:
    """A box's interior with its fill as white and what differs from it most as black, whichever way round it was."""
    away = np.abs(inside.astype(np.float32) - float(np.median(inside)))
    return np.asarray(255 - away * 255 / max(float(away.max()), 64.0), dtype=np.uint8)


def _without_caret(inside: Pixels) -> Pixels:
    """A box's interior without the text cursor, which would be read as a letter: a thin upright taller than any letter."""
    result = inside.copy()
    fill = np.median(inside)
    dark = np.abs(inside.astype(np.int16) - fill) > 96
    dark[:3] = dark[-3:] = False
    heights = dark.sum(axis=0)
    for column in np.flatnonzero(heights >= 15):
        rows = np.flatnonzero(dark[:, column])
        unbroken = rows[-1] - rows[0] + 1 == len(rows)
        beside = heights[max(0, column - 1) : column + 2]
        if unbroken and sorted(beside)[-2] < 0.6 * heights[column]:
            result[rows, column] = fill
    return result


def _recognise(grey: Pixels, *, psm: int, scale: int) -> list[tuple[str, Rect, float]]:
    picture = Image.fromarray(grey)
    picture = picture.resize((picture.width * scale, picture.height * scale), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    picture.save(buffer, format="PPM")
    command = ["tesseract", "stdin", "stdout", "--psm", str(psm), "--dpi", "192", "-l", "eng", "tsv"]
    # One thread: more of them only wait for one another on the small machines where this runs.
    environment = {**os.environ, "OMP_THREAD_LIMIT": "1"}
    try:
        done = subprocess.run(command, input=buffer.getvalue(), capture_output=True, timeout=_SECONDS, env=environment)
    except FileNotFoundError as error:
        raise RecognitionError("tesseract is not installed: install the package tesseract-ocr") from error
    except subprocess.TimeoutExpired as error:
        raise RecognitionError(f"tesseract gave no answer in {_SECONDS} s") from error
    if done.returncode != 0:
        raise RecognitionError(f"tesseract failed: {done.stderr.decode(errors='replace').strip()[-300:]}")
    words = []
    for line in done.stdout.decode("utf-8", errors="replace").splitlines()[1:]:
        cells = line.split("\t")
        if len(cells) != 12 or cells[0] != "5" or not cells[11].strip():
            continue
        left, top, width, height = (int(cell) for cell in cells[6:10])
        rect = Rect(left // scale, top // scale, -(-(left + width) // scale), -(-(top + height) // scale))
        words.append((_NUMERAL.sub(lambda found: "I" * len(found[0]), cells[11].strip()), rect, float(cells[10])))
    return words


def _is_red(pixels: Pixels, rect: Rect) -> bool:
    inside = pixels[rect.top : rect.bottom, rect.left : rect.right].reshape(-1, 3).astype(np.int16)
    if not len(inside):
        return False
    luminance = inside @ np.array([0.299, 0.587, 0.114])
    core = inside[luminance <= np.percentile(luminance, 15)].mean(axis=0)
    return bool(core[0] - max(core[1], core[2]) > 60)
