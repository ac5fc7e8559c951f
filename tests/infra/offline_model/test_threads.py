"""Message threads: the server holds the conversation, for five minutes, for one continuation of each reply."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anthropic
import pytest

from tests.infra.offline_model.scripted import SEARCH, TOOLSET, Offline, member, result, text, user

THREADS = "message-threads-2026-08-12"
EDITING = "context-management-2025-06-27"


def create(server: Offline, **fields: Any) -> Any:
    return server.create(thread={"type": "create"}, betas=[THREADS], **fields)


def proceed(server: Offline, message_id: str, **fields: Any) -> Any:
    thread = {"type": "continue", "previous_message_id": message_id}
    return server.create(thread=thread, betas=[THREADS], **fields)


def code_of(error: anthropic.APIStatusError) -> tuple[int, str]:
    return error.status_code, error.body["error"]["details"]["error_code"]


def test_a_continued_thread_needs_only_the_new_message(scripted: Any) -> None:
    server = scripted([text("Hello.")])
    first = create(server, system="Be kind.", tools=[SEARCH], messages=[user("One")])
    second = proceed(server, first.id, messages=[user("Two")])
    proceed(server, second.id, messages=[user("Three")])
    asked = server.script.asked[-1]
    assert (asked["system"], asked["tools"]) == ("Be kind.", [SEARCH])
    words = [message["content"][-1]["text"] for message in asked["messages"]]
    assert words == ["One", "Hello.", "Two", "Hello.", "Three"]


def test_results_of_a_threaded_turn_answer_its_calls(scripted: Any) -> None:
    server = scripted([member("screenshot")])
    first = create(server, tools=[TOOLSET])
    [call_id] = [block.id for block in first.content if block.type == "tool_use"]
    with pytest.raises(anthropic.BadRequestError, match="unexpected `tool_use_id`"):
        proceed(server, first.id, messages=[user(result("toolu_other"))])
    assert proceed(server, first.id, messages=[user(result(call_id))]).stop_reason == "tool_use"


def test_a_thread_is_gone_five_minutes_after_its_last_request(scripted: Any) -> None:
    server = scripted([text("Hello.")])
    last = create(server).id
    for _ in range(2):
        server.clock.now += 299
        last = proceed(server, last).id
    server.clock.now += 301
    with pytest.raises(anthropic.NotFoundError) as caught:
        proceed(server, last)
    assert code_of(caught.value) == (404, "thread_not_found")


def test_an_unknown_thread_is_not_found(scripted: Any) -> None:
    with pytest.raises(anthropic.NotFoundError) as caught:
        proceed(scripted([text("Hello.")]), "msg_unknown")
    assert code_of(caught.value) == (404, "thread_not_found")


def test_a_reply_can_be_continued_once(scripted: Any) -> None:
    server = scripted([text("Hello.")])
    first = create(server)
    proceed(server, first.id)
    with pytest.raises(anthropic.BadRequestError) as caught:
        proceed(server, first.id)
    assert code_of(caught.value) == (400, "thread_already_continued")


def test_a_failed_turn_leaves_the_thread_as_it_was(scripted: Any) -> None:
    server = scripted([text("Hello.")])
    first = create(server)
    server.fault("500")
    with pytest.raises(anthropic.InternalServerError):
        proceed(server, first.id)
    assert proceed(server, first.id).stop_reason == "end_turn"


def test_a_refused_turn_is_not_stored(scripted: Any) -> None:
    server = scripted([text("Hello.")])
    server.fault("refusal")
    with pytest.raises(anthropic.NotFoundError):
        proceed(server, create(server).id)


def test_a_failed_request_counts_as_the_threads_last(scripted: Any) -> None:
    server = scripted([text("Hello.")])
    first = create(server)
    server.clock.now += 200
    server.fault("529")
    with pytest.raises(anthropic.OverloadedError):
        proceed(server, first.id)
    server.clock.now += 200
    assert proceed(server, first.id).stop_reason == "end_turn"


def test_a_reply_that_is_being_continued_cannot_be_continued_at_the_same_time(scripted: Any) -> None:
    reached, released = threading.Event(), threading.Event()

    def wait(messages: list[Any]) -> list[Any]:
        if len(messages) > 1:
            reached.set()
            assert released.wait(10)
        return [text("Hello.")]

    server = scripted(wait)
    first = create(server)
    with ThreadPoolExecutor(1) as pool:
        continuing = pool.submit(proceed, server, first.id)
        assert reached.wait(10)
        with pytest.raises(anthropic.BadRequestError) as caught:
            proceed(server, first.id)
        released.set()
        assert continuing.result(10).stop_reason == "end_turn"
    assert code_of(caught.value) == (400, "thread_continue_in_flight")


@pytest.mark.parametrize("field", [{"system": "Be brief."}, {"tools": [SEARCH]}], ids=["system", "tools"])
def test_system_and_tools_may_not_be_sent_again(scripted: Any, field: dict[str, Any]) -> None:
    server = scripted([text("Hello.")])
    first = create(server, **field)
    with pytest.raises(anthropic.BadRequestError, match=f"{next(iter(field))}: may not be sent"):
        proceed(server, first.id, **field)


def test_another_effort_is_another_conversation(scripted: Any) -> None:
    server = scripted([text("Hello.")])
    first = create(server, output_config={"effort": "low"})
    with pytest.raises(anthropic.BadRequestError, match="output_config") as caught:
        proceed(server, first.id, output_config={"effort": "high"})
    assert code_of(caught.value) == (400, "thread_fingerprint_mismatch")


def test_a_thread_with_context_editing_is_not_supported(scripted: Any) -> None:
    server = scripted([text("Hello.")])
    with pytest.raises(anthropic.BadRequestError) as caught:
        server.create(thread={"type": "create"}, context_management={"edits": []}, betas=[THREADS, EDITING])
    assert code_of(caught.value) == (400, "thread_unsupported_request")
    assert caught.value.body["error"]["details"]["unsupported"] == ["context_management"]


def test_cache_marks_of_earlier_turns_do_not_count(scripted: Any) -> None:
    server = scripted([text("Hello.")])
    marked = {**text("One"), "cache_control": {"type": "ephemeral"}}
    last = create(server, messages=[user(marked, marked, marked)]).id
    for _ in range(3):
        last = proceed(server, last, messages=[user(marked, marked)]).id


def test_the_sdks_own_thread_helper_replays_a_lost_thread(scripted: Any) -> None:
    server = scripted([text("Hello.")])
    thread = server.client.beta.messages.thread(model="claude-opus-5-5", max_tokens=1024, system="Be kind.")
    thread.send(user("One"))
    server.clock.now += 301
    thread.send(user("Two"))
    assert [message["role"] for message in server.script.asked[-1]["messages"]] == ["user", "assistant", "user"]
