"""Failures of the model's service: what is tried again, what a person reads, and what must never be read."""

from __future__ import annotations

import socket
import time
import traceback

import pytest

from tasks.agent.client import make_client
from tasks.domain.errors import PermanentError, TemporaryError
from tests.agent.conftest import KEY, TASK, Bench
from tests.agent.scripted_model import Reply, act, error, serving, text

DONE = Reply([text("Done.")])
SOON = {"retry_after_ms": "5"}


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (429, "rate_limit_error"),
        (529, "overloaded_error"),
        (500, "api_error"),
        (503, "api_error"),
        (408, "timeout_error"),
    ],
)
def test_a_passing_failure_is_retried_by_the_sdk_and_the_run_goes_on(bench: Bench, status: int, kind: str) -> None:
    result = bench.run(error(status, kind, **SOON), error(status, kind, **SOON), DONE)
    assert (result.ended, result.turns) == ("finished", 1)
    assert len(bench.model.bodies) == 3
    assert bench.model.bodies[0] == bench.model.bodies[2]


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_a_failure_that_stays_is_temporary_after_the_retries(bench: Bench, status: int) -> None:
    with pytest.raises(TemporaryError, match=f"HTTP {status}"):
        bench.run(*[error(status, "overloaded_error", **SOON)] * 5)
    assert len(bench.model.bodies) == 3
    assert bench.journal.turns == []


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413, 422])
def test_a_refused_request_is_permanent_and_sent_once(bench: Bench, status: int) -> None:
    with pytest.raises(PermanentError, match=f"HTTP {status}.*req_scripted"):
        bench.run(error(status, "invalid_request_error"), DONE)
    assert len(bench.model.bodies) == 1


def test_retry_after_is_obeyed(bench: Bench) -> None:
    started = time.monotonic()
    bench.run(error(429, "rate_limit_error", retry_after="1"), DONE)
    assert 1.0 <= time.monotonic() - started < 3.0


@pytest.mark.parametrize("status", [429, 503])
def test_a_retry_after_beyond_a_minute_is_not_waited_for(bench: Bench, status: int) -> None:
    """While the SDK sleeps no budget and no stop is looked at."""
    started = time.monotonic()
    with pytest.raises(TemporaryError):
        bench.run(error(status, "rate_limit_error", retry_after="3600"), DONE)
    assert time.monotonic() - started < 5.0
    assert len(bench.model.bodies) == 1


@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_no_message_holds_the_key_the_request_or_the_services_words(bench: Bench, status: int) -> None:
    """A service may quote what was sent; all that is kept of its answer is a status, a type and an id."""
    bench.max_retries = 0
    echo = f"messages.0.content: {TASK} {KEY}"
    with pytest.raises((TemporaryError, PermanentError)) as raised:
        bench.run(error(status, f"bad type with {KEY}", message=echo))
    assert KEY in bench.sent
    shown = "".join(traceback.format_exception(raised.value)) + repr(raised.value) + str(vars(raised.value))
    assert KEY not in shown
    assert TASK not in shown
    assert "messages.0" not in shown
    assert raised.value.__context__ is None
    assert raised.value.__cause__ is None


def test_a_failure_in_mid_run_keeps_the_record_of_the_turns_before(bench: Bench) -> None:
    bench.max_retries = 0
    with pytest.raises(TemporaryError):
        bench.run(Reply([act("left_click", "toolu_1", coordinate=[1, 1])]), error(529, "overloaded_error"))
    assert [turn.number for turn in bench.journal.turns] == [1]
    assert bench.journal.result_of("toolu_1").status == "done"


def test_a_service_that_is_not_there_is_temporary(bench: Bench) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        client = make_client(base_url=url, api_key=KEY, max_retries=0)
        with client, pytest.raises(TemporaryError, match="cannot be reached"):
            bench.run_with(client)


def test_a_service_that_does_not_answer_in_time_is_temporary(bench: Bench) -> None:
    bench.model.delay = 1.0
    with serving(bench.model) as url:
        client = make_client(base_url=url, api_key=KEY, max_retries=0).with_options(timeout=0.1)
        with client, pytest.raises(TemporaryError, match="did not answer in time"):
            bench.run_with(client)


@pytest.mark.parametrize("body", ["<html>a proxy's page</html>", '{"type": "mess', "", "[]", '{"type": "message"}'])
def test_an_answer_that_is_no_message_is_temporary(bench: Bench, body: str) -> None:
    with pytest.raises(TemporaryError, match="could not be read"):
        bench.run(Reply(raw=body), DONE)
    assert len(bench.model.bodies) == 1


def test_no_key_is_refused_with_what_to_do() -> None:
    with pytest.raises(PermanentError, match="ANTHROPIC_API_KEY"):
        make_client(base_url=None, api_key="  ")


def test_a_key_in_the_environment_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-from-the-environment")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    with make_client(base_url=None, api_key=KEY) as client:
        assert client.api_key == KEY
        assert str(client.base_url).startswith("https://api.anthropic.com")
