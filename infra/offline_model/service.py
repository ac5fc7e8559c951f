"""One request from its JSON body to its answer: the order in which everything is checked, edited, billed and asked.

It owns what lives between requests (prompt cache, threads, faults, paused turns) and decides nothing that a smaller
module decides. The clerk is passed in, so that a test can script the answers.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any

from .betas import BINDING_CONTROLS
from .caching import PromptCache, Segment, segments
from .canonical import canonical, digest
from .conversation import check_conversation
from .editing import apply_edits
from .errors import JSON, invalid
from .faults import Fault, Faults
from .images import check_images, last_size
from .replies import Reply, compose, message, new_id
from .requests import Request, parse_request
from .thinking import Checked, check_blocks, check_thinking, thoughts_as_text
from .threads import Threads
from .tokens import TOOL_PROMPT_TOKENS, block_tokens, tool_tokens
from .tools import check_tools, display_size

# respond(system, messages, tools, screen) -> text and tool_use blocks without ids; `screen` is (width, height), pixels.
Respond = Callable[[str, list[JSON], list[JSON], tuple[int, int] | None], list[JSON]]

REMEMBERED_PAUSES = 1000


@dataclass(frozen=True)
class Prepared:
    """A request that the API would answer: what the model reads, what it is billed for, and the fault that is due."""

    request: Request
    checked: Checked
    messages: list[JSON]
    applied_edits: list[JSON]
    prompt: list[Segment]
    fault: Fault | None


class MessagesService:
    """The Messages API without HTTP. `clock` gives seconds on any steadily growing scale."""

    def __init__(self, respond: Respond, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._respond = respond
        self._cache = PromptCache(clock)
        self._threads = Threads(clock)
        self._paused: OrderedDict[str, None] = OrderedDict()
        self._paused_lock = Lock()
        self.faults = Faults()

    @contextmanager
    def prepared(self, body: Any, betas: frozenset[str], version: str) -> Iterator[Prepared]:
        """Check a request of an API version and hold its thread until the block ends.

        Raises ApiError for whatever the real API refuses, and for the errors that were asked for as faults.
        """
        with self._threads.open(parse_request(body, betas, version)) as (request, resumes):
            prepared = self._prepare(request, resumes=resumes or self._is_paused(request.messages))
            if prepared.fault is not None and (error := prepared.fault.error()) is not None:
                raise error
            yield prepared

    def answer(self, prepared: Prepared) -> JSON:
        """Ask the clerk and return the response body."""
        request = prepared.request
        fault = prepared.fault.kind if prepared.fault is not None else ""
        reply = compose(request, self._ask(prepared, fault), prepared.checked.prefix, fault)
        message_id = new_id("msg")
        if reply.stop_reason == "pause_turn":
            self._remember_pause(reply)
        if reply.stop_reason != "refusal":
            self._threads.keep(message_id, request, reply.content, paused=reply.stop_reason == "pause_turn")
        reports_edits = request.body.get("context_management") is not None
        reports_blocks = BINDING_CONTROLS in request.betas and request.rules.thinking_types != ("disabled",)
        return message(
            request,
            reply,
            message_id,
            self._cache.use(prepared.prompt, request.rules),
            applied_edits=prepared.applied_edits if reports_edits else None,
            transformations=prepared.checked.transformations if reports_blocks else None,
        )

    def _prepare(self, request: Request, *, resumes: bool) -> Prepared:
        check_thinking(request)
        check_tools(request)
        check_conversation(request.messages, request.tools, resumes=resumes)
        check_images(request.messages, request.rules)
        checked = check_blocks(request)
        messages, applied = apply_edits(checked.messages, request.edits, request.rules, _fixed_tokens(request))
        prompt = segments(
            request.system, request.tools, messages, request.rules, top_level=request.body.get("cache_control")
        )
        tokens = sum(part.tokens for part in prompt)
        if tokens > request.rules.context_window:
            raise invalid(f"prompt is too long: {tokens} tokens > {request.rules.context_window} maximum")
        return Prepared(request, checked, messages, applied, prompt, self.faults.take())

    def _ask(self, prepared: Prepared, fault: str) -> list[JSON]:
        """The clerk's blocks for the prompt; a paused turn at the end is taken up from the user's last word."""
        if fault in ("refusal", "pause_turn"):
            return []
        request = prepared.request
        messages = [
            {"role": entry["role"], "content": [canonical(block) for block in entry["content"]]}
            for entry in thoughts_as_text(prepared.messages)
        ]
        while messages and messages[-1]["role"] == "assistant":
            messages.pop()
        choice = request.body.get("tool_choice") or {"type": "auto"}
        return self._respond(
            "\n\n".join(block["text"] for block in request.system),
            messages,
            [] if choice["type"] == "none" else [canonical(entry) for entry in request.tools],
            last_size(prepared.messages) or display_size(request.tools),
        )

    def _remember_pause(self, reply: Reply) -> None:
        with self._paused_lock:
            self._paused[_content_key(reply.content)] = None
            while len(self._paused) > REMEMBERED_PAUSES:
                self._paused.popitem(last=False)

    def _is_paused(self, messages: list[JSON]) -> bool:
        """Whether the conversation ends with a paused turn, as it was sent: the only turn that may be continued."""
        if not messages or messages[-1]["role"] != "assistant":
            return False
        with self._paused_lock:
            return _content_key(messages[-1]["content"]) in self._paused


def _fixed_tokens(request: Request) -> int:
    tools = sum(map(tool_tokens, request.tools)) + (TOOL_PROMPT_TOKENS if request.tools else 0)
    return tools + sum(block_tokens(block, request.rules) for block in request.system)


def _content_key(content: list[JSON]) -> str:
    return digest([canonical(block) for block in content])
