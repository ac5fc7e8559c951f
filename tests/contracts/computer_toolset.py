"""What any driver of the computer toolset must do, by the letter of the Messages API: one suite for each of them.

A test class derives from `ComputerToolsetContract` and gives the fixtures `desktop` and `site`. Calls go in as `tool_use` blocks
through the SDK's own pipeline, and results come out as the `tool_result` blocks that a model would read; what a page saw is read
from the page.
"""

from __future__ import annotations

import base64
import io
import itertools
import time
from collections.abc import Callable
from typing import Any

import pytest
from anthropic.types.beta import BetaToolUseBlock
from PIL import Image, ImageChops

from tasks.desktop import computer_toolset as driver
from tasks.desktop import requests
from tasks.desktop.computer_toolset import ComputerToolset
from tasks.desktop.session import Desktop
from tasks.domain.actions import (
    Action,
    Allow,
    Ask,
    Click,
    Decision,
    Deny,
    Point,
    PressKeys,
    Scene,
    Screenshot,
    TypeText,
)
from tasks.domain.errors import RunStopped, TemporaryError
from tasks.domain.steps import Call, StepResult
from tests.desktop.fixtures import Record, centre, eventually, named, seen, seen_with_times

WIDTH, HEIGHT = 1024, 768
MEMBERS = {
    "screenshot", "zoom", "left_click", "right_click", "middle_click", "double_click", "triple_click", "left_click_drag",
    "mouse_move", "left_mouse_down", "left_mouse_up", "cursor_position", "scroll", "type", "key", "hold_key", "wait",
}  # fmt: skip
BUTTON = Point(100, 40)
FIELD = Point(100, 95)
NOTES = Point(100, 180)
SECRET = "s3cret-in-an-exception"


class Bench:
    """A driver on a desktop with a journal in memory, a policy that can be exchanged and calls by name."""

    def __init__(self, desktop: Desktop, site: str) -> None:
        self.desktop = desktop
        self.site = site
        self.record = Record()
        self.scenes: list[tuple[Action, Scene]] = []
        self.decision: Callable[[Action, Scene], Decision] = lambda action, scene: Allow()
        self.check: Callable[[], None] = lambda: None
        self.numbers = itertools.count(1)
        self.toolset = ComputerToolset(
            desktop, decide=self._decide, origins=[site], journal=self.record, check=lambda: self.check()
        )

    def _decide(self, action: Action, scene: Scene) -> Decision:
        self.scenes.append((action, scene))
        return self.decision(action, scene)

    def page(self, name: str) -> Bench:
        self.desktop.open(f"{self.site}/{name}")
        return self

    def result(self, member: str, **arguments: Any) -> dict[str, Any]:
        return dict(self.toolset.tool_result(tool_use(f"toolu_{next(self.numbers)}", member, arguments)))

    def do(self, member: str, **arguments: Any) -> list[str]:
        """The result's lines; the call must succeed."""
        result = self.result(member, **arguments)
        assert not result.get("is_error"), result
        return [block["text"] for block in result["content"]]

    def refused(self, member: str, **arguments: Any) -> str:
        """The text of the refusal; the call must fail, with text only."""
        result = self.result(member, **arguments)
        assert result.get("is_error") is True, result
        assert [block["type"] for block in result["content"]] == ["text"]
        return str(result["content"][0]["text"])

    def picture(self, member: str, **arguments: Any) -> Image.Image:
        result = self.result(member, **arguments)
        (block,) = result["content"]
        assert block["type"] == "image" and block["source"]["media_type"] == "image/png"
        return Image.open(io.BytesIO(base64.b64decode(block["source"]["data"]))).convert("RGB")


def tool_use(identifier: str, member: str, arguments: dict[str, Any]) -> BetaToolUseBlock:
    return BetaToolUseBlock(id=identifier, name=member, input=arguments, type="tool_use", toolset_name="computer")


def tool_result() -> dict[str, Any]:
    content = [{"type": "text", "text": "Clicked."}]
    return {"type": "tool_result", "tool_use_id": "toolu_1", "toolset_name": "computer", "content": content}


@pytest.fixture
def bench(desktop: Desktop, site: str) -> Bench:
    return Bench(desktop, site)


class ComputerToolsetContract:
    # ---- the entry and the results' form

    def test_it_offers_all_seventeen_members_and_turns_none_off(self, bench: Bench) -> None:
        assert bench.toolset.to_dict() == {"type": "computer_toolset_20260801"}
        assert set(requests.BUILDERS) == MEMBERS

    def test_each_result_answers_its_call_and_echoes_the_toolset(self, bench: Bench) -> None:
        for member, arguments in (("cursor_position", {}), ("key", {"text": "nokey"})):
            result = bench.toolset.tool_result(tool_use("toolu_x", member, dict(arguments)))
            assert (result["tool_use_id"], result["toolset_name"]) == ("toolu_x", "computer")

    # ---- seeing

    def test_a_screenshot_is_the_whole_screen_and_is_kept_by_its_content(self, bench: Bench) -> None:
        picture = bench.page("events").picture("screenshot")
        assert picture.size == (WIDTH, HEIGHT)
        call, result = bench.record.last
        assert call.tool == "computer.screenshot" and result.status == "done"
        assert result.screenshot is not None
        kept = Image.open(io.BytesIO(bench.record.pictures[result.screenshot])).convert("RGB")
        assert ImageChops.difference(kept, picture).getbbox() is None

    @pytest.mark.parametrize(
        ("region", "size"),
        [
            ((0, 0, WIDTH, HEIGHT), (WIDTH, HEIGHT)),
            ((0, 0, 256, 192), (WIDTH, HEIGHT)),
            ((20, 20, 420, 120), (WIDTH, 256)),
            ((900, 0, WIDTH, HEIGHT), (124, HEIGHT)),
        ],
    )
    def test_a_zoom_fills_the_screenshots_size_and_keeps_the_aspect_ratio(
        self, bench: Bench, region: tuple[int, ...], size: tuple[int, int]
    ) -> None:
        bench.page("events")
        whole = bench.picture("screenshot")
        zoomed = bench.picture("zoom", region=list(region))
        assert zoomed.size == size
        expected = whole.crop((region[0], region[1], region[2], region[3])).resize(size, Image.Resampling.LANCZOS)
        assert ImageChops.difference(zoomed, expected).getbbox() is None

    def test_coordinates_stay_those_of_the_full_screenshot_after_a_zoom(self, bench: Bench) -> None:
        bench.page("events").picture("zoom", region=[0, 0, 100, 75])
        bench.do("left_click", coordinate=[700, 100])
        assert "click 700,100 button0 count1" in seen(bench.desktop)

    @pytest.mark.parametrize("region", [[0, 0, WIDTH + 1, 10], [-1, 0, 10, 10], [10, 10, 10, 20], [20, 0, 10, 10]])
    def test_a_region_outside_the_screen_or_without_area_is_refused(self, bench: Bench, region: list[int]) -> None:
        assert bench.refused("zoom", region=region) == requests.BAD_REGION

    def test_a_blank_screen_is_an_error_and_no_picture(self, bench: Bench) -> None:
        bench.desktop.open(f"{bench.site}/blank")
        assert bench.refused("screenshot") == driver.NOT_SEEN
        assert bench.record.last[1].status == "failed" and "one colour" in bench.record.last[1].detail

    # ---- the mouse

    def test_a_click_arrives_where_it_was_aimed_and_names_what_was_there(self, bench: Bench) -> None:
        lines = bench.page("events").do("left_click", coordinate=[BUTTON.x, BUTTON.y])
        assert lines == ["Clicked.", 'Under the pointer: button "Submit report".']
        assert seen(bench.desktop) == [
            "mousedown 100,40 button0 count1",
            "mouseup 100,40 button0 count1",
            "click 100,40 button0 count1",
        ]

    @pytest.mark.parametrize("corner", [(0, 0), (WIDTH - 1, 0), (0, HEIGHT - 1), (WIDTH - 1, HEIGHT - 1)])
    def test_the_corners_of_the_screen_can_be_clicked(self, bench: Bench, corner: tuple[int, int]) -> None:
        bench.page("events").do("left_click", coordinate=list(corner))
        assert f"click {corner[0]},{corner[1]} button0 count1" in seen(bench.desktop)

    @pytest.mark.parametrize("outside", [[WIDTH, 10], [10, HEIGHT], [-1, 10], [10, -1], [WIDTH * 4, HEIGHT * 4]])
    @pytest.mark.parametrize(
        "member",
        ["left_click", "right_click", "middle_click", "double_click", "triple_click", "mouse_move", "scroll"],
    )
    def test_a_coordinate_outside_is_refused_and_never_moved_to_the_edge(
        self, bench: Bench, member: str, outside: list[int]
    ) -> None:
        before = bench.desktop.input.pointer()
        more = {"scroll_direction": "down", "scroll_amount": 1} if member == "scroll" else {}
        assert bench.refused(member, coordinate=outside, **more) == requests.OUTSIDE
        assert bench.desktop.input.pointer() == before

    def test_a_drag_to_or_from_outside_is_refused(self, bench: Bench) -> None:
        inside, outside = [10, 10], [WIDTH, 10]
        assert bench.refused("left_click_drag", start_coordinate=inside, coordinate=outside) == requests.OUTSIDE
        assert bench.refused("left_click_drag", start_coordinate=outside, coordinate=inside) == requests.OUTSIDE

    def test_without_a_coordinate_a_click_is_where_the_pointer_is(self, bench: Bench) -> None:
        bench.page("events").do("mouse_move", coordinate=[BUTTON.x, BUTTON.y])
        assert bench.do("left_click") == ["Clicked.", 'Under the pointer: button "Submit report".']
        assert "click 100,40 button0 count1" in seen(bench.desktop)

    @pytest.mark.parametrize(
        ("member", "event"),
        [
            ("double_click", "dblclick 700,100 button0 count2"),
            ("triple_click", "click 700,100 button0 count3"),
            ("right_click", "contextmenu 700,100 button2 count1"),
            ("middle_click", "auxclick 700,100 button1 count1"),
        ],
    )
    def test_each_kind_of_click_is_one_to_the_page(self, bench: Bench, member: str, event: str) -> None:
        bench.page("events").do(member, coordinate=[700, 100])
        assert event in [line.removesuffix(" 0") for line in seen(bench.desktop)]

    @pytest.mark.parametrize(
        ("text", "held"), [("ctrl", "ctrl"), ("shift", "shift"), ("ctrl+shift", "ctrl+shift"), ("Alt", "alt")]
    )
    def test_the_text_of_a_click_is_modifiers_that_are_held_and_released(
        self, bench: Bench, text: str, held: str
    ) -> None:
        bench.page("events").do("left_click", coordinate=[700, 100], text=text)
        assert f"click 700,100 button0 count1 {held}" in seen(bench.desktop)
        bench.do("left_click", coordinate=[700, 150])
        assert "click 700,150 button0 count1" in seen(bench.desktop)

    @pytest.mark.parametrize("text", ["hello", "a", "ctrl+a", "Return"])
    def test_the_text_of_a_click_is_never_typed(self, bench: Bench, text: str) -> None:
        bench.page("events")
        assert bench.refused("left_click", coordinate=[FIELD.x, FIELD.y], text=text) == requests.BAD_MODIFIERS
        assert seen(bench.desktop) == []

    def test_a_drag_presses_moves_in_steps_and_releases(self, bench: Bench) -> None:
        bench.page("events").do("left_click_drag", start_coordinate=[620, 40], coordinate=[850, 200])
        log = seen(bench.desktop)
        assert log[:2] == ["mousedown 620,40 button0 count1", "mouseup 850,200 button0 count1"]
        assert int(bench.desktop.tree().title.split()[1]) >= 5

    def test_the_left_button_can_be_held_over_several_calls(self, bench: Bench) -> None:
        bench.page("events").do("mouse_move", coordinate=[620, 40])
        bench.do("left_mouse_down")
        bench.do("mouse_move", coordinate=[800, 180])
        bench.do("left_mouse_up")
        assert seen(bench.desktop)[:2] == ["mousedown 620,40 button0 count1", "mouseup 800,180 button0 count1"]

    def test_the_cursor_is_where_it_was_moved_to(self, bench: Bench) -> None:
        bench.do("mouse_move", coordinate=[123, 456])
        assert bench.do("cursor_position") == ["X=123,Y=456"]

    def test_scrolling_moves_the_page_in_each_direction(self, bench: Bench) -> None:
        bench.page("tall")

        def at() -> tuple[int, int]:
            line = next(line for line in bench.desktop.tree().text if line.startswith("at "))
            x, y = line.removeprefix("at ").split(",")
            return int(x), int(y)

        bench.do("scroll", coordinate=[500, 400], scroll_direction="down", scroll_amount=5)
        down = at()
        bench.do("scroll", scroll_direction="right", scroll_amount=3)
        right = at()
        bench.do("scroll", scroll_direction="up", scroll_amount=2)
        up = at()
        bench.do("scroll", scroll_direction="left", scroll_amount=3)
        assert down[1] > 0 and right[0] > 0 and 0 < up[1] < down[1] and at() == (0, up[1])

    @pytest.mark.parametrize("amount", [0, -3, 101])
    def test_a_scroll_by_nothing_or_without_end_is_refused(self, bench: Bench, amount: int) -> None:
        assert bench.refused("scroll", scroll_direction="down", scroll_amount=amount) == requests.BAD_SCROLL

    # ---- the keyboard

    def test_typed_text_is_in_the_field_and_the_line_says_so(self, bench: Bench) -> None:
        bench.page("events").do("left_click", coordinate=[FIELD.x, FIELD.y])
        lines = bench.do("type", text="QI-2025-014 § 11.10(e) – “é”")
        assert lines == ["Typed.", 'entry "Report ID" holds exactly this text.']
        assert named(bench.desktop, "entry", "Report ID").value == "QI-2025-014 § 11.10(e) – “é”"

    def test_text_that_joins_what_was_there_is_told_with_it(self, bench: Bench) -> None:
        bench.page("events").do("left_click", coordinate=[FIELD.x, FIELD.y])
        bench.do("type", text="one ")
        assert bench.do("type", text="two")[1] == 'entry "Report ID" holds this text among other: "one two".'

    def test_a_page_that_changes_the_text_is_told_of(self, bench: Bench) -> None:
        bench.page("fields")
        for label, text, holds in (("Upper", "abc", '"ABC"'), ("Short", "1234567", '"12345"')):
            point = centre(named(bench.desktop, "entry", label).box)
            bench.do("left_click", coordinate=[point.x, point.y])
            assert bench.do("type", text=text)[1] == f'The page changed the text: entry "{label}" holds {holds}.'

    def test_a_password_is_never_read_back(self, bench: Bench) -> None:
        point = centre(named(bench.page("fields").desktop, "password text", "Secret").box)
        bench.do("left_click", coordinate=[point.x, point.y])
        assert bench.do("type", text="abc") == ["Typed.", driver.PASSWORD_FIELD]

    def test_typing_where_nothing_takes_text_is_told_of(self, bench: Bench) -> None:
        bench.page("events").do("left_click", coordinate=[700, 100])
        assert bench.do("type", text="lost") == ["Typed.", driver.NOTHING_FOCUSED]

    def test_typing_chooses_in_a_list_and_the_line_says_what(self, bench: Bench) -> None:
        point = centre(named(bench.page("fields").desktop, "combo box", "Department").box)
        bench.do("left_click", coordinate=[point.x, point.y])
        assert bench.do("type", text="Onc")[1] == 'The focus is on menu item "Oncology".'
        assert bench.do("key", text="Return")[1] == 'The focus is on combo box "Department", which holds "Oncology".'
        assert bench.do("type", text="Card")[1] == 'The focus is on combo box "Department", which holds "Cardiology".'

    def test_a_line_break_is_the_return_key(self, bench: Bench) -> None:
        bench.page("events").do("left_click", coordinate=[NOTES.x, NOTES.y])
        bench.do("type", text="first\nsecond")
        assert named(bench.desktop, "entry", "Notes").value == "first\nsecond"
        assert 'keydown "Enter"' in seen(bench.desktop)

    @pytest.mark.parametrize("text", ["a\x00b", "\x1b[2J", "bell\x07", "\x85"])
    def test_text_with_control_characters_is_refused_whole(self, bench: Bench, text: str) -> None:
        bench.page("events").do("left_click", coordinate=[FIELD.x, FIELD.y])
        assert bench.refused("type", text=text) == requests.BAD_TEXT
        assert named(bench.desktop, "entry", "Report ID").value == ""

    @pytest.mark.parametrize(
        ("text", "keys", "held"),
        [
            ("Return", ["Enter"], ""),
            ("RETURN", ["Enter"], ""),
            ("ctrl+a", ["Control", "a"], "ctrl"),
            ("Ctrl+Shift+End", ["Control", "Shift", "End"], "ctrl+shift"),
            ("Page_Down", ["PageDown"], ""),
            ("A", ["Shift", "A"], "shift"),
            # Whether a modifier is held while it goes down itself depends on when the browser asks the server.
            ("shift", ["Shift"], None),
            ("é", ["é"], ""),
        ],
    )
    def test_a_key_or_combination_is_pressed_in_order_and_released(
        self, bench: Bench, text: str, keys: list[str], held: str | None
    ) -> None:
        bench.page("events").do("left_click", coordinate=[700, 100])
        bench.do("key", text=text)
        events = [line.split()[:2] for line in seen(bench.desktop) if line.startswith("key")]
        downs = [["keydown", f'"{key}"'] for key in keys]
        assert events == [*downs, *(["keyup", key] for _, key in reversed(downs))]
        assert held is None or f'keydown "{keys[-1]}" {held}'.strip() in seen(bench.desktop)

    def test_repeat_presses_that_often(self, bench: Bench) -> None:
        bench.page("events").do("left_click", coordinate=[FIELD.x, FIELD.y])
        bench.do("key", text="x", repeat=100)
        assert named(bench.desktop, "entry", "Report ID").value == "x" * 100

    @pytest.mark.parametrize("repeat", [0, -1, 101])
    def test_a_repeat_outside_one_to_a_hundred_is_refused(self, bench: Bench, repeat: int) -> None:
        bench.page("events")
        assert bench.refused("key", text="x", repeat=repeat) == requests.BAD_REPEAT
        assert seen(bench.desktop) == []

    @pytest.mark.parametrize("text", ["ctrl+nokey", "nokey", "", "ctrl+", "a+b", "ctrl+a b", "++a"])
    @pytest.mark.parametrize("member", ["key", "hold_key"])
    def test_an_unknown_key_is_refused_before_anything_is_pressed(self, bench: Bench, member: str, text: str) -> None:
        bench.page("events")
        more = {"duration": 1} if member == "hold_key" else {}
        assert bench.refused(member, text=text, **more) == requests.UNKNOWN_KEY
        assert seen(bench.desktop) == []

    def test_a_held_key_is_down_for_the_time_asked_for(self, bench: Bench) -> None:
        bench.page("events").do("left_click", coordinate=[700, 100])
        bench.do("hold_key", text="shift", duration=1)
        down, up = [int(line.split()[2]) for line in seen_with_times(bench.desktop) if line.startswith("key")]
        assert up - down >= 950

    @pytest.mark.parametrize(("member", "more"), [("hold_key", {"text": "shift"}), ("wait", {})])
    @pytest.mark.parametrize("duration", [-1, 301])
    def test_a_duration_outside_its_limits_is_refused(
        self, bench: Bench, member: str, more: dict[str, str], duration: int
    ) -> None:
        assert bench.refused(member, duration=duration, **more) == requests.BAD_DURATION

    # ---- time and stops

    def test_waiting_lasts_as_long_as_it_was_asked_to(self, bench: Bench) -> None:
        started = time.monotonic()
        assert bench.do("wait", duration=1) == ["Waited 1s."]
        assert time.monotonic() - started >= 1

    @pytest.mark.parametrize(("member", "more"), [("hold_key", {"text": "ctrl+shift"}), ("wait", {})])
    def test_a_stop_ends_a_long_call_at_once_and_releases_what_was_held(
        self, bench: Bench, member: str, more: dict[str, str]
    ) -> None:
        bench.page("events").do("left_click", coordinate=[700, 100])
        started = time.monotonic()

        def check() -> None:
            if time.monotonic() - started > 0.5:
                raise RunStopped("budget:seconds")

        bench.check = check
        with pytest.raises(RunStopped):
            bench.result(member, duration=300, **more)
        assert bench.record.last[1].status == "failed" and "budget:seconds" in bench.record.last[1].detail
        bench.check = lambda: None
        bench.do("left_click", coordinate=[700, 120])
        assert "click 700,120 button0 count1" in seen(bench.desktop)

    def test_a_stop_before_a_call_lets_nothing_happen(self, bench: Bench) -> None:
        bench.page("events")

        def check() -> None:
            raise RunStopped("lease lost")

        bench.check = check
        with pytest.raises(RunStopped):
            bench.result("left_click", coordinate=[700, 100])
        assert seen(bench.desktop) == []

    # ---- the gate

    @pytest.mark.parametrize(
        ("member", "arguments"),
        [
            ("left_click", {"coordinate": [700, 100]}),
            ("key", {"text": "x"}),
            ("type", {"text": "x"}),
            ("screenshot", {}),
        ],
    )
    def test_a_denied_call_does_nothing_is_told_in_the_policys_words_and_is_recorded(
        self, bench: Bench, member: str, arguments: dict[str, Any]
    ) -> None:
        bench.page("events")
        bench.decision = lambda action, scene: Deny("blocked-keys", "This is not allowed here.")
        assert bench.refused(member, **arguments) == "This is not allowed here."
        call, result = bench.record.last
        assert (call.tool, dict(call.arguments)) == (f"computer.{member}", arguments)
        assert (result.status, result.text, result.detail) == ("denied", "This is not allowed here.", "blocked-keys")
        assert seen(bench.desktop) == []

    def test_a_call_that_would_need_a_person_is_not_done(self, bench: Bench) -> None:
        bench.page("events")
        bench.decision = lambda action, scene: Ask("it submits")
        assert bench.refused("left_click", coordinate=[BUTTON.x, BUTTON.y]) == driver.NOT_APPROVED
        assert bench.record.last[1].status == "denied" and seen(bench.desktop) == []

    def test_the_policy_sees_the_action_and_what_is_on_the_page(self, bench: Bench) -> None:
        bench.page("events").do("left_click", coordinate=[FIELD.x, FIELD.y], text="shift")
        bench.do("key", text="ctrl+Home", repeat=2)
        bench.do("type", text="abc")
        bench.picture("screenshot")
        actions = [action for action, _ in bench.scenes]
        assert actions == [Click("left", 1, FIELD, "shift"), PressKeys("ctrl+Home", 2), TypeText("abc"), Screenshot()]
        scene = bench.scenes[0][1]
        assert (scene.width, scene.height, scene.url) == (WIDTH, HEIGHT, f"{bench.site}/events")
        assert any(e.name == "Report ID" and e.box.contains(FIELD) for e in scene.elements)
        assert bench.scenes[1][1].pointer == FIELD

    def test_the_policy_sees_what_is_under_the_pointer_and_has_the_focus(self, bench: Bench) -> None:
        bench.page("events").do("left_click", coordinate=[FIELD.x, FIELD.y])
        bench.do("key", text="End")
        bench.do("left_click_drag", start_coordinate=[BUTTON.x, BUTTON.y], coordinate=[FIELD.x, FIELD.y])
        click, key, drag = (scene for _, scene in bench.scenes)
        assert click.under is not None and click.under.element.name == "Report ID" and click.end is None
        assert click.origins == (bench.site,) and click.complete
        assert key.focused is not None and key.focused.element.name == "Report ID" and key.under is None
        assert drag.under is not None and drag.under.element.name == "Submit report"
        assert drag.end is not None and drag.end.element.name == "Report ID"

    def test_what_the_page_hides_from_the_tree_is_nothing_that_can_be_decided_on(self, bench: Bench) -> None:
        """Neither by its words nor by its blank parts; empty ground and text stay what they are."""
        bench.page("hidden")
        for x, y, role in (
            (120, 120, None),
            (30, 105, None),
            (120, 220, None),
            (60, 324, "paragraph"),
            (60, 15, "heading"),
            (700, 600, "document web"),
        ):
            bench.do("left_click", coordinate=[x, y])
            under = bench.scenes[-1][1].under
            assert (under.element.role if under else None) == role, (x, y)

    def test_the_record_says_by_which_rule_a_call_was_done(self, bench: Bench) -> None:
        bench.page("events")
        bench.decision = lambda action, scene: Allow("commit:brief", "commit", "auto")
        bench.do("left_click", coordinate=[700, 100])
        assert bench.record.last[1].detail == "[commit] commit:brief, approved by auto"
        bench.decision = lambda action, scene: Deny("link:leave", "Refused.", "leave")
        bench.refused("left_click", coordinate=[700, 100])
        assert bench.record.last[1].detail == "[leave] link:leave"

    @pytest.mark.parametrize("page", ["redirect", "leaving"])
    def test_a_browser_that_leaves_the_portal_ends_the_run(self, bench: Bench, page: str) -> None:
        """By a script after a click, or by a redirect before the first call; the other site is never shown."""
        bench.page(page)
        with pytest.raises(RunStopped, match=driver.LEFT):
            bench.result("left_click", coordinate=[BUTTON.x, BUTTON.y])
        for member, arguments in (
            ("screenshot", {}),
            ("left_click", {"coordinate": [700, 100]}),
            ("wait", {"duration": 0}),
        ):
            with pytest.raises(RunStopped, match=driver.LEFT):
                bench.result(member, **arguments)
        response = {"role": "user", "content": [dict(tool_result())]}
        with pytest.raises(RunStopped, match=driver.LEFT):
            bench.toolset.append_screenshot(response)
        assert bench.record.pictures == {}

    # ---- the record, and words that must not get out

    def test_the_row_is_written_before_the_call_and_completed_after_it(self, bench: Bench) -> None:
        bench.page("events")
        order: list[str] = []
        begin, finish = bench.record.begin, bench.record.finish

        def watched_begin(call: Call) -> int:
            order.append(f"begin {len(seen(bench.desktop))}")
            return begin(call)

        def watched_finish(step: int, result: StepResult) -> None:
            order.append(f"finish {len(seen(bench.desktop))}")
            finish(step, result)

        bench.record.begin, bench.record.finish = watched_begin, watched_finish  # type: ignore[method-assign]
        bench.do("left_click", coordinate=[700, 100])
        assert order == ["begin 0", "finish 3"]
        call, result = bench.record.last
        assert call.tool_use_id == "toolu_1" and result.milliseconds > 0
        assert result.text == "Under the pointer: nothing that the page names."

    def test_a_record_that_cannot_be_written_stops_the_run_before_the_click(self, bench: Bench) -> None:
        bench.page("events")

        def broken(call: Call) -> int:
            raise OSError(SECRET)

        bench.record.begin = broken  # type: ignore[method-assign]
        with pytest.raises(RunStopped):
            bench.result("left_click", coordinate=[700, 100])
        assert seen(bench.desktop) == []

    @pytest.mark.parametrize("error", [ValueError(SECRET), TemporaryError(SECRET)])
    @pytest.mark.parametrize("place", ["decide", "pixels", "tree", "settle"])
    def test_an_exceptions_own_text_never_reaches_the_model_and_is_kept_for_people(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch, error: Exception, place: str
    ) -> None:
        def raise_it(*arguments: object, **named: object) -> Any:
            raise error

        if place == "decide":
            bench.decision = raise_it
        else:
            monkeypatch.setattr(bench.desktop, place, raise_it)
        text = bench.refused("left_click", coordinate=[700, 100])
        assert text in (driver.FAILED, driver.NOT_READ)
        assert SECRET in bench.record.last[1].detail and SECRET not in bench.record.last[1].text

    def test_a_desktop_that_keeps_failing_stops_the_run(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        def hang() -> Any:
            raise TemporaryError("the browser hangs")

        monkeypatch.setattr(bench.desktop, "tree", hang)
        for _ in range(driver.MOST_BROKEN - 1):
            assert bench.refused("left_click", coordinate=[700, 100]) == driver.NOT_READ
        with pytest.raises(RunStopped, match=driver.LOST):
            bench.result("left_click", coordinate=[700, 100])

    def test_a_button_that_was_left_down_is_released_at_the_end(self, bench: Bench) -> None:
        bench.page("events").do("mouse_move", coordinate=[620, 40])
        bench.do("left_mouse_down")
        bench.toolset.close()
        assert seen(bench.desktop)[:2] == ["mousedown 620,40 button0 count1", "mouseup 620,40 button0 count1"]

    def test_page_text_is_one_bounded_line(self, bench: Bench) -> None:
        point = centre(named(bench.page("fields").desktop, "button", "Go").box)
        line = bench.do("mouse_move", coordinate=[min(point.x, WIDTH - 1), point.y])[1]
        assert line.startswith("Under the pointer: button \"Go 'on' now please xxx") and line.endswith('…".')
        assert len(line) < 120 and "\n" not in line and "\u202e" not in line

    # ---- the batch

    def test_a_later_call_of_a_failed_batch_is_not_executed_and_the_picture_goes_where_it_may(
        self, bench: Bench
    ) -> None:
        bench.page("events")
        ok = bench.result("left_click", coordinate=[700, 100])
        failed = bench.result("key", text="nokey")
        search = {"type": "tool_result", "tool_use_id": "toolu_s", "content": "found"}

        done = {"role": "user", "content": [ok, search]}
        bench.toolset.append_screenshot(done)
        assert [block["type"] for block in done["content"][0]["content"]] == ["text", "text", "image"]
        assert done["content"][1] == {"type": "tool_result", "tool_use_id": "toolu_s", "content": "found"}
        data = done["content"][0]["content"][2]["source"]["data"]
        assert base64.b64decode(data) in bench.record.pictures.values()

        halted = {"role": "user", "content": [dict(ok, content=ok["content"][:2]), failed]}
        bench.toolset.append_screenshot(halted)
        assert all(block["type"] == "text" for result in halted["content"] for block in result["content"])

    def test_a_batch_that_ends_with_a_picture_gets_no_second_one(self, bench: Bench) -> None:
        response = {"role": "user", "content": [bench.page("events").result("screenshot")]}
        bench.toolset.append_screenshot(response)
        assert [block["type"] for block in response["content"][0]["content"]] == ["image"]

    def test_a_turn_without_computer_calls_gets_no_picture(self, bench: Bench) -> None:
        response = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_s", "content": "found"}]}
        bench.toolset.append_screenshot(response)
        assert response["content"] == [{"type": "tool_result", "tool_use_id": "toolu_s", "content": "found"}]

    def test_the_picture_is_of_the_page_after_the_batch(self, bench: Bench) -> None:
        bench.page("links")
        link = bench.result("left_click", coordinate=[40, 28])
        response = {"role": "user", "content": [link]}
        bench.toolset.append_screenshot(response)
        assert bench.desktop.tree().title == "Slow"
        assert eventually(lambda: "Here at last" in bench.desktop.tree().text)
