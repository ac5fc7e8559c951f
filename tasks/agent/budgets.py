"""What a run may spend, what it has spent, and the stop when the two meet.

Decides when a run ends for want of turns, actions, seconds, tokens or dollars, because it goes round in circles, or because
its tools keep breaking. It never ends a run by an ordinary exception: inside a tool call the SDK would hand that to the model
as a tool result and go on, so every stop is a `RunStopped`.

When each is checked
- turns, seconds, tokens, dollars: before each request;
- actions, seconds: before each call on the screen, so a batch stops in its middle and the next request is never sent.

How far a ceiling can be passed
- turns and actions: never.
- tokens and dollars: never by an answered request. Before each one its worst case is added: the prompt as last reported, plus
  at most one token per byte of what was added since (`tokens_of`), all of it written to the cache anew, plus `max_tokens` of
  output. What can pass them is a request that the service bills and this side never sees answered (a time-out that the
  client retries): at most one such worst case per retry.
- seconds: by one request with its retries, or by one call on the screen.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
import struct
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks.agent.models import Model, cost, prompt_tokens, worst_cost
from tasks.domain.errors import PermanentError, RunStopped
from tasks.domain.steps import Usage

TOOLSET_TOKENS = 4_500
"""What the toolset's entry alone costs in input tokens; the request's own bytes do not show it."""
BLOCK_TOKENS = 64
"""Allowance for the marks that the service puts around one content block."""
PATCH = 28
"""An image costs one token per started square of 28 pixels (vendor's documentation of vision)."""
IMAGE_TOKENS_AT_MOST = 4_784
"""The largest image that a model with the toolset accepts; assumed where a size cannot be read."""
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True, slots=True)
class Budgets:
    """Ceilings of one run. A run that reaches one is stopped, not finished.

    turns: answered model requests. actions: calls on the screen, refused ones too. seconds: wall time. tokens: input (cached or
    not) and output, summed. dollars: by the price table in models.py.
    Raises PermanentError for a ceiling that is not a positive number.
    """

    turns: int = 150
    actions: int = 400
    seconds: float = 1_800.0
    tokens: int = 10_000_000
    dollars: float = 2.0

    def __post_init__(self) -> None:
        for name in ("turns", "actions", "seconds", "tokens", "dollars"):
            value = getattr(self, name)
            if not (value > 0 and math.isfinite(value)):
                raise PermanentError(f"The ceiling {name} is {value!r}; it must be a positive, finite number.")


def image_tokens(data: str) -> int:
    """Visual tokens of a base64 PNG, from its header; the largest possible number for anything else."""
    try:
        head = base64.b64decode(data[:32], validate=True)
    except (binascii.Error, ValueError):
        return IMAGE_TOKENS_AT_MOST
    if len(head) < 24 or not head.startswith(PNG_SIGNATURE):
        return IMAGE_TOKENS_AT_MOST
    width, height = struct.unpack(">II", head[16:24])
    return min(math.ceil(width / PATCH) * math.ceil(height / PATCH), IMAGE_TOKENS_AT_MOST)


def tokens_of(value: object) -> int:
    """An upper bound of the tokens that a JSON value adds to a prompt: no token is shorter than one byte."""
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, Mapping):
        if value.get("type") == "base64" and isinstance(value.get("data"), str):
            return image_tokens(str(value["data"]))
        mark = BLOCK_TOKENS if "type" in value or "role" in value else 0
        return mark + sum(len(str(key)) + tokens_of(item) for key, item in value.items())
    if isinstance(value, Sequence):
        return sum(tokens_of(item) for item in value)
    return len(str(value))


class Meter:
    """Counts what one run spends; `before_request` and `before_action` raise RunStopped at a ceiling.

    `clock` returns seconds that never go back. `check` is the caller's own stop (lost lease, kill switch): it raises RunStopped.
    """

    FAILURES_IN_A_ROW = 3

    def __init__(
        self,
        budgets: Budgets,
        model: Model,
        *,
        max_output_tokens: int,
        clock: Callable[[], float],
        check: Callable[[], None],
    ) -> None:
        self.budgets = budgets
        self.model = model
        self.max_output_tokens = max_output_tokens
        self.turns = 0
        self.actions = 0
        self.searches = 0
        self.usage = Usage()
        self.dollars = 0.0
        self._clock = clock
        self._check = check
        self._started = clock()
        self._failures = 0
        self._known = TOOLSET_TOKENS
        self._added = 0

    @property
    def seconds(self) -> float:
        return self._clock() - self._started

    @property
    def tokens(self) -> int:
        return prompt_tokens(self.usage) + self.usage.output_tokens

    @property
    def next_prompt_at_most(self) -> int:
        """Upper bound of the next request's prompt in tokens."""
        return self._known + self._added

    def added(self, value: object) -> None:
        """Note content that the next request carries and no response has counted yet."""
        self._added += tokens_of(value)

    def answered(self, usage: Usage, *, hour_tokens: int = 0) -> float:
        """Count one response; returns its dollars."""
        dollars = cost(self.model, usage, hour_tokens=hour_tokens)
        self.turns += 1
        self.usage += usage
        self.dollars += dollars
        self._known = prompt_tokens(usage) + usage.output_tokens
        self._added = 0
        return dollars

    def before_request(self) -> None:
        """Raises RunStopped if the next request could pass a ceiling, or if `check` says that the run must end."""
        self._check()
        worst_tokens = self.next_prompt_at_most + self.max_output_tokens
        if self.turns >= self.budgets.turns:
            raise RunStopped("budget:turns")
        self._stop_if_late()
        if self.tokens + worst_tokens > self.budgets.tokens:
            raise RunStopped("budget:tokens")
        if (
            self.dollars + worst_cost(self.model, self.next_prompt_at_most, self.max_output_tokens)
            > self.budgets.dollars
        ):
            raise RunStopped("budget:dollars")

    def before_action(self) -> None:
        """Count one call on the screen; raises RunStopped instead of letting one too many run."""
        self._check()
        self._stop_if_late()
        if self.actions >= self.budgets.actions:
            raise RunStopped("budget:actions")
        self.actions += 1

    def before_search(self) -> None:
        """Count one search; raises RunStopped if the time is up."""
        self._check()
        self._stop_if_late()
        self.searches += 1

    def tool_worked(self) -> None:
        self._failures = 0

    def tool_broke(self) -> None:
        """Note a tool that failed by an exception of its own: a broken machine, which no model can repair."""
        self._failures += 1
        if self._failures >= self.FAILURES_IN_A_ROW:
            raise RunStopped("tools broken")

    def _stop_if_late(self) -> None:
        if self.seconds >= self.budgets.seconds:
            raise RunStopped("budget:seconds")


class LoopDetector:
    """Stops a run that asks for the same calls before the same screen again and again.

    A turn's fingerprint is its calls with their arguments and the screen after them. Equal ones among the newest `WINDOW` turns
    are a loop, so two turns that alternate are found as well as one that repeats: `REPEATS` of them, or `LOOKS` where the turn only
    looked or waited, because a slow page is a reason to look again.
    """

    REPEATS = 5
    LOOKS = 10
    WINDOW = 12
    LOOKING = frozenset(f"computer.{member}" for member in ("screenshot", "zoom", "wait", "cursor_position"))

    def __init__(self) -> None:
        self._turns: deque[str] = deque(maxlen=self.WINDOW)
        self._screen = ""

    def observe(self, calls: Sequence[tuple[str, Mapping[str, Any]]], images: Sequence[str]) -> None:
        """`images` are the base64 pictures that the turn's results carry. Raises RunStopped("loop")."""
        if images:
            self._screen = hashlib.sha256(images[-1].encode()).hexdigest()
        turn = json.dumps([list(map(list, calls)), self._screen], sort_keys=True, default=str)
        self._turns.append(turn)
        most = self.LOOKS if all(name in self.LOOKING for name, _ in calls) else self.REPEATS
        if self._turns.count(turn) >= most:
            raise RunStopped("loop")
