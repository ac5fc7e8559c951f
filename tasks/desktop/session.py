"""A run's own desktop: display, window manager, message buses and browser, from start to nothing left.

    with Desktop(DesktopOptions(folder=run_folder), url="http://127.0.0.1:8000/") as desktop:
        desktop.input.click(Point(100, 200))
        desktop.settle()
        picture = desktop.capture()

Rules
- Use it in the thread that starts it, and start it in a thread that lives at least as long (best the main thread): the kernel ends
  the processes when that thread ends. A Prefect task that is called directly runs there; a submitted one does not.
- Nothing is shared: own display, home, profile, session bus, accessibility bus, process groups. Several stand side by side.
- Whatever happens (an exception, an interrupt, `kill -9` of this process) no process stays. All files are below the given folder and
  are removed at the end, except that a folder whose name is too long for a socket has its sockets in a temporary one.
- The processes' environment is made here, from nothing: no key, no database URL, no variable of ours gets in.
- No accessibility tree at the start is an error: a tree that is silently absent would blind the action policy.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import tempfile
import time
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from PIL import Image

from tasks.desktop.accessibility import Accessibility
from tasks.desktop.browser import SEARCH_PATH, command, find_browser, write_profile
from tasks.desktop.capture import Screen, png
from tasks.desktop.input import Input, nothing
from tasks.desktop.navigation import Remote, same_page
from tasks.desktop.options import DesktopOptions
from tasks.desktop.processes import Process, Processes
from tasks.desktop.settling import FIRST_SECONDS, Settled, settle
from tasks.desktop.tree import Tree, element_of
from tasks.desktop.x11 import X11
from tasks.domain.actions import Element, Point, Target
from tasks.domain.errors import PermanentError, TemporaryError

ACCESSIBILITY_LAUNCHERS = (
    "/usr/libexec/at-spi-bus-launcher",
    "/usr/lib/at-spi2-core/at-spi-bus-launcher",
    "/usr/lib/at-spi-bus-launcher",
)
ACCESSIBILITY_BUS = "org.a11y.Bus"
PACKAGES = "xvfb matchbox-window-manager firefox-esr at-spi2-core dbus"
# libdbus takes no longer name for a socket (the kernel's limit is 107); the longest one below the folder is the session bus's.
LONGEST_SOCKET = 99
LONGEST_SOCKET_NAME = "/dbus-0123456789"
POLL_SECONDS = 0.02
TREE_SECONDS = 3.0

Check = Callable[[], None]
Connection = TypeVar("Connection", Screen, X11, Accessibility, Remote)


class Desktop:
    """See the module. Entering raises PermanentError (a program is missing, a bad URL) or TemporaryError (it did not come up)."""

    def __init__(self, options: DesktopOptions, *, url: str = "about:blank", check: Check = nothing) -> None:
        """`check` is called while anything takes time; what it raises ends the wait, and the desktop if it is still starting."""
        self.options = options
        self._url = url
        self._check = check
        self._folder: Path | None = None
        self._sockets: Path | None = None
        self._processes: Processes | None = None
        self._closable: list[Screen | X11 | Accessibility | Remote] = []

    # ---- life

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop everything and remove the files. May be called twice."""
        try:
            try:
                while self._closable:
                    self._closable.pop().close()
            finally:
                if self._processes is not None:
                    self._processes.stop()
                    self._processes = None
        finally:
            for folder in (self._folder, self._sockets):
                if folder is not None:
                    shutil.rmtree(folder, ignore_errors=True)

    def lost(self) -> str | None:
        """The name of a program of this desktop that has ended by itself, or None while all is well."""
        return self._processes.ended() if self._processes is not None else "desktop"

    # ---- seeing

    def image(self) -> Image.Image:
        """The full screen at full resolution, with the pointer. Raises TemporaryError: blank, wrong size, display gone."""
        return self._screen.image()

    def capture(self) -> bytes:
        """The same as PNG bytes."""
        return png(self.image())

    def tree(self) -> Tree:
        """What is on the page now. Raises TemporaryError if there is no document for TREE_SECONDS."""
        deadline = time.monotonic() + TREE_SECONDS
        while True:
            tree = self._accessibility.read()
            if tree is not None:
                return tree
            if time.monotonic() >= deadline:
                raise TemporaryError(
                    "The browser shows no document: it is between two pages, or its accessibility tree is gone."
                )
            self._pause()

    def element_at(self, point: Point) -> Element | None:
        """What a click at a point of the screen would reach, as the browser says; None where there is nothing."""
        tree = self.tree()
        return element_of(tree, self.target_at(tree, point))

    def target_at(self, tree: Tree, point: Point) -> Target | None:
        """The same for the tree that was read last, with what it stands in: the document where nothing stands there, None where nobody
        can say."""
        return self._accessibility.target_at(tree, point)

    def address(self) -> str | None:
        """The address of the document in the window; None while there is none, as in the middle of a load."""
        document = self._accessibility.document()
        return document.url or None if document is not None else None

    def focused(self) -> Element | None:
        """What has the keyboard focus, by the tree."""
        return self.tree().focused()

    def pixels(self) -> bytes:
        """The screen's pixels as they are, to be given to `settle` after an action."""
        return self._screen.raw()

    # ---- doing

    def settle(
        self, before: bytes | None = None, *, check: Check | None = None, first: float = FIRST_SECONDS
    ) -> Settled:
        """Wait until an action has had its effect: the picture is quiet and the document is loaded.

        `before` is `pixels()` from ahead of the action. A page that takes longer than `load_seconds` is left loading.
        """
        check = check or self._check
        settled = settle(
            self._screen.raw, before if before is not None else self._screen.raw(), check=check, first=first
        )
        deadline = time.monotonic() + self.options.load_seconds
        loading = False
        while self._loading() and time.monotonic() < deadline:
            loading = True
            check()
            time.sleep(POLL_SECONDS)
        if loading:
            settled = settle(self._screen.raw, self._screen.raw(), check=check, first=FIRST_SECONDS)
            return Settled(changed=True, quiet=settled.quiet)
        return settled

    def open(self, url: str) -> None:
        """Go to a page, without a model, and wait until it is loaded and drawn.

        Raises PermanentError for a URL that is not http, https or about:blank, TemporaryError if nobody answers there or the page
        is not loaded within `load_seconds`.
        """
        _checked(url)
        before = self._accessibility.document()
        if before is not None and "#" in url and same_page(before.url, url):
            # Only the fragment differs: nothing would be loaded, and the tree would keep the old address.
            self._go("about:blank")
        self._go(url)
        self._landed(url)

    def _go(self, url: str) -> None:
        self._pause()
        before = self._accessibility.document()
        self._remote.open(url)
        deadline = time.monotonic() + self.options.load_seconds
        while time.monotonic() < deadline:
            now = self._accessibility.document()
            if now is not None and (before is None or now.reference != before.reference) and now.url and not now.busy:
                return
            self._pause()
        raise TemporaryError(
            f"{url} was not loaded within {self.options.load_seconds:g} s: its server is slow or does not answer. Try again, or check it."
        )

    def _landed(self, url: str) -> None:
        if url != "about:blank":
            self.settle()
            if self.tree().failed:
                raise TemporaryError(f"The browser cannot reach {url}: nobody answers there. Is the portal running?")

    def _loading(self) -> bool:
        document = self._accessibility.document()
        return document is None or document.busy

    def _pause(self) -> None:
        self._check()
        lost = self.lost()
        if lost is not None:
            raise TemporaryError(f"{lost} has ended by itself, so this desktop is lost. Start another one.")
        time.sleep(POLL_SECONDS)

    # ---- start

    def _start(self) -> None:
        _checked(self._url)
        browser = find_browser(self.options.browser)
        programs = {name: _program(name) for name in ("Xvfb", "matchbox-window-manager", "dbus-daemon")}
        launcher = _launcher()
        self._deadline = time.monotonic() + self.options.start_seconds

        self.options.folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder = Path(tempfile.mkdtemp(prefix="desktop-", dir=self.options.folder)).resolve()
        sockets = self._socket_folder(folder)
        for name in ("home", "tmp", "downloads"):
            (folder / name).mkdir()
        write_profile(folder / "profile", folder / "downloads")
        self._processes = processes = Processes(str(folder))

        environment = {
            "PATH": SEARCH_PATH,
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder / "tmp"),
            "XDG_RUNTIME_DIR": str(sockets),
            "LANG": "C.UTF-8",
            "NO_AT_BRIDGE": "0",
        }
        log = folder / "start.log"
        number = self._announced(
            lambda fd: processes.start(
                "Xvfb",
                [
                    programs["Xvfb"], "-displayfd", str(fd), "-screen", "0", f"{self.options.width}x{self.options.height}x24",
                    "-nolisten", "tcp", "-noreset", "-dpi", "96",
                ],
                environment,
                pass_fds=[fd],
                log=log,
                death_signal=signal.SIGTERM,  # killed outright it would leave its lock file and socket behind
            ),
            log,
        )  # fmt: skip
        environment["DISPLAY"] = self.display = f":{number}"
        address = self._announced(
            lambda fd: processes.start(
                "dbus-daemon",
                [
                    programs["dbus-daemon"],
                    "--session",
                    "--nofork",
                    f"--print-address={fd}",
                    f"--address=unix:dir={sockets}",
                ],
                environment,
                pass_fds=[fd],
                log=log,
            ),
            log,
        )
        environment["DBUS_SESSION_BUS_ADDRESS"] = address
        processes.start(
            "at-spi-bus-launcher",
            [launcher, "--launch-immediately", "--a11y=1"],
            environment,
            log=log,
            death_signal=signal.SIGTERM,  # told to, it ends the bus that it started; killed outright it would leave it
        )
        processes.start(
            "matchbox-window-manager",
            [programs["matchbox-window-manager"], "-use_titlebar", "no"],
            environment,
            log=log,
        )
        self._remote = self._keep(Remote(address))
        # Asked for before it is there, the bus would start a second launcher by itself, and ours would give way to it.
        self._until(lambda: self._remote.owned(ACCESSIBILITY_BUS), "the accessibility bus did not start")
        self._x11 = self._keep(X11(self.display))
        self.input = Input(self._x11)
        self._screen = self._keep(Screen(self.display, self.options.width, self.options.height))
        processes.start(
            "firefox",
            command(browser, folder / "profile", self._url),
            {
                **environment,
                "GNOME_ACCESSIBILITY": "1",
                # An inherited Wayland session would open the browser on a person's own screen.
                "GDK_BACKEND": "x11",
                "MOZ_ENABLE_WAYLAND": "0",
                "MOZ_DBUS_REMOTE": "1",
                "MOZ_CRASHREPORTER_DISABLE": "1",
                "MOZ_DISABLE_AUTO_SAFE_MODE": "1",
            },
        )
        self._accessibility = self._keep(Accessibility(address))
        self._until(self._shows_page, "the browser did not show a page in its accessibility tree")
        self._landed(self._url)

    def _shows_page(self) -> bool:
        document = self._accessibility.document()
        if document is None or document.busy or not self._remote.ready():
            return False
        # The window starts with about:blank and goes on to the page.
        return bool(document.url) and (document.url != "about:blank" or self._url == "about:blank")

    def _until(self, condition: Callable[[], bool], failure: str) -> None:
        while not condition():
            if time.monotonic() >= self._deadline:
                raise TemporaryError(
                    f"The desktop did not come up within {self.options.start_seconds:g} s: {failure}. The machine may be overloaded; "
                    "if it happens again, start the browser by hand and see whether it works."
                )
            self._pause()

    def _announced(self, start: Callable[[int], Process], log: Path) -> str:
        """Start a program that writes one line to a file descriptor when it is ready; returns that line."""
        read, write = os.pipe()
        line = b""
        try:
            try:
                process = start(write)
            finally:
                os.close(write)
            while not line.endswith(b"\n"):
                if select.select([read], [], [], POLL_SECONDS)[0]:
                    more = os.read(read, 4096)
                    if not more:
                        break
                    line += more
                elif time.monotonic() >= self._deadline:
                    break
                else:
                    self._check()
        finally:
            os.close(read)
        if not line.strip():
            said = log.read_text(errors="replace")[-400:].strip() or "it said nothing"
            raise TemporaryError(
                f"{process.name} did not start ({said}). Try again; if it stays so, check the packages {PACKAGES}."
            )
        return line.decode().strip()

    def _socket_folder(self, folder: Path) -> Path:
        if len(os.fsencode(folder / "run")) + len(LONGEST_SOCKET_NAME) > LONGEST_SOCKET:
            self._sockets = sockets = Path(tempfile.mkdtemp(prefix="filewright-"))
            return sockets
        (folder / "run").mkdir(mode=0o700)
        return folder / "run"

    def _keep(self, connection: Connection) -> Connection:
        self._closable.append(connection)
        return connection


def _checked(url: str) -> None:
    if url != "about:blank" and urllib.parse.urlsplit(url).scheme not in ("http", "https"):
        raise PermanentError(f"The desktop opens only http and https pages, not {url!r}.")


def _program(name: str) -> str:
    found = shutil.which(name, path=SEARCH_PATH)
    if found is None:
        raise PermanentError(
            f"{name} is not installed, and no desktop can start without it. Install the packages {PACKAGES}."
        )
    return found


def _launcher() -> str:
    for path in ACCESSIBILITY_LAUNCHERS:
        if os.access(path, os.X_OK):
            return path
    raise PermanentError(
        "at-spi-bus-launcher is not installed: without it there is no accessibility tree, and what is under the pointer cannot be "
        f"known. Install the packages {PACKAGES}."
    )
