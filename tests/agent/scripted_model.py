"""A model that says what a test wrote down, over real HTTP.

It answers the n-th request with the n-th item of its script, keeps every request's body and headers, and refuses what would hide
a mistake of the client: more than four cache breakpoints, tool calls without exactly one result each, a message that changed.
"""

from __future__ import annotations

import copy
import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

JSON = dict[str, Any]


@dataclass
class Reply:
    """One answered request: a message unless `status` says otherwise; `raw` is sent as it stands, as JSON or not."""

    content: Sequence[JSON] = ()
    stop_reason: str = ""
    usage: JSON = field(default_factory=dict)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    error: JSON = field(default_factory=dict)
    extra: JSON = field(default_factory=dict)
    raw: str | None = None


def text(words: str) -> JSON:
    return {"type": "text", "text": words}


def thinking(words: str = "") -> JSON:
    return {"type": "thinking", "thinking": words, "signature": "c2lnbmF0dXJl"}


def act(name: str, call_id: str, **arguments: Any) -> JSON:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments, "toolset_name": "computer"}


def search(call_id: str, **arguments: Any) -> JSON:
    return {"type": "tool_use", "id": call_id, "name": "search_regulations", "input": arguments}


def error(status: int, kind: str, message: str = "scripted", **headers: str) -> Reply:
    return Reply(
        status=status,
        headers={key.replace("_", "-"): value for key, value in headers.items()},
        error={"type": "error", "error": {"type": kind, "message": message}},
    )


def without_cache_control(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_cache_control(item) for key, item in value.items() if key != "cache_control"}
    if isinstance(value, list):
        return [without_cache_control(item) for item in value]
    return value


def breakpoints(value: Any) -> int:
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(breakpoints(item) for item in value.values())
    if isinstance(value, list):
        return sum(breakpoints(item) for item in value)
    return 0


class ScriptedModel:
    """`bodies` and `headers` hold what was received, in order, refused requests included. It waits `delay` seconds before an answer."""

    def __init__(self, script: Sequence[Reply]) -> None:
        self.script = list(script)
        self.bodies: list[JSON] = []
        self.headers: list[dict[str, str]] = []
        self.refused: list[str] = []
        self.delay = 0.0
        self._answered: list[JSON] = []
        self._held: JSON = {}
        self._position = 0

    @property
    def answered(self) -> list[JSON]:
        """The bodies that were answered with a message."""
        return self._answered

    def answer(self, body: JSON, headers: dict[str, str]) -> tuple[int, dict[str, str], JSON | str]:
        self.bodies.append(copy.deepcopy(body))
        self.headers.append(headers)
        body = self._whole(body)
        problem = self._problem(body)
        if problem:
            self.refused.append(problem)
            return 400, {}, {"type": "error", "error": {"type": "invalid_request_error", "message": problem}}
        if self._position >= len(self.script):
            self.refused.append("the script is at its end")
            return (
                400,
                {},
                {"type": "error", "error": {"type": "invalid_request_error", "message": "script at its end"}},
            )
        reply = self.script[self._position]
        self._position += 1
        if reply.raw is not None:
            return 200, {}, reply.raw
        if reply.status != 200:
            return reply.status, reply.headers, reply.error
        self._answered.append(copy.deepcopy(body))
        asks = any(block["type"] == "tool_use" for block in reply.content)
        message = {
            "id": f"msg_{self._position:04d}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": list(reply.content),
            "stop_reason": reply.stop_reason or ("tool_use" if asks else "end_turn"),
            "stop_sequence": None,
            "usage": {
                "input_tokens": 100,
                "output_tokens": 20,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                **reply.usage,
            },
            **reply.extra,
        }
        self._held = {**body, "messages": [*body["messages"], {"role": "assistant", "content": message["content"]}]}
        return 200, {}, message

    def _whole(self, body: JSON) -> JSON:
        """The body with the part of the conversation that a thread holds here."""
        if (body.get("thread") or {}).get("type") != "continue":
            return body
        held = without_cache_control(self._held)
        return {
            **body,
            "system": held["system"],
            "tools": held["tools"],
            "messages": held["messages"] + body["messages"],
        }

    def _problem(self, body: JSON) -> str:
        if breakpoints(body) > 4:
            return "more than four cache breakpoints"
        if self._answered:
            before = without_cache_control(self._answered[-1])
            now = without_cache_control(body)
            if now["system"] != before["system"] or now["tools"] != before["tools"]:
                return "system or tools changed"
            if now["messages"][: len(before["messages"])] != before["messages"]:
                return "an earlier message changed"
        for index, message in enumerate(body["messages"]):
            if message["role"] != "assistant":
                continue
            asked = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
            follows = body["messages"][index + 1]["content"] if index + 1 < len(body["messages"]) else []
            given = [block["tool_use_id"] for block in follows if block["type"] == "tool_result"]
            if asked != given:
                return "tool calls and results differ"
        return ""


@contextmanager
def serving(model: ScriptedModel) -> Iterator[str]:
    """The base URL of a server that answers with `model`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            time.sleep(model.delay)
            status, headers, answer = model.answer(body, {key.lower(): value for key, value in self.headers.items()})
            data = (answer if isinstance(answer, str) else json.dumps(answer)).encode()
            self.send_response(status)
            for key, value in {"content-type": "application/json", "request-id": "req_scripted", **headers}.items():
                self.send_header(key, value)
            self.send_header("content-length", str(len(data)))
            with suppress(ConnectionError):  # a client that gave up waiting is part of some tests
                self.end_headers()
                self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Tests read bodies, not logs."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
