"""The images of a request: that each can be decoded, is what it says it is, and is within the API's limits.

The limits are those of the models that take the toolset: long edge, visual tokens, and a shorter side limit where a
request holds many images. Older models resize instead. An image over a limit is refused, never scaled.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, sqrt
from threading import Lock

from PIL import Image, UnidentifiedImageError

from .errors import JSON, invalid
from .models import ModelRules

PATCH = 28
MAX_LONG_EDGE = 2576
MAX_VISUAL_TOKENS = 4784
MANY_IMAGES = 20
MAX_SIDE_OF_MANY = 2000
MAX_SIDE = 8000
# Images in one request, by the model's context window: the larger number from a million tokens on.
MAX_IMAGES, MAX_IMAGES_SMALL_WINDOW, LARGE_WINDOW = 600, 100, 1_000_000
MAX_BYTES = 5 * 1024 * 1024
# Older models are shown at most this many tokens of an image, scaled down by the API.
RESIZED_VISUAL_TOKENS = 1568

FORMATS = {"JPEG": "image/jpeg", "PNG": "image/png", "GIF": "image/gif", "WEBP": "image/webp"}
REMEMBERED_IMAGES = 2000


@dataclass(frozen=True)
class Picture:
    """Width and height in pixels and the media type that the bytes really are."""

    width: int
    height: int
    media_type: str


def visual_tokens(width: int, height: int) -> int:
    """Tokens of an image of this size: one for each patch of 28 x 28 pixels."""
    return ceil(width / PATCH) * ceil(height / PATCH)


def billed_tokens(block: JSON, rules: ModelRules) -> int:
    """Input tokens of an image block that has passed `check_images`."""
    picture = _inspect(block["source"]["data"], at="")
    tokens = visual_tokens(picture.width, picture.height)
    return min(tokens, RESIZED_VISUAL_TOKENS) if rules.resizes_images else tokens


def last_size(messages: list[JSON]) -> tuple[int, int] | None:
    """Width and height in pixels of the last image in the conversation; None where there is none."""
    found = list(images(messages))
    if not found:
        return None
    picture = _inspect(found[-1][1]["source"]["data"], at=found[-1][0])
    return picture.width, picture.height


def images(messages: list[JSON]) -> Iterator[tuple[str, JSON]]:
    """Every image block with its path, nested ones included, in the order they were sent."""
    for i, message in enumerate(messages):
        for j, block in enumerate(message["content"]):
            at = f"messages.{i}.content.{j}"
            if block["type"] == "image":
                yield at, block
            elif block["type"] == "tool_result" and isinstance(block.get("content"), list):
                for k, item in enumerate(block["content"]):
                    if item["type"] == "image":
                        yield f"{at}.content.{k}", item


def check_images(messages: list[JSON], rules: ModelRules) -> None:
    """Raise the 400 for the first image that cannot be read, is mislabelled or is over a limit."""
    sizes: list[tuple[str, Picture]] = []
    found = list(images(messages))
    most = MAX_IMAGES if rules.context_window >= LARGE_WINDOW else MAX_IMAGES_SMALL_WINDOW
    if len(found) > most:
        raise invalid(f"Too many images in the request: {len(found)} > {most}", at="messages")
    for at, block in found:
        source_at = f"{at}.image.source.base64"
        picture = _inspect(block["source"]["data"], at=source_at)
        if picture.media_type != block["source"]["media_type"]:
            raise invalid(
                f"The image was specified using the {block['source']['media_type']} media type, but the image appears "
                f"to be a {picture.media_type} image",
                at=source_at,
            )
        sizes.append((at, picture))
    limit = MAX_SIDE if rules.resizes_images else MAX_LONG_EDGE
    _check_sides(sizes, limit, "the max allowed size")
    if len(sizes) > MANY_IMAGES:
        _check_sides(sizes, MAX_SIDE_OF_MANY, "max allowed size for many-image requests")
    if not rules.resizes_images:
        _check_tokens(sizes)


def _check_sides(sizes: list[tuple[str, Picture]], limit: int, what: str) -> None:
    over = [at for at, picture in sizes if max(picture.width, picture.height) > limit]
    if over:
        raise invalid(
            f"At least one of the image dimensions exceed {what}: {limit} pixels",
            at=f"{over[0]}.image.source.base64.data",
            details={"error_code": "image_dimensions_too_large", "max_side_length_pixels": limit, "paths": over},
        )


def _check_tokens(sizes: list[tuple[str, Picture]]) -> None:
    for at, picture in sizes:
        tokens = visual_tokens(picture.width, picture.height)
        if tokens > MAX_VISUAL_TOKENS:
            scale = sqrt(MAX_VISUAL_TOKENS / tokens)
            raise invalid(
                f"image of {picture.width}x{picture.height} pixels takes {tokens} visual tokens > {MAX_VISUAL_TOKENS} "
                f"maximum; scale it to about {int(picture.width * scale)}x{int(picture.height * scale)}",
                at=f"{at}.image.source.base64.data",
            )


_seen: OrderedDict[str, Picture] = OrderedDict()
_seen_lock = Lock()


def _inspect(data: str, at: str) -> Picture:
    """Decode an image once; a conversation sends each screenshot again with every request."""
    key = hashlib.sha256(data.encode()).hexdigest()
    with _seen_lock:
        picture = _seen.get(key)
    if picture is None:
        picture = _decode(data, at)
        with _seen_lock:
            _seen[key] = picture
            while len(_seen) > REMEMBERED_IMAGES:
                _seen.popitem(last=False)
    return picture


def _decode(data: str, at: str) -> Picture:
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise invalid("Invalid base64 data", at=f"{at}.data") from None
    if len(raw) > MAX_BYTES:
        raise invalid(f"image exceeds 5 MB maximum: {len(raw)} bytes > {MAX_BYTES} bytes", at=at)
    try:
        with warnings.catch_warnings():
            # A picture with more pixels than Pillow trusts is far over the limits: refused like a broken one.
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(raw)) as image:
                image.load()
                return Picture(image.width, image.height, FORMATS.get(image.format or "", "unknown"))
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, Image.DecompressionBombError, Warning):
        raise invalid("Could not process image", at=f"{at}.data") from None
