"""Hands: clicks, keys and text, as a person would give them.

Rules
- Nothing that an action pressed is still down when it ends, however it ends; what is found down at the start is released.
- The one exception is the left button between `left_down` and `left_up`, because that is what was asked for.
- Short text is typed, key by key; long text, or text with more strange characters than the keyboard has room for, is pasted from
  a clipboard of our own. A line break is the Return key and a tab the Tab key, typed or pasted, except that a paste into a
  field of several lines carries its line breaks with it.
- `check` is called while anything takes time, and what it raises ends the action.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from tasks.desktop.keys import CAPS_LOCK, CTRL, RETURN, SHIFT, TAB, Combination, keysym_of
from tasks.desktop.x11 import BUTTONS, WHEEL, X11
from tasks.domain.actions import Point
from tasks.domain.errors import TemporaryError

LONGEST_TYPED = 500
JOINERS = "\u200c\u200d\ufe0e\ufe0f"
LONGEST_TEXT = 50_000
BATCH = 50
SLICE_SECONDS = 0.1
BETWEEN_CLICKS_SECONDS = 0.04
BETWEEN_KEYS_SECONDS = 0.01
DRAG_STEPS = 12
DRAG_STEP_SECONDS = 0.012
PASTE_SECONDS = 3.0
PASTE_QUIET_SECONDS = 0.15

Check = Callable[[], None]


def nothing() -> None:
    """A `check` that never stops anything."""


def untypable(text: str) -> str | None:
    """The first character that no key and no paste could stand for, or None: control characters and lone surrogates."""
    for character in text:
        if character in "\n\t":
            continue
        if ord(character) < 0x20 or 0x7F <= ord(character) < 0xA0 or 0xD800 <= ord(character) < 0xE000:
            return character
    return None


class Input:
    """Actions on one display. Coordinates are checked by the callers that know the screen's size."""

    def __init__(self, x11: X11) -> None:
        self._x11 = x11
        self.release_all()

    def pointer(self) -> Point:
        return self._x11.pointer()

    def release_all(self) -> None:
        """Release every key and button that is down, and take caps lock off."""
        for keycode in self._x11.keys_down():
            self._x11.key(keycode, False)
        self._x11.flush()
        for number in self._x11.buttons_down():
            self._x11.button(number, False)
        self._unlock()

    def move(self, point: Point) -> None:
        self._x11.move(point)

    def click(
        self, point: Point | None = None, *, button: str = "left", count: int = 1, modifiers: Sequence[int] = ()
    ) -> None:
        """`count` clicks close enough together to be a double or triple click; `point` None clicks where the pointer is."""
        number = BUTTONS[button]
        with self._held(modifiers):
            if point is not None:
                self._x11.move(point)
            for turn in range(count):
                if turn:
                    time.sleep(BETWEEN_CLICKS_SECONDS)
                try:
                    self._x11.button(number, True)
                finally:
                    self._x11.button(number, False)

    def drag(self, start: Point, end: Point, *, modifiers: Sequence[int] = ()) -> None:
        """Press at `start`, go to `end` in steps (a jump is no drag to a page), release."""
        with self._held(modifiers):
            self._x11.move(start)
            try:
                self._x11.button(1, True)
                for step in range(1, DRAG_STEPS + 1):
                    time.sleep(DRAG_STEP_SECONDS)
                    self._x11.move(
                        Point(
                            start.x + (end.x - start.x) * step // DRAG_STEPS,
                            start.y + (end.y - start.y) * step // DRAG_STEPS,
                        )
                    )
                time.sleep(DRAG_STEP_SECONDS)
            finally:
                self._x11.button(1, False)

    def left_down(self) -> None:
        self._x11.button(1, True)

    def left_up(self) -> None:
        self._x11.button(1, False)

    def scroll(
        self, point: Point | None, direction: str, amount: int, *, modifiers: Sequence[int] = (), check: Check = nothing
    ) -> None:
        """`amount` clicks of the wheel; `direction` is up, down, left or right."""
        with self._held(modifiers):
            if point is not None:
                self._x11.move(point)
            for _ in range(amount):
                check()
                self._x11.button(WHEEL[direction], True)
                self._x11.button(WHEEL[direction], False)
                time.sleep(BETWEEN_KEYS_SECONDS)

    def press(self, combination: Combination, *, repeat: int = 1, check: Check = nothing) -> None:
        """Press and release the combination `repeat` times."""
        keycodes = self._keycodes(combination)
        for _ in range(repeat):
            check()
            with self._down(keycodes):
                time.sleep(BETWEEN_KEYS_SECONDS)
            time.sleep(BETWEEN_KEYS_SECONDS)

    def hold(self, combination: Combination, seconds: float, *, check: Check = nothing) -> None:
        """Keep the combination down for `seconds`; the server repeats the key as a keyboard would."""
        with self._down(self._keycodes(combination)):
            wait(seconds, check=check)

    def type_text(self, text: str, *, multiline: bool = False, check: Check = nothing) -> None:
        """Enter `text` where the focus is. `multiline` says that the focused field takes line breaks.

        Raises ValueError for text that `untypable` objects to, or that is longer than LONGEST_TEXT characters, before a key is
        touched.
        """
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        if untypable(text) is not None or len(text) > LONGEST_TEXT:
            raise ValueError("the text cannot be typed")
        self._unlock()
        strange = {
            character
            for character in text
            if character not in "\n\t" and not self._x11.on_keyboard(keysym_of(character))
        }
        # Emoji may be several characters that only mean something together: they are pasted whole.
        joined = any(ord(character) > 0xFFFF or character in JOINERS for character in text)
        if len(text) <= LONGEST_TYPED and len(strange) <= self._x11.spare_keycodes and not joined:
            self._x11.borrow([keysym_of(character) for character in sorted(strange)])
            self._type(text, check)
            return
        for piece in _pieces(text, "\t" if multiline else "\n\t"):
            if piece == "\n":
                self.press(Combination((), RETURN), check=check)
            elif piece == "\t":
                self.press(Combination((), TAB), check=check)
            else:
                self._paste(piece, check)

    def _type(self, text: str, check: Check) -> None:
        shift = self._x11.keycode(SHIFT)[0]
        for start in range(0, len(text), BATCH):
            check()
            for character in text[start : start + BATCH]:
                keysym = {"\n": RETURN, "\t": TAB}.get(character) or keysym_of(character)
                keycode, shifted = self._x11.keycode(keysym)
                keycodes = (shift, keycode) if shifted else (keycode,)
                for code in keycodes:
                    self._x11.key(code, True)
                for code in reversed(keycodes):
                    self._x11.key(code, False)
            self._x11.flush()
            time.sleep(BETWEEN_KEYS_SECONDS)

    def _paste(self, text: str, check: Check) -> None:
        self._x11.own_clipboard(text)
        try:
            with self._down(self._keycodes(Combination((CTRL,), ord("v")))):
                time.sleep(BETWEEN_KEYS_SECONDS)
            if not self._x11.serve_clipboard(PASTE_SECONDS, PASTE_QUIET_SECONDS, check):
                raise TemporaryError(
                    "The browser did not read the clipboard after ctrl+v: nothing that takes text has the focus."
                )
        finally:
            self._x11.leave_clipboard()

    def _keycodes(self, combination: Combination) -> tuple[int, ...]:
        self._x11.borrow(combination.keysyms)
        shift = self._x11.keycode(SHIFT)[0]
        keycodes: list[int] = []
        for keysym in combination.keysyms:
            keycode, shifted = self._x11.keycode(keysym)
            if shifted and shift not in keycodes:
                keycodes.append(shift)
            keycodes.append(keycode)
        return tuple(keycodes)

    @contextmanager
    def _down(self, keycodes: Sequence[int]) -> Iterator[None]:
        try:
            for keycode in keycodes:
                self._x11.key(keycode, True)
            self._x11.flush()
            yield
        finally:
            for keycode in reversed(keycodes):
                self._x11.key(keycode, False)
            self._x11.flush()

    @contextmanager
    def _held(self, modifiers: Sequence[int]) -> Iterator[None]:
        with self._down([self._x11.keycode(keysym)[0] for keysym in modifiers]):
            yield

    def _unlock(self) -> None:
        if self._x11.caps_locked():
            with self._down([self._x11.keycode(CAPS_LOCK)[0]]):
                time.sleep(BETWEEN_KEYS_SECONDS)


def wait(seconds: float, *, check: Check = nothing) -> None:
    """Sleep in slices, so that a stop takes effect within a tenth of a second."""
    deadline = time.monotonic() + seconds
    while True:
        check()
        left = deadline - time.monotonic()
        if left <= 0:
            return
        time.sleep(min(left, SLICE_SECONDS))


def _pieces(text: str, breaks: str) -> Iterator[str]:
    """`text` cut at each character of `breaks`, which is a piece of its own."""
    start = 0
    for index, character in enumerate(text):
        if character in breaks:
            if start < index:
                yield text[start:index]
            yield character
            start = index + 1
    if start < len(text):
        yield text[start:]
