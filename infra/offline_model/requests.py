"""The tables of what a request may hold, and the checks that need only the body and its headers.

It decides which fields exist, their types and bounds, and which need a beta header. What follows from the model, the
conversation or the server's memory is decided elsewhere (`tools.py`, `conversation.py`, `images.py`, `thinking.py`,
`threads.py`). A field that the real API has and this server does not play is refused by name, never ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .betas import COMPUTER_USE, check_field_betas
from .errors import JSON, invalid
from .models import BROWSER_TOOLSET, COMPUTER_TOOL, COMPUTER_TOOLSET, EFFORTS, ModelRules, rules_of
from .shape import Field, Flag, FlagOr, FreeObject, Listing, Number, Record, Shape, Tagged, Text, TextOr, check

MAX_BREAKPOINTS = 4
MAX_MESSAGES = 100_000
MEDIA_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")

IDENTIFIER = r"[a-zA-Z0-9_-]+"
TOOL_NAME = r"[a-zA-Z0-9_-]{1,128}"


def _record(**fields: Field) -> Record:
    """A record that also has the `type` by which it was chosen."""
    return Record({"type": Field(Text()), **fields})


def _tag(name: str) -> Field:
    return Field(Text(values=(name,)), required=True)


CACHE_CONTROL = Field(Record({"type": _tag("ephemeral"), "ttl": Field(Text(values=("5m", "1h")))}), nullable=True)

TEXT_BLOCK = _record(
    text=Field(Text(), required=True),
    cache_control=CACHE_CONTROL,
    citations=Field(Listing(FreeObject()), nullable=True),
)
IMAGE_BLOCK = _record(
    source=Field(
        Tagged(
            {
                "base64": _record(
                    media_type=Field(Text(values=MEDIA_TYPES), required=True), data=Field(Text(), required=True)
                )
            }
        ),
        required=True,
    ),
    cache_control=CACHE_CONTROL,
    transformations=Field(Record({"oversized_image": Field(Text(values=("downsize", "error")))}), nullable=True),
)
SEARCH_RESULT_BLOCK = _record(
    source=Field(Text(), required=True),
    title=Field(Text(), required=True),
    content=Field(Listing(Tagged({"text": TEXT_BLOCK}), minimum=1), required=True),
    citations=Field(Record({"enabled": Field(Flag())}), nullable=True),
    cache_control=CACHE_CONTROL,
)
TOOL_USE_BLOCK = _record(
    id=Field(Text(pattern=IDENTIFIER), required=True),
    name=Field(Text(), required=True),
    input=Field(FreeObject(), required=True),
    toolset_name=Field(Text(), nullable=True),
    caller=Field(FreeObject(), nullable=True),
    cache_control=CACHE_CONTROL,
)
TOOL_RESULT_BLOCK = _record(
    tool_use_id=Field(Text(pattern=IDENTIFIER), required=True),
    content=Field(
        TextOr(Listing(Tagged({"text": TEXT_BLOCK, "image": IMAGE_BLOCK, "search_result": SEARCH_RESULT_BLOCK}))),
        nullable=True,
    ),
    is_error=Field(Flag(), nullable=True),
    toolset_name=Field(Text(), nullable=True),
    cache_control=CACHE_CONTROL,
)
THINKING_BLOCK = _record(thinking=Field(Text(), required=True), signature=Field(Text(), required=True))

CONTENT = TextOr(
    Listing(
        Tagged(
            {
                "text": TEXT_BLOCK,
                "image": IMAGE_BLOCK,
                "search_result": SEARCH_RESULT_BLOCK,
                "tool_use": TOOL_USE_BLOCK,
                "tool_result": TOOL_RESULT_BLOCK,
                "thinking": THINKING_BLOCK,
            }
        )
    )
)

COMPUTER_MEMBERS = (
    "screenshot",
    "zoom",
    "left_click",
    "right_click",
    "middle_click",
    "double_click",
    "triple_click",
    "left_click_drag",
    "mouse_move",
    "left_mouse_down",
    "left_mouse_up",
    "cursor_position",
    "scroll",
    "type",
    "key",
    "hold_key",
    "wait",
)
BROWSER_MEMBERS = (
    "navigate",
    "list_tabs",
    "new_tab",
    "switch_tab",
    "close_tab",
    "read_page",
    "get_page_text",
    "read_console",
    "read_network",
    "find",
    "form_input",
    "file_upload",
    "scroll_to",
    "screenshot",
    "zoom",
    "left_click",
    "right_click",
    "middle_click",
    "double_click",
    "triple_click",
    "hover",
    "left_click_drag",
    "left_mouse_down",
    "left_mouse_up",
    "mouse_move",
    "scroll",
    "type",
    "key",
    "hold_key",
    "wait",
    "javascript_exec",
)
# The members that are off unless `configs` turns them on.
BROWSER_MEMBERS_OFF = frozenset({"file_upload", "read_console", "read_network", "javascript_exec"})

MEMBER_CONFIG = Record({"enabled": Field(Flag(), nullable=True), "defer_loading": Field(Flag(), nullable=True)})


def _toolset(members: tuple[str, ...]) -> Record:
    configs = Record({member: Field(MEMBER_CONFIG, nullable=True) for member in members})
    return _record(configs=Field(configs, nullable=True), cache_control=CACHE_CONTROL)


TOOL_ENTRIES: Mapping[str, Record] = {
    "custom": _record(
        name=Field(Text(pattern=TOOL_NAME), required=True),
        description=Field(Text()),
        input_schema=Field(FreeObject(), required=True),
        cache_control=CACHE_CONTROL,
        strict=Field(Flag()),
        defer_loading=Field(Flag()),
        eager_input_streaming=Field(Flag(), nullable=True),
        input_examples=Field(Listing(FreeObject())),
        allowed_callers=Field(Listing(Text())),
    ),
    COMPUTER_TOOLSET: _toolset(COMPUTER_MEMBERS),
    BROWSER_TOOLSET: _toolset(BROWSER_MEMBERS),
    COMPUTER_TOOL: _record(
        name=_tag("computer"),
        display_width_px=Field(Number(minimum=1), required=True),
        display_height_px=Field(Number(minimum=1), required=True),
        display_number=Field(Number(minimum=0), nullable=True),
        enable_zoom=Field(Flag()),
        cache_control=CACHE_CONTROL,
        strict=Field(Flag()),
        defer_loading=Field(Flag()),
        input_examples=Field(Listing(FreeObject())),
        allowed_callers=Field(Listing(Text())),
    ),
}

TOKENS = Number(minimum=0)
INPUT_TOKENS = Record({"type": _tag("input_tokens"), "value": Field(TOKENS, required=True)})
TOOL_USES = Record({"type": _tag("tool_uses"), "value": Field(TOKENS, required=True)})

EDITS: Mapping[str, Record] = {
    "clear_tool_uses_20250919": _record(
        trigger=Field(Tagged({"input_tokens": INPUT_TOKENS, "tool_uses": TOOL_USES})),
        keep=Field(TOOL_USES),
        clear_at_least=Field(INPUT_TOKENS, nullable=True),
        exclude_tools=Field(Listing(Text()), nullable=True),
        clear_tool_inputs=Field(FlagOr(Listing(Text())), nullable=True),
    )
}

DISPLAY = Field(Text(values=("summarized", "omitted", "updates")), nullable=True)
BLOCK_BINDING = Field(
    Record({"prefix_mismatch_behavior": Field(Text(values=("error", "drop_block")), nullable=True)}), nullable=True
)
PARALLEL = Field(Flag())


def _body(tool_entries: Mapping[str, Record]) -> Record:
    return Record(
        {
            "model": Field(Text(), required=True),
            "max_tokens": Field(Number(minimum=0), required=True),
            "messages": Field(
                Listing(
                    Record(
                        {
                            "role": Field(Text(values=("user", "assistant")), required=True),
                            "content": Field(CONTENT, required=True),
                        }
                    )
                ),
                required=True,
            ),
            "system": Field(TextOr(Listing(Tagged({"text": TEXT_BLOCK})))),
            "tools": Field(Listing(Tagged(tool_entries, default="custom"))),
            "tool_choice": Field(
                Tagged(
                    {
                        "auto": _record(disable_parallel_tool_use=PARALLEL),
                        "any": _record(disable_parallel_tool_use=PARALLEL),
                        "tool": _record(name=Field(Text(), required=True), disable_parallel_tool_use=PARALLEL),
                        "none": _record(),
                    }
                )
            ),
            "thinking": Field(
                Tagged(
                    {
                        "adaptive": _record(display=DISPLAY, block_binding=BLOCK_BINDING),
                        "enabled": _record(
                            budget_tokens=Field(Number(minimum=1024), required=True),
                            display=DISPLAY,
                            block_binding=BLOCK_BINDING,
                        ),
                        "disabled": _record(),
                        "between_tools": _record(),
                    }
                )
            ),
            "output_config": Field(Record({"effort": Field(Text(values=EFFORTS), nullable=True)})),
            "context_management": Field(Record({"edits": Field(Listing(Tagged(EDITS)))}), nullable=True),
            "thread": Field(
                Tagged({"create": _record(), "continue": _record(previous_message_id=Field(Text(), required=True))}),
                nullable=True,
            ),
            "cache_control": CACHE_CONTROL,
            "metadata": Field(Record({"user_id": Field(Text(max_length=256), nullable=True)})),
            "stop_sequences": Field(Listing(Text())),
            "service_tier": Field(Text(values=("auto", "standard_only"))),
            "inference_geo": Field(Text(), nullable=True),
            "stream": Field(Flag()),
            "temperature": Field(Number(minimum=0, maximum=1, real=True)),
            "top_p": Field(Number(minimum=0, maximum=1, real=True)),
            "top_k": Field(Number(minimum=0)),
        }
    )


BODY = _body(TOOL_ENTRIES)
# To the real API the old computer tool is an unknown tag until its beta header is sent.
BODY_WITHOUT_COMPUTER_TOOL = _body({tag: entry for tag, entry in TOOL_ENTRIES.items() if tag != COMPUTER_TOOL})

# Fields of the real API that this server does not play: path -> what to say.
NOT_SERVED: Mapping[tuple[str, ...], str] = {
    path: "the offline model does not serve this field"
    for path in (
        ("billing_policy",),
        ("compaction",),
        ("container",),
        ("diagnostics",),
        ("fallback_credit_token",),
        ("fallbacks",),
        ("mcp_servers",),
        ("output_config", "format"),
        ("output_config", "task_budget"),
        ("output_format",),
        ("speed",),
    )
}

SAMPLING_FIELDS = ("temperature", "top_p", "top_k")

# The values of the `anthropic-version` header. The second is what SDK 2.x sends: it has no sampling fields any more and
# refuses citations in a user's text.
API_VERSIONS = ("2023-06-01", "2026-10-21")


@dataclass(frozen=True)
class Request:
    """A request whose shape is right: the body as sent, and the parts that the server completes from a thread.

    `system` is a list of text blocks, `messages` hold content lists; both are otherwise as sent.
    """

    rules: ModelRules
    betas: frozenset[str]
    body: JSON
    system: list[JSON]
    tools: list[JSON]
    messages: list[JSON]

    @property
    def thinking(self) -> JSON:
        """The thinking configuration in force: the request's, or the model's default."""
        default = "adaptive" if self.rules.thinks_by_default else "disabled"
        return self.body.get("thinking") or {"type": default}

    @property
    def thinks(self) -> bool:
        """Whether the reply holds a thinking block."""
        return self.thinking["type"] in ("adaptive", "enabled")

    @property
    def edits(self) -> list[JSON]:
        """The context edits asked for, in order."""
        edits: list[JSON] = (self.body.get("context_management") or {}).get("edits") or []
        return edits


def parse_request(body: Any, betas: frozenset[str], version: str) -> Request:
    """Check the shape of `body` and the rules that need nothing but the body, the API version and the model.

    Raises ApiError: a 400 with the path of the first wrong field, or a 404 for an unknown model.
    """
    if not isinstance(body, dict):
        raise invalid("Input should be an object")
    _check_not_served(body)
    check_field_betas(body, betas)
    check(body, BODY if COMPUTER_USE in betas else BODY_WITHOUT_COMPUTER_TOOL, "")
    rules = rules_of(body["model"])
    _check_limits(body, rules)
    _check_version(body, rules, version)
    _check_cache_control(body)
    return Request(
        rules=rules,
        betas=betas,
        body=body,
        system=as_blocks(body.get("system") or []),
        tools=list(body.get("tools") or []),
        messages=[{"role": message["role"], "content": as_blocks(message["content"])} for message in body["messages"]],
    )


def as_blocks(content: str | list[JSON]) -> list[JSON]:
    """Content as a list of blocks: a string is shorthand for one text block."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def breakpoints(value: Any) -> list[JSON]:
    """Every `cache_control` mark in `value`, in order, however deep its block is nested."""
    if isinstance(value, list):
        return [mark for item in value for mark in breakpoints(item)]
    if not isinstance(value, dict):
        return []
    marks = [value["cache_control"]] if value.get("cache_control") else []
    # A tool call's input and a tool's schema are the caller's own data, not blocks.
    return breakpoints(value.get("content")) + marks


def _check_not_served(body: JSON) -> None:
    if body.get("stream") is True:
        raise invalid("the offline model does not stream; send the request without it", at="stream")
    for path, message in NOT_SERVED.items():
        value: Any = body
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        if value is not None:
            raise invalid(message, at=".".join(path))


def _check_limits(body: JSON, rules: ModelRules) -> None:
    if body["max_tokens"] > rules.max_output_tokens:
        raise invalid(
            f"{body['max_tokens']} > {rules.max_output_tokens}, which is the maximum allowed number of output tokens "
            f"for {rules.name}",
            at="max_tokens",
        )
    if len(body["messages"]) > MAX_MESSAGES:
        raise invalid(f"Too many messages: {len(body['messages'])} > {MAX_MESSAGES}", at="messages")
    if any(not sequence.strip() for sequence in body.get("stop_sequences") or []):
        raise invalid("each stop sequence must contain non-whitespace", at="stop_sequences")


def _check_version(body: JSON, rules: ModelRules, version: str) -> None:
    for name in SAMPLING_FIELDS:
        if name in body and version != API_VERSIONS[0]:
            raise invalid("Extra inputs are not permitted", at=name)
        if name in body and not rules.accepts_sampling:
            raise invalid(f"`{name}` is deprecated for this model.")
    for i, message in enumerate(body["messages"]):
        for j, block in enumerate(as_blocks(message["content"])):
            if version != API_VERSIONS[0] and message["role"] == "user" and block.get("citations") and "text" in block:
                raise invalid("`citations` may not be sent in a user message", at=f"messages.{i}.content.{j}.text")


def _check_cache_control(body: JSON) -> None:
    """At most four marks (one at the top level counts), a longer TTL never after a shorter one, none on empty text."""
    marks = breakpoints(body.get("tools")) + breakpoints(body.get("system")) + breakpoints(body["messages"])
    found = len(marks) + bool(body.get("cache_control"))
    if found > MAX_BREAKPOINTS:
        raise invalid(f"A maximum of {MAX_BREAKPOINTS} blocks with cache_control may be provided. Found {found}.")
    ttls = [mark.get("ttl", "5m") for mark in marks]
    if "5m" in ttls and "1h" in ttls[ttls.index("5m") :]:
        raise invalid("a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block.")
    for at, block in _text_blocks(body):
        if block.get("cache_control") and not block["text"]:
            raise invalid("cache_control cannot be set for empty text blocks", at=at)


def _text_blocks(body: JSON) -> list[tuple[str, JSON]]:
    found = [(f"system.{i}", block) for i, block in enumerate(as_blocks(body.get("system") or []))]
    for i, message in enumerate(body["messages"]):
        found += [(f"messages.{i}.content.{j}", block) for j, block in enumerate(as_blocks(message["content"]))]
    return [(at, block) for at, block in found if block.get("type") == "text"]


__all__ = ["BODY", "Request", "Shape", "as_blocks", "breakpoints", "parse_request"]
