"""Context editing on the server: the client sends everything, the model reads less, and the response says so."""

from __future__ import annotations

from typing import Any

from infra.offline_model.editing import CLEARED
from tests.infra.offline_model.scripted import (
    MODEL,
    SEARCH,
    TOOLSET,
    Offline,
    assistant,
    call,
    image,
    member,
    result,
    text,
    used,
    user,
)

EDITING = "context-management-2025-06-27"


def edit(**fields: Any) -> dict[str, Any]:
    return {"edits": [{"type": "clear_tool_uses_20250919", **fields}]}


def over(tokens: int) -> dict[str, Any]:
    return {"type": "input_tokens", "value": tokens}


def keep(uses: int) -> dict[str, Any]:
    return {"type": "tool_uses", "value": uses}


def screenshots(count: int) -> list[dict[str, Any]]:
    """A conversation of that many screenshots of 1036 tokens each."""
    messages = [user("Go")]
    for i in range(count):
        messages += [assistant(used(f"toolu_{i}")), user(result(f"toolu_{i}", [image(1024, 768)]))]
    return messages


def send(server: Offline, messages: list[Any], management: dict[str, Any]) -> dict[str, Any]:
    body = {
        "model": MODEL,
        "max_tokens": 1024,
        "tools": [TOOLSET, SEARCH],
        "messages": messages,
        "context_management": management,
    }
    response = server.post(body, betas=EDITING)
    assert response.status_code == 200, response.text
    return response.json()


def read_by_the_model(server: Offline) -> list[bool]:
    """For each tool result that the answerer was last given, whether it still had its content."""
    blocks = [block for message in server.script.asked[-1]["messages"] for block in message["content"]]
    return [block["content"] != [text(CLEARED)] for block in blocks if block["type"] == "tool_result"]


def test_below_the_trigger_nothing_is_cleared(scripted: Any) -> None:
    server = scripted([text("Ok.")])
    answer = send(server, screenshots(3), edit(trigger=over(20_000)))
    assert answer["context_management"] == {"applied_edits": []}
    assert read_by_the_model(server) == [True] * 3


def test_over_the_trigger_the_oldest_results_are_cleared_and_reported(scripted: Any) -> None:
    server = scripted([text("Ok.")])
    whole = send(server, screenshots(6), edit(trigger=over(100_000)))["usage"]["input_tokens"]
    answer = send(server, screenshots(6), edit(trigger=over(11_000), keep=keep(2)))
    [applied] = answer["context_management"]["applied_edits"]
    assert (applied["type"], applied["cleared_tool_uses"]) == ("clear_tool_uses_20250919", 4)
    assert answer["usage"]["input_tokens"] == whole - applied["cleared_input_tokens"]
    assert read_by_the_model(server) == [False] * 4 + [True] * 2


def test_three_tool_uses_are_kept_by_default(scripted: Any) -> None:
    server = scripted([text("Ok.")])
    send(server, screenshots(6), edit(trigger=over(11_000)))
    assert read_by_the_model(server) == [False] * 3 + [True] * 3


def test_a_trigger_may_count_tool_uses(scripted: Any) -> None:
    server = scripted([text("Ok.")])
    send(server, screenshots(4), edit(trigger=keep(3), keep=keep(1)))
    assert read_by_the_model(server) == [False] * 3 + [True]


def test_what_is_cleared_stays_cleared_and_no_more_is_until_the_trigger_is_passed_again(scripted: Any) -> None:
    server = scripted([text("Ok.")])
    management = edit(trigger=over(9_000), keep=keep(1))
    cleared = []
    for count in range(3, 12):
        applied = send(server, screenshots(count), management)["context_management"]["applied_edits"]
        cleared.append(sum(entry["cleared_tool_uses"] for entry in applied))
    # In steps, so that the cached prefix holds between two of them; a little with each turn would break it every time.
    assert cleared == [0, 3, 3, 3, 6, 6, 6, 9, 9]


def test_clear_at_least_waits_until_it_is_worth_it(scripted: Any) -> None:
    server = scripted([text("Ok.")])
    management = edit(trigger=over(6_000), keep=keep(1), clear_at_least=over(3_000))
    assert send(server, screenshots(3), management)["context_management"]["applied_edits"] == []
    [applied] = send(server, screenshots(4), management)["context_management"]["applied_edits"]
    assert applied["cleared_tool_uses"] == 3
    assert applied["cleared_input_tokens"] >= 3_000


def test_excluded_tools_keep_their_results(scripted: Any) -> None:
    server = scripted([text("Ok.")])
    passage = {"type": "search_result", "source": "a#page=1", "title": "A", "content": [text("word " * 900)]}
    messages = [
        user("Go"),
        assistant(used("toolu_a", "search_regulations", None, query="date")),
        user(result("toolu_a", [passage], None)),
        *screenshots(5)[1:],
    ]
    send(server, messages, edit(trigger=over(8_000), keep=keep(1), exclude_tools=["search_regulations"]))
    assert read_by_the_model(server) == [True, False, False, False, False, True]


def test_inputs_are_cleared_only_on_request(scripted: Any) -> None:
    server = scripted([text("Ok.")])
    messages = [user("Go"), assistant(used("toolu_1", "type", text="word " * 500)), user(result("toolu_1", "Typed."))]
    send(server, messages, edit(trigger=over(100), keep=keep(0)))
    assert server.script.asked[-1]["messages"][1]["content"][0]["input"] != {}
    send(server, messages, edit(trigger=over(100), keep=keep(0), clear_tool_inputs=True))
    assert server.script.asked[-1]["messages"][1]["content"][0]["input"] == {}


def test_the_prefix_check_compares_what_was_sent_not_the_edited_copy(scripted: Any) -> None:
    server = scripted([member("screenshot")])
    management = edit(trigger=over(7_000), keep=keep(1))
    messages = [user("Go")]
    applied = []
    for _ in range(8):
        answer = send(server, messages, management)
        applied.append(len(answer["context_management"]["applied_edits"]))
        call_id = answer["content"][1]["id"]
        messages += [{"role": "assistant", "content": answer["content"]}, user(result(call_id, [image(1024, 768)]))]
    assert applied[0] == 0
    assert applied[-1] == 1


def test_the_sdk_reads_the_applied_edits(scripted: Any) -> None:
    server = scripted([call("search_regulations", query="x")])
    answer = server.create(
        tools=[TOOLSET, SEARCH],
        messages=screenshots(5),
        context_management=edit(trigger=over(8_000), keep=keep(1)),
        betas=[EDITING],
    )
    assert answer.context_management.applied_edits[0].cleared_tool_uses == 4
