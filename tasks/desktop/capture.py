"""Eyes: the screen as a picture, in process.

A capture that cannot be a page is an error, never a picture: another size than the display was made with (the model's
coordinates would be wrong) or one colour all over (nothing is drawn).
"""

from __future__ import annotations

import io
import time
from collections import Counter

import mss
from mss.exception import ScreenShotError
from PIL import Image

from tasks.domain.errors import TemporaryError

PNG_COMPRESSION = 3
BLANK_SECONDS = 2.0
# Half the size of a word, and one pixel of so many that tells the background's colour (a prime, so that columns do not repeat).
NEAR = (16, 8)
SAMPLE = 251


class Screen:
    """The display's pixels. Not for use from two threads at once."""

    def __init__(self, display: str, width: int, height: int) -> None:
        """Raises TemporaryError when the display cannot be captured or has another size."""
        self._width, self._height = width, height
        try:
            self._plain = mss.MSS(display=display)
            self._with_pointer = mss.MSS(display=display, with_cursor=True)
        except ScreenShotError as error:
            raise TemporaryError(
                f"The display {display} cannot be captured ({error}). Start the desktop again."
            ) from error
        self._area = {"left": 0, "top": 0, "width": width, "height": height}
        whole = self._plain.monitors[0]
        if (whole["width"], whole["height"]) != (width, height):
            raise TemporaryError(
                f"The display {display} is {whole['width']}x{whole['height']} pixels, but {width}x{height} were asked for; the "
                "model's coordinates would be wrong. Start the desktop again."
            )

    def close(self) -> None:
        self._plain.close()
        self._with_pointer.close()

    def raw(self) -> bytes:
        """The pixels, four bytes each, without the pointer: cheap, to be compared with another."""
        return bytes(self._grab(self._plain).bgra)

    def image(self) -> Image.Image:
        """The full screen with the pointer, RGB. Raises TemporaryError if it stays blank or has the wrong size."""
        deadline = time.monotonic() + BLANK_SECONDS
        while one_colour(self.raw()):
            # A page may be blank for a moment while it is swapped for the next.
            if time.monotonic() >= deadline:
                raise TemporaryError(
                    f"The screen stayed one colour for {BLANK_SECONDS:g} s: no page is drawn. The browser may have ended or be starting."
                )
            time.sleep(0.05)
        shot = self._grab(self._with_pointer)
        return Image.frombytes("RGB", (self._width, self._height), bytes(shot.bgra), "raw", "BGRX")

    def _grab(self, source: mss.MSS) -> mss.ScreenShot:
        try:
            shot = source.grab(self._area)
        except ScreenShotError as error:
            raise TemporaryError(f"The screen could not be captured ({error}).") from error
        if (shot.width, shot.height) != (self._width, self._height):
            raise TemporaryError(
                f"A capture of {shot.width}x{shot.height} pixels came from a display of {self._width}x{self._height}."
            )
        return shot


def one_colour(pixels: bytes) -> bool:
    """True if all pixels (four bytes each) are equal: a blank or black screen."""
    return pixels == pixels[:4] * (len(pixels) // 4)


def drawn(pixels: bytes, width: int, height: int, x: int, y: int) -> bool:
    """Whether something is drawn at a point: the pixels around it (`NEAR`, four bytes each) are not of one colour, or of another than
    most of the screen. Reads a few thousand pixels."""
    row = width * 4
    left, right = max(0, x - NEAR[0]) * 4, min(width, x + NEAR[0] + 1) * 4
    colour = pixels[y * row + x * 4 :][:4]
    for line in range(max(0, y - NEAR[1]), min(height, y + NEAR[1] + 1)):
        part = pixels[line * row + left : line * row + right]
        if part != colour * (len(part) // 4):
            return True
    samples = Counter(pixels[at : at + 4] for at in range(0, len(pixels) - 3, 4 * SAMPLE))
    return samples.most_common(1)[0][0] != colour


def png(image: Image.Image) -> bytes:
    stream = io.BytesIO()
    image.save(stream, "PNG", compress_level=PNG_COMPRESSION)
    return stream.getvalue()


def enlarged(image: Image.Image, region: tuple[int, int, int, int]) -> Image.Image:
    """The region (x0, y0, x1, y1; x1 and y1 exclusive) scaled up until it fills the image's own size, aspect ratio kept."""
    x0, y0, x1, y1 = region
    factor = min(image.width / (x1 - x0), image.height / (y1 - y0))
    size = max(1, round((x1 - x0) * factor)), max(1, round((y1 - y0) * factor))
    return image.crop(region).resize(size, Image.Resampling.LANCZOS)
