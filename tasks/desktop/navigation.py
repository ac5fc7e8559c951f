"""Going to a page without a model and without a key: the URL is handed to the running Firefox over its session bus.

It is the call that a second `firefox URL` makes to the first one, so a page cannot intercept it, and the preference
`browser.link.open_newwindow.override.external` opens it in the tab that is there.
"""

from __future__ import annotations

import struct
from typing import Any

from jeepney import DBusAddress, DBusErrorResponse, Message, MessageType, new_method_call
from jeepney.io.blocking import DBusConnection, open_dbus_connection

from tasks.domain.errors import TemporaryError

REPLY_SECONDS = 5.0
FIREFOX_NAME = "org.mozilla."
FIREFOX_PATH = "/org/mozilla/firefox/Remote"
FIREFOX_INTERFACE = "org.mozilla.firefox"


class Remote:
    """The remote control of the one Firefox on a session bus. `ready` says whether it has announced itself."""

    def __init__(self, session_bus: str) -> None:
        try:
            self._connection: DBusConnection = open_dbus_connection(bus=session_bus)
        except (OSError, ValueError) as error:
            raise TemporaryError(f"The session bus of the desktop does not answer ({error!r}).") from error

    def close(self) -> None:
        self._connection.close()

    def owned(self, name: str) -> bool:
        """Whether some program has announced itself on the bus by this name. Never starts one."""
        return name in self._names()

    def ready(self) -> bool:
        return self._name() is not None

    def open(self, url: str) -> None:
        """Hand the URL over; returns at once. Raises TemporaryError if there is no Firefox that takes it."""
        name = self._name()
        if name is None:
            raise TemporaryError("The browser does not take URLs yet, or has ended: it is not on its session bus.")
        address = DBusAddress(FIREFOX_PATH, name, FIREFOX_INTERFACE)
        self._call(new_method_call(address, "OpenURL", "ay", (command_line("firefox", url),)))

    def _name(self) -> str | None:
        return next((name for name in self._names() if name.startswith(FIREFOX_NAME)), None)

    def _names(self) -> list[str]:
        bus = DBusAddress("/org/freedesktop/DBus", "org.freedesktop.DBus", "org.freedesktop.DBus")
        (names,) = self._call(new_method_call(bus, "ListNames"))
        return list(names)

    def _call(self, message: Message) -> tuple[Any, ...]:
        try:
            reply = self._connection.send_and_get_reply(message, timeout=REPLY_SECONDS)
        except (OSError, TimeoutError, DBusErrorResponse) as error:
            raise TemporaryError(f"The session bus of the desktop does not answer ({error!r}).") from error
        if reply.header.message_type == MessageType.error:
            raise TemporaryError(f"The browser refused a call on its session bus ({reply.body!r}).")
        body: tuple[Any, ...] = reply.body
        return body


def command_line(*arguments: str) -> bytes:
    """A command line as Firefox's remote service reads it: the number of arguments, the offset of each, the working folder, then
    the arguments (integers 32 bits little-endian, strings closed by a zero byte)."""
    folder = b"/\0"
    strings = [argument.encode() + b"\0" for argument in arguments]
    offsets: list[int] = []
    position = 4 + 4 * len(strings) + len(folder)
    for string in strings:
        offsets.append(position)
        position += len(string)
    return struct.pack(f"<i{len(strings)}i", len(strings), *offsets) + folder + b"".join(strings)


def same_page(one: str, other: str) -> bool:
    """True if two URLs differ at most in their fragment: going from one to the other loads nothing."""
    return one.partition("#")[0] == other.partition("#")[0]
