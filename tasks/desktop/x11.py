"""The X server spoken to directly: pointer, keys and clipboard of one display. The only file that imports Xlib.

It knows how to do a thing and nothing about when or why. Events are XTEST's, so a page cannot tell them from a person's.
Not for use from two threads at once.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Sequence

from Xlib import X, Xatom
from Xlib import display as xdisplay
from Xlib import error as xerror
from Xlib.ext import xtest
from Xlib.protocol import event as xevent
from Xlib.protocol import request as xrequest

from tasks.domain.actions import Point
from tasks.domain.errors import TemporaryError

# After a change of the keyboard map the browser needs a moment to fetch it; keys pressed before that come out as the old ones.
REMAP_SECONDS = 0.05
BUTTONS = {"left": 1, "middle": 2, "right": 3}
WHEEL = {"up": 4, "down": 5, "left": 6, "right": 7}
BUTTON_MASKS = {1: X.Button1Mask, 2: X.Button2Mask, 3: X.Button3Mask}


class X11:
    """One connection to one display, such as `:7`. Raises TemporaryError when the display cannot be reached."""

    def __init__(self, display: str) -> None:
        try:
            self._display = xdisplay.Display(display)
        except (xerror.DisplayError, OSError) as error:
            raise TemporaryError(
                f"The X display {display} cannot be reached ({error}). Start the desktop again."
            ) from error
        if not self._display.has_extension("XTEST"):
            raise TemporaryError(
                f"The X display {display} has no XTEST extension, so nothing can be clicked or typed on it."
            )
        self._root = self._display.screen().root
        self._window = self._root.create_window(0, 0, 1, 1, 0, X.CopyFromParent)
        self._first = self._display.display.info.min_keycode
        count = self._display.display.info.max_keycode - self._first + 1
        self._map: dict[int, tuple[int, bool]] = {}
        self._spare: list[int] = []
        self._borrowed: dict[int, int] = {}
        for offset, keysyms in enumerate(self._display.get_keyboard_mapping(self._first, count)):
            keycode = self._first + offset
            if not any(keysyms):
                self._spare.append(keycode)
            for column in (0, 1):
                if column < len(keysyms) and keysyms[column]:
                    self._map.setdefault(keysyms[column], (keycode, column == 1))

    def close(self) -> None:
        try:
            self._display.close()
        except (xerror.ConnectionClosedError, OSError):
            return  # the server went first

    @property
    def size(self) -> tuple[int, int]:
        geometry = self._root.get_geometry()
        return geometry.width, geometry.height

    # ---- pointer

    def pointer(self) -> Point:
        answer = self._root.query_pointer()
        return Point(answer.root_x, answer.root_y)

    def move(self, point: Point) -> None:
        xtest.fake_input(self._display, X.MotionNotify, x=point.x, y=point.y)
        self._display.sync()

    def button(self, number: int, down: bool) -> None:
        xtest.fake_input(self._display, X.ButtonPress if down else X.ButtonRelease, number)
        self._display.sync()

    def buttons_down(self) -> tuple[int, ...]:
        mask = self._root.query_pointer().mask
        return tuple(number for number, bit in BUTTON_MASKS.items() if mask & bit)

    # ---- keys

    @property
    def spare_keycodes(self) -> int:
        """How many different characters that are not on the keyboard can be typed in one go."""
        return len(self._spare)

    def on_keyboard(self, keysym: int) -> bool:
        return keysym in self._map

    def borrow(self, keysyms: Sequence[int]) -> None:
        """Put keysyms that the keyboard lacks on spare keycodes, in one batch.

        What was borrowed before is recycled when room is needed, so nothing typed with it may still be on its way. Raises
        ValueError for more keysyms than there are spare keycodes.
        """
        missing = [
            keysym for keysym in dict.fromkeys(keysyms) if keysym not in self._map and keysym not in self._borrowed
        ]
        if not missing:
            return
        wanted = {keysym for keysym in keysyms if keysym not in self._map}
        if len(wanted) > len(self._spare):
            raise ValueError(f"{len(wanted)} characters are not on the keyboard; {len(self._spare)} keycodes are spare")
        kept = {keysym: keycode for keysym, keycode in self._borrowed.items() if keysym in wanted}
        free = [keycode for keycode in self._spare if keycode not in kept.values()]
        for keysym, keycode in zip(missing, free, strict=False):
            # Both columns alike: with shift held it is still the same character.
            self._display.change_keyboard_mapping(keycode, [(keysym, keysym)])
            kept[keysym] = keycode
        self._borrowed = kept
        self._display.sync()
        time.sleep(REMAP_SECONDS)

    def keycode(self, keysym: int) -> tuple[int, bool]:
        """The keycode that makes this keysym, and whether shift must be held. Raises KeyError if it was not borrowed."""
        if keysym in self._map:
            return self._map[keysym]
        return self._borrowed[keysym], False

    def key(self, keycode: int, down: bool) -> None:
        """Queue one key event; `flush` sends what is queued."""
        xtest.fake_input(self._display, X.KeyPress if down else X.KeyRelease, keycode)

    def flush(self) -> None:
        """Send what is queued and wait until the server has it."""
        self._display.sync()

    def keys_down(self) -> tuple[int, ...]:
        bits = self._display.query_keymap()
        return tuple(index * 8 + bit for index, byte in enumerate(bits) for bit in range(8) if byte & (1 << bit))

    def caps_locked(self) -> bool:
        return bool(self._root.query_pointer().mask & X.LockMask)

    # ---- clipboard

    def own_clipboard(self, text: str) -> None:
        """Become the owner of the clipboard, confirmed by the server. `serve_clipboard` must be run for a reader to get it.

        Raises TemporaryError when another program keeps it.
        """
        self._clipboard = text.encode()
        selection = self._display.intern_atom("CLIPBOARD")
        self._window.set_selection_owner(selection, X.CurrentTime)
        self._display.sync()
        if self._display.get_selection_owner(selection) != self._window:
            raise TemporaryError("The clipboard of the display could not be taken over.")

    def serve_clipboard(self, seconds: float, quiet: float, check: Callable[[], None]) -> bool:
        """Answer requests for the clipboard until `quiet` seconds after the last one that got the text, or until the time is over;
        whether the text was read. `check` is called all the while."""
        utf8 = self._display.intern_atom("UTF8_STRING")
        targets = self._display.intern_atom("TARGETS")
        plain = self._display.intern_atom("text/plain;charset=utf-8")
        deadline = time.monotonic() + seconds
        served: float | None = None
        while time.monotonic() < deadline and (served is None or time.monotonic() < served + quiet):
            check()
            if not self._display.pending_events():
                select.select([self._display.fileno()], [], [], 0.02)
            while self._display.pending_events():
                request = self._display.next_event()
                if request.type != X.SelectionRequest:
                    continue
                # An old client may leave the property out; then it is the target's name.
                place = request.property or request.target
                if request.target == targets:
                    request.requestor.change_property(place, Xatom.ATOM, 32, [targets, utf8, plain])
                elif request.target in (utf8, plain):
                    request.requestor.change_property(place, request.target, 8, self._clipboard)
                    served = time.monotonic()
                else:
                    place = X.NONE
                request.requestor.send_event(
                    xevent.SelectionNotify(
                        time=request.time,
                        requestor=request.requestor,
                        selection=request.selection,
                        target=request.target,
                        property=place,
                    )
                )
                self._display.flush()
        return served is not None

    def leave_clipboard(self) -> None:
        """Give the clipboard up: nobody answers for it between two pastes, and a later ctrl+v must not wait for us."""
        self._clipboard = b""
        xrequest.SetSelectionOwner(
            display=self._display.display,
            window=X.NONE,
            selection=self._display.intern_atom("CLIPBOARD"),
            time=X.CurrentTime,
        )
        self._display.sync()
