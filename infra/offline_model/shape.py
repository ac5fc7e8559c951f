"""A small language for the shape of a JSON value, and the walk that finds the first place where a value breaks it.

It decides nothing about meaning: only types, required fields, unknown fields, allowed values and bounds. The texts and
the paths (`messages.0.content.1.image.source.base64.media_type: …`) are those of the API, so a table of shapes
(`requests.py`) is all there is to write for a field. `None` is allowed where a field is marked nullable.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .errors import invalid


@dataclass(frozen=True)
class Text:
    """A string; `pattern` must match the whole of it."""

    values: tuple[str, ...] = ()
    pattern: str = ""
    max_length: int | None = None


@dataclass(frozen=True)
class Number:
    """An integer, or with `real` any number; bounds are inclusive."""

    minimum: float | None = None
    maximum: float | None = None
    real: bool = False


@dataclass(frozen=True)
class Flag:
    """A boolean."""


@dataclass(frozen=True)
class FreeObject:
    """An object whose content the API does not look at, such as a tool call's input."""


@dataclass(frozen=True)
class Listing:
    """A list of values of one shape."""

    of: Shape
    minimum: int = 0


@dataclass(frozen=True)
class Field:
    """One field of an object; a nullable one may also be null, which means absent."""

    shape: Shape
    required: bool = False
    nullable: bool = False


@dataclass(frozen=True)
class Record:
    """An object with exactly these fields."""

    fields: Mapping[str, Field]


@dataclass(frozen=True)
class Tagged:
    """An object whose `type` selects its record; without a `type` it is the `default` one."""

    records: Mapping[str, Record]
    default: str = ""


@dataclass(frozen=True)
class TextOr:
    """A string, or a value of the other shape."""

    other: Shape


@dataclass(frozen=True)
class FlagOr:
    """A boolean, or a value of the other shape."""

    other: Shape


Shape = Text | Number | Flag | FreeObject | Listing | Record | Tagged | TextOr | FlagOr


def check(value: Any, shape: Shape, at: str) -> None:
    """Raise the 400 for the first place in `value` that does not have `shape`; `at` is the value's own path."""
    match shape:
        case Text():
            _check_text(value, shape, at)
        case Number():
            _check_number(value, shape, at)
        case Flag():
            if not isinstance(value, bool):
                raise invalid("Input should be a valid boolean", at=at)
        case FreeObject():
            if not isinstance(value, dict):
                raise invalid("Input should be a valid dictionary", at=at)
        case Listing():
            if not isinstance(value, list):
                raise invalid("Input should be a valid list", at=at)
            if len(value) < shape.minimum:
                raise invalid(
                    f"List should have at least {shape.minimum} item after validation, not {len(value)}", at=at
                )
            for index, item in enumerate(value):
                check(item, shape.of, f"{at}.{index}")
        case Record():
            _check_record(value, shape, at)
        case Tagged():
            _check_tagged(value, shape, at)
        case TextOr():
            if not isinstance(value, str):
                check(value, shape.other, at)
        case FlagOr():
            if not isinstance(value, bool):
                check(value, shape.other, at)


def _check_text(value: Any, shape: Text, at: str) -> None:
    if not isinstance(value, str):
        raise invalid("Input should be a valid string", at=at)
    if shape.values and value not in shape.values:
        raise invalid(f"Input should be {_alternatives(shape.values)}", at=at)
    if shape.pattern and not re.fullmatch(shape.pattern, value):
        raise invalid(f"String should match pattern '^{shape.pattern}$'", at=at)
    if shape.max_length is not None and len(value) > shape.max_length:
        raise invalid(f"String should have at most {shape.max_length} characters", at=at)


def _check_number(value: Any, shape: Number, at: str) -> None:
    kinds = (int, float) if shape.real else int
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise invalid(f"Input should be a valid {'number' if shape.real else 'integer'}", at=at)
    if shape.minimum is not None and value < shape.minimum:
        raise invalid(f"Input should be greater than or equal to {shape.minimum:g}", at=at)
    if shape.maximum is not None and value > shape.maximum:
        raise invalid(f"Input should be less than or equal to {shape.maximum:g}", at=at)


def _check_record(value: Any, shape: Record, at: str) -> None:
    if not isinstance(value, dict):
        raise invalid("Input should be an object", at=at)
    prefix = f"{at}." if at else ""
    for name, field in shape.fields.items():
        if name not in value:
            if field.required:
                raise invalid("Field required", at=prefix + name)
        elif not (field.nullable and value[name] is None):
            check(value[name], field.shape, prefix + name)
    for name in value:
        if name not in shape.fields:
            raise invalid("Extra inputs are not permitted", at=prefix + name)


def _check_tagged(value: Any, shape: Tagged, at: str) -> None:
    if not isinstance(value, dict):
        raise invalid("Input should be an object", at=at)
    # A null type is the default one, as for a custom tool.
    tag = value.get("type") or shape.default
    if not tag:
        raise invalid("Field required", at=f"{at}.type")
    record = shape.records.get(tag) if isinstance(tag, str) else None
    if record is None:
        known = ", ".join(f"'{name}'" for name in shape.records)
        raise invalid(f"Input tag '{tag}' found using 'type' does not match any of the expected tags: {known}", at=at)
    _check_record(value, record, f"{at}.{tag}")


def _alternatives(values: tuple[str, ...]) -> str:
    quoted = [f"'{value}'" for value in values]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"
