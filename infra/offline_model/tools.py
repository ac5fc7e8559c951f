"""The `tools` list: which entries a model takes, and how a tool call in the conversation relates to them.

Shapes are checked before (`requests.py`). Here: the model's tool types, unique names, toolset configurations that the
API rejects, and the tool choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import JSON, invalid
from .models import BROWSER_TOOLSET, COMPUTER_TOOL, COMPUTER_TOOLSET
from .requests import BROWSER_MEMBERS, BROWSER_MEMBERS_OFF, COMPUTER_MEMBERS, Request

# Entry type -> the family that member calls carry as `toolset_name`.
FAMILIES: Mapping[str, str] = {COMPUTER_TOOLSET: "computer", BROWSER_TOOLSET: "browser"}
MEMBERS: Mapping[str, tuple[str, ...]] = {"computer": COMPUTER_MEMBERS, "browser": BROWSER_MEMBERS}
MEMBERS_OFF: Mapping[str, frozenset[str]] = {"computer": frozenset(), "browser": BROWSER_MEMBERS_OFF}


def entry_type(entry: JSON) -> str:
    """The type of a `tools` entry; an entry without one is a custom tool."""
    return str(entry.get("type") or "custom")


def check_tools(request: Request) -> None:
    """Raise the 400 for the first entry of `tools`, or the tool choice, that the model does not accept."""
    unsupported = [
        entry_type(entry)
        for entry in request.tools
        if entry_type(entry) != "custom" and entry_type(entry) not in request.rules.tool_types
    ]
    if unsupported:
        accepted = ", ".join(sorted(request.rules.tool_types))
        raise invalid(
            f"'{request.rules.name}' does not support tool types: {', '.join(unsupported)}. "
            f"Did you mean one of {accepted}?"
        )
    for index, entry in enumerate(request.tools):
        if entry_type(entry) in FAMILIES:
            _check_configs(entry, at=f"tools.{index}.{entry_type(entry)}.configs")
        elif entry_type(entry) == "custom":
            _check_schema(entry, at=f"tools.{index}.custom")
    _check_names(request.tools)
    _check_choice(request)


def members_of(entry: JSON) -> frozenset[str]:
    """The members that a toolset entry offers to the model: all that are on by default or by its `configs`."""
    family = FAMILIES[entry_type(entry)]
    configs = entry.get("configs") or {}
    offered = set()
    for member in MEMBERS[family]:
        enabled = (configs.get(member) or {}).get("enabled")
        if enabled or (enabled is None and member not in MEMBERS_OFF[family]):
            offered.add(member)
    return frozenset(offered)


def _check_configs(entry: JSON, at: str) -> None:
    configs = entry.get("configs") or {}
    deferred = {bool((configs.get(member) or {}).get("defer_loading")) for member in members_of(entry)}
    if len(deferred) > 1:
        raise invalid("`defer_loading` must resolve to the same value on every enabled member", at=at)


def _check_schema(entry: JSON, at: str) -> None:
    schema = entry["input_schema"]
    if "type" not in schema:
        raise invalid("Field required", at=f"{at}.input_schema.type")
    if schema["type"] != "object":
        raise invalid("Input should be 'object'", at=f"{at}.input_schema.type")
    if entry.get("strict") and _open_object(schema):
        raise invalid("For 'object' type, 'additionalProperties' must be explicitly set to false", at=at)


def _open_object(schema: Any) -> bool:
    """Whether an object in `schema` may hold properties that it does not name."""
    if isinstance(schema, list):
        return any(_open_object(item) for item in schema)
    if not isinstance(schema, dict):
        return False
    if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        return True
    return any(_open_object(value) for value in schema.values())


def _check_names(tools: list[JSON]) -> None:
    """No two tools of one name; a toolset has none of its own, but its family's name is taken."""
    names = [FAMILIES.get(entry_type(entry)) or entry["name"] for entry in tools]
    if len(set(names)) != len(names):
        raise invalid("Tool names must be unique.", at="tools")


def _check_choice(request: Request) -> None:
    choice = request.body.get("tool_choice")
    if choice is None:
        return
    if not request.tools:
        raise invalid("tool_choice may only be specified while providing tools", at="tool_choice")
    if choice["type"] in ("any", "tool"):
        if request.rules.always_thinks:
            raise invalid('type "tool" and "any" are not supported for this model.', at="tool_choice")
        if request.thinks:
            raise invalid("Thinking may not be enabled when tool_choice forces tool use.")
        # The real model would obey; the clerk acts on what it sees and cannot be made to.
        raise invalid("the offline model cannot be forced to call a tool", at="tool_choice")


def display_size(tools: list[JSON]) -> tuple[int, int] | None:
    """Width and height in pixels that the old computer tool declares; None where no entry declares any."""
    for entry in tools:
        if entry_type(entry) == COMPUTER_TOOL:
            return entry["display_width_px"], entry["display_height_px"]
    return None
