"""What counts as the same content: the form in which blocks are compared, hashed and shown to the clerk.

`cache_control` marks and nulls are no content. A string is one text block, and messages of one role in a row are one
turn. Nothing else is equal: a re-encoded image or a shortened result is another block.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from .errors import JSON


def canonical(block: JSON) -> JSON:
    """A copy of a block without cache marks and nulls, its nested content as a list of blocks."""
    clean: JSON = {}
    for name, value in block.items():
        if name == "cache_control" or value is None:
            continue
        if name == "content" and isinstance(value, list):
            clean[name] = [canonical(item) for item in value]
        elif name == "content" and isinstance(value, str):
            clean[name] = [{"type": "text", "text": value}] if value else []
        else:
            clean[name] = value
    return clean


class Chain:
    """A running digest of content: each `add` returns the digest of everything so far."""

    def __init__(self, *seed: str) -> None:
        self._digest = digest(list(seed))

    def add(self, *parts: Any) -> str:
        """Append JSON values and return the hexadecimal digest of the whole."""
        self._digest = digest([self._digest, *parts])
        return self._digest

    @property
    def value(self) -> str:
        """The digest of everything added so far."""
        return self._digest


def digest(value: Any) -> str:
    """A hexadecimal digest of a JSON value; the order of an object's keys is no difference."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]
