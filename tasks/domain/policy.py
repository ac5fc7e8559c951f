"""The action policy: what an action on the screen may be, decided from the action and the scene alone.

Decides Allow or Deny for one action (Ask belongs to rules that other tables add). It never looks at what the model says it is
doing, never changes an action, never clamps a coordinate, and holds no state: the same action on the same scene gets the same
decision.

Rules, in the order in which they are asked; the first that denies wins
1. Outside the display: every point and region lies on the screen.
2. Amounts: repeat, scroll, hold, wait and the length of a text stay within `LIMITS`.
3. Modifiers: what is held during a click, drag or scroll is modifiers only.
4. Keys: no combination of `KEY_RULES`, whatever its order, case or spelling. More modifiers never make one permitted: a rule for
   ctrl+w holds for ctrl+shift+w too.
5. Text: no control characters, which would be key presses by another name; line breaks and tabs may be typed.

A rule is a row: its name for the record, the fixed phrase that the model reads, and what it matches. The phrases never quote
what was asked for. Spelling follows xdotool, names are case-insensitive (as the API says), so a capital letter is the letter.
Key bindings are those of Firefox, the X server, and common window managers.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from tasks.domain.actions import (
    Action,
    Allow,
    Click,
    CursorPosition,
    Decision,
    Deny,
    Drag,
    HoldKeys,
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

# ---------------------------------------------------------------------------------------------------- names of keys

MODIFIERS: dict[str, frozenset[str]] = {
    "ctrl": frozenset({"ctrl", "control", "ctl", "lctrl", "rctrl", "leftctrl", "rightctrl", "lcontrol", "rcontrol"}),
    "alt": frozenset(
        {"alt", "option", "opt", "mod1", "lalt", "ralt", "leftalt", "rightalt", "altgr", "isolevel3shift"}
    ),
    "shift": frozenset({"shift", "lshift", "rshift", "leftshift", "rightshift"}),
    "super": frozenset(
        {"super", "meta", "cmd", "command", "win", "windows", "mod4", "hyper", "lsuper", "rsuper", "lwin", "rwin", "os"}
    ),
}
"""Canonical modifier → its spellings, without separators and in lower case; `_l` and `_r` at the end are dropped before."""

KEYS: dict[str, frozenset[str]] = {
    "return": frozenset({"return", "enter", "kpenter", "linefeed", "ret"}),
    "escape": frozenset({"escape", "esc"}),
    "backspace": frozenset({"backspace", "bksp", "bs"}),
    "delete": frozenset({"delete", "del", "kpdelete"}),
    "insert": frozenset({"insert", "ins", "kpinsert"}),
    "tab": frozenset({"tab", "isolefttab", "kptab"}),
    "space": frozenset({"space", "spacebar", "kpspace"}),
    "pageup": frozenset({"pageup", "pgup", "prior", "kppageup", "kpprior"}),
    "pagedown": frozenset({"pagedown", "pgdn", "pgdown", "next", "kppagedown", "kpnext"}),
    "home": frozenset({"home", "kphome"}),
    "end": frozenset({"end", "kpend"}),
    "left": frozenset({"left", "arrowleft", "leftarrow", "kpleft"}),
    "right": frozenset({"right", "arrowright", "rightarrow", "kpright"}),
    "up": frozenset({"up", "arrowup", "uparrow", "kpup"}),
    "down": frozenset({"down", "arrowdown", "downarrow", "kpdown"}),
    "print": frozenset({"print", "printscreen", "prtsc", "prtscn", "prtscr", "sysrq", "sysreq"}),
    "menu": frozenset({"menu", "apps", "contextmenu"}),
    "plus": frozenset({"plus", "+", "kpadd"}),
    "minus": frozenset({"minus", "-", "kpsubtract", "hyphen"}),
    "comma": frozenset({"comma", ","}),
    **{f"f{number}": frozenset({f"f{number}", f"kpf{number}"}) for number in range(1, 36)},
    **{str(digit): frozenset({str(digit), f"kp{digit}"}) for digit in range(10)},
}
"""Canonical key → its spellings, as for the modifiers. A key that is not here is its own name in lower case."""

CANONICAL: dict[str, str] = {
    spelling: name for table in (MODIFIERS, KEYS) for name, spellings in table.items() for spelling in spellings
}
BY_NUMBER = re.compile(r"0x[0-9a-f]+|u\+?[0-9a-f]{4,6}|[0-9]{2,}")
"""Keysyms in hexadecimal, Unicode numbers and key codes: names that no table of combinations can read."""
SEPARATORS = re.compile(r"[\s_<>\[\]()-]")
SIDE = re.compile(r"(?<=[a-z0-9])_[lr]$")


def canonical_key(name: str) -> str:
    """The one name of a key: `Control_L`, `CTRL` and `ctrl` are `ctrl`; `Page_Up` and `Prior` are `pageup`."""
    folded = unicodedata.normalize("NFKC", name).strip().casefold()
    if len(folded) <= 1:
        return CANONICAL.get(folded, folded)
    bare = SEPARATORS.sub("", SIDE.sub("", folded))
    return CANONICAL.get(bare, bare or folded)


def canonical_combinations(keys: str) -> tuple[frozenset[str], ...]:
    """The combinations that a text of keys asks for, each as the set of its keys' canonical names.

    Keys of one combination are joined by `+` (or `-` after a modifier), combinations follow each other after white space:
    `"Ctrl + Shift + T"` is one, `"ctrl+a ctrl+c"` are two. Order, case, repetition and spelling do not matter.
    """
    text = unicodedata.normalize("NFKC", keys).strip()
    joined = re.sub(r"(?<=\S)\s*\+\s*(?=\S)", "+", text)
    return tuple(frozenset(map(canonical_key, _split(part))) for part in joined.split())


def _split(combination: str) -> Iterator[str]:
    """The names in one combination; a plus sign that is a key itself stands last (`ctrl++`) or alone."""
    rest = combination
    if rest.endswith("+"):
        yield "+"
        rest = rest.removesuffix("+").removesuffix("+")
    for part in filter(None, rest.split("+")):
        yield from _split_at_hyphens(part)


def _split_at_hyphens(part: str) -> Iterator[str]:
    """`ctrl-w` is two names, `page-up` and `-` are one: only what follows a modifier is split off."""
    head, hyphen, tail = part.partition("-")
    if hyphen and tail and canonical_key(head) in MODIFIERS:
        yield head
        yield from _split_at_hyphens(tail)
    elif hyphen and not tail and canonical_key(head) in MODIFIERS:
        yield head
        yield "-"
    else:
        yield part


# ------------------------------------------------------------------------------------------------------------ rules


@dataclass(frozen=True, slots=True)
class KeyRule:
    """`combinations` are refused with any further modifiers; `alone` only as they stand, with nothing else pressed."""

    rule: str
    reason: str
    combinations: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()


def _each(prefix: str, keys: str) -> tuple[str, ...]:
    return tuple(f"{prefix}+{key}" for key in keys.split())


VIRTUAL_TERMINALS = " ".join(f"f{number}" for number in range(1, 13))

KEY_RULES: tuple[KeyRule, ...] = (
    KeyRule(
        "keys:close",
        "Refused: this key combination closes the page or the browser. Use the controls on the page.",
        ("ctrl+w", "ctrl+q", "ctrl+f4", "alt+f4"),
    ),
    KeyRule(
        "keys:window",
        "Refused: this key combination opens or changes a window or tab. Work in the page that is shown.",
        (
            *_each("ctrl", "n t tab pageup pagedown 1 2 3 4 5 6 7 8 9"),
            *_each("alt", "tab escape space 1 2 3 4 5 6 7 8 9"),
            *_each("alt", "f5 f6 f7 f8 f9 f10"),
            "f11",
        ),
    ),
    KeyRule(
        "keys:address",
        "Refused: this key combination leads to the address bar or another page. Use the links and buttons on the page.",
        (*_each("ctrl", "l k e"), *_each("alt", "d home return"), "f6"),
    ),
    KeyRule(
        "keys:tools",
        "Refused: this key combination opens the browser's developer tools or the page's source.",
        (
            *_each("ctrl+shift", "i j c k e m"),
            "ctrl+u",
            "ctrl+i",
            *_each("shift", "f2 f4 f5 f7 f8 f9"),
            "f12",
        ),
    ),
    KeyRule(
        "keys:print",
        "Refused: printing and screen capture are not part of this task.",
        ("ctrl+p", "print"),
    ),
    KeyRule(
        "keys:file",
        "Refused: saving and opening files is not part of this task.",
        ("ctrl+s", "ctrl+o"),
    ),
    KeyRule(
        "keys:browser",
        "Refused: this key combination opens a part of the browser (history, bookmarks, downloads, settings, help, a menu).",
        (
            *_each("ctrl", "h b d j m comma"),
            *_each("ctrl+shift", "a b d h o y delete"),
            *_each("alt", "f e v s b t h"),
            "f1",
            "f7",
            "f10",
        ),
        alone=("alt",),
    ),
    KeyRule(
        "keys:system",
        "Refused: this key combination acts on the system, not on the page.",
        (
            *_each("ctrl+alt", VIRTUAL_TERMINALS),
            *_each("ctrl+alt", "delete backspace t l"),
            *_each("alt", "f1 f2 f3"),
            "ctrl+escape",
            "super",
            "ctrl+alt+left",
            "ctrl+alt+right",
            "ctrl+alt+up",
            "ctrl+alt+down",
        ),
    ),
)

SYSTEM_KEY = Deny("keys:system", "Refused: this key acts on the system, not on the page.")
SYSTEM_KEY_PREFIXES = ("xf86", "sunf", "switchvt", "terminateserver")
NUMBERED_KEY = Deny("keys:number", "Refused: name the key instead of giving its number, for example Return or ctrl+a.")
NO_KEY = Deny("keys:empty", "Refused: no key was named.")
OUTSIDE = Deny(
    "outside the display",
    "Refused: a coordinate lies outside the screen. Take a screenshot and use coordinates that are on it.",
)
ONLY_MODIFIERS = Deny(
    "modifiers only",
    "Refused: only shift, ctrl, alt or super can be held during a mouse action; `text` is not typed there.",
)
CONTROL_CHARACTERS = Deny(
    "control characters",
    "Refused: the text has control characters. Type plain text, and press keys with the key action.",
)


@dataclass(frozen=True, slots=True)
class Limit:
    """`least` to `most`, both allowed."""

    rule: str
    least: float
    most: float
    reason: str

    def decide(self, amount: float) -> Deny | None:
        return None if self.least <= amount <= self.most else Deny(self.rule, self.reason)


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

_ROWS: tuple[tuple[frozenset[str], bool, Deny], ...] = tuple(
    sorted(
        (
            (keys, exact, Deny(row.rule, row.reason))
            for row in KEY_RULES
            for combinations, exact in ((row.combinations, False), (row.alone, True))
            for combination in combinations
            for keys in canonical_combinations(combination)
        ),
        key=lambda row: -len(row[0]),
    )
)
"""Every blocked combination with its row's answer; the one with the most keys is asked first, so that the phrase fits best."""

# --------------------------------------------------------------------------------------------------------- decision


def decide(action: Action, scene: Scene) -> Decision:
    """Allow, or Deny with the row's name and the phrase for the model."""
    return _outside(action, scene) or _amount(action) or _held(action) or _keys(action) or _text(action) or Allow()


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


def _keys(action: Action) -> Deny | None:
    if not isinstance(action, PressKeys | HoldKeys):
        return None
    combinations = canonical_combinations(action.keys)
    if not combinations:
        return NO_KEY
    return next((denied for keys in combinations if (denied := _combination(keys)) is not None), None)


def _combination(keys: frozenset[str]) -> Deny | None:
    for blocked, exact, denied in _ROWS:
        if blocked == keys or (blocked < keys and not exact):
            return denied
    if any(key.startswith(SYSTEM_KEY_PREFIXES) for key in keys):
        return SYSTEM_KEY
    return NUMBERED_KEY if any(BY_NUMBER.fullmatch(key) for key in keys) else None


def _text(action: Action) -> Deny | None:
    if not isinstance(action, TypeText):
        return None
    odd = any(unicodedata.category(character) == "Cc" and character not in "\n\r\t" for character in action.text)
    return CONTROL_CHARACTERS if odd else None
