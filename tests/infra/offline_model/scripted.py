"""What the tests of the offline model share: a scripted answerer in the clerk's place, pictures, and request parts."""

from __future__ import annotations

import base64
import io
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import anthropic
import httpx
import uvicorn
from PIL import Image

from infra.offline_model.server import create_app
from infra.offline_model.service import MessagesService

MODEL = "claude-opus-5-5"
TOOLSET = {"type": "computer_toolset_20260801"}
SEARCH = {
    "name": "search_regulations",
    "description": "Searches the regulations.",
    "input_schema": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
}

Answer = list[dict[str, Any]]


@dataclass
class Script:
    """Answers in turn with what it was given (the last one for ever), and records what it was asked."""

    answers: list[Answer | Callable[[list[dict[str, Any]]], Answer]] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)

    def __call__(self, system: str, messages: list[Any], tools: list[Any], screen: tuple[int, int] | None) -> Answer:
        self.asked.append({"system": system, "messages": messages, "tools": tools, "screen": screen})
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return answer(messages) if callable(answer) else answer


@dataclass
class Clock:
    """A clock that only a test moves, in seconds."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Offline:
    """A running server: its address, and the real SDK and a plain HTTP client that talk to it."""

    url: str
    script: Script
    clock: Clock
    client: anthropic.Anthropic
    http: httpx.Client

    def create(self, **fields: Any) -> Any:
        """One request through the SDK's beta client, with the fields that every request needs."""
        request = {"model": MODEL, "max_tokens": 1024, "messages": [user("Hello")], **fields}
        return self.client.beta.messages.create(**request)

    def post(self, body: Any, *, betas: str = "", version: str = "2026-10-21") -> httpx.Response:
        """One request as plain HTTP: what the SDK would not let out."""
        sent = {"authorization": "Bearer offline", "anthropic-version": version}
        if betas:
            sent["anthropic-beta"] = betas
        return self.http.post("/v1/messages?beta=true", json=body, headers=sent)

    def fault(self, kind: str, **fields: Any) -> None:
        """Ask for a fault."""
        assert self.http.post("/faults", json={"kind": kind, **fields}).status_code == 201


class Hosts:
    """One HTTP server for many offline models, each below a path of its own: starting a server is the slow part."""

    def __init__(self) -> None:
        self._apps: dict[str, Any] = {}
        self.url = ""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        name, _, rest = scope["path"].lstrip("/").partition("/")
        await self._apps[name]({**scope, "path": f"/{rest}", "raw_path": f"/{rest}".encode()}, receive, send)

    @contextmanager
    def running(self) -> Iterator[Hosts]:
        """Listen on a free port, in a thread of this process, until the block ends."""
        server = uvicorn.Server(uvicorn.Config(self, host="127.0.0.1", port=0, log_level="error", lifespan="off"))
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        pause = threading.Event()
        while not server.started:
            assert thread.is_alive()
            pause.wait(0.005)
        self.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            server.should_exit = True
            thread.join(10)
            assert not thread.is_alive()

    @contextmanager
    def serving(self, script: Script) -> Iterator[Offline]:
        """A fresh offline model that answers by a script, and clients for it."""
        clock = Clock()
        name = f"model{len(self._apps)}"
        self._apps[name] = create_app(MessagesService(script, clock=clock))
        url = f"{self.url}/{name}"
        # Plain HTTP on this machine: loading certificates would take longer than most of the tests.
        transport = anthropic.DefaultHttpxClient(verify=False)
        with (
            httpx.Client(base_url=url, timeout=30, verify=False) as http,
            anthropic.Anthropic(base_url=url, api_key="offline", max_retries=0, http_client=transport) as client,
        ):
            yield Offline(url, script, clock, client, http)


def text(words: str) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": words}


def call(name: str, toolset: str | None = None, **arguments: Any) -> dict[str, Any]:
    """A call as the clerk returns it: without an id."""
    block = {"type": "tool_use", "name": name, "input": arguments}
    return {**block, "toolset_name": toolset} if toolset else block


def member(name: str, **arguments: Any) -> dict[str, Any]:
    """A call of a computer toolset's member."""
    return call(name, "computer", **arguments)


def user(*content: Any) -> dict[str, Any]:
    """A user message; strings become text blocks."""
    return {"role": "user", "content": [text(part) if isinstance(part, str) else part for part in content]}


def assistant(*content: Any) -> dict[str, Any]:
    """An assistant message; strings become text blocks."""
    return {**user(*content), "role": "assistant"}


def used(call_id: str, name: str = "screenshot", toolset: str | None = "computer", **arguments: Any) -> dict[str, Any]:
    """A `tool_use` block of a history."""
    return {**call(name, toolset, **arguments), "id": call_id}


def result(call_id: str, content: Any = "Done.", toolset: str | None = "computer", **fields: Any) -> dict[str, Any]:
    """A `tool_result` block of a history."""
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}
    return {**block, "toolset_name": toolset} if toolset else block


@cache
def png(width: int = 56, height: int = 28, colour: str = "navy") -> str:
    """A one-coloured PNG in base64."""
    buffer = io.BytesIO()
    Image.new("RGB", (width, height), colour).save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()


def image(width: int = 56, height: int = 28, colour: str = "navy") -> dict[str, Any]:
    """An image block of one colour."""
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": png(width, height, colour)},
    }
