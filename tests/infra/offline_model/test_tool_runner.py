"""The SDK's own tool runner and toolset driver against the server: the whole loop, over HTTP, as the agent runs it."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import anthropic
import pytest
from anthropic import beta_tool
from anthropic.tools import ToolError
from anthropic.tools.computer import BetaAbstractComputerToolset20260801, BetaScreenshotResult

from tests.infra.offline_model.scripted import MODEL, Offline, call, member, png, text, user

HALTED = "Not executed: an earlier computer action in this turn failed."


class PaintedDesktop(BetaAbstractComputerToolset20260801):
    """A desktop whose screen is one colour and changes with every click; records what was done to it."""

    def __init__(self, confirm: Any = lambda context: True) -> None:
        super().__init__(confirm=confirm)
        self.done: list[str] = []
        self.colours = iter(["navy", "teal", "olive", "maroon", "purple"] * 40)

    def screenshot(self, context: Any, input: Any) -> BetaScreenshotResult:
        self.done.append("screenshot")
        return BetaScreenshotResult(data=png(1024, 768, next(self.colours)))

    def left_click(self, context: Any, input: Any) -> str | None:
        x, y = input.coordinate
        if x >= 1024:
            raise ToolError("That point is outside the display.")
        self.done.append(f"click {x},{y}")
        return None

    def type(self, context: Any, input: Any) -> str | None:
        self.done.append(f"type {input.text}")
        return None


@beta_tool
def search_regulations(query: str) -> Any:
    """Search the regulations.

    Args:
        query: What to look for.
    """
    passage = {
        "type": "search_result",
        "source": "rule.pdf#page=1",
        "title": "The rule, page 1",
        "content": [{"type": "text", "text": f"Found for {query}."}],
        "citations": {"enabled": True},
    }
    return [passage]


def run(server: Offline, desktop: Any, **options: Any) -> list[Any]:
    runner = server.client.beta.messages.tool_runner(
        model=MODEL,
        max_tokens=2048,
        system=[{**text("You file reports."), "cache_control": {"type": "ephemeral"}}],
        messages=[user("File the report.")],
        tools=[desktop, search_regulations],
        **{"thread": False, **options},
    )
    return list(runner)


FILING = (
    [text("Let me look."), member("screenshot")],
    [member("left_click", coordinate=[100, 200]), member("type", text="March 24, 2020"), call("search_regulations", query="date")],
    [text("I check it."), member("screenshot")],
    [text("The report is filed.")],
)  # fmt: skip


def test_a_whole_run_goes_through(scripted: Any) -> None:
    server, desktop = scripted(*FILING), PaintedDesktop()
    answers = run(server, desktop)
    assert [answer.stop_reason for answer in answers] == ["tool_use", "tool_use", "tool_use", "end_turn"]
    assert desktop.done == ["screenshot", "click 100,200", "type March 24, 2020", "screenshot"]
    assert answers[-1].content[-1].text == "The report is filed."


def test_the_answerer_sees_screens_and_passages_as_they_were_sent(scripted: Any) -> None:
    server = scripted(*FILING)
    run(server, PaintedDesktop())
    third = server.script.asked[2]
    assert third["screen"] == (1024, 768)
    assert third["system"] == "You file reports."
    assert [tool.get("name", tool.get("type")) for tool in third["tools"]] == [
        "computer_toolset_20260801",
        "search_regulations",
    ]
    results = {
        block["content"][0]["type"]: block
        for message in third["messages"]
        for block in message["content"]
        if block["type"] == "tool_result"
    }
    assert results["search_result"]["content"][0]["content"] == [text("Found for date.")]
    assert "image" in results
    assert "cache_control" not in json.dumps(third)


def test_a_failed_call_halts_its_batch_and_the_rest_still_runs(scripted: Any) -> None:
    batch = [
        member("left_click", coordinate=[5000, 1]),
        member("type", text="never"),
        call("search_regulations", query="date"),
    ]
    server, desktop = scripted(batch, [text("Done.")]), PaintedDesktop()
    run(server, desktop)
    failed, halted, found = server.script.asked[1]["messages"][2]["content"]
    assert (failed["is_error"], failed["content"][0]["text"]) == (True, "That point is outside the display.")
    assert (halted["is_error"], halted["content"][0]["text"]) == (True, HALTED)
    assert found["content"][0]["type"] == "search_result"
    assert desktop.done == []


@pytest.mark.parametrize("thread", [False, anthropic.omit], ids=["whole history", "thread"])
def test_the_runner_takes_up_a_paused_turn(scripted: Any, thread: Any) -> None:
    server, desktop = scripted(*FILING), PaintedDesktop()
    server.fault("pause_turn", after=1)
    answers = run(server, desktop, thread=thread)
    assert [answer.stop_reason for answer in answers][:3] == ["tool_use", "pause_turn", "tool_use"]
    assert answers[-1].stop_reason == "end_turn"


@pytest.mark.parametrize(("fault", "stop_reason"), [("truncated", "max_tokens"), ("refusal", "refusal")])
def test_the_runner_runs_nothing_of_a_spoiled_turn(scripted: Any, fault: str, stop_reason: str) -> None:
    server, desktop = scripted(*FILING), PaintedDesktop()
    server.fault(fault, after=1)
    answers = run(server, desktop)
    assert [answer.stop_reason for answer in answers] == ["tool_use", stop_reason]
    assert desktop.done == ["screenshot"]


def test_the_sdk_retries_an_overloaded_server_and_the_run_goes_on(scripted: Any) -> None:
    server, desktop = scripted(*FILING), PaintedDesktop()
    server.fault("429", after=2, retry_after=0.01)
    server.client = server.client.with_options(max_retries=2)
    assert run(server, desktop)[-1].stop_reason == "end_turn"


def test_the_runner_uses_threads_by_itself_and_survives_a_lost_one(scripted: Any) -> None:
    server = scripted(*FILING)

    def outlast_the_thread(context: Any) -> bool:
        server.clock.now += 301
        return True

    desktop = PaintedDesktop(outlast_the_thread)
    answers = run(server, desktop, thread=anthropic.omit)
    assert answers[-1].stop_reason == "end_turn"
    assert desktop.done == ["screenshot", "click 100,200", "type March 24, 2020", "screenshot"]
    # Every request of the answerer held the whole conversation, whatever was sent.
    assert [len(asked["messages"]) for asked in server.script.asked] == [1, 3, 5, 7]


def test_the_cache_is_read_more_and_more_as_the_marks_move(scripted: Any) -> None:
    server, desktop = scripted([member("screenshot")]), PaintedDesktop()
    runner = server.client.beta.messages.tool_runner(
        model=MODEL,
        max_tokens=2048,
        messages=[user("File the report.")],
        tools=[desktop],
        cache_control={"type": "ephemeral"},
        max_iterations=6,
        thread=False,
    )
    billed = [answer.usage for answer in runner]
    reads = [usage.cache_read_input_tokens for usage in billed]
    assert reads[0] == 0
    assert reads == sorted(reads)
    assert all(usage.input_tokens == 0 for usage in billed)
    for before, after in pairwise(billed):
        assert after.cache_read_input_tokens == before.cache_read_input_tokens + before.cache_creation_input_tokens
        assert 1036 < after.cache_creation_input_tokens < 1150


def test_members_that_a_driver_lacks_are_sent_as_disabled_and_accepted(scripted: Any) -> None:
    server = scripted([text("Ok.")])
    run(server, PaintedDesktop())
    [entry] = [tool for tool in server.script.asked[0]["tools"] if tool.get("type")]
    assert entry["configs"]["zoom"] == {"enabled": False}
    assert "screenshot" not in entry["configs"]
