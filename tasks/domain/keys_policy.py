"""Keys: which combinations may be pressed, and what each allowed one is to a page.

Decides from the text of the keys alone; what Return, the space bar and letters do where the focus is, is targets.py's.

Rules
- Spelling follows xdotool, names are case-insensitive (as the API says), so a capital letter is the letter. Order, case, repetition and
  synonyms change nothing.
- `KEY_RULES` are refused with a phrase of their own, whatever further modifiers are held: a rule for ctrl+w holds for ctrl+shift+w too.
- Whatever is left must stand in `ALLOWED`: a combination that nobody thought of is refused.
- Bindings are those of Firefox, the X server, and common window managers.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from tasks.domain.actions import Deny, Kind

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


# ------------------------------------------------------------------------------------------------------- the block-list


@dataclass(frozen=True, slots=True)
class KeyRule:
    """`combinations` are refused with any further modifiers; `alone` only as they stand, with nothing else pressed."""

    rule: str
    reason: str
    combinations: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()

    @property
    def denial(self) -> Deny:
        """All of them lead out of the page."""
        return Deny(self.rule, self.reason, Kind.LEAVE)


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
            "menu",
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

SYSTEM_KEY = Deny("keys:system", "Refused: this key acts on the system, not on the page.", Kind.UNKNOWN)
SYSTEM_KEY_PREFIXES = ("xf86", "sunf", "switchvt", "terminateserver")
NUMBERED_KEY = Deny(
    "keys:number", "Refused: name the key instead of giving its number, for example Return or ctrl+a.", Kind.UNKNOWN
)
NO_KEY = Deny("keys:empty", "Refused: no key was named.", Kind.UNKNOWN)

_ROWS: tuple[tuple[frozenset[str], bool, Deny], ...] = tuple(
    sorted(
        (
            (keys, exact, row.denial)
            for row in KEY_RULES
            for combinations, exact in ((row.combinations, False), (row.alone, True))
            for combination in combinations
            for keys in canonical_combinations(combination)
        ),
        key=lambda row: -len(row[0]),
    )
)
"""Every blocked combination with its row's answer; the one with the most keys is asked first, so that the phrase fits best."""

UNLISTED = Deny(
    "keys:unlisted",
    "Refused: this key combination is not among those that a form needs. Use the controls on the page.",
    Kind.UNKNOWN,
)

# ------------------------------------------------------------------------------------------------------- the allow-list

PRINTABLE = frozenset(
    """plus minus comma equal period slash backslash semicolon apostrophe grave bracketleft bracketright underscore colon quotedbl
    parenleft parenright at numbersign dollar percent ampersand asterisk less greater question exclam section degree""".split()
)
"""Names of keys that write a character, beside those of one letter."""
MOVES = frozenset("left right up down home end pageup pagedown".split())

# Meanings of a combination to a page.
WRITES, EDITS, MOVE, LEAVES_FIELD, PRESSES, BLANK, LOADS, LOOKS = (
    "writes", "edits", "moves", "leaves the field", "presses", "blank", "loads", "looks"
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class AllowedKeys:
    """`keys`, each with any of `modifiers` (a set of held modifiers; the empty one is none), mean `meaning`."""

    meaning: str
    keys: frozenset[str]
    modifiers: tuple[frozenset[str], ...] = (frozenset(),)


def _held(*texts: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(text.split("+")) - {""} for text in texts)


ALLOWED: tuple[AllowedKeys, ...] = (
    AllowedKeys(MOVE, MOVES, _held("", "shift", "ctrl", "ctrl+shift")),
    AllowedKeys(MOVE, frozenset({"up", "down"}), _held("alt")),
    AllowedKeys(LOADS, frozenset({"left", "right"}), _held("alt")),
    AllowedKeys(LOADS, frozenset({"f5"}), _held("", "ctrl")),
    AllowedKeys(LOADS, frozenset({"r"}), _held("ctrl", "ctrl+shift")),
    AllowedKeys(LEAVES_FIELD, frozenset({"tab"}), _held("", "shift")),
    AllowedKeys(LOOKS, frozenset({"escape"})),
    AllowedKeys(LOOKS, frozenset({"f3"}), _held("", "shift")),
    AllowedKeys(LOOKS, frozenset({"a", "c", "f", "g", "plus", "minus", "0", "equal"}), _held("ctrl", "ctrl+shift")),
    AllowedKeys(EDITS, frozenset({"x", "v", "z", "y"}), _held("ctrl", "ctrl+shift")),
    AllowedKeys(EDITS, frozenset({"backspace", "delete"}), _held("", "shift", "ctrl")),
    AllowedKeys(EDITS, frozenset({"insert"}), _held("", "shift", "ctrl")),
    AllowedKeys(PRESSES, frozenset({"return"}), _held("", "shift")),
    AllowedKeys(BLANK, frozenset({"space"}), _held("", "shift")),
    AllowedKeys(WRITES, PRINTABLE, _held("", "shift")),
)
"""What may be pressed. A key of one character is written like those of `PRINTABLE`; shift and ctrl may be pressed alone."""


def meaning(keys: frozenset[str]) -> str | None:
    """What a combination of canonical names means to a page, or None where it is not on the list."""
    held = keys & set(MODIFIERS)
    pressed = keys - held
    if not pressed:
        return LOOKS if held <= {"shift", "ctrl"} else None
    if len(pressed) > 1:
        return None
    (key,) = pressed
    for row in ALLOWED:
        if key in row.keys and held in row.modifiers:
            return row.meaning
    return WRITES if len(key) == 1 and held <= {"shift"} else None


def refused(keys: str) -> Deny | None:
    """The refusal of a text of keys, or None where each of its combinations may be pressed."""
    combinations = canonical_combinations(keys)
    if not combinations:
        return NO_KEY
    return next((denied for one in combinations if (denied := _combination(one)) is not None), None)


def _combination(keys: frozenset[str]) -> Deny | None:
    for blocked, exact, denied in _ROWS:
        if blocked == keys or (blocked < keys and not exact):
            return denied
    if any(key.startswith(SYSTEM_KEY_PREFIXES) for key in keys):
        return SYSTEM_KEY
    if any(BY_NUMBER.fullmatch(key) for key in keys):
        return NUMBERED_KEY
    return None if meaning(keys) is not None else UNLISTED
