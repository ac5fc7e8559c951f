"""Conversations put together by hand: what the clerk said and did, and what came back."""

from __future__ import annotations

import base64
import copy
from collections.abc import Sequence
from typing import Any

from infra.offline_model.clerk import respond
from tests.infra.clerk.paper import Drawn
from tests.infra.clerk.regulations import TASK

TOOLS = [
    {"type": "computer_toolset_20260801"},
    {"name": "search_regulations", "description": "Searches the regulations.", "input_schema": {"type": "object"}},
]
HALTED = "Not executed: an earlier computer action in this turn failed."
Blocks = list[dict[str, Any]]


class Dialogue:
    """One conversation with the clerk; `turn` asks it for its next turn and keeps that."""

    def __init__(self, task: str = TASK) -> None:
        self.messages: list[dict[str, Any]] = [{"role": "user", "content": task}]

    def turn(self) -> Blocks:
        """The clerk's next turn, asked for twice: it must not depend on anything but the conversation, nor change it."""
        before = copy.deepcopy(self.messages)
        blocks = respond("", self.messages, TOOLS, (1024, 768))
        assert self.messages == before
        assert respond("", before, TOOLS, None) == blocks
        kept = copy.deepcopy(blocks)
        for number, block in enumerate(kept):
            if block["type"] == "tool_use":
                block["id"] = f"toolu_{len(self.messages)}_{number}"
        self.messages.append({"role": "assistant", "content": kept})
        return blocks

    def answer(self, page: Drawn | None = None, passages: Sequence[dict[str, Any]] = (), refused: str = "") -> None:
        """Results for the last turn's calls: `page` for its screenshot, `passages` for each search.

        With `refused` its first acting call is refused with that text and the others are halted.
        """
        results: Blocks = []
        halted = False
        for block in self.messages[-1]["content"]:
            if block["type"] != "tool_use":
                continue
            result: dict[str, Any] = {"type": "tool_result", "tool_use_id": block["id"]}
            if block.get("toolset_name") != "computer":
                result["content"] = list(passages)
            elif halted or (refused and block["name"] != "screenshot"):
                text = HALTED if halted else refused
                result |= {"toolset_name": "computer", "is_error": True, "content": [{"type": "text", "text": text}]}
                halted = True
            elif block["name"] == "screenshot":
                assert page is not None, "the clerk wants to see a page"
                result |= {"toolset_name": "computer", "content": [picture(page.png)]}
            else:
                result |= {"toolset_name": "computer", "content": [{"type": "text", "text": "Done."}]}
            results.append(result)
        self.messages.append({"role": "user", "content": results})

    def see(self, page: Drawn, passages: Sequence[dict[str, Any]] = ()) -> Blocks:
        """The last turn's calls end with this page; the clerk's next turn."""
        self.answer(page, passages)
        return self.turn()

    def say(self, text: str) -> Blocks:
        """The user speaks; the clerk's next turn."""
        self.messages.append({"role": "user", "content": text})
        return self.turn()


def opened_with(page: Drawn, task: str = TASK) -> tuple[Dialogue, Blocks]:
    """A conversation whose first screenshot shows the page, and the clerk's answer to it."""
    dialogue = Dialogue(task)
    assert calls(dialogue.turn()) == [("screenshot", {})]
    return dialogue, dialogue.see(page)


def picture(png: bytes) -> dict[str, Any]:
    data = base64.b64encode(png).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def calls(blocks: Blocks) -> list[tuple[str, dict[str, Any]]]:
    return [(block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"]


def typed(blocks: Blocks) -> list[str]:
    return [arguments["text"] for name, arguments in calls(blocks) if name == "type"]


def clicked(blocks: Blocks) -> list[list[int]]:
    return [arguments["coordinate"] for name, arguments in calls(blocks) if name == "left_click"]


def said(blocks: Blocks) -> str:
    return " ".join(block["text"] for block in blocks if block["type"] == "text")


def ended(blocks: Blocks) -> bool:
    return not calls(blocks)
