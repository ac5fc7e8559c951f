"""The attestations: which questions are asked, in which words and order.

They come from a TOML file, so that an installation can reword and reorder them without a change of code.
Rules: at least one question; keys are unique, lower-case identifiers and never the name of another field of the form.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from portal.validation import PERIOD_FIELDS

RESERVED_KEYS = frozenset({*PERIOD_FIELDS, "csrf"})


@dataclass(frozen=True, slots=True)
class Question:
    """`key` names the answer in the record and the field on the page; `label` is the wording."""

    key: str
    label: str


def load_questions(path: Path) -> tuple[Question, ...]:
    """Read the questions from a TOML file of `[[questions]]` tables with `key` and `label`.

    Raises ValueError with the file's name when the file breaks a rule of this module, OSError when it cannot be read.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8")).get("questions", [])
        if not isinstance(tables, list):
            raise ValueError("questions must be [[questions]] tables")
        questions = tuple(_question(table) for table in tables)
        keys = [question.key for question in questions]
        if not keys:
            raise ValueError("no [[questions]] table")
        if len(set(keys)) != len(keys):
            raise ValueError("a key is used twice")
    except ValueError as error:  # tomllib.TOMLDecodeError and UnicodeDecodeError are ValueErrors
        raise ValueError(f"{path}: {error}") from error
    return questions


def _question(table: object) -> Question:
    if not isinstance(table, dict) or set(table) != {"key", "label"}:
        raise ValueError("each [[questions]] table needs exactly key and label")
    key, label = table["key"], table["label"]
    if not isinstance(key, str) or not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", key):
        raise ValueError(f"{key!r} is not a lower-case identifier of at most 40 characters")
    if key in RESERVED_KEYS:
        raise ValueError(f"{key!r} is already the name of another field of the form")
    if not isinstance(label, str) or not label.strip() or len(label) > 300:
        raise ValueError(f"the label of {key!r} must have 1 to 300 characters")
    return Question(key, label.strip())
