"""A desktop's life: what it needs, what it keeps to itself, and that nothing is left of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tasks.desktop.browser import find_browser, is_snap_stub
from tasks.desktop.computer_toolset import LOST, ComputerToolset
from tasks.desktop.options import DesktopOptions
from tasks.desktop.processes import MARK, Processes, marked
from tasks.desktop.session import Desktop
from tasks.domain.actions import Allow
from tasks.domain.errors import PermanentError, RunStopped, TemporaryError
from tests.contracts.computer_toolset import tool_use
from tests.desktop.fixtures import Record, eventually

ROOT = Path(__file__).parents[2]


def left(folder: Path) -> list[int]:
    """Living processes whose desktop's folder is below `folder`."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                environment = Path("/proc", entry, "environ").read_bytes()
            except OSError:
                continue
            if f"{MARK}={folder}".encode() in environment:
                found.append(int(entry))
    return found


@contextmanager
def lone(folder: Path, site: str, *more: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A desktop in a process of its own, and its display."""
    program = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("lone_desktop.py")), str(folder), f"{site}/receipt", *more],
        stdout=subprocess.PIPE,
        text=True,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "SECRET_KEY_OF_OURS": "s3cret"},
    )
    assert program.stdout is not None
    try:
        display = program.stdout.readline().strip()
        assert display.startswith(":")
        yield program, display
    finally:
        program.kill()
        program.wait()
        program.stdout.close()
        assert eventually(lambda: left(folder) == [], 10)


def socket_of(display: str) -> Path:
    return Path(f"/tmp/.X11-unix/X{display.removeprefix(':')}")


def test_it_ends_with_nothing_left(tmp_path: Path, site: str) -> None:
    with Desktop(DesktopOptions(folder=tmp_path), url=f"{site}/receipt") as desktop:
        display = desktop.display
        assert len(left(tmp_path)) > 5 and socket_of(display).exists()
        assert desktop.lost() is None
    assert left(tmp_path) == [] and list(tmp_path.iterdir()) == [] and not socket_of(display).exists()
    desktop.close()


def test_an_interrupt_in_the_middle_of_the_start_leaves_nothing(tmp_path: Path, site: str) -> None:
    started = time.monotonic()

    def check() -> None:
        if time.monotonic() - started > 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), Desktop(DesktopOptions(folder=tmp_path), url=f"{site}/slow", check=check):
        raise AssertionError("the start was to be interrupted")
    assert left(tmp_path) == [] and list(tmp_path.iterdir()) == []


def test_kill_minus_nine_leaves_no_process_and_no_socket_of_the_display(tmp_path: Path, site: str) -> None:
    with lone(tmp_path, site) as (program, display):
        assert len(left(tmp_path)) > 5
        program.send_signal(signal.SIGKILL)
        assert eventually(lambda: left(tmp_path) == [], 10)
        assert eventually(lambda: not socket_of(display).exists())


@pytest.mark.parametrize(("number", "more"), [(signal.SIGINT, []), (signal.SIGTERM, ["sigterm"])])
def test_a_signal_that_becomes_an_exception_leaves_nothing(
    tmp_path: Path, site: str, number: signal.Signals, more: list[str]
) -> None:
    with lone(tmp_path, site, *more) as (program, _):
        program.send_signal(number)
        program.wait(timeout=20)
        assert left(tmp_path) == [] and list(tmp_path.iterdir()) == []


def test_two_stand_side_by_side_and_nothing_of_ours_is_in_their_environment(
    desktop: Desktop, site: str, tmp_path: Path
) -> None:
    desktop.open(f"{site}/fields")
    with lone(tmp_path, site) as (_, display):
        assert display != desktop.display
        assert desktop.tree().title == "Fields"
        environments = []
        for pid in left(tmp_path):
            with suppress(OSError):
                environments.append(Path("/proc", str(pid), "environ").read_bytes())
        assert len(environments) > 5
        assert not any(b"s3cret" in one or b"PYTHONPATH" in one for one in environments)
    assert desktop.tree().title == "Fields"


def test_a_tree_that_is_absent_is_an_error_at_the_start(tmp_path: Path, site: str) -> None:
    browser = tmp_path / "firefox-without-a-tree"
    without = 'user_pref("accessibility.force_disabled", 1);'
    browser.write_text(f'#!/bin/sh\necho \'{without}\' >> "$2/user.js"\nexec {find_browser(None)} "$@"\n')
    browser.chmod(0o755)
    options = DesktopOptions(folder=tmp_path / "run", browser=browser, start_seconds=8)
    with (
        pytest.raises(TemporaryError, match="did not show a page in its accessibility tree"),
        Desktop(options, url=site),
    ):
        raise AssertionError("the start was to fail")
    assert left(tmp_path / "run") == []


def test_a_browser_that_ends_at_once_is_an_error_at_the_start(tmp_path: Path) -> None:
    browser = tmp_path / "firefox-that-ends"
    browser.write_text("#!/bin/sh\nexit 3\n")
    browser.chmod(0o755)
    options = DesktopOptions(folder=tmp_path / "run", browser=browser)
    with pytest.raises(TemporaryError, match="firefox has ended by itself"), Desktop(options):
        raise AssertionError("the start was to fail")
    assert left(tmp_path / "run") == []


def test_a_portal_that_does_not_answer_is_an_error_at_the_start(tmp_path: Path) -> None:
    options = DesktopOptions(folder=tmp_path)
    with pytest.raises(TemporaryError, match="nobody answers"), Desktop(options, url="http://127.0.0.1:9/"):
        raise AssertionError("the start was to fail")
    assert left(tmp_path) == []


def test_a_folder_with_a_long_name_works(tmp_path: Path, site: str) -> None:
    folder = tmp_path / ("a-long-name-" * 8)
    with Desktop(DesktopOptions(folder=folder), url=f"{site}/receipt") as desktop:
        sockets = desktop._sockets
        assert sockets is not None and sockets.exists() and desktop.tree().title == "Receipt"
    assert left(tmp_path) == [] and not sockets.exists()


def test_a_desktop_that_has_died_stops_the_run(tmp_path: Path, site: str) -> None:
    with Desktop(DesktopOptions(folder=tmp_path), url=f"{site}/receipt") as desktop:
        record = Record()
        toolset = ComputerToolset(
            desktop, decide=lambda *_: Allow(), origins=[site], journal=record, check=lambda: None
        )
        assert desktop._processes is not None
        firefox = next(process for process in desktop._processes._started if process.name == "firefox")
        os.kill(firefox.popen.pid, signal.SIGKILL)
        assert eventually(lambda: desktop.lost() == "firefox")
        with pytest.raises(RunStopped, match=LOST):
            toolset.tool_result(tool_use("toolu_1", "left_click", {"coordinate": [10, 10]}))
    assert left(tmp_path) == []


def test_a_process_that_was_started_unseen_is_swept(tmp_path: Path) -> None:
    processes = Processes(str(tmp_path))
    sleep = processes.start("sleep", ["/bin/sleep", "60"], {})
    processes._started.clear()  # as if an interrupt had come between the start and our note of it
    assert eventually(lambda: len(marked(str(tmp_path))) == 1)
    processes.stop()
    assert sleep.popen.wait(timeout=5) == -signal.SIGKILL
    assert marked(str(tmp_path)) == []


def test_a_shim_whose_parent_is_gone_starts_nothing(tmp_path: Path) -> None:
    shim = ROOT / "tasks" / "desktop" / "exec_shim.py"
    gone = subprocess.Popen(["/bin/true"])
    gone.wait()
    made = tmp_path / "made"
    result = subprocess.run(
        [sys.executable, "-I", "-S", str(shim), str(gone.pid), "9", "/usr/bin/touch", str(made)], capture_output=True
    )
    assert result.returncode != 0 and not made.exists()


def test_a_snap_stub_is_no_browser(tmp_path: Path) -> None:
    stub = tmp_path / "firefox"
    stub.write_text("#!/bin/sh\nif ! [ -x /snap/bin/firefox ]; then echo install the snap; exit 1; fi\n")
    stub.chmod(0o755)
    assert is_snap_stub(stub)
    with pytest.raises(PermanentError, match="only starts a snap"):
        find_browser(stub)


def test_a_browser_that_is_not_there_is_told_of(tmp_path: Path) -> None:
    with pytest.raises(PermanentError, match="does not exist"):
        find_browser(tmp_path / "nowhere")
    assert not is_snap_stub(find_browser(None))
