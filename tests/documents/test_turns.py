"""One at a time over threads and processes, and leftovers that nobody works on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tasks.documents.turns import remove_leftovers, turn
from tests.conftest import REPOSITORY

HOLD = """
import sys, time
from pathlib import Path
from tasks.documents.turns import turn
with turn(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_many_threads_are_never_in_at_once_and_all_get_in(tmp_path: Path) -> None:
    inside, most, done = 0, 0, 0

    def work() -> None:
        nonlocal inside, most, done
        with turn(tmp_path / "locks" / "a.lock"):
            inside += 1
            most = max(most, inside)
            time.sleep(0.01)
            inside -= 1
            done += 1

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most, done) == (1, 6)
    assert list((tmp_path / "locks").iterdir()) == []


def test_whoever_waits_is_told_once_and_two_locks_do_not_wait_for_each_other(tmp_path: Path) -> None:
    told: list[str] = []
    entered = threading.Event()

    def second() -> None:
        with turn(tmp_path / "a.lock", lambda: told.append("waiting")):
            entered.set()

    thread = threading.Thread(target=second)
    with turn(tmp_path / "a.lock"), turn(tmp_path / "b.lock"):
        thread.start()
        assert not entered.wait(0.7)
    thread.join()
    assert entered.is_set() and told == ["waiting"]


def test_an_error_inside_gives_the_turn_to_the_next(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="inside"), turn(tmp_path / "a.lock"):
        raise ValueError("inside")
    with turn(tmp_path / "a.lock", lambda: pytest.fail("nobody has it")):
        pass


def test_a_process_that_is_killed_gives_its_turn_away(tmp_path: Path) -> None:
    lock = tmp_path / "a.lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(lock)],
        stdout=subprocess.PIPE,
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )
    try:
        assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
        waited: list[bool] = []

        def end_it() -> None:
            waited.append(True)
            holder.send_signal(signal.SIGKILL)

        with turn(lock, end_it):
            assert waited == [True]
    finally:
        holder.kill()
        holder.wait()
        if holder.stdout is not None:
            holder.stdout.close()


def test_only_old_leftovers_that_nobody_works_on_are_removed(tmp_path: Path) -> None:
    old = time.time() - 100
    for name in ("old", "held", "new", "written-to"):
        (tmp_path / name / "deep").mkdir(parents=True)
        (tmp_path / name / "deep" / "batch").write_text("pages")
        if name != "new":
            for path in (tmp_path / name / "deep" / "batch", tmp_path / name / "deep", tmp_path / name):
                os.utime(path, (old, old))
    (tmp_path / "written-to" / "deep" / "batch").write_text("more")
    (tmp_path / "a file").write_text("stays")
    for name in ("dead.lock", "young.lock"):
        (tmp_path / name).touch()
    os.utime(tmp_path / "dead.lock", (old, old))
    with turn(tmp_path / "held.lock"):
        assert remove_leftovers(tmp_path, older_than=50) == ("old",)
    assert {path.name for path in tmp_path.iterdir()} == {"held", "new", "written-to", "a file", "young.lock"}
    assert remove_leftovers(tmp_path / "missing", older_than=0) == ()
