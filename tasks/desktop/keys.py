"""Key names, as the model writes them, to X keysyms. Pure: nothing here touches a screen.

Spelling follows xdotool (`ctrl+a`, `alt+Tab`, `Page_Up`), names are case-insensitive as the API says. A combination is any
number of modifiers and at most one other key; anything that is not understood is an error before a key is touched.
"""

from __future__ import annotations

from dataclasses import dataclass

# X11/keysymdef.h
SHIFT, CTRL, ALT, SUPER = 0xFFE1, 0xFFE3, 0xFFE9, 0xFFEB
RETURN, TAB, CAPS_LOCK = 0xFF0D, 0xFF09, 0xFFE5

MODIFIERS: dict[str, int] = {
    "shift": SHIFT,
    "shift_l": SHIFT,
    "shift_r": 0xFFE2,
    "ctrl": CTRL,
    "control": CTRL,
    "control_l": CTRL,
    "control_r": 0xFFE4,
    "alt": ALT,
    "alt_l": ALT,
    "alt_r": 0xFFEA,
    "option": ALT,
    "super": SUPER,
    "super_l": SUPER,
    "super_r": 0xFFEC,
    "meta": SUPER,
    "win": SUPER,
    "windows": SUPER,
    "cmd": SUPER,
    "command": SUPER,
}

NAMED: dict[str, int] = {
    "return": RETURN,
    "enter": RETURN,
    "kp_enter": 0xFF8D,
    "tab": TAB,
    "escape": 0xFF1B,
    "esc": 0xFF1B,
    "backspace": 0xFF08,
    "delete": 0xFFFF,
    "del": 0xFFFF,
    "insert": 0xFF63,
    "ins": 0xFF63,
    "space": 0x20,
    "home": 0xFF50,
    "end": 0xFF57,
    "left": 0xFF51,
    "up": 0xFF52,
    "right": 0xFF53,
    "down": 0xFF54,
    "arrowleft": 0xFF51,
    "arrowup": 0xFF52,
    "arrowright": 0xFF53,
    "arrowdown": 0xFF54,
    "page_up": 0xFF55,
    "pageup": 0xFF55,
    "pgup": 0xFF55,
    "prior": 0xFF55,
    "page_down": 0xFF56,
    "pagedown": 0xFF56,
    "pgdn": 0xFF56,
    "next": 0xFF56,
    "menu": 0xFF67,
    "print": 0xFF61,
    "pause": 0xFF13,
    "caps_lock": CAPS_LOCK,
    "plus": 0x2B,
    "minus": 0x2D,
    "equal": 0x3D,
    "comma": 0x2C,
    "period": 0x2E,
    "slash": 0x2F,
    "backslash": 0x5C,
    "semicolon": 0x3B,
    "apostrophe": 0x27,
    "grave": 0x60,
    "bracketleft": 0x5B,
    "bracketright": 0x5D,
    "underscore": 0x5F,
    **{f"f{number}": 0xFFBD + number for number in range(1, 13)},
}


class UnknownKeyError(ValueError):
    """The text names a key that does not exist, or is no combination."""


@dataclass(frozen=True, slots=True)
class Combination:
    """Keysyms to press in this order and to release in the reverse one. `key` is None for modifiers alone."""

    modifiers: tuple[int, ...]
    key: int | None

    @property
    def keysyms(self) -> tuple[int, ...]:
        return self.modifiers if self.key is None else (*self.modifiers, self.key)


def keysym_of(character: str) -> int:
    """The keysym of one printable character: Latin-1 is its own number, the rest is offset (X11 protocol, appendix A)."""
    code = ord(character)
    return code if 0x20 <= code <= 0x7E or 0xA0 <= code <= 0xFF else 0x01000000 | code


def parse_combination(text: str) -> Combination:
    """`ctrl+shift+Tab` to keysyms. A letter after ctrl, alt or super is taken in lower case, because names are
    case-insensitive; a capital alone is that capital. Raises UnknownKeyError."""
    parts = _parts(text)
    modifiers: list[int] = []
    for part in parts[:-1]:
        modifier = MODIFIERS.get(part.lower())
        if modifier is None:
            raise UnknownKeyError(f"{part!r} is not a modifier")
        if modifier not in modifiers:
            modifiers.append(modifier)
    last = parts[-1]
    if last.lower() in MODIFIERS:
        modifier = MODIFIERS[last.lower()]
        return Combination(tuple(modifiers) if modifier in modifiers else (*modifiers, modifier), None)
    if last.lower() in NAMED:
        return Combination(tuple(modifiers), NAMED[last.lower()])
    if len(last) == 1 and last.isprintable():
        plain = any(modifier not in (SHIFT, 0xFFE2) for modifier in modifiers)
        return Combination(tuple(modifiers), keysym_of(last.lower() if plain else last))
    raise UnknownKeyError(f"{last!r} is not a key")


def parse_modifiers(text: str) -> tuple[int, ...]:
    """`ctrl+shift` to keysyms; the empty text is no modifiers. Raises UnknownKeyError for anything else."""
    if not text:
        return ()
    combination = parse_combination(text)
    if combination.key is not None:
        raise UnknownKeyError(f"{text!r} is more than modifiers")
    return combination.modifiers


def _parts(text: str) -> list[str]:
    """Split at plus signs; a plus sign that is a key itself stands last (`+`, `ctrl++`)."""
    if text == "+":
        return ["+"]
    if text.endswith("++"):
        return [*_parts(text[:-2]), "+"]
    parts = [part.strip() for part in text.split("+")]
    if not all(parts):
        raise UnknownKeyError(f"{text!r} is not a combination of keys")
    return parts
