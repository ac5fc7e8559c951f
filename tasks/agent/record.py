"""The journal as this room uses it: a record that cannot be written ends the run.

Inside a tool the SDK would turn a journal's ordinary exception into a tool result and go on, so that steps would happen that
nobody can read later. Here every such exception becomes a RunStopped; a RunStopped of the journal itself (store gone, lease
lost) passes unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tasks.domain.errors import RunStopped
from tasks.domain.steps import Call, Journal, StepResult, Turn

T = TypeVar("T")


class Record:
    """A journal whose every failure is a RunStopped("journal failed") with the original exception as its cause."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def begin(self, call: Call) -> int:
        return self._sure(lambda: self._journal.begin(call))

    def finish(self, step: int, result: StepResult) -> None:
        self._sure(lambda: self._journal.finish(step, result))

    def turn(self, turn: Turn) -> None:
        self._sure(lambda: self._journal.turn(turn))

    def unrun(self, call: Call, status: str, text: str) -> None:
        """Write a call that no tool ever saw: `status` is not_executed, or failed for a call that names nothing we offer."""
        self.finish(self.begin(call), StepResult(status=status, text=text, milliseconds=0))

    def _sure(self, write: Callable[[], T]) -> T:
        try:
            return write()
        except Exception as error:
            raise RunStopped("journal failed") from error
