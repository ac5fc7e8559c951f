"""The model table: who takes what, and what it costs."""

from __future__ import annotations

import re
from datetime import date

import pytest

from tasks.agent import prompts
from tasks.agent.models import MODELS, PRICES_READ_ON, cost, find_model, usable_models, worst_cost
from tasks.domain.errors import PermanentError
from tasks.domain.steps import Usage

MILLION = 1_000_000


@pytest.mark.parametrize(
    "name",
    ["claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-fable-5-1", "claude-opus-5", "claude-sonnet-5",
     "claude-opus-4-8"],
)  # fmt: skip
def test_a_model_with_the_toolset_and_a_price_can_be_used(name: str) -> None:
    assert find_model(name).name == name
    assert name in usable_models()


@pytest.mark.parametrize("name", ["claude-opus-4-5", "claude-opus-4-6", "claude-opus-4-7", "claude-sonnet-4-6"])
def test_a_model_with_only_the_older_tool_is_refused_with_the_names_to_use(name: str) -> None:
    with pytest.raises(PermanentError, match="older computer tool") as refused:
        find_model(name)
    assert all(usable in str(refused.value) for usable in usable_models())


def test_a_model_without_a_published_price_is_refused() -> None:
    with pytest.raises(PermanentError, match="no price"):
        find_model("claude-fable-5-2")


@pytest.mark.parametrize("name", ["", "offline", "gpt-6", "claude-opus-9"])
def test_a_model_that_nobody_checked_is_refused(name: str) -> None:
    with pytest.raises(PermanentError, match="not in the table"):
        find_model(name)


@pytest.mark.parametrize(
    ("name", "input_", "output", "write", "read"),
    [
        ("claude-opus-5-5", 4.0, 20.0, 5.0, 0.20),
        ("claude-opus-5", 5.0, 25.0, 6.25, 0.50),
        ("claude-sonnet-5-5", 2.0, 10.0, 2.5, 0.10),
    ],
)
def test_each_kind_of_token_is_charged_by_its_own_rate(
    name: str, input_: float, output: float, write: float, read: float
) -> None:
    model = find_model(name)
    assert cost(model, Usage(input_tokens=MILLION)) == pytest.approx(input_)
    assert cost(model, Usage(output_tokens=MILLION)) == pytest.approx(output)
    assert cost(model, Usage(cache_creation_input_tokens=MILLION)) == pytest.approx(write)
    assert cost(model, Usage(cache_read_input_tokens=MILLION)) == pytest.approx(read)


def test_cache_entries_for_an_hour_cost_their_own_rate() -> None:
    usage = Usage(cache_creation_input_tokens=MILLION)
    assert cost(find_model("claude-opus-5-5"), usage, hour_tokens=MILLION) == pytest.approx(8.0)


def test_a_long_prompt_is_charged_by_its_band_with_cached_tokens_counted() -> None:
    haiku = find_model("claude-haiku-5-5")
    short = Usage(input_tokens=40_000, cache_read_input_tokens=60_000, output_tokens=1_000)
    long = Usage(input_tokens=40_000, cache_read_input_tokens=60_001, output_tokens=1_000)
    assert cost(haiku, short) == pytest.approx((40_000 * 0.10 + 60_000 * 0.01 + 1_000 * 0.50) / MILLION)
    assert cost(haiku, long) == pytest.approx((40_000 * 0.50 + 60_001 * 0.05 + 1_000 * 2.50) / MILLION)


@pytest.mark.parametrize("name", usable_models())
def test_the_worst_case_is_never_below_what_can_be_charged(name: str) -> None:
    model = find_model(name)
    for prompt in (10, 99_999, 100_001, 400_000):
        worst = worst_cost(model, prompt, 1_000)
        for usage in (
            Usage(input_tokens=prompt, output_tokens=1_000),
            Usage(cache_creation_input_tokens=prompt, output_tokens=1_000),
            Usage(cache_read_input_tokens=prompt, output_tokens=1_000),
        ):
            assert cost(model, usage) <= worst + 1e-12


def test_the_prices_say_when_they_were_read() -> None:
    assert date.fromisoformat(PRICES_READ_ON) <= date(2100, 1, 1)
    assert all(row.name == name for name, row in MODELS.items())


def test_the_system_prompt_says_the_rules_that_the_design_asks_for() -> None:
    prompt = prompts.SYSTEM_PROMPT
    assert prompts.FIRST_RULE in prompt
    assert "Never assume what is on the screen" in prompt
    assert re.search(r"finished only when the screen shows the receipt", prompt)


def test_no_fixed_phrase_has_a_place_for_something_to_be_filled_in() -> None:
    phrases = [value for name, value in vars(prompts).items() if name.isupper() and isinstance(value, str)]
    assert len(phrases) >= 8
    assert not any("{" in phrase or "%s" in phrase for phrase in phrases)
