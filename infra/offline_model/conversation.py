"""The order of a conversation: who speaks, and that every tool call has its one matching result.

Consecutive messages of one role are one turn, as in the API. Results come first in the user's turn right after the
calls. A toolset member's result echoes `toolset_name` and holds only text and images.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from .errors import JSON, invalid
from .tools import FAMILIES, MEMBERS, entry_type

MEMBER_RESULT_CONTENT = ("text", "image")
USER_BLOCKS = frozenset({"text", "image", "search_result", "tool_result"})
ASSISTANT_BLOCKS = frozenset({"text", "tool_use", "thinking"})


@dataclass(frozen=True)
class Placed:
    """A block and its path in the request, as in `messages.0.content.1`."""

    at: str
    block: JSON


@dataclass(frozen=True)
class Turn:
    """The blocks of consecutive messages of one role; `at` is the path of the first of them."""

    at: str
    role: str
    blocks: tuple[Placed, ...]


def turns(messages: list[JSON]) -> list[Turn]:
    """The conversation as turns; `messages` hold content lists."""
    merged: list[Turn] = []
    for i, message in enumerate(messages):
        placed = tuple(Placed(f"messages.{i}.content.{j}", block) for j, block in enumerate(message["content"]))
        if merged and merged[-1].role == message["role"]:
            merged[-1] = Turn(merged[-1].at, merged[-1].role, merged[-1].blocks + placed)
        else:
            merged.append(Turn(f"messages.{i}", message["role"], placed))
    return merged


def check_conversation(messages: list[JSON], tools: list[JSON], *, resumes: bool) -> None:
    """Raise the 400 for the first broken rule; `resumes` says that the last message is a paused turn sent back."""
    if not messages:
        raise invalid("at least one message is required", at="messages")
    for i, message in enumerate(messages):
        if not message["content"]:
            raise invalid(
                "all messages must have non-empty content except for the optional final assistant message",
                at=f"messages.{i}",
            )
    if messages[0]["role"] != "user":
        raise invalid('first message must use the "user" role', at="messages")
    conversation = turns(messages)
    for turn in conversation:
        _check_blocks(turn)
    _check_call_ids(conversation)
    _check_results(conversation, resumes=resumes)
    if conversation[-1].role == "assistant" and not resumes:
        raise invalid(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )
    _check_calls(conversation, tools)
    _check_search_results(conversation)


def _check_blocks(turn: Turn) -> None:
    allowed = USER_BLOCKS if turn.role == "user" else ASSISTANT_BLOCKS
    for placed in turn.blocks:
        kind = placed.block["type"]
        if kind not in allowed:
            other = "assistant" if turn.role == "user" else "user"
            raise invalid(f"`{kind}` blocks can only be in `{other}` messages", at=placed.at)
        if kind == "text" and not placed.block["text"]:
            raise invalid("text content blocks must be non-empty", at="messages")


def _calls(turn: Turn) -> dict[str, Placed]:
    return {placed.block["id"]: placed for placed in turn.blocks if placed.block["type"] == "tool_use"}


def _check_call_ids(conversation: list[Turn]) -> None:
    seen: set[str] = set()
    for turn in conversation:
        for placed in turn.blocks:
            if placed.block["type"] == "tool_use":
                if placed.block["id"] in seen:
                    raise invalid("`tool_use` ids must be unique", at=placed.at)
                seen.add(placed.block["id"])


def _check_results(conversation: list[Turn], *, resumes: bool) -> None:
    calls: dict[str, Placed] = {}
    previous: Turn | None = None
    for turn in conversation:
        if turn.role == "user":
            answered = _answers(turn, calls)
            _check_all_answered(previous, calls, answered)
        calls = _calls(turn)
        previous = turn
    if previous is not None and not resumes:
        _check_all_answered(previous, calls, ())


def _answers(turn: Turn, calls: dict[str, Placed]) -> set[str]:
    """The ids of the calls that the leading results of a user turn answer; raises for a result that answers none."""
    answered: set[str] = set()
    leading = True
    for placed in turn.blocks:
        if placed.block["type"] != "tool_result":
            leading = False
            continue
        call_id = placed.block["tool_use_id"]
        if call_id not in calls:
            raise invalid(
                f"unexpected `tool_use_id` found in `tool_result` blocks: {call_id}. Each `tool_result` block must "
                "have a corresponding `tool_use` block in the previous message.",
                at=placed.at,
            )
        if call_id in answered:
            raise invalid(
                f"each tool_use must have a single result. Found multiple `tool_result` blocks with id: {call_id}",
                at=placed.at,
            )
        if leading:
            answered.add(call_id)
            _check_result(placed, calls[call_id].block)
    return answered


def _check_all_answered(turn: Turn | None, calls: dict[str, Placed], answered: Collection[str]) -> None:
    missing = [call_id for call_id in calls if call_id not in answered]
    if missing and turn is not None:
        raise invalid(
            f"`tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(missing)}. Each "
            "`tool_use` block must have a corresponding `tool_result` block in the next message.",
            at=turn.at,
        )


def _check_result(placed: Placed, call: JSON) -> None:
    result = placed.block
    content = result.get("content")
    if result.get("is_error") and not _has_content(content):
        raise invalid("content cannot be empty if `is_error` is true", at=placed.at)
    family, echoed = call.get("toolset_name"), result.get("toolset_name")
    if family != echoed:
        raise invalid(
            f"`toolset_name` must match the `tool_use` block it answers: expected {_named(family)}, "
            f"found {_named(echoed)}",
            at=f"{placed.at}.tool_result.toolset_name",
        )
    if family and isinstance(content, list):
        for index, item in enumerate(content):
            if item["type"] not in MEMBER_RESULT_CONTENT:
                raise invalid(
                    f"a toolset member's result may hold only `text` and `image` blocks, found `{item['type']}`",
                    at=f"{placed.at}.tool_result.content.{index}",
                )
    if isinstance(content, list):
        for item in content:
            if item["type"] == "text" and not item["text"]:
                raise invalid("text content blocks must be non-empty", at="messages")


def _has_content(content: str | list[JSON] | None) -> bool:
    if isinstance(content, list):
        return any(item["type"] != "text" or item["text"].strip() for item in content)
    return bool(content and content.strip())


def _named(family: str | None) -> str:
    return f"'{family}'" if family else "none"


def _check_calls(conversation: list[Turn], tools: list[JSON]) -> None:
    """A member call names a declared toolset and one of its members."""
    declared = {FAMILIES[entry_type(entry)] for entry in tools if entry_type(entry) in FAMILIES}
    for turn in conversation:
        for placed in _calls(turn).values():
            family = placed.block.get("toolset_name")
            if family is None:
                continue
            if family not in declared:
                raise invalid(f"no toolset '{family}' in `tools`", at=f"{placed.at}.tool_use.toolset_name")
            if placed.block["name"] not in MEMBERS[family]:
                raise invalid(
                    f"'{placed.block['name']}' is not a member of toolset '{family}'", at=f"{placed.at}.tool_use.name"
                )


def _search_results(conversation: list[Turn]) -> Iterator[JSON]:
    for turn in conversation:
        for placed in turn.blocks:
            if placed.block["type"] == "search_result":
                yield placed.block
            content = placed.block.get("content")
            if placed.block["type"] == "tool_result" and isinstance(content, list):
                yield from (item for item in content if item["type"] == "search_result")


def _check_search_results(conversation: list[Turn]) -> None:
    enabled = {bool((block.get("citations") or {}).get("enabled")) for block in _search_results(conversation)}
    if len(enabled) > 1:
        raise invalid("citations must be enabled on all or none of the search results in a request", at="messages")
