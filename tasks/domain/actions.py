"""What the model can ask of a screen, and what is on it, as plain values.

`Action` is a closed union: a new member of the vendor's toolset is an error here before it is an action anywhere.
Coordinates are pixels of the full screenshot, origin at the top left, x to the right, y down.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in screen pixels; `width` and `height` are positive for anything that can be seen."""

    x: int
    y: int
    width: int
    height: int

    def contains(self, point: Point) -> bool:
        return self.x <= point.x < self.x + self.width and self.y <= point.y < self.y + self.height


@dataclass(frozen=True, slots=True)
class Element:
    """One node of the accessibility tree. `epoch` is the number of the reading that it came from.

    `value` is None where the role has none, and always for password fields.
    """

    role: str
    name: str
    box: Box
    value: str | None = None
    states: frozenset[str] = frozenset()
    epoch: int = 0
    href: str | None = None


@dataclass(frozen=True, slots=True)
class Screenshot:
    pass


@dataclass(frozen=True, slots=True)
class Zoom:
    region: tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Click:
    """`button` is left, middle or right; `count` is 1, 2 or 3; `point` None means where the pointer is."""

    button: str
    count: int
    point: Point | None
    modifiers: str = ""


@dataclass(frozen=True, slots=True)
class Drag:
    start: Point | None
    end: Point
    modifiers: str = ""


@dataclass(frozen=True, slots=True)
class MoveMouse:
    point: Point


@dataclass(frozen=True, slots=True)
class MouseDown:
    pass


@dataclass(frozen=True, slots=True)
class MouseUp:
    pass


@dataclass(frozen=True, slots=True)
class CursorPosition:
    pass


@dataclass(frozen=True, slots=True)
class Scroll:
    """`amount` is in wheel clicks; `direction` is up, down, left or right."""

    point: Point | None
    direction: str
    amount: int
    modifiers: str = ""


@dataclass(frozen=True, slots=True)
class TypeText:
    text: str


@dataclass(frozen=True, slots=True)
class PressKeys:
    """`keys` as the model wrote them (xdotool spelling, e.g. "ctrl+a"); `repeat` is 1 to 100."""

    keys: str
    repeat: int = 1


@dataclass(frozen=True, slots=True)
class HoldKeys:
    keys: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Wait:
    seconds: float


Action = (
    Screenshot
    | Zoom
    | Click
    | Drag
    | MoveMouse
    | MouseDown
    | MouseUp
    | CursorPosition
    | Scroll
    | TypeText
    | PressKeys
    | HoldKeys
    | Wait
)


@dataclass(frozen=True, slots=True)
class Scene:
    """What the action policy may look at when it decides: never what the model says about the screen."""

    width: int
    height: int
    pointer: Point
    url: str | None = None
    elements: tuple[Element, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Allow:
    pass


@dataclass(frozen=True, slots=True)
class Ask:
    reason: str


@dataclass(frozen=True, slots=True)
class Deny:
    """`rule` names the row of the policy's table, for the record; `reason` is a fixed phrase that the model may read."""

    rule: str
    reason: str


Decision = Allow | Ask | Deny
