"""A real desktop that many tests share, on pages of our own. Imported by the conftest of each folder that needs it."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Iterator

import pytest

from tasks.desktop.options import DesktopOptions
from tasks.desktop.session import Desktop
from tasks.domain.actions import Box, Element, Point
from tasks.domain.steps import Call, StepResult, Turn
from tests.desktop.site import serving


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    with serving() as url:
        yield url


@pytest.fixture(scope="session")
def shared_desktop(site: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desktop]:
    with Desktop(DesktopOptions(folder=tmp_path_factory.mktemp("desktop")), url=f"{site}/receipt") as desktop:
        yield desktop


@pytest.fixture
def desktop(shared_desktop: Desktop) -> Iterator[Desktop]:
    """The shared desktop with nothing pressed and the pointer out of the way."""
    shared_desktop.input.release_all()
    shared_desktop.input.move(Point(1000, 700))
    yield shared_desktop


class Record:
    """A journal in memory that keeps what it was told, in order."""

    def __init__(self) -> None:
        self.rows: list[tuple[Call, StepResult | None]] = []
        self.pictures: dict[str, bytes] = {}

    def begin(self, call: Call) -> int:
        self.rows.append((call, None))
        return len(self.rows)

    def finish(self, step: int, result: StepResult) -> None:
        call, before = self.rows[step - 1]
        assert before is None, "a step is completed once"
        self.rows[step - 1] = (call, result)

    def turn(self, turn: Turn) -> None:
        raise AssertionError("a driver has no turns to record")

    def screenshot(self, png: bytes) -> str:
        name = hashlib.sha256(png).hexdigest()
        self.pictures[name] = png
        return name

    @property
    def last(self) -> tuple[Call, StepResult]:
        call, result = self.rows[-1]
        assert result is not None
        return call, result


def centre(box: Box) -> Point:
    return Point(box.x + box.width // 2, box.y + box.height // 2)


def named(desktop: Desktop, role: str, name: str) -> Element:
    found = next((e for e in desktop.tree().elements if e.role == role and e.name.startswith(name)), None)
    assert found is not None, f"no {role} {name!r} on the page"
    return found


def seen(desktop: Desktop) -> list[str]:
    """What the events page logged, without the time stamps of key events."""
    return [re.sub(r"^(key\w+ \".*\") \d+", r"\1", line) for line in seen_with_times(desktop)]


def seen_with_times(desktop: Desktop) -> list[str]:
    """The log when it has stopped growing: the tree follows the page by some milliseconds."""
    kinds = ("mouse", "click", "dblclick", "auxclick", "contextmenu", "key")
    before: list[str] | None = None
    while True:
        now = [line for line in desktop.tree().text if line.startswith(kinds)]
        if now == before:
            return now
        before = now
        time.sleep(0.1)


def eventually(condition: Callable[[], bool], seconds: float = 5.0) -> bool:
    """Whether the condition becomes true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
