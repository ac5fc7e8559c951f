"""What the model can ask of a screen, and what is on it, as plain values.

`Action` is a closed union: a new member of the vendor's toolset is an error here before it is an action anywhere.
Coordinates are pixels of the full screenshot, origin at the top left, x to the right, y down.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


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

    `value` is None where the role has none, and always for password fields. `tag` is the page's own name of the element (`input`,
    `a`), empty where it has none. `href` is where a link leads, and for the document of a frame its address.
    """

    role: str
    name: str
    box: Box
    value: str | None = None
    states: frozenset[str] = frozenset()
    epoch: int = 0
    href: str | None = None
    tag: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """What an action would work on: `element`, what it stands in (`around`, the nearest first, the page's document last; in a dialog
    of the browser everything that the dialog shows), and the words of its nearest surroundings (`text`, bounded)."""

    element: Element
    around: tuple[Element, ...] = ()
    text: str = ""


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
    """What the action policy may look at when it decides: never what the model says about the screen.

    `under` is what a click at the action's point would reach (at the pointer, where the action has no point; a drag's start), `end` the
    same for a drag's end; the document itself where nothing stands there, None where nobody can say. `focused` is None while the
    focus is on no element of the page; `default` is the button that Return presses from there. `complete` is False where the page has
    more elements than are read. `origins` are the addresses of the filing's own portal (`https://portal.example:8443`), `commits` names
    of controls that the form's brief says cannot be undone, `changes` names of those that it says can.
    """

    width: int
    height: int
    pointer: Point
    url: str | None = None
    elements: tuple[Element, ...] = field(default=())
    under: Target | None = None
    end: Target | None = None
    focused: Target | None = None
    default: Target | None = None
    complete: bool = True
    origins: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()


class Kind(StrEnum):
    """The classes of actions, from the harmless to the unknown; what no rule knows is `UNKNOWN`."""

    READ = "read"
    INPUT = "input"
    NAVIGATE = "navigate"
    CHANGE = "change"
    COMMIT = "commit"
    LEAVE = "leave"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Allow:
    """`rule` names the row of the policy's table, for the record; `approver` who said yes where a rule asked."""

    rule: str = ""
    kind: str = ""
    approver: str = ""


@dataclass(frozen=True, slots=True)
class Ask:
    """`control` is the name, as the page gives it, of what would be pressed: untrusted, for the approver to compare."""

    reason: str
    rule: str = ""
    kind: str = ""
    control: str = ""


@dataclass(frozen=True, slots=True)
class Deny:
    """`rule` names the row of the policy's table, for the record; `reason` is a fixed phrase that the model may read."""

    rule: str
    reason: str
    kind: str = ""


Decision = Allow | Ask | Deny


def noted(decision: Decision) -> str:
    """One line on a decision for the record, `[class] rule`, with who approved it; the class first, so that steps can be counted by it."""
    rule = decision.rule or type(decision).__name__.lower()
    said = f"[{decision.kind}] {rule}" if decision.kind else rule
    approver = decision.approver if isinstance(decision, Allow) else ""
    return f"{said}, approved by {approver}" if approver else said
