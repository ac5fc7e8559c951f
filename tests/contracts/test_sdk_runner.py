"""The driver under the SDK's own tool runner: batches, the halt, and the picture at a batch's end, down to what is sent."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import anthropic
import pytest

from tasks.desktop.session import Desktop
from tests.contracts.computer_toolset import Bench
from tests.desktop.fixtures import seen

HALTED = "Not executed: an earlier computer action in this turn failed."


@contextmanager
def model(*turns: list[dict[str, Any]]) -> Iterator[tuple[anthropic.Anthropic, list[dict[str, Any]]]]:
    """A client of a server that answers with the given calls, turn by turn, then ends; and the requests that came."""
    requests: list[dict[str, Any]] = []

    class Messages(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            number = len(requests) - 1
            calls = turns[number] if number < len(turns) else []
            answer = {
                "id": f"msg_{number}",
                "type": "message",
                "role": "assistant",
                "model": "claude-opus-5-5",
                "content": calls or [{"type": "text", "text": "Done."}],
                "stop_reason": "tool_use" if calls else "end_turn",
                "stop_sequence": None,
                "usage": {"input_tokens": 1, "output_tokens": 1},
            }
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Messages) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            with anthropic.Anthropic(base_url=url, api_key="none", max_retries=0) as client:
                yield client, requests
        finally:
            server.shutdown()
            thread.join()


def call(identifier: str, member: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": identifier, "name": member, "input": arguments, "toolset_name": "computer"}


@pytest.fixture
def bench(desktop: Desktop, site: str) -> Bench:
    return Bench(desktop, site).page("events")


def run(client: anthropic.Anthropic, bench: Bench) -> None:
    runner = client.beta.messages.tool_runner(
        model="claude-opus-5-5",
        max_tokens=100,
        messages=[{"role": "user", "content": "Go."}],
        tools=[bench.toolset],
        thread=False,
    )
    for _ in runner:
        response = runner.generate_tool_call_response()
        if response is not None:
            bench.toolset.append_screenshot(response)
            assert runner.generate_tool_call_response() is response


def test_the_appended_picture_goes_out_with_the_next_request(bench: Bench) -> None:
    batch = [call("a", "left_click", coordinate=[100, 95]), call("b", "type", text="QI-2025-014")]
    with model(batch) as (client, requests):
        run(client, bench)
    first, second = requests[1]["messages"][-1]["content"]
    assert [block["type"] for block in first["content"]] == ["text", "text"]
    assert [block["type"] for block in second["content"]] == ["text", "text", "image"]
    assert base64.b64decode(second["content"][2]["source"]["data"]) in bench.record.pictures.values()
    assert [result["toolset_name"] for result in (first, second)] == ["computer", "computer"]


def test_a_failed_call_halts_the_rest_of_its_batch(bench: Bench) -> None:
    batch = [
        call("a", "left_click", coordinate=[700, 60]),
        call("b", "left_click", coordinate=[1024, 60]),
        call("c", "left_click", coordinate=[700, 120]),
    ]
    with model(batch) as (client, requests):
        run(client, bench)
    results = requests[1]["messages"][-1]["content"]
    assert [result.get("is_error", False) for result in results] == [False, True, True]
    assert results[2]["content"] == HALTED or results[2]["content"][0]["text"] == HALTED
    assert [line for line in seen(bench.desktop) if line.startswith("click")] == ["click 700,60 button0 count1"]
    assert [row.status for _, row in bench.record.rows if row is not None] == ["done", "failed"]


def test_a_batch_that_ends_with_a_screenshot_is_sent_as_it_is(bench: Bench) -> None:
    with model([call("a", "mouse_move", coordinate=[5, 5]), call("b", "screenshot")]) as (client, requests):
        run(client, bench)
    first, second = requests[1]["messages"][-1]["content"]
    assert [block["type"] for block in [*first["content"], *second["content"]]] == ["text", "text", "image"]
    assert requests[0]["tools"] == [{"type": "computer_toolset_20260801"}]
