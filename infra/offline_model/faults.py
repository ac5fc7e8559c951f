"""Faults on request: what a test or a demonstration may make the next answers be.

A fault counts valid requests only: the ones that the server would have answered. It waits for `after` of them, then
takes the next `count`, one at a time. Of several that are due the first posted goes first; the others wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from threading import Lock
from typing import Any

from .errors import JSON, ApiError
from .shape import Field, Number, Record, Text, check


@dataclass(frozen=True)
class HttpFault:
    """An error that replaces the answer."""

    status: int
    message: str


# Kind -> the error it answers with. The other kinds answer, but badly or late.
HTTP_FAULTS: Mapping[str, HttpFault] = {
    "429": HttpFault(429, "This request would exceed the rate limit for your organization."),
    "500": HttpFault(500, "Internal server error"),
    "529": HttpFault(529, "Overloaded"),
}
TURN_FAULTS = ("slow", "truncated", "refusal", "pause_turn")
KINDS = (*HTTP_FAULTS, *TURN_FAULTS)

FAULT = Record(
    {
        "kind": Field(Text(values=KINDS), required=True),
        "after": Field(Number(minimum=0)),
        "count": Field(Number(minimum=1)),
        "retry_after": Field(Number(minimum=0, real=True)),
        "seconds": Field(Number(minimum=0, maximum=600, real=True)),
    }
)


@dataclass
class Fault:
    """One fault: `after` requests still to be answered normally, `count` still to be spoiled.

    `retry_after` (seconds) is the header of a 429, `seconds` the delay of a slow answer.
    """

    kind: str
    after: int = 0
    count: int = 1
    retry_after: float = 1.0
    seconds: float = 5.0

    def error(self) -> ApiError | None:
        """The error to raise instead of an answer; None for the kinds that answer."""
        fault = HTTP_FAULTS.get(self.kind)
        if fault is None:
            return None
        headers = {"retry-after": f"{self.retry_after:g}"} if self.kind == "429" else {}
        return ApiError(fault.status, fault.message, headers=headers)


class Faults:
    """The faults that are still to come; safe to use from several threads."""

    def __init__(self) -> None:
        self._pending: list[Fault] = []
        self._lock = Lock()

    def add(self, body: Any) -> Fault:
        """Add the fault that a JSON body describes; raises ApiError (400) for one that is not understood."""
        check(body, FAULT, "")
        fault = Fault(**body)
        with self._lock:
            self._pending.append(fault)
        return fault

    def take(self) -> Fault | None:
        """Count one valid request and return the fault that spoils it, if any."""
        with self._lock:
            due = None
            for fault in self._pending:
                if fault.after > 0:
                    fault.after -= 1
                elif due is None:
                    due = fault
                    fault.count -= 1
            self._pending = [fault for fault in self._pending if fault.count > 0]
            return due

    def listed(self) -> list[JSON]:
        """The pending faults as JSON."""
        with self._lock:
            return [asdict(fault) for fault in self._pending]

    def clear(self) -> None:
        """Forget all pending faults."""
        with self._lock:
            self._pending.clear()
