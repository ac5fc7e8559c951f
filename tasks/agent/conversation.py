"""The agent's run: one conversation from the task to its end, over the SDK's tool runner.

Decides when the conversation goes on, is nudged once, or is over. It never decides whether the report was filed (`finished` looks
at the browser, and the caller reads the receipt), what an action may do (the driver's policy), or what a passage says.

Rules
- The screen and the search go out with every request; nothing routes between them.
- Order of one turn: stops are looked at, the request is sent, the answer is recorded, only then do its tools run.
- Only a turn that stopped for its tools (`tool_use`) runs them. A truncated or refused turn runs nothing of it.
- History is append-only; the old is cleared by the service (context editing), never here.
- Stops are RunStopped, raised before the next request. Failures of the service are TemporaryError or PermanentError.
"""

from __future__ import annotations

import base64
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Literal

import anthropic

from tasks.agent import prompts
from tasks.agent.budgets import Budgets, LoopDetector, Meter
from tasks.agent.client import translated
from tasks.agent.history import MARK, images, move_breakpoints
from tasks.agent.models import Model, find_model
from tasks.agent.record import Record
from tasks.agent.screen import MeteredToolset, Toolset
from tasks.agent.search_tool import NAME as SEARCH
from tasks.agent.search_tool import SearchTool
from tasks.domain.passages import SearchResult
from tasks.domain.steps import Call, Journal, Turn, Usage

log = logging.getLogger(__name__)

Effort = Literal["low", "medium", "high", "xhigh", "max"]
CONTEXT_EDITING_BETA = "context-management-2025-06-27"
BINDING_BETA = "thinking-binding-controls-2026-08-01"
LAST_WORDS_CHARACTERS = 2_000

RUN, RESUME, END, HALT = "run", "resume", "end", "halt"
STOP_REASONS: dict[str, tuple[str, str]] = {
    # stop reason: what the run does, and how the run is called if it ends there
    "tool_use": (RUN, ""),
    "pause_turn": (RESUME, ""),
    "compaction": (RESUME, ""),
    "end_turn": (END, ""),
    "max_tokens": (HALT, "truncated"),
    "refusal": (HALT, "refused"),
    "model_context_window_exceeded": (HALT, "context full"),
    "stop_sequence": (HALT, "unexpected stop"),
}


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """How the model is asked.

    effort: depth of thinking. max_tokens: output of one turn, thinking included. thread: let the service hold the conversation
    (faster to the first token, not eligible for zero data retention; filings are confidential, so off).
    on_prefix_mismatch: "error" where an edited history must be found (tests), "drop_block" to go on and log it.
    clear_above, clear_at_least: prompt tokens from which the service clears old tool results, and how many at once: clearing
    rewrites the cache, so rarely and much. keep_tool_uses: how many newest tool uses it keeps.
    """

    effort: Effort = "medium"
    max_tokens: int = 8_192
    thread: bool = False
    on_prefix_mismatch: Literal["error", "drop_block"] = "drop_block"
    clear_above: int = 60_000
    clear_at_least: int = 25_000
    keep_tool_uses: int = 20


@dataclass(frozen=True, slots=True)
class AgentResult:
    """How a run ended that was not stopped.

    `ended` is finished, no receipt, truncated, refused, context full or unexpected stop; `finished` is what the caller's own look
    at the browser said at the end. `last_words` is the model's last text, for the record: nothing is decided by it.
    """

    ended: str
    finished: bool
    turns: int
    actions: int
    searches: int
    usage: Usage
    dollars: float
    seconds: float
    last_words: str


def run_agent(
    *,
    client: anthropic.Anthropic,
    model: str,
    toolset: Toolset,
    search: Callable[[str], SearchResult],
    task: str,
    budgets: Budgets,
    journal: Journal,
    check: Callable[[], None],
    on_turn: Callable[[Turn], None],
    finished: Callable[[], bool],
    screenshot: bytes | None = None,
    options: AgentOptions | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> AgentResult:
    """Run the conversation to its end.

    `search` returns passages, best first, and says what is missing. `check` raises RunStopped when the run must end (lost lease, kill
    switch); it is called before every request and every tool call. `on_turn` is told each turn after it is recorded. `finished` says by
    code whether the receipt is on the screen. `screenshot`, a PNG of the whole screen, spares the model its first look.

    Raises RunStopped (budget:turns|actions|seconds|tokens|dollars, loop, tools broken, journal failed, or the caller's own),
    TemporaryError when the service stays busy, PermanentError for a model that cannot be used or a refused request.
    Exceptions of `on_turn`, `finished` and `append_screenshot` pass unchanged.
    """
    return _Run(
        client=client,
        model=find_model(model),
        toolset=toolset,
        search=search,
        budgets=budgets,
        journal=journal,
        check=check,
        on_turn=on_turn,
        finished=finished,
        options=options or AgentOptions(),
        clock=clock,
    ).run(_first_message(task, screenshot))


def request_fields(model: Model, options: AgentOptions) -> dict[str, Any]:
    """The fields that every request of a run shares, without messages and tools."""
    thinking: dict[str, Any] = {"type": "adaptive"}
    betas = [CONTEXT_EDITING_BETA]
    if model.checks_prefix:
        thinking["block_binding"] = {"prefix_mismatch_behavior": options.on_prefix_mismatch}
        betas.append(BINDING_BETA)
    fields: dict[str, Any] = {
        "model": model.name,
        "max_tokens": options.max_tokens,
        "system": [{"type": "text", "text": prompts.SYSTEM_PROMPT, "cache_control": dict(MARK)}],
        "thinking": thinking,
        "output_config": {"effort": options.effort},
        "context_management": {
            "edits": [
                {
                    "type": "clear_tool_uses_20250919",
                    "trigger": {"type": "input_tokens", "value": options.clear_above},
                    "keep": {"type": "tool_uses", "value": options.keep_tool_uses},
                    "clear_at_least": {"type": "input_tokens", "value": options.clear_at_least},
                    "exclude_tools": [SEARCH],
                }
            ]
        },
        "betas": betas,
    }
    if not options.thread:
        fields["thread"] = False  # left out, the SDK's runner would turn threads on
    return fields


@dataclass
class _Run:
    """The parts and the state of one run."""

    client: anthropic.Anthropic
    model: Model
    toolset: Toolset
    search: Callable[[str], SearchResult]
    budgets: Budgets
    journal: Journal
    check: Callable[[], None]
    on_turn: Callable[[Turn], None]
    finished: Callable[[], bool]
    options: AgentOptions
    clock: Callable[[], float]
    history: list[Any] = field(default_factory=list)
    last_words: str = ""
    calls_open: bool = False

    def __post_init__(self) -> None:
        self.meter = Meter(
            self.budgets,
            self.model,
            max_output_tokens=self.options.max_tokens,
            clock=self.clock,
            check=self.check,
        )
        self.record = Record(self.journal)
        self.screen = MeteredToolset(self.toolset, self.record, self.meter)
        self.search_tool = SearchTool(self.search, self.record, self.meter)
        self.loops = LoopDetector()

    def run(self, first_message: dict[str, Any]) -> AgentResult:
        fields = request_fields(self.model, self.options)
        tools: list[Any] = [self.screen, self.search_tool.tool]
        self.meter.added([fields["system"], [tool.to_dict() for tool in tools]])
        self._append(first_message)
        ended = self._converse(fields, tools)
        if ended == "no receipt" and not self.calls_open:
            self._append({"role": "user", "content": [{"type": "text", "text": prompts.NUDGE}]})
            ended = self._converse(fields, tools)
        return AgentResult(
            ended=ended,
            finished=ended == "finished" or self.finished(),
            turns=self.meter.turns,
            actions=self.meter.actions,
            searches=self.meter.searches,
            usage=self.meter.usage,
            dollars=self.meter.dollars,
            seconds=self.meter.seconds,
            last_words=self.last_words,
        )

    def _converse(self, fields: dict[str, Any], tools: list[Any]) -> str:
        """Talk until a turn ends that is not to be continued; returns how that is called in AgentResult."""
        runner = self.client.beta.messages.tool_runner(messages=list(self.history), tools=tools, **fields)
        with closing(runner):
            while True:
                self.meter.before_request()
                message = self._ask(runner)
                if message is None:
                    return "unexpected stop"
                step, ended = STOP_REASONS.get(message.stop_reason or "", (HALT, "unexpected stop"))
                if message.content:  # an empty message is an answer, but none that may stand in a history
                    self.history.append(message.to_param())
                if step == HALT:
                    return ended
                if step == RESUME:
                    continue
                if step == END or not self._run_tools(runner, message):
                    # Calls that nobody answers: nothing can follow such a turn, not even the nudge.
                    self.calls_open = any(block.type == "tool_use" for block in message.content)
                    return "finished" if self.finished() else "no receipt"

    def _ask(self, runner: Any) -> Any:
        """Send one request and record its answer before anything of it runs; None if the runner has nothing more to ask."""
        started = self.clock()
        failure: Exception | None = None
        try:
            message = next(runner, None)
        except Exception as error:
            # Only the SDK runs in here (the tools have run before), and on an answer that is no message it stumbles in many ways.
            failure = translated(error)
        if failure is not None:
            # Raised out here: the SDK's exception holds the request, with its key and its body, and must not travel along.
            raise failure
        if message is None:
            return None
        reported = message.usage
        usage = Usage(
            input_tokens=reported.input_tokens,
            output_tokens=reported.output_tokens,
            cache_creation_input_tokens=reported.cache_creation_input_tokens or 0,
            cache_read_input_tokens=reported.cache_read_input_tokens or 0,
        )
        hour_tokens = reported.cache_creation.ephemeral_1h_input_tokens if reported.cache_creation else 0
        dollars = self.meter.answered(usage, hour_tokens=hour_tokens)
        self.last_words = _text_of(message) or self.last_words
        turn = Turn(
            number=self.meter.turns,
            model=message.model,
            stop_reason=message.stop_reason or "",
            content=tuple(block.to_dict(mode="json") for block in message.content),
            usage=usage,
            dollars=dollars,
            milliseconds=round((self.clock() - started) * 1000),
        )
        self.record.turn(turn)
        self.on_turn(turn)
        if message.input_transformations:
            log.warning(
                "The service dropped or passed %d blocks whose earlier messages had changed: the history was edited",
                len(message.input_transformations),
            )
        if message.context_management is not None and message.context_management.applied_edits:
            log.info("Turn %d: the service cleared old tool results", turn.number)
        return message

    def _run_tools(self, runner: Any, message: Any) -> bool:
        """Run the turn's calls and prepare the next request; False if the turn has none."""
        calls = [block for block in message.content if block.type == "tool_use"]
        self.search_tool.expect(block.id for block in calls if block.toolset_name is None and block.name == SEARCH)
        response = runner.generate_tool_call_response()
        if response is None:
            return False
        self._record_unrun(calls, response)
        # The runner keeps this very dict and sends it: what is added here goes out with the next request.
        self.toolset.append_screenshot(response)
        self._append(response)
        move_breakpoints(self.history)
        self.loops.observe([(_name_of(block), block.input) for block in calls], list(images(response)))
        return True

    def _record_unrun(self, calls: Sequence[Any], response: Any) -> None:
        """Write the calls that the SDK answered without showing them to a tool of ours."""
        texts = {result["tool_use_id"]: _text_in(result) for result in response["content"]}
        for block in calls:
            ours = block.toolset_name == self.screen.toolset_name
            if block.id in self.screen.seen or (block.toolset_name is None and block.name == SEARCH):
                continue
            call = Call(block.id, _name_of(block), dict(block.input))
            self.record.unrun(call, "not_executed" if ours else "failed", texts.get(block.id, ""))

    def _append(self, message: dict[str, Any]) -> None:
        self.history.append(message)
        self.meter.added(message)


def _first_message(task: str, screenshot: bytes | None) -> dict[str, Any]:
    content: list[dict[str, Any]] = list(prompts.first_message(task))
    if screenshot is not None:
        data = base64.b64encode(screenshot).decode("ascii")
        content.append({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}})
    return {"role": "user", "content": content}


def _name_of(block: Any) -> str:
    return f"{block.toolset_name}.{block.name}" if block.toolset_name else str(block.name)


def _text_of(message: Any) -> str:
    return "\n".join(block.text for block in message.content if block.type == "text").strip()[:LAST_WORDS_CHARACTERS]


def _text_in(result: Any) -> str:
    content = result.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content or () if block.get("type") == "text")
