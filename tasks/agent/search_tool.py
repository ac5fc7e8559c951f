"""`search_regulations`: the only source of regulatory facts that the model has.

Decides how passages look to the model: `search_result` blocks, which carry document and page in the form that models are trained
to cite. It never lets an exception of the search reach the model: that reads a fixed phrase, the journal keeps the detail, and
a search that keeps breaking ends the run. Each call is in the journal before it runs, with the passages' chunk ids after it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from anthropic import beta_tool
from anthropic.lib.tools import BetaFunctionTool
from anthropic.tools import ToolError
from anthropic.types.beta import BetaSearchResultBlockParam

from tasks.agent import prompts
from tasks.agent.budgets import Meter
from tasks.agent.record import Record
from tasks.domain.passages import Passage
from tasks.domain.steps import Call, StepResult

NAME = "search_regulations"
QUERY_CHARACTERS = 500
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"query": {"type": "string", "description": prompts.SEARCH_QUERY_DESCRIPTION}},
    "required": ["query"],
    "additionalProperties": False,
}


def search_result(passage: Passage) -> BetaSearchResultBlockParam:
    """One passage as a content block of a tool result."""
    chunk = passage.chunk
    return {
        "type": "search_result",
        "source": f"{chunk.document}#page={chunk.page}",
        "title": f"{passage.title} — {chunk.document}, page {chunk.page}",
        "content": [{"type": "text", "text": chunk.text}],
        "citations": {"enabled": True},
    }


class SearchTool:
    """`tool` is what the runner is given. Before a turn's tools run, `expect` names its search calls in order: the SDK
    hands a function its arguments, but not the id of the call."""

    def __init__(self, search: Callable[[str], Sequence[Passage]], record: Record, meter: Meter) -> None:
        self._search = search
        self._record = record
        self._meter = meter
        self._ids: deque[str] = deque()
        self.tool: BetaFunctionTool[Any] = beta_tool(
            self._call, name=NAME, description=prompts.SEARCH_DESCRIPTION, input_schema=SCHEMA
        )

    def expect(self, tool_use_ids: Iterable[str]) -> None:
        self._ids = deque(tool_use_ids)

    def _call(self, **arguments: Any) -> list[Any]:
        """Answer one call. Raises ToolError with a fixed phrase, or RunStopped."""
        self._meter.before_search()
        step = self._record.begin(Call(self._ids.popleft() if self._ids else "", NAME, arguments))
        started = time.monotonic()

        def finish(status: str, text: str, detail: str = "", passages: Sequence[str] = ()) -> None:
            milliseconds = round((time.monotonic() - started) * 1000)
            self._record.finish(step, StepResult(status, text, milliseconds, detail=detail, passages=passages))

        query = arguments.get("query")
        if set(arguments) != {"query"} or not isinstance(query, str) or not 0 < len(query.strip()) <= QUERY_CHARACTERS:
            finish("failed", prompts.SEARCH_BAD_QUERY)
            raise ToolError(prompts.SEARCH_BAD_QUERY)
        try:
            passages = tuple(self._search(query.strip()))
            blocks = [search_result(passage) for passage in passages]
        except Exception as error:
            finish("failed", prompts.SEARCH_FAILED, detail=f"{type(error).__name__}: {error}")
            self._meter.tool_broke()
            raise ToolError(prompts.SEARCH_FAILED) from error
        self._meter.tool_worked()
        if not blocks:
            finish("done", prompts.NOTHING_FOUND)
            return [{"type": "text", "text": prompts.NOTHING_FOUND}]
        finish(
            "done",
            "\n".join(block["source"] for block in blocks),
            passages=tuple(passage.chunk.id for passage in passages),
        )
        return blocks
