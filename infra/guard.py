"""The guard of one service: a small process between the supervisor and the service, which outlives neither.

It makes sure that nothing that the service started survives it, at any depth and in any session:

- it is a *subreaper*: a grandchild whose parent died becomes its child instead of init's, so that the tree below it stays whole;
- it asks the kernel for SIGTERM when its parent (the supervisor) dies, and gives its child SIGKILL for its own death;
- when it is told to stop, it sends the service its stop signal, waits for the grace period and then kills what is left;
- when the service ends by itself, what it left behind is told to end (SIGTERM), then killed.

Run as a file, with nothing but the standard library and without site-packages (`python -I -S guard.py`): it starts in milliseconds and
stays small. It decides nothing about restarts; the supervisor does.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import signal
import sys
import time
from collections.abc import Sequence

# <linux/prctl.h>
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
# How long a service may take when the supervisor was killed: whoever did that wants it gone.
ABANDONED_SECONDS = 3.0
POLL_SECONDS = 0.05


def prctl(option: int, value: int) -> None:
    """Raises OSError where the kernel refuses."""
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(option, value, 0, 0, 0) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def become_subreaper() -> None:
    """From now on orphaned descendants of this process become its children."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(number: int) -> None:
    """Ask the kernel to send this process signal `number` when the *thread* that made it ends.

    Cleared by a change of user and by executing a set-user-ID program, so it comes after either.
    """
    prctl(PR_SET_PDEATHSIG, number)


def descendants(root: int) -> list[int]:
    """Process ids below `root`, parents before children, zombies left out; read from /proc."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as stat:
                # The command's name is in brackets and may hold anything, brackets too.
                state, parent = stat.read().rpartition(b")")[2].split()[:2]
        except (FileNotFoundError, ProcessLookupError):
            continue  # ended while we looked
        if state != b"Z":
            children.setdefault(int(parent), []).append(int(name))
    found: list[int] = []
    layer = [root]
    while layer:
        layer = [child for process in layer for child in children.get(process, ())]
        found.extend(layer)
    return found


def send(processes: Sequence[int], number: int) -> None:
    """Signal each process that still exists and belongs to us."""
    for process in processes:
        try:
            os.kill(process, number)
        except (ProcessLookupError, PermissionError):
            continue


class Guard:
    """Runs one command and answers for everything below it."""

    def __init__(self, command: Sequence[str], stop_signal: int, grace_seconds: float) -> None:
        self.command = list(command)
        self.stop_signal = stop_signal
        self.grace_seconds = grace_seconds
        self.stopping = False
        self.child = 0
        self.status: int | None = None

    def run(self, parent: int) -> int:
        """Exit code of the command, 128 + n where signal n ended it, 127 where it could not be started."""
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        die_with_parent(signal.SIGTERM)
        become_subreaper()
        if os.getppid() != parent:
            return 1  # the supervisor died before the kernel was told to tell us
        self._start()
        while self.status is None and not self.stopping:
            self._reap()
            time.sleep(POLL_SECONDS)
        if self.status is None:
            # A new parent means that the supervisor is gone: whoever killed it wants everything gone.
            abandoned = os.getppid() != parent
            self._stop_service(min(self.grace_seconds, ABANDONED_SECONDS) if abandoned else self.grace_seconds)
        else:
            self._clear(signal.SIGTERM, self.grace_seconds)
        self._clear(signal.SIGKILL, 5.0)
        return self.status if self.status is not None else 128 + signal.SIGKILL

    def _stop(self, *_: object) -> None:
        self.stopping = True

    def _start(self) -> None:
        guard = os.getpid()
        self.child = os.fork()
        if self.child:
            return
        try:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            # A session of its own: a signal to the guard's group does not reach the service.
            os.setsid()
            die_with_parent(signal.SIGKILL)
            if os.getppid() != guard:
                os._exit(1)
            os.execvp(self.command[0], self.command)
        except OSError as error:
            print(f"cannot start {self.command[0]}: {error}", file=sys.stderr, flush=True)
        os._exit(127)

    def _reap(self) -> None:
        while True:
            try:
                process, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if process == 0:
                return
            if process == self.child:
                code = os.waitstatus_to_exitcode(status)
                self.status = code if code >= 0 else 128 - code

    def _stop_service(self, seconds: float) -> None:
        send([self.child], self.stop_signal)
        deadline = time.monotonic() + seconds
        while self.status is None and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
            self._reap()
        # What the service left behind gets the rest of its time.
        self._clear(signal.SIGTERM, deadline - time.monotonic())

    def _clear(self, number: int, seconds: float) -> None:
        """Signal everything below until nothing is left or the time is up; a tree that forks meanwhile is looked at again."""
        deadline = time.monotonic() + seconds
        told: set[int] = set()
        while True:
            self._reap()
            left = descendants(os.getpid())
            if not left or time.monotonic() > deadline:
                return
            send([process for process in left if process not in told or number == signal.SIGKILL], number)
            told.update(left)
            time.sleep(POLL_SECONDS)


def main() -> int:
    parser = argparse.ArgumentParser(prog="guard")
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--stop-signal", type=int, default=int(signal.SIGTERM))
    parser.add_argument("--grace", type=float, default=10.0)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    return Guard(command, options.stop_signal, options.grace).run(options.parent)


if __name__ == "__main__":
    sys.exit(main())
