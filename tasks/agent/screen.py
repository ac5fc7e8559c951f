"""The computer toolset between the SDK's runner and the desktop's driver.

Decides nothing about an action: that is the driver's gate. It counts each call against the run's budgets before the driver sees
it, and it is the last place where a text can be stopped on its way to the model: the SDK shows the model the text of any
exception that a driver lets out, and here that text is replaced by a fixed phrase.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Protocol

from anthropic.lib.tools import BetaRunnableToolset
from anthropic.tools import (
    DisabledMemberError,
    InvalidMemberInputError,
    ToolError,
    ToolsetUsageError,
    UnknownMemberError,
)
from anthropic.tools.computer import BetaToolsetCallContext, BetaToolsetContent

from tasks.agent import prompts
from tasks.agent.budgets import Meter
from tasks.agent.record import Record
from tasks.domain.steps import Call

log = logging.getLogger(__name__)
REFUSED_BEFORE_THE_DRIVER = (UnknownMemberError, DisabledMemberError, InvalidMemberInputError)


class Toolset(Protocol):
    """What this room needs of a driver: the SDK's computer toolset, and the picture for the end of a batch.

    The driver asks its policy and writes its own journal rows. `append_screenshot` puts a picture of the screen into the last
    computer result of `response` where that may carry one and has none; it changes `response` in place.
    """

    def to_dict(self) -> Any: ...

    def call(
        self, context: BetaToolsetCallContext, name: str, input: Mapping[str, object]
    ) -> str | BetaToolsetContent: ...

    def append_screenshot(self, response: Any) -> None: ...


class MeteredToolset(BetaRunnableToolset):
    """The driver as the runner sees it."""

    toolset_name = "computer"

    def __init__(self, toolset: Toolset, record: Record, meter: Meter) -> None:
        self._toolset = toolset
        self._record = record
        self._meter = meter
        self.seen: set[str] = set()

    def to_dict(self) -> Any:
        return self._toolset.to_dict()

    def call(self, context: BetaToolsetCallContext, name: str, input: Mapping[str, object]) -> str | BetaToolsetContent:
        tool_use_id = context.tool_use.id if context.tool_use is not None else ""
        self._meter.before_action()
        self.seen.add(tool_use_id)
        try:
            content = self._toolset.call(context, name, input)
        except ToolsetUsageError:
            raise
        except ToolError as error:
            if isinstance(error.__cause__, REFUSED_BEFORE_THE_DRIVER):
                self._record.unrun(Call(tool_use_id, f"computer.{name}", dict(input)), "failed", str(error.__cause__))
            if (leaked := uncaught(error)) is None:
                raise
            self._broke(leaked)
            raise ToolError(prompts.ACTION_FAILED) from error
        except Exception as error:
            self._broke(error)
            raise ToolError(prompts.ACTION_FAILED) from error
        self._meter.tool_worked()
        return content

    def _broke(self, error: BaseException) -> None:
        log.error("The desktop's driver let out an exception of type %s", type(error).__name__)
        self._meter.tool_broke()


def uncaught(error: ToolError) -> BaseException | None:
    """The driver's own exception if the SDK made `error` out of one, else None.

    The SDK raises `ToolError(content)` from the specific refusal; where a member raised something other than a ToolError, that
    refusal was made from the exception, is chained to it and begins with its type's name.
    """
    refusal = error.__cause__
    if not isinstance(refusal, ToolError):
        return None
    origin = refusal.__cause__
    if isinstance(origin, ToolError) or not isinstance(origin, Exception):
        return None
    return origin if str(refusal).startswith(type(origin).__name__) else None
