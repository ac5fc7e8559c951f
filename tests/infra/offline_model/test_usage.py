"""What a request is billed for: images, the toolset, and a cache that is read, written and forgotten as the API's is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.offline_model.images import visual_tokens
from infra.offline_model.tokens import text_tokens
from tests.infra.offline_model.scripted import (
    SEARCH,
    TOOLSET,
    Offline,
    assistant,
    call,
    image,
    result,
    text,
    used,
    user,
)

MARK = {"type": "ephemeral"}
LONG = "The quick brown fox jumps over the lazy dog. " * 120  # about 1350 tokens: above the smallest cached prefix


def usage(server: Offline, **fields: Any) -> tuple[int, int, int]:
    """Read, written and uncached input tokens of one request."""
    billed = server.create(**fields).usage
    return billed.cache_read_input_tokens, billed.cache_creation_input_tokens, billed.input_tokens


def marked(words: str, ttl: str = "5m") -> dict[str, Any]:
    return {**text(words), "cache_control": {**MARK, "ttl": ttl}}


@pytest.mark.parametrize(
    ("width", "height", "tokens"), [(1024, 768, 1036), (1280, 800, 1334), (28, 28, 1), (29, 28, 2), (2576, 1456, 4784)]
)
def test_an_image_counts_one_token_for_each_patch(width: int, height: int, tokens: int) -> None:
    assert visual_tokens(width, height) == tokens


def test_a_screenshot_adds_its_visual_tokens_to_the_request(scripted: Any) -> None:
    server = scripted([text("Seen.")])
    _, _, without = usage(server, messages=[user("Look")])
    _, _, with_image = usage(server, messages=[user("Look", image(1024, 768))])
    assert 1036 <= with_image - without <= 1050


def test_the_toolset_entry_costs_about_4500_tokens(scripted: Any) -> None:
    server = scripted([text("Ready.")])
    _, _, without = usage(server)
    _, _, with_toolset = usage(server, tools=[TOOLSET])
    assert 4500 <= with_toolset - without <= 5000


def test_output_counts_thinking_and_content(scripted: Any) -> None:
    server = scripted([text("Let me search."), call("search_regulations", query="effective date")])
    billed = server.create(tools=[SEARCH]).usage
    assert billed.output_tokens > billed.output_tokens_details.thinking_tokens > 0


def test_nothing_is_cached_without_a_mark(scripted: Any) -> None:
    server = scripted([text("Ok.")])
    for _ in range(2):
        read, written, uncached = usage(server, system=[text(LONG)])
        assert (read, written) == (0, 0)
        assert uncached > 1300


def test_a_marked_prefix_is_written_once_and_then_read(scripted: Any) -> None:
    server = scripted([text("Ok.")])
    _, written, rest = usage(server, system=[marked(LONG)])
    assert written > 1300
    assert usage(server, system=[marked(LONG)]) == (written, 0, rest)


def test_a_prefix_is_forgotten_after_five_minutes_unless_it_is_used(scripted: Any) -> None:
    server = scripted([text("Ok.")])
    usage(server, system=[marked(LONG)])
    for _ in range(3):
        server.clock.now += 299
        read, written, _ = usage(server, system=[marked(LONG)])
        assert (read > 0, written) == (True, 0)
    server.clock.now += 301
    read, written, _ = usage(server, system=[marked(LONG)])
    assert (read, written > 0) == (0, True)


def test_reading_a_prefix_before_a_moved_mark_keeps_it_alive(scripted: Any) -> None:
    server = scripted([text("Ok.")])
    _, written, _ = usage(server, messages=[user(marked(LONG))])
    server.clock.now += 299
    assert usage(server, messages=[user(LONG, marked("One way."))])[0] == written
    server.clock.now += 299
    assert usage(server, messages=[user(LONG, marked("Another way."))])[0] == written


def test_an_hours_mark_lives_for_an_hour_and_is_billed_apart(scripted: Any) -> None:
    server = scripted([text("Ok.")])
    creation = server.create(system=[marked(LONG, "1h")]).usage.cache_creation
    assert (creation.ephemeral_1h_input_tokens > 0, creation.ephemeral_5m_input_tokens) == (True, 0)
    server.clock.now += 3599
    assert usage(server, system=[marked(LONG, "1h")])[0] > 0


def test_a_short_prefix_is_not_cached(scripted: Any) -> None:
    server = scripted([text("Ok.")])
    for _ in range(2):
        assert usage(server, system=[marked("Be brief.")])[:2] == (0, 0)


def test_a_moved_mark_reads_the_old_prefix_and_writes_only_what_is_new(scripted: Any) -> None:
    server = scripted([text("Ok.")])
    first = [user(marked(LONG))]
    _, written, _ = usage(server, messages=first)
    second = [user(LONG), assistant("Ok."), user(marked("And now?"))]
    read, added, uncached = usage(server, messages=second)
    assert read == written
    assert 0 < added < 30
    assert uncached == 0


def test_a_changed_prefix_is_written_anew(scripted: Any) -> None:
    server = scripted([text("Ok.")])
    usage(server, system=[marked(LONG)])
    read, written, _ = usage(server, system=[marked("Another beginning. " + LONG)])
    assert (read, written > 0) == (0, True)


def test_another_model_has_its_own_cache(scripted: Any) -> None:
    server = scripted([text("Ok.")])
    usage(server, system=[marked(LONG)])
    assert usage(server, model="claude-sonnet-5-5", system=[marked(LONG)])[0] == 0


def test_a_mark_more_than_twenty_blocks_after_the_old_one_misses_it(scripted: Any) -> None:
    server = scripted([text("Ok.")])
    usage(server, messages=[user(marked(LONG))])
    near = [text(str(i)) for i in range(19)]
    assert usage(server, messages=[user(LONG, *near, marked("end"))])[0] > 0
    far = [text(str(i)) for i in range(100, 125)]
    assert usage(server, messages=[user(LONG, *far, marked("end"))])[0] == 0


def test_the_requests_own_mark_caches_up_to_the_last_block(scripted: Any) -> None:
    server = scripted([text("Ok.")])
    _, written, uncached = usage(server, messages=[user(LONG)], cache_control=MARK)
    assert (written > 1300, uncached) == (True, 0)


def test_a_mark_inside_a_result_is_a_mark_of_its_block(scripted: Any) -> None:
    server = scripted([text("Ok.")])
    history = [user("Go"), assistant(used("toolu_1")), user(result("toolu_1", [image(1024, 768), marked("Seen.")]))]
    read, written, uncached = usage(server, tools=[TOOLSET], messages=history)
    assert (read, written > 5500, uncached) == (0, True, 0)


@given(st.text(max_size=300), st.text(max_size=300))
def test_more_text_never_costs_less(one: str, two: str) -> None:
    assert max(text_tokens(one), text_tokens(two)) <= text_tokens(one + two) <= text_tokens(one) + text_tokens(two)
