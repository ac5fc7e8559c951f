"""The record of an agent run: one step per tool call, one turn per model request.

A `Journal` makes each step durable before the call runs and completes it afterwards, so that a killed run leaves its record.
The ledger keeps it in Postgres; the desktop's driver and the agent only know this protocol.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call as the model asked for it. `tool` is "computer.left_click", "search_regulations", …"""

    tool_use_id: str
    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StepResult:
    """What became of a call.

    `status` is done, denied, failed or not_executed; `text` is what the model was told; `detail` is for people only (an exception's
    text, the denying rule); `screenshot` is the sha256 of a PNG kept in the run's folder; `milliseconds` counts the call alone.
    """

    status: str
    text: str
    milliseconds: int
    detail: str = ""
    screenshot: str | None = None
    passages: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of one response, as the API reports them."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_creation_input_tokens + other.cache_creation_input_tokens,
            self.cache_read_input_tokens + other.cache_read_input_tokens,
        )


@dataclass(frozen=True, slots=True)
class Turn:
    """One answered model request. `content` holds the response's blocks as JSON values; `dollars` follows the price table."""

    number: int
    model: str
    stop_reason: str
    content: Sequence[Mapping[str, Any]]
    usage: Usage
    dollars: float
    milliseconds: int


class Journal(Protocol):
    """Every method returns only when the row is committed; raises RunStopped where the store or the lease is gone."""

    def begin(self, call: Call) -> int:
        """Write the call before it runs; returns the step's number within the attempt, from 1."""

    def finish(self, step: int, result: StepResult) -> None:
        """Complete the step's row."""

    def turn(self, turn: Turn) -> None:
        """Write one answered request."""

    def screenshot(self, png: bytes) -> str:
        """Keep the picture by its content and return its sha256 in hex."""
