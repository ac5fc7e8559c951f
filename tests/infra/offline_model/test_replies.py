"""What an answer looks like: ids, stop reasons, and what the request's choices leave of the clerk's turn."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from infra.offline_model.errors import ApiError
from infra.offline_model.requests import API_VERSIONS
from infra.offline_model.service import MessagesService
from infra.offline_model.shape import Record, Tagged, check
from tests.infra.offline_model.scripted import (
    MODEL,
    SEARCH,
    TOOLSET,
    assistant,
    call,
    image,
    member,
    result,
    text,
    used,
    user,
)

BATCH = [member("left_click", coordinate=[1, 2]), call("search_regulations", query="date")]


def test_each_call_gets_an_id_of_its_own_and_keeps_its_toolset(scripted: Any) -> None:
    answer = scripted(BATCH).create(tools=[TOOLSET, SEARCH])
    click, search = answer.content[1:]
    assert click.id != search.id
    assert (click.toolset_name, search.toolset_name) == ("computer", None)
    assert (answer.id[:4], answer.model, answer.role) == ("msg_", MODEL, "assistant")
    assert answer._request_id.startswith("req_")


def test_a_turn_without_calls_ends_and_keeps_its_words(scripted: Any) -> None:
    answer = scripted([text("Filed as R-1.")]).create(tools=[TOOLSET])
    assert (answer.stop_reason, answer.content[-1].text) == ("end_turn", "Filed as R-1.")


def test_no_tool_is_called_where_the_choice_is_none(scripted: Any) -> None:
    server = scripted([text("I would click."), *BATCH])
    answer = server.create(tools=[TOOLSET, SEARCH], tool_choice={"type": "none"})
    assert [block.type for block in answer.content] == ["thinking", "text"]
    assert server.script.asked[0]["tools"] == []


def test_one_tool_is_called_where_parallel_use_is_off(scripted: Any) -> None:
    choice = {"type": "auto", "disable_parallel_tool_use": True}
    answer = scripted(BATCH).create(tools=[TOOLSET, SEARCH], tool_choice=choice)
    assert [block.name for block in answer.content if block.type == "tool_use"] == ["left_click"]


def test_a_stop_sequence_cuts_the_text_before_it(scripted: Any) -> None:
    answer = scripted([text("One. Two. END Three.")]).create(stop_sequences=["Three", "END"])
    assert (answer.stop_reason, answer.stop_sequence) == ("stop_sequence", "END")
    assert answer.content[-1].text == "One. Two. "


def test_the_screen_is_the_last_image_or_the_declared_display(scripted: Any) -> None:
    server = scripted([text("Ok.")])
    server.create(tools=[TOOLSET])
    server.create(tools=[TOOLSET], messages=[user(image(1280, 800), image(1024, 768))])
    old = {"type": "computer_20251124", "name": "computer", "display_width_px": 1280, "display_height_px": 800}
    server.create(model="claude-opus-4-8", tools=[old], betas=["computer-use-2025-11-24"])
    assert [asked["screen"] for asked in server.script.asked] == [None, (1024, 768), (1280, 800)]


MARK = {"type": "ephemeral", "ttl": "5m"}
PASSAGE = {
    "type": "search_result",
    "source": "a",
    "title": "A",
    "content": [text("Found.")],
    "citations": {"enabled": True},
}
RICH: dict[str, Any] = {
    "model": MODEL,
    "max_tokens": 100,
    "system": [{**text("Be careful."), "cache_control": MARK}],
    "tools": [
        {**TOOLSET, "configs": {"zoom": {"enabled": False, "defer_loading": False}}, "cache_control": MARK},
        {**SEARCH, "strict": False, "input_examples": [{"query": "x"}]},
    ],
    "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
    "thinking": {
        "type": "adaptive",
        "display": "summarized",
        "block_binding": {"prefix_mismatch_behavior": "drop_block"},
    },
    "output_config": {"effort": "low"},
    "metadata": {"user_id": "someone"},
    "stop_sequences": ["END"],
    "context_management": {
        "edits": [
            {
                "type": "clear_tool_uses_20250919",
                "trigger": {"type": "input_tokens", "value": 10},
                "keep": {"type": "tool_uses", "value": 0},
                "clear_at_least": {"type": "input_tokens", "value": 1},
                "exclude_tools": ["search_regulations"],
                "clear_tool_inputs": ["type"],
            }
        ]
    },
    "messages": [
        user("Go", image()),
        assistant("Looking.", used("toolu_1"), used("toolu_2", "search_regulations", None, query="date")),
        user(
            result("toolu_1", [image(), text("Seen.")], is_error=False),
            result("toolu_2", [PASSAGE, PASSAGE], None, cache_control=MARK),
            "Go on.",
        ),
    ],
}
BETAS = frozenset({"context-management-2025-06-27", "thinking-binding-controls-2026-08-01"})
GONE = object()
REPLACEMENTS: tuple[Any, ...] = (
    GONE,
    None,
    True,
    -1,
    10**9,
    "",
    "x",
    [],
    [None],
    {},
    {"type": "x"},
    [{"type": "text"}],
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value in a JSON value but the whole."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield (*path, key)
        yield from places(value[key], (*path, key))


def spoiled(path: tuple[Any, ...], replacement: Any) -> dict[str, Any]:
    """The rich request with one value replaced or gone."""
    body = deepcopy(RICH)
    holder: Any = body
    for key in path[:-1]:
        holder = holder[key]
    if replacement is GONE:
        del holder[path[-1]]
    else:
        holder[path[-1]] = replacement
    return body


def test_the_request_that_is_spoiled_is_answered_while_it_is_whole() -> None:
    with MessagesService(lambda *_: [text("Hello.")]).prepared(RICH, BETAS, API_VERSIONS[-1]) as prepared:
        assert [edit["cleared_tool_uses"] for edit in prepared.applied_edits] == [1]


@pytest.mark.parametrize("part", RICH)
def test_a_request_with_any_one_value_spoiled_is_answered_or_refused_but_never_a_failure(part: str) -> None:
    service = MessagesService(lambda *_: [text("Hello.")])
    answered = refused = 0
    for path in [(part,), *places(RICH[part], (part,))]:
        for replacement in REPLACEMENTS:
            try:
                with service.prepared(spoiled(path, replacement), BETAS, API_VERSIONS[-1]) as prepared:
                    assert service.answer(prepared)["type"] == "message"
                answered += 1
            except ApiError as error:
                assert error.status in (400, 404), f"{path} {replacement}"
                assert error.message
                refused += 1
    assert refused > answered, "most spoiled values must be noticed"


@pytest.mark.parametrize("shape", [Record({}), Tagged({})])
def test_a_shape_says_where_an_object_was_expected(shape: Any) -> None:
    with pytest.raises(ApiError, match=r"^here: Input should be an object$"):
        check([], shape, "here")
