"""The conversation so far, as every request carries it.

Decides where the prompt cache's breakpoints stand, and nothing else about a message that was sent: current models bind their
thinking to everything before it, so the history only grows. Moving a `cache_control` mark is no change of content.

One breakpoint stands behind tools and system prompt (set once, in the request's `system`), the others on the last tool result of
the `NEWEST` newest turns: together not more than the four that the service takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

NEWEST = 3
MARK = {"type": "ephemeral"}


def tool_results(message: Any) -> list[dict[str, Any]]:
    """The tool results of one message, in order."""
    if message["role"] != "user" or isinstance(message["content"], str):
        return []
    return [block for block in message["content"] if isinstance(block, dict) and block["type"] == "tool_result"]


def images(message: Any) -> Iterator[str]:
    """The base64 pictures in a message's tool results, in order."""
    for result in tool_results(message):
        content = result.get("content")
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and block["type"] == "image" and block["source"]["type"] == "base64":
                yield block["source"]["data"]


def move_breakpoints(messages: Sequence[Any], newest: int = NEWEST) -> None:
    """Mark the last tool result of the `newest` newest messages that have one, and no other; changes the marks in place."""
    turns = [results for message in messages if (results := tool_results(message))]
    for results in turns:
        for result in results:
            result.pop("cache_control", None)
    for results in turns[-newest:] if newest else ():
        results[-1]["cache_control"] = dict(MARK)
