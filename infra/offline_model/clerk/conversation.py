"""What has happened so far, read out of the Messages API's `messages` list.

Decides: which calls were made and how they ended, which passages were shown, which picture is the newest, what was noted. Never
looks at a picture. The clerk keeps nothing between requests: everything that it knows stands here, so a request sent twice gets
the same answer and a crash costs nothing.

Rules: notes are text blocks of the clerk's own turns in the fixed wording of `note_*` below; they carry what a later turn needs
(which value went into which field), because older pictures may have been cleared from the conversation.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from infra.offline_model.clerk.likeness import similarity
from infra.offline_model.clerk.passages import Passage, parse_passage

HALTED = "Not executed: an earlier"  # how the SDK answers the calls after a failed one; not a refusal of its own
_FILLED = re.compile(r'^- ("(?:[^"\\]|\\.)*") gets ("(?:[^"\\]|\\.)*")$', re.MULTILINE)
_PRESSED = re.compile(r'^Pressing ("(?:[^"\\]|\\.)*") on the page ("(?:[^"\\]|\\.)*")\.$', re.MULTILINE)
_OPENED = re.compile(r'^Opening the list ("(?:[^"\\]|\\.)*") to find ("(?:[^"\\]|\\.)*")\.$', re.MULTILINE)
_POSTPONED = re.compile(r'^Later: ("(?:[^"\\]|\\.)*")$', re.MULTILINE)


def note_filled(label: str, value: str) -> str:
    return f"- {json.dumps(label)} gets {json.dumps(value)}"


def note_pressed(button: str, page: str) -> str:
    return f"Pressing {json.dumps(button)} on the page {json.dumps(page)}."


def note_opened(label: str, value: str) -> str:
    return f"Opening the list {json.dumps(label)} to find {json.dumps(value)}."


def note_postponed(label: str) -> str:
    return f"Later: {json.dumps(label)}"


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call. `computer` tells a toolset member from a custom tool; `result` is its text, "" while it has none."""

    name: str
    computer: bool
    arguments: Mapping[str, Any]
    answered: bool
    failed: bool
    result: str
    picture: bytes | None
    passages: tuple[Passage, ...]

    @property
    def acts(self) -> bool:
        return self.computer and self.name not in ("screenshot", "zoom", "cursor_position")

    @property
    def refused(self) -> bool:
        return self.failed and not self.result.startswith(HALTED)


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of the assistant: what it said and what it called.

    What it says about pressing, opening and filling counts only if its calls were carried out: a refused or cut-off turn did nothing.
    """

    said: str
    calls: tuple[Call, ...]

    @property
    def done(self) -> bool:
        return bool(self.calls) and all(call.answered and not call.failed for call in self.calls)

    @property
    def pressed(self) -> tuple[str, str] | None:
        """(button, page) if this turn pressed a button."""
        found = _PRESSED.search(self.said) if self.done else None
        return (json.loads(found[1]), json.loads(found[2])) if found else None

    @property
    def opened(self) -> tuple[str, str] | None:
        """(label, value) if this turn opened a list of choices."""
        found = _OPENED.search(self.said) if self.done else None
        return (json.loads(found[1]), json.loads(found[2])) if found else None

    @property
    def filled(self) -> tuple[tuple[str, str], ...]:
        """(label, value) of each field that this turn filled."""
        if not self.done:
            return ()
        return tuple((json.loads(label), json.loads(value)) for label, value in _FILLED.findall(self.said))


@dataclass(frozen=True, slots=True)
class Conversation:
    """`task` is the text of the first user message; `prompted` is True if the user has spoken last instead of a tool."""

    task: str
    turns: tuple[Turn, ...]
    prompted: bool

    @property
    def calls(self) -> tuple[Call, ...]:
        return tuple(call for turn in self.turns for call in turn.calls)

    @property
    def refusals(self) -> tuple[str, ...]:
        return tuple(call.result for call in self.calls if call.refused)

    @property
    def passages(self) -> tuple[Passage, ...]:
        """Every passage shown so far, each once, in the order of the searches."""
        return tuple(dict.fromkeys(passage for call in self.calls for passage in call.passages))

    @property
    def queries(self) -> tuple[str, ...]:
        return tuple(str(call.arguments.get("query", "")) for call in self.calls if not call.computer)

    @property
    def picture(self) -> bytes | None:
        """The newest picture, unless something was done after it."""
        for call in reversed(self.calls):
            if call.picture is not None:
                return call.picture
            if call.acts:
                return None
        return None

    @property
    def pictures_since_press(self) -> tuple[bytes, ...]:
        """The pictures taken since a button was last pressed: the views of the page that is now open."""
        found: list[bytes] = []
        for turn in reversed(self.turns):
            found.extend(call.picture for call in reversed(turn.calls) if call.picture is not None)
            if turn.pressed:
                break
        return tuple(reversed(found))

    @property
    def filled(self) -> tuple[tuple[str, str], ...]:
        """(label, value) of every field filled so far, oldest first; a field filled twice stands twice."""
        return tuple(pair for turn in self.turns for pair in turn.filled)

    @property
    def record(self) -> dict[str, str]:
        """What each field was given last; labels that differ only by recognition are one field."""
        record: dict[str, str] = {}
        for label, value in self.filled:
            known = next((other for other in record if same_label(other, label)), label)
            record[known] = value
        return record

    @property
    def postponed(self) -> tuple[str, ...]:
        """Labels put off for later and not filled since."""
        labels = [json.loads(label) for turn in self.turns for label in _POSTPONED.findall(turn.said)]
        return tuple(
            label for label in dict.fromkeys(labels) if not any(same_label(label, other) for other, _ in self.filled)
        )

    def times_filled(self, label: str, value: str) -> int:
        return sum(1 for other, given in self.filled if given == value and same_label(other, label))


def same_label(left: str, right: str) -> bool:
    """Whether two readings of a label mean the same field."""
    return similarity(left, right) > 0.86


def read_conversation(messages: Sequence[Mapping[str, Any]]) -> Conversation:
    """Raises nothing on odd input: an unknown block counts for nothing, a call without a result as unanswered."""
    task = next((_text(message["content"]) for message in messages if message["role"] == "user"), "")
    results: dict[str, Mapping[str, Any]] = {}
    for message in messages:
        for block in _blocks(message["content"]):
            if block.get("type") == "tool_result":
                results[str(block.get("tool_use_id"))] = block
    turns = []
    for message in messages:
        if message["role"] != "assistant":
            continue
        blocks = _blocks(message["content"])
        calls = [_call(block, results.get(str(block.get("id")))) for block in blocks if block.get("type") == "tool_use"]
        turns.append(Turn(_text(message["content"]), tuple(calls)))
    last = messages[-1]
    prompted = (
        last["role"] == "user"
        and bool(turns)
        and not any(block.get("type") == "tool_result" for block in _blocks(last["content"]))
    )
    return Conversation(task, tuple(turns), prompted)


def _call(block: Mapping[str, Any], result: Mapping[str, Any] | None) -> Call:
    content = _blocks(result.get("content") or "") if result else []
    pictures = [block["source"] for block in content if block.get("type") == "image"]
    picture = None
    # A zoom shows a part: its picture is no place to read coordinates from.
    if pictures and block.get("name") != "zoom" and pictures[-1].get("type") == "base64":
        picture = base64.b64decode(pictures[-1]["data"])
    passages = [parse_passage(part) for part in content if part.get("type") == "search_result"]
    return Call(
        name=str(block.get("name")),
        computer=block.get("toolset_name") == "computer",
        arguments=block.get("input") or {},
        answered=result is not None,
        failed=bool(result and result.get("is_error")),
        result=_text(result.get("content") or "").strip() if result else "",
        picture=picture,
        passages=tuple(passage for passage in passages if passage is not None),
    )


def _blocks(content: Any) -> list[Mapping[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, Mapping)]


def _text(content: Any) -> str:
    return "\n".join(str(block.get("text", "")) for block in _blocks(content) if block.get("type") == "text")
