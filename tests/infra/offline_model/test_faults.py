"""Faults on request: each kind, for the requests it was asked for and no others."""

from __future__ import annotations

import time
from typing import Any

import anthropic
import pytest

from tests.infra.offline_model.scripted import SEARCH, TOOLSET, call, member, text, user

HTTP_KINDS = {
    "429": (anthropic.RateLimitError, "rate_limit_error"),
    "500": (anthropic.InternalServerError, "api_error"),
    "529": (anthropic.OverloadedError, "overloaded_error"),
}


@pytest.mark.parametrize("kind", HTTP_KINDS)
def test_an_error_fault_raises_the_sdks_own_exception_once(scripted: Any, kind: str) -> None:
    server = scripted([text("Hello.")])
    server.fault(kind)
    raised, error_type = HTTP_KINDS[kind]
    with pytest.raises(raised) as caught:
        server.create()
    assert caught.value.status_code == int(kind)
    assert caught.value.body["error"]["type"] == error_type
    assert caught.value.request_id.startswith("req_")
    assert server.create().stop_reason == "end_turn"


def test_a_429_says_when_to_come_back_and_the_sdk_does(scripted: Any) -> None:
    server = scripted([text("Hello.")])
    server.fault("429", retry_after=0.2)
    started = time.monotonic()
    with server.client.with_options(max_retries=1) as patient:
        message = [user("Hello")]
        answer = patient.beta.messages.create(model="claude-opus-5-5", max_tokens=100, messages=message)
    assert answer.stop_reason == "end_turn"
    assert time.monotonic() - started >= 0.2


def test_a_429_carries_its_header(scripted: Any) -> None:
    server = scripted([text("Hello.")])
    server.fault("429", retry_after=7)
    with pytest.raises(anthropic.RateLimitError) as caught:
        server.create()
    assert caught.value.response.headers["retry-after"] == "7"


def test_a_slow_answer_comes_late_and_whole(scripted: Any) -> None:
    server = scripted([text("Hello.")])
    server.fault("slow", seconds=0.3)
    started = time.monotonic()
    assert server.create().content[-1].text == "Hello."
    assert time.monotonic() - started >= 0.3


def test_a_client_that_does_not_wait_times_out(scripted: Any) -> None:
    server = scripted([text("Hello.")])
    server.fault("slow", seconds=1)
    with pytest.raises(anthropic.APITimeoutError):
        server.create(timeout=0.2)


def test_a_truncated_turn_ends_inside_its_last_call(scripted: Any) -> None:
    server = scripted([member("left_click", coordinate=[10, 20]), member("type", text="March 24, 2020")])
    server.fault("truncated")
    answer = server.create(tools=[TOOLSET], max_tokens=500)
    assert answer.stop_reason == "max_tokens"
    assert answer.usage.output_tokens == 500
    whole, cut = answer.content[-2:]
    assert (whole.name, whole.input) == ("left_click", {"coordinate": [10, 20]})
    assert (cut.name, cut.input) == ("type", {"text": "March 2"})


def test_a_truncated_text_is_half_of_it(scripted: Any) -> None:
    server = scripted([text("The report was filed.")])
    server.fault("truncated")
    answer = server.create()
    assert (answer.stop_reason, answer.content[-1].text) == ("max_tokens", "The report")


def test_a_turn_that_does_not_fit_is_truncated_without_a_fault(scripted: Any) -> None:
    server = scripted([text("word " * 400)])
    answer = server.create(max_tokens=200)
    assert (answer.stop_reason, answer.usage.output_tokens) == ("max_tokens", 200)
    assert 0 < len(answer.content[-1].text) < 2000


def test_no_tokens_at_all_only_fill_the_cache(scripted: Any) -> None:
    server = scripted([text("Hello.")])
    answer = server.create(max_tokens=0)
    assert (answer.stop_reason, answer.content, answer.usage.output_tokens) == ("max_tokens", [], 0)


def test_a_refusal_has_no_content_and_says_why(scripted: Any) -> None:
    server = scripted([text("Hello.")])
    server.fault("refusal")
    answer = server.create()
    assert (answer.stop_reason, answer.content) == ("refusal", [])
    assert answer.stop_details.type == "refusal"
    assert not server.script.asked


def test_a_paused_turn_is_sent_back_and_goes_on(scripted: Any) -> None:
    server = scripted([call("search_regulations", query="date")])
    server.fault("pause_turn")
    history = [user("Hello")]
    paused = server.create(tools=[SEARCH], messages=history)
    assert paused.stop_reason == "pause_turn"
    resumed = server.create(tools=[SEARCH], messages=[*history, paused.to_param()])
    assert resumed.stop_reason == "tool_use"
    assert server.script.asked[-1]["messages"] == [user("Hello")]


def test_only_a_turn_that_was_paused_may_be_sent_back(scripted: Any) -> None:
    server = scripted([text("Hello.")])
    answer = server.create()
    with pytest.raises(anthropic.BadRequestError, match="must end with a user message"):
        server.create(messages=[user("Hello"), answer.to_param()])


def test_a_fault_waits_for_after_requests_and_takes_count_of_them(scripted: Any) -> None:
    server = scripted([text("Hello.")])
    server.fault("529", after=1, count=2)
    seen = []
    for _ in range(5):
        try:
            server.create()
            seen.append("answered")
        except anthropic.OverloadedError:
            seen.append("overloaded")
    assert seen == ["answered", "overloaded", "overloaded", "answered", "answered"]


def test_of_two_due_faults_the_first_goes_first(scripted: Any) -> None:
    server = scripted([text("Hello.")])
    server.fault("500")
    server.fault("refusal")
    with pytest.raises(anthropic.InternalServerError):
        server.create()
    assert server.create().stop_reason == "refusal"


def test_a_refused_request_uses_up_no_fault(scripted: Any) -> None:
    server = scripted([text("Hello.")])
    server.fault("529")
    with pytest.raises(anthropic.BadRequestError):
        server.create(messages=[])
    with pytest.raises(anthropic.OverloadedError):
        server.create()


def test_faults_can_be_listed_and_cleared(scripted: Any) -> None:
    server = scripted([text("Hello.")])
    server.fault("slow", seconds=2, after=3)
    [listed] = server.http.get("/faults").json()["faults"]
    assert (listed["kind"], listed["seconds"], listed["after"], listed["count"]) == ("slow", 2, 3, 1)
    assert server.http.delete("/faults").json() == {"faults": []}
    assert server.http.get("/faults").json() == {"faults": []}


@pytest.mark.parametrize("body", [{}, {"kind": "404"}, {"kind": "slow", "second": 1}, {"kind": "500", "count": 0}])
def test_a_fault_that_is_not_understood_is_refused(scripted: Any, body: dict[str, Any]) -> None:
    response = scripted([text("Hello.")]).http.post("/faults", json=body)
    assert response.status_code == 400
    assert response.json()["error"]["type"] == "invalid_request_error"


def test_a_failure_of_the_answerer_is_an_api_error_without_its_text(scripted: Any, caplog: Any) -> None:
    def fail(_: Any) -> Any:
        raise RuntimeError("the screenshot could not be read")

    server = scripted(fail)
    with pytest.raises(anthropic.InternalServerError) as caught:
        server.create()
    assert "screenshot" not in str(caught.value)
    assert "the offline model failed to answer" in caplog.text
