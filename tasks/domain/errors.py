"""The errors of Filewright, drawn as a tree.

    FilewrightError
    ├── TemporaryError        try again: model busy, store unreachable, display not ready
    └── PermanentError        trying again changes nothing: index not open, unknown form, already submitted, bad settings

    RunStopped (BaseException) the run must end now: budget spent, lease lost, kill switch

A wrong *answer* is a value (a refused action, a failed verdict); a broken *machine* is an exception. Every message is written
for a person: what happened, what it means, what to do. The model never reads one of these texts.
"""

from __future__ import annotations


class FilewrightError(Exception):
    """Base of everything that Filewright raises on purpose."""


class TemporaryError(FilewrightError):
    """The same call may succeed later; task retries match on this type."""


class PermanentError(FilewrightError):
    """The same call cannot succeed until a person changes something; never retried."""


class RunStopped(BaseException):
    """Ends an agent run from inside a tool call.

    It is a BaseException because the SDK's tool runner turns every Exception into a tool result and goes on.
    `reason` is a short code such as "budget:turns" or "lease lost"; it is recorded, and never shown to the model.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
