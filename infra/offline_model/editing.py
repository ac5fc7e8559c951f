"""Context editing on the server: `clear_tool_uses_20250919`.

The client keeps and sends the whole history; what the model reads is this edited copy. The server holds no state, so it
replays the edit over the history: at each point where the client must have sent a request, it clears if the trigger is
passed then, and what was cleared stays cleared. A prompt therefore shrinks in steps, and the cached prefix between two
steps stays the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .errors import JSON
from .models import ModelRules
from .tokens import BLOCK_TOKENS, block_tokens, json_tokens, text_tokens

CLEARED = "[cleared to save context]"
DEFAULT_TRIGGER: JSON = {"type": "input_tokens", "value": 100_000}
DEFAULT_KEEP: JSON = {"type": "tool_uses", "value": 3}

Place = tuple[int, int]


@dataclass
class _Use:
    """One tool call: where its call and its result stand, and the tokens that clearing it frees."""

    name: str
    family: str | None
    call_at: Place
    result_at: Place | None = None
    freed: int = 0


@dataclass
class _Replay:
    """The state of the replay: the calls so far, which are cleared, and the tokens of the prompt as edited."""

    tokens: int
    uses: dict[str, _Use] = field(default_factory=dict)
    cleared: dict[str, int] = field(default_factory=dict)


def apply_edits(
    messages: list[JSON], edits: list[JSON], rules: ModelRules, fixed_tokens: int
) -> tuple[list[JSON], list[JSON]]:
    """The messages as edited and the `applied_edits` of the response.

    `fixed_tokens` are those of system and tools. An edit that clears nothing is not listed as applied.
    """
    applied = []
    for edit in edits:
        replay = _replay(messages, edit, rules, fixed_tokens)
        if replay.cleared:
            messages = _rewrite(messages, edit, replay)
            applied.append(
                {
                    "type": edit["type"],
                    "cleared_tool_uses": len(replay.cleared),
                    "cleared_input_tokens": sum(replay.cleared.values()),
                }
            )
    return messages, applied


def _replay(messages: list[JSON], edit: JSON, rules: ModelRules, fixed_tokens: int) -> _Replay:
    replay = _Replay(tokens=fixed_tokens)
    for i, message in enumerate(messages):
        if message["role"] == "assistant" and i and messages[i - 1]["role"] == "user":
            _clear(replay, edit)
        for j, block in enumerate(message["content"]):
            replay.tokens += block_tokens(block, rules)
            _note(replay, edit, block, (i, j), rules)
    _clear(replay, edit)
    return replay


def _note(replay: _Replay, edit: JSON, block: JSON, at: Place, rules: ModelRules) -> None:
    if block["type"] == "tool_use":
        use = _Use(block["name"], block.get("toolset_name"), at)
        if _clears_input(edit, use):
            use.freed += json_tokens(block["input"]) - json_tokens({})
        replay.uses[block["id"]] = use
    elif block["type"] == "tool_result":
        use = replay.uses[block["tool_use_id"]]
        use.result_at = at
        use.freed += block_tokens(block, rules) - (2 * BLOCK_TOKENS + text_tokens(CLEARED))


def _clear(replay: _Replay, edit: JSON) -> None:
    """Clear what may be cleared now, if the trigger is passed and enough is freed."""
    trigger = edit.get("trigger") or DEFAULT_TRIGGER
    answered = [call_id for call_id, use in replay.uses.items() if use.result_at is not None]
    uncleared = [call_id for call_id in answered if call_id not in replay.cleared]
    reached = replay.tokens if trigger["type"] == "input_tokens" else len(uncleared)
    if reached <= trigger["value"]:
        return
    keep = (edit.get("keep") or DEFAULT_KEEP)["value"]
    kept = set(answered[len(answered) - keep :]) if keep else set()
    excluded = set(edit.get("exclude_tools") or ())
    clearable = {
        call_id: replay.uses[call_id].freed
        for call_id in uncleared
        if call_id not in kept
        and replay.uses[call_id].freed > 0
        and not excluded & {replay.uses[call_id].name, replay.uses[call_id].family}
    }
    freed = sum(clearable.values())
    least = (edit.get("clear_at_least") or {}).get("value", 0)
    if clearable and freed >= least:
        replay.cleared.update(clearable)
        replay.tokens -= freed


def _clears_input(edit: JSON, use: _Use) -> bool:
    inputs = edit.get("clear_tool_inputs")
    return use.name in inputs if isinstance(inputs, list) else bool(inputs)


def _rewrite(messages: list[JSON], edit: JSON, replay: _Replay) -> list[JSON]:
    changed: dict[Place, JSON] = {}
    for call_id in replay.cleared:
        use = replay.uses[call_id]
        if use.result_at is not None:
            i, j = use.result_at
            changed[use.result_at] = {**messages[i]["content"][j], "content": [{"type": "text", "text": CLEARED}]}
        if _clears_input(edit, use):
            i, j = use.call_at
            changed[use.call_at] = {**messages[i]["content"][j], "input": {}}
    return [
        {
            "role": message["role"],
            "content": [changed.get((i, j), block) for j, block in enumerate(message["content"])],
        }
        for i, message in enumerate(messages)
    ]
