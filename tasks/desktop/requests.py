"""From a member call of the toolset to an Action, or to a refusal with a fixed phrase.

Pure and first: whatever is wrong with a call is found here, before anything is decided, pressed or moved. The limits are the
API's: coordinates are pixels of the full screenshot and are refused outside of it, never moved to its edge; `repeat` is 1 to 100;
holding and waiting take up to 300 seconds; a click's `text` is modifiers to hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tasks.desktop.input import LONGEST_TEXT, untypable
from tasks.desktop.keys import UnknownKeyError, parse_combination, parse_modifiers
from tasks.domain.actions import (
    Action,
    Click,
    CursorPosition,
    Drag,
    HoldKeys,
    MouseDown,
    MouseUp,
    MoveMouse,
    Point,
    PressKeys,
    Screenshot,
    Scroll,
    TypeText,
    Wait,
    Zoom,
)

MOST_REPEATS = 100
LONGEST_SECONDS = 300
MOST_WHEEL_CLICKS = 100

OUTSIDE = "Not done: the coordinate is outside the screen. Coordinates are pixels of the full screenshot."
BAD_REGION = "Not done: the region must be [x0, y0, x1, y1] inside the screen, with x0 < x1 and y0 < y1."
UNKNOWN_KEY = "Not done: this is not a key or key combination that is known here. Nothing was pressed."
BAD_MODIFIERS = "Not done: text of this action must be modifier keys such as ctrl or ctrl+shift. Nothing was pressed."
BAD_REPEAT = f"Not done: repeat must be 1 to {MOST_REPEATS}. Nothing was pressed."
BAD_DURATION = f"Not done: duration must be 0 to {LONGEST_SECONDS} seconds."
BAD_SCROLL = f"Not done: scroll_amount must be 1 to {MOST_WHEEL_CLICKS}."
BAD_TEXT = f"Not done: the text has characters that cannot be typed, or more than {LONGEST_TEXT}. Nothing was typed."
NO_TEXT = "Not done: there is no text to type."
UNKNOWN_MEMBER = "Not done: this action is not known here."


class RefusalError(Exception):
    """A call that cannot be done as it was asked for. `phrase` is one of the fixed phrases of this room."""

    def __init__(self, phrase: str) -> None:
        super().__init__(phrase)
        self.phrase = phrase


def to_action(member: str, arguments: Mapping[str, Any], width: int, height: int) -> Action:
    """The action that a member call asks for on a screen of this size. Raises RefusalError."""
    build = BUILDERS.get(member)
    if build is None:
        raise RefusalError(UNKNOWN_MEMBER)
    return build(arguments, width, height)


def _point(pair: Sequence[int] | None, width: int, height: int) -> Point | None:
    if pair is None:
        return None
    x, y = pair
    if not (0 <= x < width and 0 <= y < height):
        raise RefusalError(OUTSIDE)
    return Point(x, y)


def _needed_point(pair: Sequence[int] | None, width: int, height: int) -> Point:
    point = _point(pair, width, height)
    if point is None:
        raise RefusalError(OUTSIDE)
    return point


def _modifiers(arguments: Mapping[str, Any]) -> str:
    text = arguments.get("text") or ""
    try:
        parse_modifiers(text)
    except UnknownKeyError:
        raise RefusalError(BAD_MODIFIERS) from None
    return str(text)


def _keys(arguments: Mapping[str, Any]) -> str:
    text = str(arguments.get("text", ""))
    try:
        parse_combination(text)
    except UnknownKeyError:
        raise RefusalError(UNKNOWN_KEY) from None
    return text


def _seconds(arguments: Mapping[str, Any]) -> float:
    duration = arguments.get("duration", -1)
    if not 0 <= duration <= LONGEST_SECONDS:
        raise RefusalError(BAD_DURATION)
    return float(duration)


def _click(button: str, count: int) -> Builder:
    def build(arguments: Mapping[str, Any], width: int, height: int) -> Action:
        return Click(button, count, _point(arguments.get("coordinate"), width, height), _modifiers(arguments))

    return build


def _drag(arguments: Mapping[str, Any], width: int, height: int) -> Action:
    start = _needed_point(arguments.get("start_coordinate"), width, height)
    return Drag(start, _needed_point(arguments.get("coordinate"), width, height), _modifiers(arguments))


def _move(arguments: Mapping[str, Any], width: int, height: int) -> Action:
    return MoveMouse(_needed_point(arguments.get("coordinate"), width, height))


def _scroll(arguments: Mapping[str, Any], width: int, height: int) -> Action:
    amount = arguments.get("scroll_amount", 0)
    if not 1 <= amount <= MOST_WHEEL_CLICKS:
        raise RefusalError(BAD_SCROLL)
    point = _point(arguments.get("coordinate"), width, height)
    return Scroll(point, str(arguments["scroll_direction"]), amount, _modifiers(arguments))


def _type(arguments: Mapping[str, Any], width: int, height: int) -> Action:
    text = str(arguments.get("text", ""))
    if not text:
        raise RefusalError(NO_TEXT)
    if len(text) > LONGEST_TEXT or untypable(text.replace("\r\n", "\n").replace("\r", "\n")) is not None:
        raise RefusalError(BAD_TEXT)
    return TypeText(text)


def _press(arguments: Mapping[str, Any], width: int, height: int) -> Action:
    repeat = arguments.get("repeat")
    if repeat is None:
        repeat = 1
    if not 1 <= repeat <= MOST_REPEATS:
        raise RefusalError(BAD_REPEAT)
    return PressKeys(_keys(arguments), repeat)


def _hold(arguments: Mapping[str, Any], width: int, height: int) -> Action:
    return HoldKeys(_keys(arguments), _seconds(arguments))


def _zoom(arguments: Mapping[str, Any], width: int, height: int) -> Action:
    x0, y0, x1, y1 = arguments.get("region") or (0, 0, 0, 0)
    if not (0 <= x0 < x1 <= width and 0 <= y0 < y1 <= height):
        raise RefusalError(BAD_REGION)
    return Zoom((x0, y0, x1, y1))


Builder = Callable[[Mapping[str, Any], int, int], Action]

BUILDERS: dict[str, Builder] = {
    "screenshot": lambda arguments, width, height: Screenshot(),
    "zoom": _zoom,
    "left_click": _click("left", 1),
    "right_click": _click("right", 1),
    "middle_click": _click("middle", 1),
    "double_click": _click("left", 2),
    "triple_click": _click("left", 3),
    "left_click_drag": _drag,
    "mouse_move": _move,
    "left_mouse_down": lambda arguments, width, height: MouseDown(),
    "left_mouse_up": lambda arguments, width, height: MouseUp(),
    "cursor_position": lambda arguments, width, height: CursorPosition(),
    "scroll": _scroll,
    "type": _type,
    "key": _press,
    "hold_key": _hold,
    "wait": lambda arguments, width, height: Wait(_seconds(arguments)),
}
