"""The server's tables against the types of the installed SDK: what a new SDK adds or renames fails here first."""

from __future__ import annotations

from typing import Any, Required, get_args, get_origin, get_type_hints

import pytest
from anthropic.types import Model
from anthropic.types.anthropic_beta_param import AnthropicBetaParam
from anthropic.types.beta import (
    BetaBrowserMemberName,
    BetaBrowserToolset20260801Param,
    BetaClearToolUses20250919EditParam,
    BetaComputerMemberName,
    BetaComputerToolset20260801Param,
    BetaComputerToolsetConfigsParam,
    BetaImageBlockParam,
    BetaMessage,
    BetaSearchResultBlockParam,
    BetaStopReason,
    BetaTextBlockParam,
    BetaThinkingBlockParam,
    BetaThinkingConfigParam,
    BetaToolParam,
    BetaToolResultBlockParam,
    BetaToolUseBlockParam,
)
from anthropic.types.beta.message_create_params import MessageCreateParamsBase

from infra.offline_model import requests
from infra.offline_model.betas import FIELD_BETAS, KNOWN_BETAS
from infra.offline_model.faults import TURN_FAULTS
from infra.offline_model.models import MODELS
from infra.offline_model.shape import Record, Tagged
from tests.infra.offline_model.scripted import TOOLSET, call, member, text

# Header values and fields that the SDK names in the parameters of a request but does not put into its body.
NOT_IN_THE_BODY = {"betas", "user_profile_id", "workspace_id"}


def literals(union: Any) -> set[str]:
    """Every string in a union of literals."""
    arguments = get_args(union)
    return {name for part in arguments for name in ([part] if isinstance(part, str) else literals(part))}


def test_the_known_betas_are_the_sdks() -> None:
    assert literals(AnthropicBetaParam) == KNOWN_BETAS
    assert set(FIELD_BETAS.values()) <= KNOWN_BETAS


def test_every_model_here_exists_in_the_sdk() -> None:
    assert set(MODELS) <= literals(Model)


def test_the_members_of_both_toolsets_are_the_sdks() -> None:
    assert set(requests.COMPUTER_MEMBERS) == literals(BetaComputerMemberName)
    assert set(requests.COMPUTER_MEMBERS) == set(BetaComputerToolsetConfigsParam.__annotations__)
    assert set(requests.BROWSER_MEMBERS) == literals(BetaBrowserMemberName)
    assert len(requests.COMPUTER_MEMBERS) == 17


def test_every_field_of_a_request_is_served_or_refused_by_name() -> None:
    served = set(requests.BODY.fields)
    refused = {path[0] for path in requests.NOT_SERVED}
    of_the_sdk = set(get_type_hints(MessageCreateParamsBase)) - NOT_IN_THE_BODY
    assert of_the_sdk <= served | refused
    assert served - of_the_sdk == {"stream", *requests.SAMPLING_FIELDS}


RECORDS = {
    "text": (requests.TEXT_BLOCK, BetaTextBlockParam),
    "image": (requests.IMAGE_BLOCK, BetaImageBlockParam),
    "search_result": (requests.SEARCH_RESULT_BLOCK, BetaSearchResultBlockParam),
    "tool_use": (requests.TOOL_USE_BLOCK, BetaToolUseBlockParam),
    "tool_result": (requests.TOOL_RESULT_BLOCK, BetaToolResultBlockParam),
    "thinking": (requests.THINKING_BLOCK, BetaThinkingBlockParam),
    "custom tool": (requests.TOOL_ENTRIES["custom"], BetaToolParam),
    "computer toolset": (requests.TOOL_ENTRIES["computer_toolset_20260801"], BetaComputerToolset20260801Param),
    "browser toolset": (requests.TOOL_ENTRIES["browser_toolset_20260801"], BetaBrowserToolset20260801Param),
    "clear_tool_uses": (requests.EDITS["clear_tool_uses_20250919"], BetaClearToolUses20250919EditParam),
}


@pytest.mark.parametrize("name", RECORDS)
def test_each_record_has_exactly_the_sdks_fields(name: str) -> None:
    record, typed = RECORDS[name]
    hints = get_type_hints(typed, include_extras=True)
    assert set(record.fields) == set(hints)
    required = {field for field, shape in record.fields.items() if shape.required}
    # The type selects the record, and is checked there.
    assert required == {field for field, hint in hints.items() if get_origin(hint) is Required} - {"type"}


def test_the_thinking_types_are_the_sdks() -> None:
    thinking = requests.BODY.fields["thinking"].shape
    assert isinstance(thinking, Tagged)
    kinds = {get_args(get_type_hints(part)["type"])[0]: part for part in get_args(BetaThinkingConfigParam)}
    assert set(thinking.records) == set(kinds)
    for kind, part in kinds.items():
        assert isinstance(thinking.records[kind], Record)
        assert set(thinking.records[kind].fields) == set(get_type_hints(part))


@pytest.mark.parametrize("fault", ["", *(kind for kind in TURN_FAULTS if kind != "slow")])
def test_every_kind_of_answer_is_a_message_of_the_sdk(scripted: Any, fault: str) -> None:
    server = scripted([text("Let me look."), member("left_click", coordinate=[1, 2]), call("note", words="x")])
    if fault:
        server.fault(fault)
    note = {"name": "note", "input_schema": {"type": "object"}}
    body = {
        "model": "claude-opus-5-5",
        "max_tokens": 512,
        "tools": [TOOLSET, note],
        "messages": [{"role": "user", "content": "Go"}],
    }
    answer = server.post(body).json()
    parsed = BetaMessage.model_validate(answer, strict=True)
    assert parsed.stop_reason in literals(BetaStopReason)
    assert not parsed.model_extra
    assert not any(block.model_extra for block in parsed.content)
    assert parsed.model_dump(exclude_unset=True, mode="json") == answer
