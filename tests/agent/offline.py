"""The offline model's own server with a script in the clerk's place."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn

from infra.offline_model.server import create_app
from infra.offline_model.service import MessagesService

JSON = dict[str, Any]


@dataclass
class Script:
    """The clerk's part: answers in turn with what it was given, and keeps the messages that it was asked with."""

    answers: list[list[JSON]]
    asked: list[list[JSON]] = field(default_factory=list)

    def __call__(self, system: str, messages: list[JSON], tools: list[JSON], screen: object) -> list[JSON]:
        self.asked.append(messages)
        return self.answers.pop(0)


@dataclass
class Offline:
    url: str
    script: Script
    service: MessagesService

    def fault(self, kind: str, **fields: Any) -> None:
        self.service.faults.add({"kind": kind, **fields})


@contextmanager
def serving(answers: Sequence[list[JSON]]) -> Iterator[Offline]:
    """A server in a thread of this process until the block ends."""
    script = Script(list(answers))
    service = MessagesService(script)
    config = uvicorn.Config(create_app(service), host="127.0.0.1", port=0, log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield Offline(f"http://127.0.0.1:{port}", script, service)
    finally:
        server.should_exit = True
        thread.join(10)
        assert not thread.is_alive()


def text(words: str) -> JSON:
    return {"type": "text", "text": words}


def member(name: str, **arguments: Any) -> JSON:
    """A call of the screen, without an id as the clerk writes it."""
    return {"type": "tool_use", "name": name, "input": arguments, "toolset_name": "computer"}


def search(query: str) -> JSON:
    return {"type": "tool_use", "name": "search_regulations", "input": {"query": query}}
