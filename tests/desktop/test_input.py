"""Text and keys as they arrive in a page's fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tasks.desktop.input import LONGEST_TEXT, LONGEST_TYPED, untypable
from tasks.desktop.keys import CAPS_LOCK, Combination, parse_combination
from tasks.desktop.session import Desktop
from tasks.domain.actions import Point
from tasks.domain.errors import TemporaryError
from tests.desktop.fixtures import eventually, named, seen

NOTES = Point(100, 180)
REPORT_ID = Point(100, 95)


@pytest.fixture
def typed(desktop: Desktop, site: str) -> Callable[..., bool]:
    """Type into the notes of a fresh page; whether exactly the text is there in the end."""

    def type_it(text: str, **options: Any) -> bool:
        desktop.open(f"{site}/events")
        desktop.input.click(NOTES)
        desktop.settle()
        desktop.input.type_text(text, **options)
        return eventually(lambda: named(desktop, "entry", "Notes").value == text)

    return type_it


@pytest.mark.parametrize(
    "text",
    [
        "Plain words, 460-ET; {braces} [brackets] \\ / | ~ ` ^ \" ' < > # $ % & * ( ) _ + = ? !",
        "ÄÖÜ äöü ß É é È ñ Ç ø Å",
        "45 CFR § 162.1102 – “quoted” — ‘single’ … • £ € ¥ © ® ½ ×",
        "Ελληνικά Русский",
        "日本語 中文",
        "\U0001f600 thumbs \U0001f44d\U0001f3fd family \U0001f468\u200d\U0001f469\u200d\U0001f467 flag \U0001f1e9\U0001f1f0",
        "first line\nsecond line\n\nfourth",
        "aaaaAAAAbbbbBBBB1111!!!!    x",
    ],
)
def test_every_character_arrives(typed: Callable[..., bool], text: str) -> None:
    assert typed(text)


def test_text_at_the_limit_of_typing_arrives_whole(typed: Callable[..., bool]) -> None:
    assert typed(("The quick brown Fox; 0123456789. " * 20)[:LONGEST_TYPED])


def test_long_text_is_pasted_whole_into_a_field_of_several_lines(typed: Callable[..., bool]) -> None:
    assert typed("\n".join(f"line {number} § – é" for number in range(600)), multiline=True)


def test_long_text_with_line_breaks_arrives_piece_by_piece_elsewhere(typed: Callable[..., bool]) -> None:
    assert typed("\n".join("words " * 60 for _ in range(3)), multiline=False)


def test_more_strange_characters_than_spare_keys_arrive(typed: Callable[..., bool]) -> None:
    assert typed("".join(chr(code) for code in range(0x391, 0x3C9) if chr(code).isalpha()))


def test_borrowed_keys_are_recycled_from_text_to_text(typed: Callable[..., bool]) -> None:
    for start in (0x3B1, 0x430, 0x3B1, 0x5D0):
        assert typed("".join(chr(start + offset) for offset in range(15)))


@pytest.mark.parametrize("text", ["nul \x00", "escape \x1b", "half \ud83d", "\x7f", "x" * (LONGEST_TEXT + 1)])
def test_what_cannot_be_typed_is_refused_before_a_key_is_touched(desktop: Desktop, site: str, text: str) -> None:
    desktop.open(f"{site}/events")
    with pytest.raises(ValueError, match="cannot be typed"):
        desktop.input.type_text(text)
    assert seen(desktop) == []


def test_untypable_names_the_first_of_them() -> None:
    assert untypable("ok\n\t§") is None
    assert untypable("a\x07b\x00") == "\x07"


def test_a_paste_that_nobody_reads_is_an_error_and_nothing_stays_down(desktop: Desktop, site: str) -> None:
    desktop.open(f"{site}/events")
    desktop.input.click(Point(700, 100))
    with pytest.raises(TemporaryError, match="clipboard"):
        desktop.input.type_text("x" * (LONGEST_TYPED + 1))
    desktop.input.click(Point(700, 120))
    assert "click 700,120 button0 count1" in seen(desktop)


def test_caps_lock_does_not_turn_the_text_around(desktop: Desktop, site: str) -> None:
    desktop.open(f"{site}/events")
    desktop.input.click(REPORT_ID)
    desktop.input.press(Combination((), CAPS_LOCK))
    desktop.input.type_text("Mixed Case")
    assert eventually(lambda: named(desktop, "entry", "Report ID").value == "Mixed Case")


def test_an_action_that_breaks_half_way_leaves_nothing_down(desktop: Desktop, site: str) -> None:
    desktop.open(f"{site}/events")
    calls = iter([None, None, KeyboardInterrupt()])

    def check() -> None:
        stop = next(calls)
        if stop is not None:
            raise stop

    with pytest.raises(KeyboardInterrupt):
        desktop.input.hold(parse_combination("ctrl+shift+x"), 60, check=check)
    desktop.input.click(Point(700, 100))
    assert "click 700,100 button0 count1" in seen(desktop)


def test_what_is_found_down_is_released(desktop: Desktop, site: str) -> None:
    desktop.open(f"{site}/events")
    desktop.input.move(Point(700, 100))
    desktop.input.left_down()
    # It is found down: the page has the press, as after an attempt that was killed in the middle of a drag.
    assert eventually(lambda: [event.split()[0] for event in seen(desktop)][:1] == ["mousedown"])
    desktop.input.release_all()
    desktop.input.move(Point(720, 110))
    # The browser may report the release where the pointer was or where the motion after it went; what counts is that it is over.
    assert eventually(lambda: [event.split()[0] for event in seen(desktop)][:2] == ["mousedown", "mouseup"])
    desktop.input.click(Point(700, 100))
    assert eventually(lambda: "click 700,100 button0 count1" in seen(desktop))
