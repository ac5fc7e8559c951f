"""Every request that the real API refuses is refused: status, kind, the offending field's path and the words."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from tests.infra.offline_model.scripted import (
    MODEL,
    SEARCH,
    TOOLSET,
    Offline,
    assistant,
    image,
    png,
    result,
    text,
    used,
    user,
)

OLD_TOOL = {"type": "computer_20251124", "name": "computer", "display_width_px": 1024, "display_height_px": 768}
OLD_BETA = "computer-use-2025-11-24"
EDITING = "context-management-2025-06-27"
THREADS = "message-threads-2026-08-12"
BINDING = "thinking-binding-controls-2026-08-01"

CURRENT = ["claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-fable-5-1", "claude-fable-5-2"]
BOTH = ["claude-opus-5", "claude-sonnet-5", "claude-opus-4-8"]
OLDER = ["claude-opus-4-7", "claude-opus-4-6", "claude-sonnet-4-6", "claude-opus-4-5"]

MARK = {"type": "ephemeral"}


def request(**fields: Any) -> dict[str, Any]:
    body = {"model": MODEL, "max_tokens": 1024, "messages": [user("Hello")], **fields}
    return {name: value for name, value in body.items() if value is not ...}


def history(*after: Any, calls: list[Any] | None = None, **fields: Any) -> dict[str, Any]:
    """A request whose conversation holds calls and what follows them."""
    calls = [used("toolu_1")] if calls is None else calls
    return request(tools=[TOOLSET, SEARCH], messages=[user("Go"), assistant(*calls), *after], **fields)


def pictures(*blocks: Any, **fields: Any) -> dict[str, Any]:
    return request(messages=[user(*blocks, "What is this?")], **fields)


def passage(citations: bool = True, **fields: Any) -> dict[str, Any]:
    return {
        "type": "search_result",
        "source": "rule.pdf#page=1",
        "title": "The rule, page 1",
        "content": [text("The rule takes effect.")],
        "citations": {"enabled": citations},
        **fields,
    }


def accepted(offline: Offline, body: Any, betas: str = "") -> None:
    response = offline.post(body, betas=betas)
    assert response.status_code == 200, response.text


def refused(offline: Offline, body: Any, expected: str, betas: str = "", status: int = 400) -> dict[str, Any]:
    response = offline.post(body, betas=betas)
    assert response.status_code == status, response.text
    answer = response.json()
    assert answer["type"] == "error"
    assert answer["error"]["type"] == {400: "invalid_request_error", 404: "not_found_error"}[status]
    assert answer["request_id"] == response.headers["request-id"]
    assert expected in answer["error"]["message"]
    return answer["error"]


def test_the_plain_requests_that_the_cases_vary_are_accepted(offline: Offline) -> None:
    accepted(offline, request())
    accepted(offline, request(tools=[TOOLSET, SEARCH]))
    accepted(offline, history(user(result("toolu_1", [image(), text("Seen.")]))))
    accepted(offline, pictures(image()))


BODY_CASES = {
    "no max_tokens": (request(max_tokens=...), "max_tokens: Field required"),
    "no messages": (request(messages=...), "messages: Field required"),
    "no model": (request(model=...), "model: Field required"),
    "max_tokens as text": (request(max_tokens="1024"), "max_tokens: Input should be a valid integer"),
    "max_tokens as a truth value": (request(max_tokens=True), "max_tokens: Input should be a valid integer"),
    "negative max_tokens": (request(max_tokens=-1), "max_tokens: Input should be greater than or equal to 0"),
    "max_tokens over the model's": (request(max_tokens=200_000), "max_tokens: 200000 > 128000"),
    "unknown field": (request(colour="red"), "colour: Extra inputs are not permitted"),
    "unknown field in a message": (
        request(messages=[{**user("Hello"), "name": "me"}]),
        "messages.0.name: Extra inputs are not permitted",
    ),
    "unknown field in a block": (
        request(messages=[user({**text("Hello"), "lang": "en"})]),
        "messages.0.content.0.text.lang: Extra inputs are not permitted",
    ),
    "unknown block": (
        request(messages=[user({"type": "video"})]),
        "messages.0.content.0: Input tag 'video' found using 'type' does not match",
    ),
    "unknown role": (request(messages=[{"role": "tool", "content": "x"}]), "messages.0.role: Input should be"),
    "content that is a number": (request(messages=[{"role": "user", "content": 3}]), "messages.0.content: Input"),
    "no conversation": (request(messages=[]), "messages: at least one message is required"),
    "an empty message": (request(messages=[user()]), "messages.0: all messages must have non-empty content"),
    "an empty text": (request(messages=[user("")]), "messages: text content blocks must be non-empty"),
    "the assistant first": (request(messages=[assistant("Hi"), user("Hello")]), "first message must use the"),
    "a prefilled answer": (
        request(messages=[user("Hello"), assistant("The answer is")]),
        "This model does not support assistant message prefill",
    ),
    "a stream": (request(stream=True), "stream: the offline model does not stream"),
    "sampling parameters": (request(temperature=1), "temperature: Extra inputs are not permitted"),
    "citations in the user's text": (
        request(messages=[user({**text("Hello"), "citations": [{"type": "char_location"}]})]),
        "messages.0.content.0.text: `citations` may not be sent in a user message",
    ),
    "an unknown effort": (request(output_config={"effort": "extreme"}), "output_config.effort: Input should be"),
    "a field that is not played": (request(fallbacks=[]), "fallbacks: the offline model does not serve this field"),
    "an output format": (
        request(output_config={"format": {"type": "json_schema", "schema": {}}}),
        "output_config.format: the offline model does not serve this field",
    ),
    "a blank stop sequence": (request(stop_sequences=[" "]), "stop_sequences: each stop sequence must contain"),
    "a list as the body": ([], "Input should be an object"),
}


@pytest.mark.parametrize("case", BODY_CASES)
def test_a_body_of_the_wrong_shape_is_refused(offline: Offline, case: str) -> None:
    body, expected = BODY_CASES[case]
    refused(offline, body, expected)


@pytest.mark.parametrize("key", [{}, {"x-api-key": ""}, {"authorization": "Bearer"}, {"authorization": "Basic b2Y="}])
def test_a_request_without_a_key_is_unauthorized(offline: Offline, key: dict[str, str]) -> None:
    headers = {"anthropic-version": "2026-10-21", **key}
    response = offline.http.post("/v1/messages", json=request(), headers=headers)
    assert response.status_code == 401
    assert response.json()["error"] == {"type": "authentication_error", "message": "x-api-key header is required"}


@pytest.mark.parametrize("key", [{"x-api-key": "offline"}, {"authorization": "Bearer offline"}])
def test_a_key_is_taken_from_either_header(offline: Offline, key: dict[str, str]) -> None:
    headers = {"anthropic-version": "2026-10-21", **key}
    assert offline.http.post("/v1/messages", json=request(), headers=headers).status_code == 200


def test_the_earlier_api_version_still_knows_sampling_where_the_model_does(offline: Offline) -> None:
    assert offline.post(request(model="claude-opus-4-6", temperature=0.5), version="2023-06-01").status_code == 200
    response = offline.post(request(temperature=0.5), version="2023-06-01")
    assert response.json()["error"]["message"] == "`temperature` is deprecated for this model."


@pytest.mark.parametrize("version", [None, "1999-01-01"])
def test_a_request_without_a_known_version_is_refused(offline: Offline, version: str | None) -> None:
    headers = {"x-api-key": "offline"} | ({"anthropic-version": version} if version else {})
    response = offline.http.post("/v1/messages", json=request(), headers=headers)
    assert response.status_code == 400
    assert response.json()["error"]["message"].startswith("anthropic-version: ")


def test_a_body_that_is_no_json_is_refused(offline: Offline) -> None:
    headers = {"x-api-key": "offline", "anthropic-version": "2023-06-01"}
    response = offline.http.post("/v1/messages", content=b"{", headers=headers)
    assert response.status_code == 400
    assert "not valid JSON" in response.json()["error"]["message"]


def test_a_body_over_32_megabytes_is_too_large(offline: Offline) -> None:
    response = offline.post(request(messages=[user("x" * (32 * 1024 * 1024))]))
    assert response.status_code == 413
    assert response.json()["error"]["type"] == "request_too_large"


def test_an_unknown_model_is_not_found(offline: Offline) -> None:
    refused(offline, request(model="claude-opus-9"), "model: claude-opus-9", status=404)


def test_an_unknown_route_is_not_found_in_the_same_shape(offline: Offline) -> None:
    response = offline.http.get("/v1/complete")
    assert response.status_code == 404
    assert response.json()["error"]["type"] == "not_found_error"


def test_an_unknown_beta_is_refused(offline: Offline) -> None:
    refused(offline, request(), "Unexpected value(s) `computer-use-2031-01-01`", betas="computer-use-2031-01-01")


# ---------------------------------------------------------------------------------------------------------------- tools


@pytest.mark.parametrize("model", CURRENT + BOTH)
def test_current_models_take_the_toolset_without_a_beta_header(offline: Offline, model: str) -> None:
    accepted(offline, request(model=model, tools=[TOOLSET]))


@pytest.mark.parametrize("model", BOTH + OLDER)
def test_earlier_models_take_the_old_tool_with_its_beta_header(offline: Offline, model: str) -> None:
    accepted(offline, request(model=model, tools=[OLD_TOOL]), betas=OLD_BETA)


@pytest.mark.parametrize("model", CURRENT)
def test_current_models_refuse_the_old_tool(offline: Offline, model: str) -> None:
    expected = f"'{model}' does not support tool types: computer_20251124. Did you mean one of"
    refused(offline, request(model=model, tools=[OLD_TOOL]), expected, betas=OLD_BETA)


@pytest.mark.parametrize("model", OLDER)
def test_older_models_refuse_the_toolset(offline: Offline, model: str) -> None:
    refused(offline, request(model=model, tools=[TOOLSET]), "does not support tool types: computer_toolset_20260801")


@pytest.mark.parametrize("model", BOTH + OLDER)
def test_the_old_tool_without_its_beta_header_is_an_unknown_tag(offline: Offline, model: str) -> None:
    refused(offline, request(model=model, tools=[OLD_TOOL]), "tools.0: Input tag 'computer_20251124'")


def test_both_toolsets_may_stand_in_one_request(offline: Offline) -> None:
    accepted(offline, request(tools=[TOOLSET, {"type": "browser_toolset_20260801"}, SEARCH]))


OLD_FIELDS: list[dict[str, Any]] = [
    {"name": "computer"},
    {"display_width_px": 1024},
    {"display_height_px": 768},
    {"display_number": 1},
    {"enable_zoom": True},
]


@pytest.mark.parametrize("field", OLD_FIELDS, ids=lambda field: next(iter(field)))
def test_a_toolset_entry_rejects_the_old_tools_fields(offline: Offline, field: dict[str, Any]) -> None:
    expected = f"tools.0.computer_toolset_20260801.{next(iter(field))}: Extra inputs are not permitted"
    refused(offline, request(tools=[{**TOOLSET, **field}]), expected)


TOOL_CASES = {
    "an unknown member": ({**TOOLSET, "configs": {"teleport": {"enabled": False}}}, "configs.teleport: Extra inputs"),
    "a member config that is a truth value": ({**TOOLSET, "configs": {"zoom": False}}, "configs.zoom: Input should be"),
    "an unknown field of a member": ({**TOOLSET, "configs": {"zoom": {"size": 1}}}, "configs.zoom.size: Extra inputs"),
    "enabled as text": ({**TOOLSET, "configs": {"zoom": {"enabled": "no"}}}, "configs.zoom.enabled: Input should be"),
    "loading deferred for some": (
        {**TOOLSET, "configs": {"zoom": {"defer_loading": True}}},
        "`defer_loading` must resolve to the same value on every enabled member",
    ),
    "an unknown tool type": ({"type": "computer_20991231"}, "tools.0: Input tag 'computer_20991231'"),
    "a tool without a schema": ({"name": "search"}, "tools.0.custom.input_schema: Field required"),
    "a tool without a name": ({"input_schema": {"type": "object"}}, "tools.0.custom.name: Field required"),
    "a name with a blank": ({**SEARCH, "name": "my search"}, "tools.0.custom.name: String should match pattern"),
    "a schema without a type": ({**SEARCH, "input_schema": {}}, "tools.0.custom.input_schema.type: Field required"),
    "a schema of a list": ({**SEARCH, "input_schema": {"type": "array"}}, "input_schema.type: Input should be"),
    "a strict tool with an open schema": ({**SEARCH, "strict": True}, "'additionalProperties' must be explicitly set"),
}


@pytest.mark.parametrize("case", TOOL_CASES)
def test_a_wrong_tool_entry_is_refused(offline: Offline, case: str) -> None:
    entry, expected = TOOL_CASES[case]
    refused(offline, request(tools=[entry]), expected)


def test_loading_need_only_agree_on_the_members_that_are_on(offline: Offline) -> None:
    off = {"enabled": False, "defer_loading": True}
    accepted(offline, request(tools=[{**TOOLSET, "configs": {"zoom": off}}]))
    browser = {"type": "browser_toolset_20260801", "configs": {"javascript_exec": {"defer_loading": True}}}
    accepted(offline, request(tools=[browser]))
    browser["configs"]["javascript_exec"]["enabled"] = True
    refused(offline, request(tools=[browser]), "`defer_loading` must resolve to the same value")


@pytest.mark.parametrize("tools", [[SEARCH, SEARCH], [TOOLSET, TOOLSET], [TOOLSET, {**SEARCH, "name": "computer"}]])
def test_two_tools_of_one_name_are_refused(offline: Offline, tools: list[Any]) -> None:
    refused(offline, request(tools=tools), "tools: Tool names must be unique.")


def test_a_custom_tool_may_share_a_members_name(offline: Offline) -> None:
    accepted(offline, request(tools=[TOOLSET, {**SEARCH, "name": "screenshot"}]))


# -------------------------------------------------------------------------------------------------- thinking, tool choice


@pytest.mark.parametrize("model", CURRENT)
@pytest.mark.parametrize("thinking", [{"type": "disabled"}, {"type": "enabled", "budget_tokens": 1024}])
def test_models_that_always_think_refuse_any_other_thinking(offline: Offline, model: str, thinking: Any) -> None:
    body = request(model=model, max_tokens=4096, thinking=thinking)
    refused(offline, body, f'"thinking.type.{thinking["type"]}" is not supported for this model.')


@pytest.mark.parametrize("model", CURRENT)
@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "search_regulations"}])
def test_models_that_always_think_refuse_a_forced_tool(offline: Offline, model: str, choice: Any) -> None:
    body = request(model=model, tools=[SEARCH], tool_choice=choice)
    refused(offline, body, 'tool_choice: type "tool" and "any" are not supported for this model.')


CONFIGURATION_CASES = {
    "disabled where it may be": (request(model="claude-opus-5", thinking={"type": "disabled"}), None),
    "adaptive": (request(thinking={"type": "adaptive", "display": "summarized"}), None),
    "every effort": (request(output_config={"effort": "xhigh"}), None),
    "no tool": (request(tools=[SEARCH], tool_choice={"type": "none"}), None),
    "one tool at a time": (
        request(tools=[SEARCH], tool_choice={"type": "auto", "disable_parallel_tool_use": True}),
        None,
    ),
    "an unknown display": (
        request(thinking={"type": "adaptive", "display": "all"}),
        "thinking.adaptive.display: Input",
    ),
    "a budget in adaptive": (
        request(thinking={"type": "adaptive", "budget_tokens": 2048}),
        "thinking.adaptive.budget_tokens: Extra inputs are not permitted",
    ),
    "a budget over max_tokens": (
        request(model="claude-opus-4-5", thinking={"type": "enabled", "budget_tokens": 2048}),
        "`max_tokens` must be greater than `thinking.budget_tokens`",
    ),
    "a budget below the minimum": (
        request(model="claude-opus-4-5", thinking={"type": "enabled", "budget_tokens": 100}),
        "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
    ),
    "a choice without tools": (request(tool_choice={"type": "auto"}), "may only be specified while providing tools"),
    "a forced tool while thinking": (
        request(model="claude-opus-5", tools=[SEARCH], tool_choice={"type": "any"}),
        "Thinking may not be enabled when tool_choice forces tool use.",
    ),
}


@pytest.mark.parametrize("case", CONFIGURATION_CASES)
def test_thinking_and_tool_choice_follow_the_model(offline: Offline, case: str) -> None:
    body, expected = CONFIGURATION_CASES[case]
    if expected is None:
        accepted(offline, body)
    else:
        refused(offline, body, expected)


# ------------------------------------------------------------------------------------------------------------ beta fields

BETA_CASES = {
    "context_management": (request(context_management={"edits": []}), EDITING),
    "thread": (request(thread={"type": "create"}), THREADS),
    "thinking.block_binding": (
        request(thinking={"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "error"}}),
        BINDING,
    ),
}


@pytest.mark.parametrize("field", BETA_CASES)
def test_a_beta_field_without_its_header_is_an_unknown_field(offline: Offline, field: str) -> None:
    body, beta = BETA_CASES[field]
    refused(offline, body, f"{field}: Extra inputs are not permitted")
    accepted(offline, body, betas=beta)


EDIT_CASES = {
    "an unknown edit": ({"type": "forget_everything"}, "context_management.edits.0: Input tag 'forget_everything'"),
    "a trigger without a value": (
        {"type": "clear_tool_uses_20250919", "trigger": {"type": "input_tokens"}},
        "trigger.input_tokens.value: Field required",
    ),
    "keep in tokens": (
        {"type": "clear_tool_uses_20250919", "keep": {"type": "input_tokens", "value": 3}},
        "keep.type: Input should be 'tool_uses'",
    ),
    "an unknown field": ({"type": "clear_tool_uses_20250919", "drop": 3}, "drop: Extra inputs are not permitted"),
}


@pytest.mark.parametrize("case", EDIT_CASES)
def test_a_wrong_context_edit_is_refused(offline: Offline, case: str) -> None:
    edit, expected = EDIT_CASES[case]
    refused(offline, request(context_management={"edits": [edit]}), expected, betas=EDITING)


# -------------------------------------------------------------------------------------------------- calls and their results

TWO_CALLS = [used("toolu_1", "left_click", coordinate=[1, 2]), used("toolu_2")]
SEARCHED = [used("toolu_1", "search_regulations", None, query="date")]

RESULT_CASES = {
    "no result": (history(user("And?")), "`tool_use` ids were found without `tool_result` blocks immediately after"),
    "one of two results": (
        history(user(result("toolu_1")), calls=TWO_CALLS),
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_2.",
    ),
    "nothing after the calls": (history(), "messages.1: `tool_use` ids were found without `tool_result` blocks"),
    "a result too many": (
        history(user(result("toolu_1"), result("toolu_9"))),
        "messages.2.content.1: unexpected `tool_use_id` found in `tool_result` blocks: toolu_9.",
    ),
    "a second result for one call": (
        history(user(result("toolu_1"), result("toolu_1"))),
        "messages.2.content.1: each tool_use must have a single result.",
    ),
    "a result a turn late": (
        history(user(result("toolu_1")), assistant("Well."), user(result("toolu_1"))),
        "messages.4.content.0: unexpected `tool_use_id`",
    ),
    "a result after other content": (
        history(user("Here:", result("toolu_1"))),
        "`tool_use` ids were found without `tool_result` blocks immediately after: toolu_1",
    ),
    "a result in the assistant's turn": (
        history(assistant(result("toolu_1")), user("So?")),
        "`tool_result` blocks can only be in `user` messages",
    ),
    "a call in the user's turn": (
        request(tools=[TOOLSET], messages=[user(used("toolu_1"))]),
        "messages.0.content.0: `tool_use` blocks can only be in `assistant` messages",
    ),
    "one id for two calls": (
        history(user(result("toolu_1")), calls=[used("toolu_1"), used("toolu_1")]),
        "messages.1.content.1: `tool_use` ids must be unique",
    ),
    "an id that is no identifier": (
        history(user(result("toolu_1")), calls=[used("toolu 1")]),
        "messages.1.content.0.tool_use.id: String should match pattern",
    ),
    "toolset_name not echoed": (
        history(user(result("toolu_1", toolset=None))),
        "messages.2.content.0.tool_result.toolset_name: `toolset_name` must match",
    ),
    "another toolset_name": (
        history(user(result("toolu_1", toolset="browser"))),
        "expected 'computer', found 'browser'",
    ),
    "toolset_name on a custom tool's result": (
        history(user(result("toolu_1")), calls=SEARCHED),
        "expected none, found 'computer'",
    ),
    "an empty error": (
        history(user(result("toolu_1", "", is_error=True))),
        "messages.2.content.0: content cannot be empty if `is_error` is true",
    ),
    "an error with an empty list": (
        history(user(result("toolu_1", [], is_error=True))),
        "content cannot be empty if `is_error` is true",
    ),
    "an error with blanks": (
        history(user(result("toolu_1", " \n", is_error=True))),
        "content cannot be empty if `is_error` is true",
    ),
    "a passage in a member's result": (
        history(user(result("toolu_1", [passage()]))),
        "messages.2.content.0.tool_result.content.0: a toolset member's result may hold only `text` and `image`",
    ),
    "an empty text in a result": (history(user(result("toolu_1", [text("")]))), "text content blocks must be non-empty"),
    "a call of an undeclared toolset": (
        {**history(user(result("toolu_1"))), "tools": [SEARCH]},
        "messages.1.content.0.tool_use.toolset_name: no toolset 'computer' in `tools`",
    ),
    "a call of no member": (
        history(user(result("toolu_1")), calls=[used("toolu_1", "teleport")]),
        "messages.1.content.0.tool_use.name: 'teleport' is not a member of toolset 'computer'",
    ),
    "a result without an id": (
        history(user({"type": "tool_result", "content": "Done."})),
        "messages.2.content.0.tool_result.tool_use_id: Field required",
    ),
    "a document in a result": (
        history(user(result("toolu_1", [{"type": "document"}]))),
        "messages.2.content.0.tool_result.content.0: Input tag 'document'",
    ),
    "a passage without text": (
        history(user(result("toolu_1", [passage(content=[])], None)), calls=SEARCHED),
        "search_result.content: List should have at least 1 item",
    ),
    "citations on some passages": (
        history(user(result("toolu_1", [passage(), passage(False)], None)), calls=SEARCHED),
        "citations must be enabled on all or none of the search results",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", RESULT_CASES)
def test_calls_and_results_that_do_not_match_are_refused(offline: Offline, case: str) -> None:
    body, expected = RESULT_CASES[case]
    refused(offline, body, expected)


def test_results_in_two_user_messages_are_one_turn(offline: Offline) -> None:
    accepted(offline, history(user(result("toolu_1")), user(result("toolu_2")), user("Go on."), calls=TWO_CALLS))


def test_passages_are_accepted_in_a_custom_tools_result(offline: Offline) -> None:
    accepted(offline, history(user(result("toolu_1", [passage(), passage()], None)), calls=SEARCHED))


# ----------------------------------------------------------------------------------------------------------------- images


def labelled(media_type: str) -> dict[str, Any]:
    block = deepcopy(image())
    block["source"]["media_type"] = media_type
    return block


def holding(data: str) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


IMAGE_CASES = {
    "a long edge over 2576": (pictures(image(2577, 20)), "dimensions exceed the max allowed size: 2576 pixels"),
    "too many visual tokens": (pictures(image(2576, 1484)), "takes 4876 visual tokens > 4784 maximum"),
    "base64 that is none": (pictures(holding("not base64!")), "image.source.base64.data: Invalid base64 data"),
    "bytes that are no image": (pictures(holding("aGVsbG8=")), "image.source.base64.data: Could not process image"),
    "half an image": (pictures(holding(png(300, 300)[:200])), "image.source.base64.data: Could not process image"),
    "another media type": (pictures(labelled("image/jpeg")), "appears to be a image/png image"),
    "an unknown media type": (
        pictures(labelled("image/tiff")),
        "media_type: Input should be 'image/jpeg', 'image/png'",
    ),
    "an image by address": (
        pictures({"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}),
        "messages.0.content.0.image.source: Input tag 'url'",
    ),
}


@pytest.mark.parametrize("case", IMAGE_CASES)
def test_an_image_that_cannot_be_taken_is_refused(offline: Offline, case: str) -> None:
    body, expected = IMAGE_CASES[case]
    refused(offline, body, expected)


def test_images_at_the_limits_are_accepted(offline: Offline) -> None:
    accepted(offline, pictures(image(2576, 1456)))  # 92 x 52 patches: exactly 4784 visual tokens
    accepted(offline, pictures(*[image(2000, 28)] * 21))


def test_over_twenty_images_no_side_may_exceed_2000(offline: Offline) -> None:
    accepted(offline, pictures(*[image()] * 19, image(2001, 28)))
    error = refused(offline, pictures(*[image()] * 20, image(2001, 28)), "many-image requests: 2000 pixels")
    assert error["details"] == {
        "error_code": "image_dimensions_too_large",
        "max_side_length_pixels": 2000,
        "paths": ["messages.0.content.20"],
    }


def test_a_request_holds_at_most_600_images_or_100_on_models_of_the_smaller_window(offline: Offline) -> None:
    accepted(offline, pictures(*[image()] * 101))
    refused(offline, pictures(*[image()] * 601), "Too many images in the request: 601 > 600")
    refused(offline, pictures(*[image()] * 101, model="claude-opus-4-6"), "Too many images in the request: 101 > 100")


def test_an_image_in_a_result_is_named_by_its_nested_path(offline: Offline) -> None:
    error = refused(offline, history(user(result("toolu_1", [text("Seen."), image(2577, 20)]))), "2576 pixels")
    assert error["details"]["paths"] == ["messages.2.content.0.content.1"]


def test_older_models_resize_instead(offline: Offline) -> None:
    accepted(offline, pictures(image(2577, 20), model="claude-opus-4-6"))


# ---------------------------------------------------------------------------------------------------------------- caching

CACHE_CASES = {
    "five marks": (
        request(
            system=[{**text("Be careful."), "cache_control": MARK}],
            tools=[{**TOOLSET, "cache_control": MARK}, {**SEARCH, "cache_control": MARK}],
            messages=[user({**text("One"), "cache_control": MARK}, {**text("Two"), "cache_control": MARK})],
        ),
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    "four marks and the request's own": (
        request(
            cache_control=MARK, messages=[user(*({**text(str(i)), "cache_control": MARK} for i in range(4)))]
        ),
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    "marks inside results": (
        history(user(result("toolu_1", [{**text(str(i)), "cache_control": MARK} for i in range(4)], cache_control=MARK))),
        "Found 5.",
    ),
    "an unknown kind": (request(cache_control={"type": "permanent"}), "cache_control.type: Input should be 'ephemeral'"),
    "an unknown time": (request(cache_control={**MARK, "ttl": "1d"}), "cache_control.ttl: Input should be '5m' or '1h'"),
    "an hour after five minutes": (
        request(messages=[user({**text("One"), "cache_control": MARK}, {**text("Two"), "cache_control": {**MARK, "ttl": "1h"}})]),
        "a ttl='1h' cache_control block must not come after a ttl='5m'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CACHE_CASES)
def test_wrong_cache_marks_are_refused(offline: Offline, case: str) -> None:
    body, expected = CACHE_CASES[case]
    refused(offline, body, expected)


def test_four_marks_are_accepted(offline: Offline) -> None:
    accepted(offline, request(messages=[user(*({**text(str(i)), "cache_control": MARK} for i in range(4)))]))


def test_a_prompt_over_the_context_window_is_refused(offline: Offline) -> None:
    body = request(model="claude-opus-4-5", messages=[user("word " * 170_000)])
    refused(offline, body, "tokens > 200000 maximum")
