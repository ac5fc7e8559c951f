"""What a caller may choose about a desktop, and the limits of those choices.

The limits are the Messages API's, so that no screenshot is ever resized on the way: an image over them is rejected, and
coordinates are pixels of the picture that was sent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from tasks.domain.errors import PermanentError

SMALLEST_SIDE = 320
# "Over 20 images in a request, no side over 2000 px": a filing has more than 20, so the smaller of the two limits holds.
LONGEST_SIDE = 2000
# ceil(width / 28) * ceil(height / 28) visual tokens, for the models that take the toolset.
VISUAL_TOKEN_SIDE = 28
MOST_VISUAL_TOKENS = 4784


def visual_tokens(width: int, height: int) -> int:
    """Tokens that an image of this size costs (Messages API, limits of images)."""
    return math.ceil(width / VISUAL_TOKEN_SIDE) * math.ceil(height / VISUAL_TOKEN_SIDE)


@dataclass(frozen=True, slots=True)
class DesktopOptions:
    """`folder` takes everything that the desktop writes (it makes and removes a folder of its own there). `browser` is the
    path of a Firefox executable; None looks for firefox-esr, then for a firefox that is not a snap stub. `start_seconds` is
    how long the whole start may take, `load_seconds` how long one page may.

    Raises PermanentError for a size that the Messages API would not take.
    """

    folder: Path
    width: int = 1024
    height: int = 768
    browser: Path | None = None
    start_seconds: float = 90.0
    load_seconds: float = 20.0

    def __post_init__(self) -> None:
        shortest, longest = sorted((self.width, self.height))
        if (
            shortest < SMALLEST_SIDE
            or longest > LONGEST_SIDE
            or visual_tokens(self.width, self.height) > MOST_VISUAL_TOKENS
        ):
            raise PermanentError(
                f"A screen of {self.width}x{self.height} cannot be shown to the model: each side must be {SMALLEST_SIDE} to "
                f"{LONGEST_SIDE} pixels and the whole at most {MOST_VISUAL_TOKENS} visual tokens (1024x768 has "
                f"{visual_tokens(1024, 768)}). Choose another screen width and height."
            )
