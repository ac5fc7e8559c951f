"""The reply: the clerk's blocks dressed as the API would send them, with ids, thinking, stop reason and usage.

On models that always think, text beside a tool call is a progress note and belongs to the thinking block; it is shown
only where `display` asks for it. A turn that does not fit `max_tokens`, or that a fault cuts, ends inside its last
block.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .caching import CacheUse
from .errors import JSON
from .requests import Request
from .thinking import Prefix, Sealed, seal
from .tokens import json_tokens, text_tokens

# What thinking costs at least: the delimiters and a few words, whatever the note says.
THINKING_TOKENS = 40
PAUSE_TEXT = "One moment, I am still working on this."
REFUSAL: Mapping[str, Any] = {
    "type": "refusal",
    "category": None,
    "explanation": "The offline model was told to refuse this request.",
}


@dataclass(frozen=True)
class Reply:
    """Content and stop reason of an answer, with the tokens that it took to write."""

    content: list[JSON]
    stop_reason: str
    output_tokens: int
    thinking_tokens: int = 0
    stop_sequence: str | None = None
    stop_details: JSON | None = field(default=None)


def compose(request: Request, blocks: list[JSON], prefix: Prefix, fault: str) -> Reply:
    """The reply made of the clerk's `blocks`; `fault` is the kind of a fault that spoils the turn, or ""."""
    if fault == "refusal":
        return Reply([], "refusal", output_tokens=1, stop_details=dict(REFUSAL))
    if fault == "pause_turn":
        blocks = [{"type": "text", "text": PAUSE_TEXT}]
    blocks = _allowed(request, blocks)
    thought, blocks = _split_thought(request, blocks)
    stopped_by, blocks = _stop_sequence(request, blocks)
    content = [*_thinking(request, thought, prefix), *map(_with_id, blocks)]
    costs = [_output_tokens(block, thought) for block in content]
    thinking_tokens = sum(cost for block, cost in zip(content, costs, strict=True) if block["type"] == "thinking")
    limit = request.body["max_tokens"]
    if fault == "truncated" or sum(costs) > limit:
        cut = _cut_at(costs, limit) if sum(costs) > limit else len(content) - 1
        return Reply(_truncated(content, cut), "max_tokens", limit, min(thinking_tokens, limit))
    calls = any(block["type"] == "tool_use" for block in blocks)
    reason = "tool_use" if calls else "end_turn"
    if stopped_by is not None:
        reason = "stop_sequence"
    if fault == "pause_turn":
        reason = "pause_turn"
    return Reply(content, reason, sum(costs), thinking_tokens, stopped_by)


def message(
    request: Request,
    reply: Reply,
    message_id: str,
    use: CacheUse,
    *,
    applied_edits: list[JSON] | None,
    transformations: list[JSON] | None,
) -> JSON:
    """The response body; the two lists are present exactly where the request makes the API report them."""
    body: JSON = {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": request.rules.name,
        "content": reply.content,
        "stop_reason": reply.stop_reason,
        "stop_sequence": reply.stop_sequence,
        "stop_details": reply.stop_details,
        "usage": {
            "input_tokens": use.uncached,
            "cache_creation_input_tokens": use.written_5m + use.written_1h,
            "cache_read_input_tokens": use.read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": use.written_5m,
                "ephemeral_1h_input_tokens": use.written_1h,
            },
            "output_tokens": reply.output_tokens,
            "output_tokens_details": {"thinking_tokens": reply.thinking_tokens},
            "service_tier": "standard",
        },
    }
    if applied_edits is not None:
        body["context_management"] = {"applied_edits": applied_edits}
    if transformations is not None:
        body["input_transformations"] = transformations
    return body


def new_id(prefix: str) -> str:
    """A fresh identifier such as `msg_…`."""
    return f"{prefix}_01{secrets.token_hex(11)}"


def _allowed(request: Request, blocks: list[JSON]) -> list[JSON]:
    """Without the calls that the tool choice forbids: all of them, or all but the first."""
    choice = request.body.get("tool_choice") or {"type": "auto"}
    if choice["type"] == "none":
        return [block for block in blocks if block["type"] != "tool_use"]
    if choice.get("disable_parallel_tool_use"):
        calls = [block for block in blocks if block["type"] == "tool_use"]
        return [block for block in blocks if block["type"] != "tool_use" or block is calls[0]]
    return blocks


def _split_thought(request: Request, blocks: list[JSON]) -> tuple[str, list[JSON]]:
    calls = [block for block in blocks if block["type"] == "tool_use"]
    if not calls or not request.rules.always_thinks:
        return "", blocks
    return "\n".join(block["text"] for block in blocks if block["type"] == "text"), calls


def _thinking(request: Request, thought: str, prefix: Prefix) -> list[JSON]:
    if not request.thinks:
        return []
    shown = request.thinking.get("display") in ("summarized", "updates")
    signature = seal(Sealed(request.rules.name, prefix, thought))
    return [{"type": "thinking", "thinking": thought if shown else "", "signature": signature}]


def _with_id(block: JSON) -> JSON:
    if block["type"] != "tool_use":
        return block
    call = {"type": "tool_use", "id": new_id("toolu"), "name": block["name"], "input": block["input"]}
    return {**call, "toolset_name": block["toolset_name"]} if block.get("toolset_name") else call


def _stop_sequence(request: Request, blocks: list[JSON]) -> tuple[str | None, list[JSON]]:
    """The stop sequence that the text runs into first, and the blocks up to it."""
    sequences = request.body.get("stop_sequences") or []
    for index, block in enumerate(blocks):
        if block["type"] != "text":
            continue
        found = [(block["text"].index(sequence), sequence) for sequence in sequences if sequence in block["text"]]
        if found:
            end, sequence = min(found)
            text = block["text"][:end]
            return sequence, blocks[:index] + ([{"type": "text", "text": text}] if text else [])
    return None, blocks


def _output_tokens(block: JSON, thought: str) -> int:
    if block["type"] == "thinking":
        return THINKING_TOKENS + text_tokens(thought)
    if block["type"] == "text":
        return text_tokens(block["text"])
    return text_tokens(block["name"]) + json_tokens(block["input"])


def _cut_at(costs: list[int], limit: int) -> int:
    """The index of the block in which the limit is reached."""
    written = 0
    for index, cost in enumerate(costs):
        written += cost
        if written > limit:
            return index
    return len(costs) - 1


def _truncated(content: list[JSON], cut: int) -> list[JSON]:
    """The blocks up to `cut`, that one incomplete: half a text, or a call whose last argument is missing or half."""
    whole, last = content[:cut], content[cut] if content else None
    if last is None or last["type"] == "thinking":
        return whole
    if last["type"] == "text":
        half = last["text"][: len(last["text"]) // 2]
        return [*whole, {"type": "text", "text": half}] if half else whole
    arguments = dict(last["input"])
    if arguments:
        name, value = arguments.popitem()
        if isinstance(value, str) and len(value) > 1:
            arguments[name] = value[: len(value) // 2]
    return [*whole, {**last, "input": arguments}]
