"""What each kind of exception does to a run, and that no budget is passed by a further request."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from anthropic.tools import ToolError, ToolsetClosedError
from hypothesis import given
from hypothesis import strategies as st

from tasks.agent import prompts
from tasks.agent.budgets import IMAGE_TOKENS_AT_MOST, Budgets, LoopDetector, Meter, image_tokens, tokens_of
from tasks.agent.models import find_model, usable_models
from tasks.agent.record import Record
from tasks.domain.errors import PermanentError, RunStopped, TemporaryError
from tasks.domain.steps import Usage
from tests.agent.conftest import Bench
from tests.agent.scripted_model import Reply, act, search, text
from tests.agent.toy_desktop import ToyDesktop, encoded, png

SECRET = "postgresql://owner:hunter2@db/filewright"
DONE = Reply([text("Done.")])
CALLS = Reply([act("left_click", "toolu_1", coordinate=[1, 1]), search("toolu_2", query="a")])


class ProxyError(Exception):
    """Some exception of somebody's library."""


def raiser(error: BaseException) -> Callable[..., None]:
    def raise_it(*arguments: object) -> None:
        raise error

    return raise_it


def desktop(bench: Bench, **hooks: Callable[[str], None]) -> ToyDesktop:
    return ToyDesktop(Record(bench.journal), **hooks)


def first_result(bench: Bench) -> tuple[str, bool]:
    result = bench.results(1)[0]
    content = result["content"]
    words = content if isinstance(content, str) else content[0]["text"]
    return words, result.get("is_error", False)


# ------------------------------------------------------------------------------------------- exceptions in the driver


@pytest.mark.parametrize("where", ["on_confirm", "on_member"])
@pytest.mark.parametrize(
    "error", [ProxyError(SECRET), ValueError(SECRET), TemporaryError(SECRET), PermanentError(SECRET)]
)
def test_an_exception_of_the_driver_becomes_a_fixed_phrase_and_the_run_goes_on(
    bench: Bench, where: str, error: Exception
) -> None:
    result = bench.run(CALLS, DONE, desktop=desktop(bench, **{where: raiser(error)}))
    assert result.ended == "finished"
    words, is_error = first_result(bench)
    assert is_error
    if where == "on_member":
        assert words == prompts.ACTION_FAILED
    assert SECRET not in bench.sent and "hunter2" not in bench.sent


def test_the_phrase_of_a_refusal_reaches_the_model_as_it_was_written(bench: Bench) -> None:
    for where in ("on_confirm", "on_member"):
        bench.run(CALLS, DONE, desktop=desktop(bench, **{where: raiser(ToolError("Refused: this closes the page."))}))
        assert first_result(bench) == ("Refused: this closes the page.", True)


def test_a_refusal_that_a_driver_made_from_an_exception_keeps_its_phrase_and_hides_the_exception(bench: Bench) -> None:
    def refuse(name: str) -> None:
        try:
            raise ProxyError(SECRET)
        except ProxyError as error:
            raise ToolError("The action failed.") from error

    bench.run(CALLS, DONE, desktop=desktop(bench, on_member=refuse))
    assert first_result(bench) == ("The action failed.", True)
    assert SECRET not in bench.sent


@pytest.mark.parametrize("where", ["on_confirm", "on_member"])
@pytest.mark.parametrize("error", [RunStopped("lease lost"), KeyboardInterrupt(SECRET), SystemExit(SECRET)])
def test_a_stop_in_the_driver_ends_the_run_with_no_further_request(
    bench: Bench, where: str, error: BaseException
) -> None:
    with pytest.raises(type(error)) as raised:
        bench.run(CALLS, DONE, desktop=desktop(bench, **{where: raiser(error)}))
    assert raised.value is error
    assert len(bench.model.bodies) == 1
    assert bench.searched == []


def test_a_mistake_in_the_use_of_the_sdk_is_not_shown_to_the_model(bench: Bench) -> None:
    closed = desktop(bench)
    closed.close()
    with pytest.raises(ToolsetClosedError):
        bench.run(CALLS, DONE, desktop=closed)
    assert len(bench.model.bodies) == 1


def test_a_machine_that_stays_broken_ends_the_run(bench: Bench) -> None:
    script = [Reply([act("left_click", f"toolu_{number}", coordinate=[number, 1])]) for number in range(9)]
    with pytest.raises(RunStopped) as stopped:
        bench.run(*script, desktop=desktop(bench, on_member=raiser(ProxyError(SECRET))))
    assert stopped.value.reason == "tools broken"
    assert len(bench.model.bodies) == 3
    assert SECRET not in bench.sent


# ------------------------------------------------------------------------------------------- exceptions in the search


@pytest.mark.parametrize(
    "error", [ProxyError(SECRET), ToolError(SECRET), TemporaryError(SECRET), PermanentError(SECRET)]
)
def test_an_exception_of_the_search_becomes_a_fixed_phrase_and_its_detail_stays_in_the_journal(
    bench: Bench, error: Exception
) -> None:
    bench.passages = raiser(error)  # type: ignore[assignment]
    assert bench.run(CALLS, DONE).ended == "finished"
    answer = bench.results(1)[1]
    assert (answer["content"], answer["is_error"]) == (prompts.SEARCH_FAILED, True)
    row = bench.journal.result_of("toolu_2")
    assert (row.status, row.text) == ("failed", prompts.SEARCH_FAILED)
    assert SECRET in row.detail and type(error).__name__ in row.detail
    assert "hunter2" not in bench.sent


@pytest.mark.parametrize("error", [RunStopped("store gone"), KeyboardInterrupt(SECRET)])
def test_a_stop_in_the_search_ends_the_run_with_no_further_request(bench: Bench, error: BaseException) -> None:
    bench.passages = raiser(error)  # type: ignore[assignment]
    with pytest.raises(type(error)) as raised:
        bench.run(CALLS, DONE)
    assert raised.value is error
    assert len(bench.model.bodies) == 1


def test_a_search_that_stays_broken_ends_the_run(bench: Bench) -> None:
    bench.passages = raiser(ProxyError(SECRET))  # type: ignore[assignment]
    with pytest.raises(RunStopped) as stopped:
        bench.run(*[Reply([search(f"toolu_{number}", query=f"question {number}")]) for number in range(9)])
    assert stopped.value.reason == "tools broken"
    assert len(bench.model.bodies) == 3


# ------------------------------------------------------------------------------------------ exceptions in the journal


@pytest.mark.parametrize("calls", [CALLS, Reply([search("toolu_2", query="a")])], ids=["screen", "search"])
@pytest.mark.parametrize("method", ["turn", "begin", "finish"])
@pytest.mark.parametrize("error", [ProxyError(SECRET), ToolError(SECRET), TemporaryError(SECRET)])
def test_a_journal_that_cannot_be_written_ends_the_run(
    bench: Bench, calls: Reply, method: str, error: Exception
) -> None:
    bench.journal.broken, bench.journal.error = method, error
    with pytest.raises(RunStopped) as stopped:
        bench.run(calls, DONE)
    assert stopped.value.reason == "journal failed"
    assert stopped.value.__cause__ is error
    assert len(bench.model.bodies) == 1
    if method != "finish":
        assert bench.searched == []
        assert bench.desktop is not None and bench.desktop.done == []


@pytest.mark.parametrize("method", ["turn", "begin", "finish"])
@pytest.mark.parametrize("error", [RunStopped("lease lost"), KeyboardInterrupt(SECRET)])
def test_a_stop_of_the_journal_passes_unchanged(bench: Bench, method: str, error: BaseException) -> None:
    bench.journal.broken, bench.journal.error = method, error
    with pytest.raises(type(error)) as raised:
        bench.run(CALLS, DONE)
    assert raised.value is error
    assert len(bench.model.bodies) == 1


# ----------------------------------------------------------------------------------------- the caller's own functions


def test_the_callers_stop_is_looked_at_before_each_request_and_each_call(bench: Bench) -> None:
    for allowed, requests, clicks in ((0, 0, 0), (1, 1, 0), (2, 1, 1), (3, 1, 1), (4, 2, 1)):
        counter = itertools.count()

        def check(counter: itertools.count[int] = counter, allowed: int = allowed) -> None:
            if next(counter) >= allowed:
                raise RunStopped("kill switch")

        bench.check = check
        with pytest.raises(RunStopped, match="kill switch"):
            bench.run(CALLS, CALLS, desktop=desktop(bench))
        assert len(bench.model.bodies) == requests
        assert bench.desktop is not None and bench.desktop.clicks == clicks


@pytest.mark.parametrize("error", [ProxyError(SECRET), RunStopped("x"), KeyboardInterrupt()])
def test_an_exception_of_the_look_at_the_browser_passes_unchanged(bench: Bench, error: BaseException) -> None:
    bench.finished = raiser(error)  # type: ignore[assignment]
    with pytest.raises(type(error)):
        bench.run(DONE, DONE)
    assert len(bench.model.bodies) == 1


# ------------------------------------------------------------------------------------------------------------ budgets


def clicks(count: int, **usage: int) -> list[Reply]:
    return [
        Reply([act("left_click", f"toolu_{number}", coordinate=[number, 1])], usage=usage) for number in range(count)
    ]


def stopped_run(bench: Bench, *script: Reply) -> tuple[str, int]:
    with pytest.raises(RunStopped) as stopped:
        bench.run(*script)
    assert not bench.model.refused
    return stopped.value.reason, len(bench.model.bodies)


def test_turns_stop_before_the_next_request(bench: Bench) -> None:
    bench.budgets = Budgets(turns=3, seconds=1e6, dollars=100)
    assert stopped_run(bench, *clicks(9)) == ("budget:turns", 3)
    assert len(bench.journal.turns) == 3


def test_a_run_may_use_its_last_turn_to_finish(bench: Bench) -> None:
    bench.budgets = Budgets(turns=3, seconds=1e6, dollars=100)
    assert bench.run(*clicks(2), DONE).ended == "finished"


def test_actions_stop_in_the_middle_of_a_batch(bench: Bench) -> None:
    bench.budgets = Budgets(actions=2, seconds=1e6, dollars=100)
    batch = Reply([act("left_click", f"toolu_{number}", coordinate=[number, 1]) for number in range(5)])
    assert stopped_run(bench, batch) == ("budget:actions", 1)
    assert bench.desktop is not None and bench.desktop.clicks == 2


def test_refused_actions_count_too(bench: Bench) -> None:
    bench.budgets = Budgets(actions=2, seconds=1e6, dollars=100)
    bench.desktop = desktop(bench, on_confirm=raiser(ToolError("Refused: no.")))
    assert stopped_run(bench, *clicks(9)) == ("budget:actions", 3)


def test_seconds_stop_before_the_next_request_and_before_the_next_call(bench: Bench) -> None:
    now = [0.0]
    bench.clock = lambda: now[0]
    bench.budgets = Budgets(seconds=10, dollars=100)

    def slow(name: str) -> None:
        now[0] += 6

    bench.desktop = desktop(bench, on_member=slow)
    assert stopped_run(bench, *clicks(9)) == ("budget:seconds", 2)
    now[0] = 0.0
    bench.desktop = desktop(bench, on_member=slow)
    batch = Reply([act("left_click", f"toolu_{number}", coordinate=[number, 1]) for number in range(5)])
    assert stopped_run(bench, batch) == ("budget:seconds", 1)
    assert bench.desktop.clicks == 2


def test_tokens_stop_before_a_request_that_could_pass_them(bench: Bench) -> None:
    bench.budgets = Budgets(tokens=60_000, seconds=1e6, dollars=100)
    reason, requests = stopped_run(bench, *clicks(20, input_tokens=9_000, output_tokens=1_000))
    assert reason == "budget:tokens"
    # 10,000 a turn. After five the next could take 10,000 of prompt and 8,192 of output more, and a bit for the new results.
    assert requests == 5


def test_dollars_stop_before_a_request_that_could_pass_them(bench: Bench) -> None:
    bench.budgets = Budgets(dollars=1.0, seconds=1e6)
    reason, requests = stopped_run(bench, *clicks(40, input_tokens=20_000, output_tokens=1_000))
    assert reason == "budget:dollars"
    spent = sum(turn.dollars for turn in bench.turns)
    # 10 cents a turn (80 and 20 thousandths); the next could cost 10.5 for its prompt and 16.4 for its output, and a bit.
    assert spent == pytest.approx(0.10 * requests)
    assert 0.65 <= spent <= 1.0


@pytest.mark.parametrize("ceiling", [Budgets(dollars=0.05), Budgets(tokens=5_000)], ids=["dollars", "tokens"])
def test_a_ceiling_too_low_for_one_request_sends_nothing(bench: Bench, ceiling: Budgets) -> None:
    bench.budgets = ceiling
    reason, requests = stopped_run(bench, DONE)
    assert reason.startswith("budget:")
    assert requests == 0


@pytest.mark.parametrize("name", ["turns", "actions", "seconds", "tokens", "dollars"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_a_ceiling_that_is_no_ceiling_is_refused(name: str, value: float) -> None:
    with pytest.raises(PermanentError, match=name):
        Budgets(**{name: value})


@given(
    st.sampled_from(usable_models()),
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.integers(0, 3_000)), max_size=60),
)
def test_no_answered_request_ever_passes_the_ceiling_in_dollars_or_tokens(
    name: str,
    turns: list[tuple[float, float, float, int]],
) -> None:
    """Whatever a response uses of what its request allowed, the sum stays within both ceilings."""
    budgets = Budgets(dollars=0.7, tokens=200_000, seconds=1e9)
    meter = Meter(budgets, find_model(name), max_output_tokens=4_000, clock=lambda: 0.0, check=lambda: None)
    for prompt_share, output_share, written_share, added in turns:
        try:
            meter.before_request()
        except RunStopped:
            return
        prompt = int(meter.next_prompt_at_most * prompt_share)
        written = int(prompt * written_share)
        meter.answered(
            Usage(
                input_tokens=prompt - written,
                output_tokens=int(meter.max_output_tokens * output_share),
                cache_creation_input_tokens=written,
            )
        )
        assert meter.dollars <= budgets.dollars
        assert meter.tokens <= budgets.tokens
        meter.added("x" * added)


# ------------------------------------------------------------------------------------------------ counting and loops


def test_a_picture_counts_by_its_size_and_an_unreadable_one_as_the_largest() -> None:
    """1024x768 costs 37 x 28 squares of 28 pixels (vendor's rule)."""
    assert image_tokens(encoded(png(1, 1024, 768))) == 1_036
    assert image_tokens(encoded(png(1, 1280, 800))) == 1_334
    assert image_tokens("no picture") == IMAGE_TOKENS_AT_MOST
    assert image_tokens(encoded(b"GIF89a" + bytes(40))) == IMAGE_TOKENS_AT_MOST


JSON_VALUES = st.recursive(
    st.text() | st.integers() | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(JSON_VALUES)
def test_the_estimate_never_falls_below_the_bytes_of_the_words(value: object) -> None:
    def words(item: object) -> int:
        if isinstance(item, str):
            return len(item.encode("utf-8", "surrogatepass"))
        if isinstance(item, dict):
            return sum(words(inner) for inner in item.values())
        return sum(map(words, item)) if isinstance(item, list) else 0

    assert tokens_of(value) >= words(value)


def test_a_loop_of_two_alternating_turns_is_found() -> None:
    loops = LoopDetector()
    with pytest.raises(RunStopped, match="loop"):
        for number in range(20):
            loops.observe([("computer.key", {"text": "Tab" if number % 2 else "shift+Tab"})], ["same"])
    assert number == 8


def test_looking_again_at_a_slow_page_is_borne_longer_but_not_for_ever() -> None:
    loops = LoopDetector()
    with pytest.raises(RunStopped, match="loop"):
        for looks in itertools.count(1):
            assert looks <= LoopDetector.LOOKS
            loops.observe([("computer.wait", {"duration": 1}), ("computer.screenshot", {})], ["same"])
    assert looks == LoopDetector.LOOKS


def test_the_same_keys_before_new_screens_are_no_loop() -> None:
    loops = LoopDetector()
    for number in range(50):
        loops.observe([("computer.key", {"text": "Tab"})], [str(number)])


def test_searches_leave_the_last_screen_standing() -> None:
    loops = LoopDetector()
    with pytest.raises(RunStopped, match="loop"):
        for _ in range(5):
            loops.observe([("search_regulations", {"query": "date"})], [])


def test_the_next_prompt_is_reserved_with_the_answer_and_with_everything_added_since() -> None:
    meter = Meter(
        Budgets(), find_model("claude-opus-5-5"), max_output_tokens=1_000, clock=lambda: 0.0, check=lambda: None
    )
    meter.answered(Usage(input_tokens=10, output_tokens=700, cache_read_input_tokens=5_000))
    assert meter.next_prompt_at_most == 5_710
    meter.added("twelve bytes")
    assert meter.next_prompt_at_most == 5_722
