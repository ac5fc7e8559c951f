"""The agent against the offline model's own server: what it refuses, the agent must not send."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

from tasks.agent.budgets import Budgets, Meter
from tasks.agent.client import make_client
from tasks.agent.models import prompt_tokens
from tasks.domain.errors import RunStopped, TemporaryError
from tasks.domain.steps import Usage
from tests.agent.conftest import Bench, passage
from tests.agent.offline import Offline, member, search, serving, text
from tests.agent.toy_desktop import ToyDesktop


@pytest.fixture
def offline(bench: Bench) -> Iterator[Callable[..., Offline]]:
    """Starts a server with a script of answers (each a list of blocks)."""
    with ExitStack() as stack:

        def start(*answers: Any) -> Offline:
            return stack.enter_context(serving(answers))

        yield start


def run(bench: Bench, server: Offline, retries: int = 3) -> Any:
    with make_client(base_url=server.url, api_key="offline", max_retries=retries) as client:
        return bench.run_with(client)


def work(turns: int) -> Iterator[list[dict[str, Any]]]:
    """Turns of a filing: looks, clicks, searches and typing."""
    for number in range(turns):
        yield {
            0: [text("I look at the page."), member("screenshot")],
            1: [member("left_click", coordinate=[number, 10]), member("type", text=f"answer {number}")],
            2: [search(f"question {number}"), member("left_click", coordinate=[number, 20])],
        }[number % 3]


@pytest.mark.parametrize("thread", [False, True], ids=["whole history", "thread"])
@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-opus-5"])
def test_a_long_run_is_accepted_to_its_last_request(
    bench: Bench, offline: Callable[..., Offline], model: str, thread: bool
) -> None:
    """Tool turns, a pause and the nudge: with the prefix check set to raise, an edited message would be a 400."""
    bench.model_name = model
    bench.options = replace(bench.options, thread=thread)
    answers = iter([False, True])
    bench.finished = lambda: next(answers, True)
    server = offline(*work(14), [text("I think that is all.")], *work(4), [text("Filed.")])
    server.fault("pause_turn", after=6)
    result = run(bench, server)
    assert (result.ended, result.last_words, result.turns) == ("finished", "Filed.", 21)
    assert (result.actions, result.searches) == (24, 5)


def test_the_prompt_cache_is_read_from_the_second_request_on(bench: Bench, offline: Callable[..., Offline]) -> None:
    run(bench, offline(*work(12), [text("Filed.")]))
    usages = [turn.usage for turn in bench.turns]
    assert usages[0].cache_creation_input_tokens > 4_500
    for before, after in itertools.pairwise(usages):
        assert after.cache_read_input_tokens >= before.cache_read_input_tokens + before.cache_creation_input_tokens
        assert after.input_tokens < 50
    assert sum((turn.usage for turn in bench.turns), Usage()).cache_read_input_tokens > 12 * 4_500


def test_old_results_are_cleared_by_the_service_and_passages_are_kept(
    bench: Bench, offline: Callable[..., Offline]
) -> None:
    bench.passages = lambda query: [passage(number) for number in range(1, 5)]
    bench.options = replace(bench.options, clear_above=12_000, clear_at_least=3_000, keep_tool_uses=4)
    bench.desktop = ToyDesktop(bench.journal, size=(1024, 768))
    server = offline(*work(30), [text("Filed.")])
    assert run(bench, server).ended == "finished"
    results = [
        block for message in server.script.asked[-1] for block in message["content"] if block["type"] == "tool_result"
    ]
    cleared = [block for block in results if "cleared" in str(block["content"])]
    searched = [block for block in results if "search_result" in str(block["content"])]
    assert len(cleared) >= 5
    assert len(searched) == 10


@pytest.mark.parametrize("kind", ["429", "529", "500"])
def test_a_failure_of_the_service_is_survived(bench: Bench, offline: Callable[..., Offline], kind: str) -> None:
    server = offline(*work(3), [text("Filed.")])
    server.fault(kind, after=1, count=1, **({"retry_after": 0.2} if kind == "429" else {}))
    assert run(bench, server).ended == "finished"
    assert [turn.number for turn in bench.journal.turns] == [1, 2, 3, 4]


def test_a_failure_that_outlasts_the_retries_is_temporary(bench: Bench, offline: Callable[..., Offline]) -> None:
    server = offline(*work(3), [text("Filed.")])
    server.fault("429", after=1, count=3, retry_after=0.05)
    with pytest.raises(TemporaryError):
        run(bench, server, retries=2)
    assert len(bench.journal.turns) == 1


@pytest.mark.parametrize(("kind", "ended"), [("truncated", "truncated"), ("refusal", "refused")])
def test_a_spoiled_turn_runs_nothing(bench: Bench, offline: Callable[..., Offline], kind: str, ended: str) -> None:
    bench.finished = lambda: False
    server = offline(*work(6), [text("Filed.")])
    server.fault(kind, after=1)
    result = run(bench, server)
    assert (result.ended, result.turns) == (ended, 2)
    assert bench.desktop is not None and bench.desktop.done == ["screenshot"]


def test_no_prompt_is_larger_than_what_was_reserved_for_it(
    bench: Bench, offline: Callable[..., Offline], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ceilings rest on this bound: the service's own count never exceeds it."""
    reserved: list[tuple[int, int]] = []
    answered = Meter.answered

    def noted(meter: Meter, usage: Usage, **hours: int) -> float:
        reserved.append((prompt_tokens(usage), meter.next_prompt_at_most))
        return answered(meter, usage, **hours)

    monkeypatch.setattr(Meter, "answered", noted)
    run(bench, offline(*work(15), [text("Filed.")]))
    assert len(reserved) == 16
    assert all(counted <= bound for counted, bound in reserved)


def test_a_run_stops_within_its_ceiling_in_dollars(bench: Bench, offline: Callable[..., Offline]) -> None:
    bench.budgets = Budgets(dollars=0.30, seconds=1e6)
    with pytest.raises(RunStopped, match="budget:dollars"):
        run(bench, offline(*work(400)))
    spent = sum(turn.dollars for turn in bench.turns)
    assert 0.02 < spent <= 0.30
