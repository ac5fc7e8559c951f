"""How artifacts are named in Prefect."""

from __future__ import annotations


def artifact_key(text: str) -> str:
    """`text` as Prefect wants artifact keys: lower-case letters, digits and dashes."""
    return "".join(c if c.isalnum() and c.isascii() else "-" for c in text.lower()).strip("-") or "x"
