"""Amounts and places: how much of anything one call may ask for, and that it stays on the screen.

Decides from the action and the size of the display. Nothing is clamped: what is too much is refused.

Rules: `LIMITS`, a row each; every point and region lies on the screen; what is held during a mouse action is modifiers only, and never
the system's; a text has no control characters, which would be key presses by another name.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from tasks.domain.actions import (
    Action,
    Click,
    CursorPosition,
    Deny,
    Drag,
    HoldKeys,
    Kind,
    MouseDown,
    MouseUp,
    MoveMouse,
    Point,
    PressKeys,
    Scene,
    Screenshot,
    Scroll,
    TypeText,
    Wait,
    Zoom,
)
from tasks.domain.keys_policy import MODIFIERS, SYSTEM_KEY, canonical_combinations

OUTSIDE = Deny(
    "outside the display",
    "Refused: a coordinate lies outside the screen. Take a screenshot and use coordinates that are on it.",
    Kind.UNKNOWN,
)
ONLY_MODIFIERS = Deny(
    "modifiers only",
    "Refused: only shift, ctrl, alt or super can be held during a mouse action; `text` is not typed there.",
    Kind.UNKNOWN,
)
CONTROL_CHARACTERS = Deny(
    "control characters",
    "Refused: the text has control characters. Type plain text, and press keys with the key action.",
    Kind.UNKNOWN,
)


@dataclass(frozen=True, slots=True)
class Limit:
    """`least` to `most`, both allowed."""

    rule: str
    least: float
    most: float
    reason: str

    def decide(self, amount: float) -> Deny | None:
        return None if self.least <= amount <= self.most else Deny(self.rule, self.reason, Kind.UNKNOWN)


LIMITS: dict[str, Limit] = {
    limit.rule: limit
    for limit in (
        # The API's own range; a hundred presses cross any field of a form.
        Limit("repeat", 1, 100, "Refused: repeat a key 1 to 100 times."),
        # Three wheel clicks are about a paragraph: fifty cross any page of a form, more is a guess in pixels.
        Limit("scroll", 1, 50, "Refused: scroll by 1 to 50 wheel clicks at a time, and look at the screen between."),
        # The API allows 300 s; nothing on a form needs a key held longer than this.
        Limit("hold", 0, 10, "Refused: hold a key for at most 10 seconds."),
        Limit("wait", 0, 60, "Refused: wait for at most 60 seconds at a time, and look at the screen between."),
        Limit("text length", 0, 5_000, "Refused: type at most 5000 characters at a time."),
    )
}


def refused(action: Action, scene: Scene) -> Deny | None:
    """The refusal of an action for its places or amounts, or None."""
    return _outside(action, scene) or _amount(action) or _held(action) or _text(action)


def _points(action: Action, scene: Scene) -> Iterator[Point]:
    """Every place that the action touches; a missing coordinate is where the pointer is."""
    match action:
        case Click(point=point) | Scroll(point=point):
            yield point or scene.pointer
        case MoveMouse(point=point):
            yield point
        case Drag(start=start, end=end):
            yield start or scene.pointer
            yield end
        case MouseDown() | MouseUp():
            yield scene.pointer
        case Zoom() | Screenshot() | CursorPosition() | TypeText() | PressKeys() | HoldKeys() | Wait():
            return
        case _:
            assert_never(action)


def _outside(action: Action, scene: Scene) -> Deny | None:
    if isinstance(action, Zoom):
        left, top, right, bottom = action.region
        inside = 0 <= left < right <= scene.width and 0 <= top < bottom <= scene.height
        return None if inside else OUTSIDE
    inside = all(0 <= point.x < scene.width and 0 <= point.y < scene.height for point in _points(action, scene))
    return None if inside else OUTSIDE


def _amount(action: Action) -> Deny | None:
    match action:
        case PressKeys(repeat=repeat):
            return LIMITS["repeat"].decide(repeat)
        case Scroll(amount=amount):
            return LIMITS["scroll"].decide(amount)
        case HoldKeys(seconds=seconds):
            return LIMITS["hold"].decide(seconds)
        case Wait(seconds=seconds):
            return LIMITS["wait"].decide(seconds)
        case TypeText(text=text):
            return LIMITS["text length"].decide(len(text))
        case _:
            return None


def _held(action: Action) -> Deny | None:
    """What is held during a mouse action: modifiers, of which super is the system's."""
    if not isinstance(action, Click | Drag | Scroll):
        return None
    held = [key for keys in canonical_combinations(action.modifiers) for key in keys]
    if not all(key in MODIFIERS for key in held):
        return ONLY_MODIFIERS
    return SYSTEM_KEY if "super" in held else None


def _text(action: Action) -> Deny | None:
    if not isinstance(action, TypeText):
        return None
    odd = any(unicodedata.category(character) == "Cc" and character not in "\n\r\t" for character in action.text)
    return CONTROL_CHARACTERS if odd else None
