"""How a conversation goes on and ends."""

from __future__ import annotations

import itertools
import logging
from dataclasses import replace
from typing import get_args

import pytest
from anthropic.types.beta.beta_stop_reason import BetaStopReason

from tasks.agent import prompts
from tasks.agent.budgets import Budgets
from tasks.agent.conversation import STOP_REASONS, AgentOptions
from tasks.domain.errors import PermanentError, RunStopped
from tests.agent.conftest import TASK, Bench, passage
from tests.agent.scripted_model import Reply, act, breakpoints, search, text, thinking, without_cache_control
from tests.agent.toy_desktop import encoded, png

DONE = Reply([text("Filed with reference R-1.")])
BY_END = ("no receipt", False)


def click(number: int) -> Reply:
    return Reply([thinking(), act("left_click", f"toolu_{number:03d}", coordinate=[number, 10])])


def test_a_run_sends_the_screen_and_the_search_together_and_ends_at_the_receipt(bench: Bench) -> None:
    result = bench.run(
        Reply([act("screenshot", "toolu_1"), search("toolu_2", query=" Which date? ")]),
        click(3),
        DONE,
    )
    assert (result.ended, result.finished, result.last_words) == ("finished", True, "Filed with reference R-1.")
    assert (result.turns, result.actions, result.searches) == (3, 2, 1)
    assert bench.searched == ["Which date?"]
    assert not bench.model.refused
    for body in bench.model.bodies:
        assert [tool.get("type", tool.get("name")) for tool in body["tools"]] == [
            "computer_toolset_20260801",
            "search_regulations",
        ]
        assert "tool_choice" not in body
        assert "thread" not in body
        assert body["thinking"] == {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "error"}}
        assert body["output_config"] == {"effort": "medium"}
    assert "context-management-2025-06-27" in bench.model.headers[0]["anthropic-beta"]
    assert "message-threads" not in bench.model.headers[0]["anthropic-beta"]


def test_passages_travel_as_search_results_with_document_and_page(bench: Bench) -> None:
    bench.run(Reply([search("toolu_1", query="date")]), DONE)
    (result,) = bench.results()
    assert [block["type"] for block in result["content"]] == ["search_result", "search_result"]
    first = result["content"][0]
    assert first["source"] == "rule.pdf#page=1"
    assert first["title"] == "Sample rule (in force, no dates given; score 1.0000) — rule.pdf, page 1"
    assert first["content"] == [{"type": "text", "text": passage(1).chunk.text}]
    assert first["citations"] == {"enabled": True}
    assert bench.journal.result_of("toolu_1").passages == ("chunk-1", "chunk-2")


def test_a_search_that_finds_nothing_says_so_in_a_fixed_text(bench: Bench) -> None:
    bench.passages = lambda query: []
    bench.run(Reply([search("toolu_1", query="date")]), DONE)
    (result,) = bench.results()
    assert result["content"] == [{"type": "text", "text": prompts.NOTHING_FOUND}]
    assert "is_error" not in result


@pytest.mark.parametrize(
    "arguments", [{}, {"query": ""}, {"query": "x" * 501}, {"query": 7}, {"query": "a", "pages": 3}, {"q": "a"}]
)
def test_a_malformed_search_is_recorded_and_answered_with_a_fixed_text(
    bench: Bench, arguments: dict[str, object]
) -> None:
    bench.run(Reply([search("toolu_1", **arguments)]), DONE)
    (result,) = bench.results()
    assert (result["content"], result["is_error"]) == (prompts.SEARCH_BAD_QUERY, True)
    assert bench.searched == []
    assert bench.journal.result_of("toolu_1").status == "failed"


def test_two_searches_of_one_turn_are_recorded_under_their_own_ids(bench: Bench) -> None:
    bench.run(Reply([search("toolu_1", query="a"), search("toolu_2", query="b")]), DONE)
    assert [(call.tool_use_id, call.arguments) for call in bench.journal.calls] == [
        ("toolu_1", {"query": "a"}),
        ("toolu_2", {"query": "b"}),
    ]


def test_the_first_rule_stands_in_the_prompt_the_tool_and_the_task(bench: Bench) -> None:
    bench.run(DONE)
    (body,) = bench.model.bodies
    assert prompts.FIRST_RULE in body["system"][0]["text"]
    assert prompts.FIRST_RULE in body["tools"][1]["description"]
    assert [block["text"] for block in body["messages"][0]["content"]] == [TASK, prompts.FIRST_RULE]


def test_a_first_look_goes_with_the_task_where_one_is_given(bench: Bench) -> None:
    bench.screenshot = png(7)
    bench.run(DONE)
    image = bench.model.bodies[0]["messages"][0]["content"][-1]
    assert image["source"] == {"type": "base64", "media_type": "image/png", "data": encoded(png(7))}


def test_each_turn_is_recorded_before_its_calls_run_and_each_call_before_the_next_request(bench: Bench) -> None:
    bench.run(Reply([act("screenshot", "toolu_1"), search("toolu_2", query="a")]), DONE)
    assert bench.journal.events == [
        ("turn", 1),
        ("begin", "toolu_1"),
        ("finish", "toolu_1"),
        ("begin", "toolu_2"),
        ("finish", "toolu_2"),
        ("turn", 2),
    ]
    assert [turn.number for turn in bench.turns] == [1, 2]
    assert bench.journal.turns == bench.turns
    assert bench.turns[0].stop_reason == "tool_use"
    assert bench.turns[0].content[1]["input"] == {"query": "a"}


def test_a_picture_of_the_screen_ends_each_batch(bench: Bench) -> None:
    bench.run(Reply([act("left_click", "toolu_1", coordinate=[1, 1]), act("type", "toolu_2", text="a")]), DONE)
    first, last = bench.results()
    assert [block["type"] for block in first["content"]] == ["text"]
    assert [block["type"] for block in last["content"]][-1] == "image"


def test_history_only_grows_and_at_most_four_breakpoints_move_with_it(bench: Bench) -> None:
    """Over tool turns, a pause, a search and the nudge, each request repeats the one before it and adds to it."""
    answers = iter([False, True])
    bench.finished = lambda: next(answers, True)
    result = bench.run(
        click(1),
        Reply([thinking("plan"), text("I look."), act("screenshot", "toolu_902")]),
        Reply([thinking()], stop_reason="pause_turn"),
        Reply([search("toolu_903", query="a"), act("left_click", "toolu_904", coordinate=[3, 3])]),
        click(5),
        click(6),
        Reply([thinking(), text("I think that is all.")]),
        click(7),
        DONE,
    )
    assert result.ended == "finished"
    assert not bench.model.refused
    bodies = bench.model.bodies
    for before, after in itertools.pairwise(bodies):
        earlier, later = without_cache_control(before["messages"]), without_cache_control(after["messages"])
        assert later[: len(earlier)] == earlier
        assert without_cache_control(before["tools"]) == without_cache_control(after["tools"])
        assert len(later) > len(earlier)
    assert [breakpoints(body) for body in bodies] == [1, 2, 3, 3, 4, 4, 4, 4, 4]
    for body in bodies:
        assert breakpoints(body["system"]) == 1
        assert breakpoints(body["tools"]) == 0
    marked = [[index for index, message in enumerate(body["messages"]) if breakpoints(message)] for body in bodies]
    assert marked[3:] == [[2, 4], [2, 4, 7], [4, 7, 9], [7, 9, 11], [7, 9, 11], [9, 11, 15]]
    last = [block for block in bodies[4]["messages"][7]["content"] if "cache_control" in block]
    assert [block["tool_use_id"] for block in last] == ["toolu_904"]


def test_context_editing_is_left_to_the_service_and_spares_the_passages(bench: Bench) -> None:
    bench.run(DONE)
    (edit,) = bench.model.bodies[0]["context_management"]["edits"]
    assert edit["type"] == "clear_tool_uses_20250919"
    assert edit["exclude_tools"] == ["search_regulations"]
    assert edit["clear_at_least"]["value"] > 10_000


def test_threads_are_on_only_by_setting_and_then_carry_only_what_is_new(bench: Bench) -> None:
    bench.options = replace(bench.options, thread=True)
    assert bench.run(click(1), DONE).ended == "finished"
    assert bench.model.bodies[0]["thread"] == {"type": "create"}
    assert bench.model.bodies[1]["thread"] == {"type": "continue", "previous_message_id": "msg_0001"}
    assert len(bench.model.bodies[1]["messages"]) == 1


def test_an_end_without_a_receipt_is_nudged_once_and_then_halts_with_its_last_words(bench: Bench) -> None:
    bench.finished = lambda: False
    result = bench.run(Reply([text("Shall I go on?")]), Reply([text("I cannot go on: the page shows an error.")]), DONE)
    assert (result.ended, result.finished) == BY_END
    assert result.last_words == "I cannot go on: the page shows an error."
    assert len(bench.model.bodies) == 2
    assert bench.model.bodies[1]["messages"][-1] == {"role": "user", "content": [text(prompts.NUDGE)]}


def test_a_nudged_run_can_still_finish(bench: Bench) -> None:
    answers = iter([False, True])
    bench.finished = lambda: next(answers)
    result = bench.run(Reply([text("Shall I go on?")]), click(1), DONE)
    assert (result.ended, result.finished, result.turns) == ("finished", True, 3)


def test_an_empty_answer_is_nudged_and_never_sent_back(bench: Bench) -> None:
    answers = iter([False, True])
    bench.finished = lambda: next(answers)
    result = bench.run(click(1), Reply([], stop_reason="end_turn"), DONE)
    assert (result.ended, result.turns) == ("finished", 3)
    assert all(message["content"] for message in bench.model.bodies[-1]["messages"])
    assert [message["role"] for message in bench.model.bodies[-1]["messages"]] == ["user", "assistant", "user", "user"]


def test_a_history_that_the_service_found_edited_is_logged(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    dropped = {"type": "thinking_dropped", "path": "messages.1.content.0", "reason": "prefix_binding_mismatch"}
    bench.options = AgentOptions()
    with caplog.at_level(logging.WARNING, logger="tasks.agent"):
        bench.run(replace(DONE, extra={"input_transformations": [dropped]}))
    assert "the history was edited" in caplog.text
    assert bench.model.bodies[0]["thinking"]["block_binding"] == {"prefix_mismatch_behavior": "drop_block"}


@pytest.mark.parametrize(
    ("stop_reason", "ended"),
    [
        ("max_tokens", "truncated"),
        ("refusal", "refused"),
        ("model_context_window_exceeded", "context full"),
        ("stop_sequence", "unexpected stop"),
        ("something_new", "unexpected stop"),
    ],
)
def test_a_turn_that_was_cut_short_runs_nothing_and_ends_the_run(bench: Bench, stop_reason: str, ended: str) -> None:
    bench.finished = lambda: False
    result = bench.run(
        Reply([text("I click."), act("left_click", "toolu_1", coordinate=[1, 1])], stop_reason=stop_reason), DONE
    )
    assert (result.ended, result.finished, result.last_words) == (ended, False, "I click.")
    assert bench.desktop is not None and bench.desktop.done == []
    assert bench.journal.calls == []
    assert len(bench.model.bodies) == 1
    assert bench.journal.turns[0].stop_reason == stop_reason


def test_a_paused_turn_runs_nothing_and_goes_on(bench: Bench) -> None:
    result = bench.run(Reply([thinking(), text("Working.")], stop_reason="pause_turn"), DONE)
    assert result.ended == "finished"
    assert [message["role"] for message in bench.model.bodies[1]["messages"]] == ["user", "assistant"]


def test_an_end_turn_that_still_holds_calls_is_not_nudged(bench: Bench) -> None:
    bench.finished = lambda: False
    result = bench.run(Reply([act("left_click", "toolu_1", coordinate=[1, 1])], stop_reason="end_turn"), DONE)
    assert (result.ended, len(bench.model.bodies)) == ("no receipt", 1)
    assert bench.desktop is not None and bench.desktop.done == []


def test_every_stop_reason_of_the_installed_sdk_has_its_row() -> None:
    assert set(STOP_REASONS) == set(get_args(BetaStopReason))


def test_a_run_that_repeats_itself_before_the_same_screen_is_stopped(bench: Bench) -> None:
    script = [Reply([act("key", f"toolu_{number}", text="Tab")]) for number in range(20)]
    with pytest.raises(RunStopped) as stopped:
        bench.run(*script)
    assert stopped.value.reason == "loop"
    assert len(bench.model.bodies) == 5


def test_the_same_call_before_a_changing_screen_is_no_loop(bench: Bench) -> None:
    script = [Reply([act("left_click", f"toolu_{number}", coordinate=[5, 5])]) for number in range(12)]
    assert bench.run(*script, DONE).ended == "finished"


def test_a_batch_stops_at_the_first_failure_and_the_record_shows_what_did_not_run(bench: Bench) -> None:
    bench.run(
        Reply(
            [
                act("left_click", "toolu_1", coordinate=[1]),
                act("type", "toolu_2", text="a"),
                search("toolu_3", query="a"),
            ]
        ),
        DONE,
    )
    broken, halted, searched = bench.results()
    assert broken["is_error"] and halted["is_error"]
    assert halted["content"] == "Not executed: an earlier computer action in this turn failed."
    assert "is_error" not in searched
    assert [bench.journal.result_of(f"toolu_{number}").status for number in (1, 2, 3)] == [
        "failed",
        "not_executed",
        "done",
    ]
    assert bench.desktop is not None and bench.desktop.done == []


def test_a_call_to_a_tool_that_was_never_offered_is_recorded_as_failed(bench: Bench) -> None:
    with pytest.warns(UserWarning, match="not found in tool runner"):
        result = bench.run(Reply([{"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {}}]), DONE)
    assert result.ended == "finished"
    assert bench.journal.result_of("toolu_1").status == "failed"


def test_a_model_that_cannot_be_used_is_refused_before_anything_is_sent(bench: Bench) -> None:
    bench.model_name = "claude-opus-4-6"
    with pytest.raises(PermanentError, match="claude-opus-5-5"):
        bench.run(DONE)
    assert bench.model.bodies == []


def test_older_models_get_no_block_binding(bench: Bench) -> None:
    bench.model_name = "claude-opus-5"
    bench.run(DONE)
    assert bench.model.bodies[0]["thinking"] == {"type": "adaptive"}
    assert "thinking-binding" not in bench.model.headers[0]["anthropic-beta"]


def test_usage_and_dollars_are_summed_over_the_run(bench: Bench) -> None:
    """Opus 5.5: input 4, output 20, cache write 5 (one hour: 8), read 0.20 dollars per million tokens."""
    first = {
        "input_tokens": 1_000,
        "output_tokens": 200,
        "cache_creation_input_tokens": 5_000,
        "cache_creation": {"ephemeral_5m_input_tokens": 4_000, "ephemeral_1h_input_tokens": 1_000},
    }
    second = {"input_tokens": 10, "output_tokens": 100, "cache_read_input_tokens": 6_000}
    result = bench.run(replace(click(1), usage=first), replace(DONE, usage=second))
    assert (result.usage.input_tokens, result.usage.output_tokens) == (1_010, 300)
    assert (result.usage.cache_creation_input_tokens, result.usage.cache_read_input_tokens) == (5_000, 6_000)
    one = (1_000 * 4 + 200 * 20 + 4_000 * 5 + 1_000 * 8) / 1e6
    two = (10 * 4 + 100 * 20 + 6_000 * 0.2) / 1e6
    assert [turn.dollars for turn in bench.turns] == pytest.approx([one, two])
    assert result.dollars == pytest.approx(one + two)


def test_a_run_says_how_long_it_took_by_its_own_clock(bench: Bench) -> None:
    ticks = iter(range(0, 10_000, 5))
    bench.clock = lambda: float(next(ticks))
    bench.budgets = Budgets(seconds=9_000, dollars=100)
    result = bench.run(DONE)
    assert result.seconds > 0
    assert bench.turns[0].milliseconds == 5_000
