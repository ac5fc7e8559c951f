"""One at a time: who works on a document's spool, over threads and processes of one machine.

A file lock, because it ends with whoever held it, however that ended. Nothing but the spool needs it: what goes into Postgres is
locked there.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

POLL_SECONDS = 0.2
LOCK = ".lock"


@contextmanager
def turn(path: Path, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the lock file `path` (made where it is missing, removed afterwards); `waiting` is called once if somebody else has it.

    Waits as long as it takes: reading a long scan takes hours, and who holds the lock is alive. Raises OSError where the folder cannot be
    written to.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    told = False
    while (descriptor := _take(path)) is None:
        if not told:
            waiting()
            told = True
        time.sleep(POLL_SECONDS)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def remove_leftovers(folder: Path, *, older_than: float) -> tuple[str, ...]:
    """Remove what killed runs left below `folder`: subfolders that nobody works on and in which nothing changed for `older_than` seconds,
    and lock files that nobody holds.

    `<name>.lock` beside a subfolder is its lock. Returns the names of the subfolders that were removed.
    """
    removed = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        is_lock = path.name.endswith(LOCK)
        if not (is_lock or path.is_dir()) or time.time() - _changed(path) < older_than:
            continue
        lock = path if is_lock else path.with_name(f"{path.name}{LOCK}")
        descriptor = _take(lock)
        if descriptor is None:
            continue
        try:
            if not is_lock:
                shutil.rmtree(path, ignore_errors=True)
                removed.append(path.name)
        finally:
            lock.unlink(missing_ok=True)
            os.close(descriptor)
    return tuple(removed)


def _take(path: Path) -> int | None:
    """The descriptor of the locked file, or None where somebody else has it."""
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Whoever had it before may have removed the file between our opening and our lock: then others lock another file.
        held = os.path.samestat(os.fstat(descriptor), os.stat(path))
    except (BlockingIOError, FileNotFoundError):
        held = False
    except BaseException:
        os.close(descriptor)
        raise
    if held:
        return descriptor
    os.close(descriptor)
    return None


def _changed(root: Path) -> float:
    """When the file, or something in the folder, changed last; now for one that just went away."""
    times = []
    for path in (root, *root.rglob("*")):
        try:
            times.append(path.stat().st_mtime)
        except FileNotFoundError:
            times.append(time.time())  # somebody works on it
    return max(times)
