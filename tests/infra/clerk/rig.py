"""The tests' own desktop: Xvfb, a window manager, Firefox in kiosk mode, input through XTEST. And the loop that serves the clerk.

Kept apart from the project's desktop so that the clerk is tested alone, against the toolset's documented behaviour: a batch of
calls runs in order, stops at the first failure, and only a screenshot answers with a picture.
"""

from __future__ import annotations

import base64
import io
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import mss
from PIL import Image
from Xlib import XK, X, display
from Xlib.ext import xtest

from infra.offline_model.clerk import respond

TOOLS = [
    {"type": "computer_toolset_20260801"},
    {"name": "search_regulations", "description": "Searches the regulations.", "input_schema": {"type": "object"}},
]
HALTED = "Not executed: an earlier computer action in this turn failed."

_PREFERENCES = {
    "browser.aboutwelcome.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.homepage_override.mstone": "ignore",
    "browser.tabs.warnOnClose": False,
    "browser.formfill.enable": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "datareporting.policy.dataSubmissionPolicyBypassNotification": True,
    "termsofuse.bypassNotification": True,
    "toolkit.telemetry.enabled": False,
    "toolkit.cosmeticAnimations.enabled": False,
    "general.smoothScroll": False,
    "layout.spellcheckDefault": 0,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "signon.rememberSignons": False,
    "ui.caretBlinkTime": 0,
    "ui.prefersReducedMotion": 1,
}
_NAMED = {
    "return": "Return",
    "enter": "Return",
    "tab": "Tab",
    "escape": "Escape",
    "ctrl": "Control_L",
    "home": "Home",
    "end": "End",
}


class Rig:
    """Executes toolset calls on one display; coordinates are screen pixels."""

    def __init__(self, name: str, width: int, height: int) -> None:
        self.width, self.height = width, height
        self._display = display.Display(name)
        self._grab = mss.MSS(display=name)

    def close(self) -> None:
        self._grab.close()
        self._display.close()

    def picture(self) -> bytes:
        raw = self._grab.grab({"left": 0, "top": 0, "width": self.width, "height": self.height})
        buffer = io.BytesIO()
        Image.frombytes("RGB", raw.size, raw.rgb).save(buffer, "PNG", compress_level=1)
        return buffer.getvalue()

    def settled(self, limit: float = 3.0) -> bytes:
        """The screen once nothing has changed for 0.25 s."""
        until = time.monotonic() + limit
        last, since = self.picture(), time.monotonic()
        while time.monotonic() < until and time.monotonic() - since < 0.25:
            time.sleep(0.05)
            now = self.picture()
            if now != last:
                last, since = now, time.monotonic()
        return last

    def run(self, name: str, arguments: dict[str, Any]) -> None:
        if "coordinate" in arguments:
            x, y = arguments["coordinate"]
            assert 0 <= x < self.width and 0 <= y < self.height
            self._display.screen().root.warp_pointer(x, y)
            self._display.sync()
        if name == "left_click":
            self._button(1)
        elif name == "scroll":
            for _ in range(arguments["scroll_amount"]):
                self._button({"up": 4, "down": 5}[arguments["scroll_direction"]])
        elif name == "type":
            for character in arguments["text"]:
                self._key(character)
        elif name == "key":
            self._combination(arguments["text"])
        elif name == "wait":
            time.sleep(arguments["duration"])
        else:
            raise AssertionError(f"the rig has no member {name}")
        self._display.sync()
        time.sleep(0.12)

    def _button(self, number: int) -> None:
        xtest.fake_input(self._display, X.ButtonPress, number)
        xtest.fake_input(self._display, X.ButtonRelease, number)

    def _key(self, character: str) -> None:
        names = {" ": "space", "\n": "Return"}
        keysym = XK.string_to_keysym(names.get(character, character)) or ord(character)
        keycode = self._display.keysym_to_keycode(keysym)
        assert keycode, f"no key for {character!r}"
        shifted = self._display.keycode_to_keysym(keycode, 0) != keysym
        shift = self._display.keysym_to_keycode(XK.string_to_keysym("Shift_L"))
        if shifted:
            xtest.fake_input(self._display, X.KeyPress, shift)
        xtest.fake_input(self._display, X.KeyPress, keycode)
        xtest.fake_input(self._display, X.KeyRelease, keycode)
        if shifted:
            xtest.fake_input(self._display, X.KeyRelease, shift)
        self._display.sync()
        time.sleep(0.002)

    def _combination(self, text: str) -> None:
        codes = [
            self._display.keysym_to_keycode(XK.string_to_keysym(_NAMED.get(part.lower(), part)))
            for part in text.split("+")
        ]
        for code in codes:
            xtest.fake_input(self._display, X.KeyPress, code)
        for code in reversed(codes):
            xtest.fake_input(self._display, X.KeyRelease, code)


@contextmanager
def browser(url: str, folder: Path, width: int = 1024, height: int = 768) -> Iterator[Rig]:
    """Firefox on its own display showing `url`; everything it started is gone afterwards."""
    read_end, write_end = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write_end), "-screen", "0", f"{width}x{height}x24", "-nolisten", "tcp"],
        pass_fds=(write_end,), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    os.close(write_end)
    processes = [server]
    try:
        with os.fdopen(read_end) as pipe:
            name = f":{pipe.readline().strip()}"
        profile = folder / "profile"
        profile.mkdir(parents=True)
        lines = (f'user_pref("{key}", {str(value).lower() if isinstance(value, bool) else repr(value).replace(chr(39), chr(34))});'
                 for key, value in _PREFERENCES.items())  # fmt: skip
        (profile / "user.js").write_text("\n".join(lines))
        environment = {
            "PATH": os.environ["PATH"], "HOME": str(folder), "DISPLAY": name, "LANG": "C.UTF-8", "GDK_BACKEND": "x11",
            "MOZ_ENABLE_WAYLAND": "0", "NO_AT_BRIDGE": "1", "DBUS_SESSION_BUS_ADDRESS": "disabled:",
        }  # fmt: skip
        for command in (
            ["matchbox-window-manager", "-use_titlebar", "no"],
            ["firefox-esr", "--no-remote", "--profile", str(profile), "--kiosk", url],
        ):
            processes.append(
                subprocess.Popen(
                    command,
                    env=environment,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            )
        rig = Rig(name, width, height)
        try:
            _wait_for_page(rig)
            yield rig
        finally:
            rig.close()
    finally:
        for process in reversed(processes):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            process.wait(10)


def _wait_for_page(rig: Rig) -> None:
    until = time.monotonic() + 40
    while time.monotonic() < until:
        with Image.open(io.BytesIO(rig.settled())) as picture:
            if len(picture.convert("L").getcolors(256) or ()) > 60:
                return
        time.sleep(0.3)
    raise AssertionError("Firefox showed no page in 40 s")


def serve(
    rig: Rig, search: Callable[[str], list[dict[str, Any]]], task: str, *, folder: Path, turns: int = 40
) -> tuple[str, list[dict[str, Any]]]:
    """Let the clerk work until it ends its turn; returns its last words and the whole conversation.

    Prints each turn and keeps each screenshot in `folder`, to see afterwards what it saw.
    """
    messages: list[dict[str, Any]] = [{"role": "user", "content": task}]
    for turn in range(1, turns + 1):
        started = time.monotonic()
        blocks = respond("", messages, TOOLS, (rig.width, rig.height))
        for number, block in enumerate(block for block in blocks if block["type"] == "tool_use"):
            block["id"] = f"toolu_{turn}_{number}"
        spoken = " ".join(block["text"] for block in blocks if block["type"] == "text")
        calls = [(block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"]
        print(f"{turn:2} {time.monotonic() - started:4.1f}s {spoken} {calls}")
        messages.append({"role": "assistant", "content": blocks})
        if not calls:
            return spoken, messages
        results = execute(rig, search, blocks)
        for result in results:
            for part in result["content"]:
                if part["type"] == "image":
                    (folder / f"turn-{turn:02}.png").write_bytes(base64.b64decode(part["source"]["data"]))
        messages.append({"role": "user", "content": results})
    raise AssertionError(f"the clerk did not end its turn in {turns} turns")


def execute(
    rig: Rig, search: Callable[[str], list[dict[str, Any]]], blocks: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The results of one turn's calls, as the toolset words them."""
    results: list[dict[str, Any]] = []
    for block in blocks:
        if block["type"] != "tool_use":
            continue
        result: dict[str, Any] = {"type": "tool_result", "tool_use_id": block["id"]}
        if block.get("toolset_name") != "computer":
            result["content"] = search(block["input"]["query"])
        elif block["name"] == "screenshot":
            result |= {"toolset_name": "computer", "content": [image(rig.settled())]}
        else:
            rig.run(block["name"], block["input"])
            result |= {"toolset_name": "computer", "content": [{"type": "text", "text": "Done."}]}
        results.append(result)
    return results


def image(png: bytes) -> dict[str, Any]:
    data = base64.b64encode(png).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
