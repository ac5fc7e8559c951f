"""Where a fact came from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Citation:
    """`document` is the file's name in the corpus; `page` counts from 1; `quote` is the words relied on, or empty."""

    document: str
    page: int
    quote: str = ""
