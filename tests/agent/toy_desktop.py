"""A desktop with no display: a picture that changes with each click, driven through the SDK's real toolset class.

It follows the rules that the real driver follows (policy in `confirm`, journal row before the call, picture at the end of a
batch), so that the agent's side of them can be tested without a screen.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable
from typing import Any

from anthropic.tools import ToolError
from anthropic.tools.computer import BetaAbstractComputerToolset20260801, BetaScreenshotResult

from tasks.domain.steps import Call, Journal, StepResult


def png(color: int, width: int = 112, height: int = 84) -> bytes:
    """A grey picture of one shade."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\x00" + bytes([color % 256]) * width for _ in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def encoded(picture: bytes) -> str:
    return base64.b64encode(picture).decode("ascii")


class MemoryJournal:
    """The journal as a list of events; `broken` names a method that raises `error` instead of writing."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Any]] = []
        self.calls: list[Call] = []
        self.results: dict[int, StepResult] = {}
        self.turns: list[Any] = []
        self.broken = ""
        self.error: BaseException = RuntimeError("unset")

    def _fail(self, method: str) -> None:
        if self.broken == method:
            raise self.error

    def begin(self, call: Call) -> int:
        self._fail("begin")
        self.calls.append(call)
        self.events.append(("begin", call.tool_use_id))
        return len(self.calls)

    def finish(self, step: int, result: StepResult) -> None:
        self._fail("finish")
        assert step not in self.results, "a step is completed once"
        self.results[step] = result
        self.events.append(("finish", self.calls[step - 1].tool_use_id))

    def turn(self, turn: Any) -> None:
        self._fail("turn")
        self.turns.append(turn)
        self.events.append(("turn", turn.number))

    def screenshot(self, png: bytes) -> str:
        return "0" * 64

    def result_of(self, tool_use_id: str) -> StepResult:
        (step,) = [number for number, call in enumerate(self.calls, 1) if call.tool_use_id == tool_use_id]
        return self.results[step]


class ToyDesktop(BetaAbstractComputerToolset20260801):
    """`on_confirm` and `on_member` run where a real driver's policy and input run, and may raise."""

    def __init__(
        self,
        journal: Journal,
        *,
        on_confirm: Callable[[str], None] = lambda name: None,
        on_member: Callable[[str], None] = lambda name: None,
        size: tuple[int, int] = (112, 84),
    ) -> None:
        super().__init__(confirm=self._confirm)
        self._journal = journal
        self._on_confirm = on_confirm
        self._on_member = on_member
        self._size = size
        self.clicks = 0
        self.done: list[str] = []

    def _confirm(self, context: Any) -> bool:
        self._on_confirm(context.member)
        return True

    def execute(self, context: Any, name: Any, input: Any) -> Any:
        call = Call(context.tool_use.id, f"computer.{name}", context.tool_use.input)
        step = self._journal.begin(call)
        try:
            result = super().execute(context, name, input)
        except ToolError as error:
            self._journal.finish(step, StepResult("failed", str(error), 0))
            raise
        self.done.append(name)
        self._journal.finish(step, StepResult("done", "", 0))
        return result

    def _picture(self) -> bytes:
        return png(self.clicks, *self._size)

    def screenshot(self, context: Any, input: Any) -> BetaScreenshotResult:
        self._on_member("screenshot")
        return BetaScreenshotResult(data=encoded(self._picture()), media_type="image/png")

    def left_click(self, context: Any, input: Any) -> str | None:
        self._on_member("left_click")
        self.clicks += 1
        return None

    def type(self, context: Any, input: Any) -> str | None:
        self._on_member("type")
        return None

    def key(self, context: Any, input: Any) -> str | None:
        self._on_member("key")
        return None

    def append_screenshot(self, response: Any) -> None:
        results = [block for block in response["content"] if block.get("toolset_name") == "computer"]
        if not results or results[-1].get("is_error"):
            return
        content = list(results[-1]["content"])
        if any(block["type"] == "image" for block in content):
            return
        source = {"type": "base64", "media_type": "image/png", "data": encoded(self._picture())}
        results[-1]["content"] = [*content, {"type": "image", "source": source}]
