"""`search_regulations`: the only source of regulatory facts that the model has.

Decides how passages look to the model: `search_result` blocks, which carry document and page in the form that models are trained
to cite, and a text after them with what was not searched and why there are not more. Passages are capped, and what in them speaks to
its reader is marked as the document's (tasks/domain/quoted.py). It never lets an exception of the search reach the model: that reads a
fixed phrase, the journal keeps the detail, and a search that keeps breaking ends the run. Each call is in the journal before it runs,
with the ids of all chunks shown after it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from typing import Any

from anthropic import beta_tool
from anthropic.lib.tools import BetaFunctionTool
from anthropic.tools import ToolError
from anthropic.types.beta import BetaSearchResultBlockParam

from tasks.agent import prompts
from tasks.agent.budgets import Meter
from tasks.agent.record import Record
from tasks.domain.passages import Passage, SearchResult
from tasks.domain.quoted import quoted, shown
from tasks.domain.steps import Call, StepResult

NAME = "search_regulations"
QUERY_CHARACTERS = 500
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"query": {"type": "string", "description": prompts.SEARCH_QUERY_DESCRIPTION}},
    "required": ["query"],
    "additionalProperties": False,
}


TEXT_CHARACTERS = (
    4_000  # of one passage at the most; a chunk has no more by the settings, and a joined passage has 1,600
)
TITLE_CHARACTERS = 200
LISTED = 10  # documents named in a notice at the most


def search_result(passage: Passage) -> BetaSearchResultBlockParam:
    """One passage as a content block of a tool result.

    `source` is `document#page=n`, and the title ends with document and page: that is how it is cited. Between title and place stand the
    dates in force, the score, how sure the character recognition was, and other places of the same words. The last part of the content is
    the passage itself; where wording in it speaks to its reader, or it was cut, a part before it says so, in square brackets.
    """
    chunk = passage.chunk
    document, quotation = shown(chunk.document), quoted(passage.text[:TEXT_CHARACTERS])
    notes = [quotation.note] if quotation.note else []
    if len(passage.text) > TEXT_CHARACTERS:
        notes.append(f"Only the first {TEXT_CHARACTERS:,} of the passage's {len(passage.text):,} characters are shown.")
    return {
        "type": "search_result",
        "source": f"{document}#page={chunk.page}",
        "title": f"{_one_line(passage.title)} ({'; '.join(_facts(passage))}) — {document}, page {chunk.page}",
        "content": [{"type": "text", "text": text} for text in (*(f"[{note}]" for note in notes), quotation.text)],
        "citations": {"enabled": True},
    }


def _facts(passage: Passage) -> list[str]:
    facts = [in_force_text(passage.effective_from, passage.effective_to), f"score {passage.score:.4f}"]
    if passage.origin == "ocr":
        sure = "unknown" if passage.confidence is None else f"{passage.confidence:.2f}"
        facts.append(f"text recognised from a scan, confidence {sure}")
    if passage.also_at:
        places = [f"{shown(document)} page {page}" for document, page in passage.also_at[:3]]
        more = len(passage.also_at) - len(places)
        facts.append(f"same words in {', '.join(places)}{f' and {more} more places' if more else ''}")
    return facts


def in_force_text(effective_from: date | None, effective_to: date | None) -> str:
    """When a document was in force, in words."""
    if effective_from is None and effective_to is None:
        return "in force, no dates given"
    if effective_to is None:
        return f"in force from {effective_from}"
    return (
        f"in force until {effective_to}" if effective_from is None else f"in force {effective_from} to {effective_to}"
    )


def _one_line(title: str) -> str:
    text = " ".join(shown(title[:TITLE_CHARACTERS]).split())
    return quoted(text).text


def notices(result: SearchResult, when: str = "in the period of this report") -> list[str]:
    """What the result does not show, in sentences: documents that were not in force, and why there are fewer passages than asked for."""
    said = []
    if result.left_out:
        named = [
            f"{shown(each.document)} ({in_force_text(each.effective_from, each.effective_to)})"
            for each in result.left_out[:LISTED]
        ]
        more = len(result.left_out) - len(named)
        said.append(
            f"Not searched, because not in force {when}: {', '.join(named)}{f' and {more} more' if more else ''}."
        )
    if result.shortfall:
        said.append(shown(result.shortfall))
    return said


class SearchTool:
    """`tool` is what the runner is given. Before a turn's tools run, `expect` names its search calls in order: the SDK
    hands a function its arguments, but not the id of the call."""

    def __init__(self, search: Callable[[str], SearchResult], record: Record, meter: Meter) -> None:
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
            found = self._search(query.strip())
            passages = found.passages
            blocks: list[Any] = [search_result(passage) for passage in passages]
            told = notices(found)
        except Exception as error:
            finish("failed", prompts.SEARCH_FAILED, detail=f"{type(error).__name__}: {error}")
            self._meter.tool_broke()
            raise ToolError(prompts.SEARCH_FAILED) from error
        self._meter.tool_worked()
        if not blocks:
            told.insert(0, prompts.NOTHING_FOUND)
        finish(
            "done",
            "\n".join([*(block["source"] for block in blocks), *told]),
            passages=tuple(dict.fromkeys(identity for passage in passages for identity in passage.chunk_ids)),
        )
        return [*blocks, *([{"type": "text", "text": " ".join(told)}] if told else [])]
