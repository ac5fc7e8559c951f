"""The processes of one desktop: started tied to our life, stopped together, none left.

Three nets, each for what the one before misses: every program runs in a session of its own and its whole process group is
killed; the kernel kills it when we die without a word (exec_shim.py); and a last sweep kills whatever still carries the
desktop's mark in its environment, such as a program that was started in the moment an interrupt arrived.

The kernel's tie is to the *thread* that starts a process: start a desktop from the thread that will use it and that lives
at least as long, best the main thread.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SHIM = Path(__file__).with_name("exec_shim.py")
MARK = "FILEWRIGHT_DESKTOP"
TERMINATE_SECONDS = 2.0
SWEEP_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Process:
    name: str
    popen: subprocess.Popen[bytes]

    def exited(self) -> bool:
        """True once the program has ended. Does not reap it: its pid, and so its process group, stays ours until stop()."""
        try:
            return os.waitid(os.P_PID, self.popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True


class Processes:
    """`mark` must be unique to the desktop; it stands in the environment of everything that is started."""

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._started: list[Process] = []

    def start(
        self,
        name: str,
        argv: Sequence[str],
        environment: Mapping[str, str],
        *,
        pass_fds: Sequence[int] = (),
        log: Path | None = None,
        death_signal: signal.Signals = signal.SIGKILL,
    ) -> Process:
        """Start `argv` (absolute path first) with exactly this environment, and no terminal; its standard error goes to `log`.

        Raises OSError if the program cannot be run.
        """
        if not os.access(argv[0], os.X_OK):
            # The shim would fail where nobody sees it.
            raise FileNotFoundError(f"{argv[0]} cannot be executed")
        shim = [sys.executable, "-I", "-S", str(SHIM), str(os.getpid()), str(int(death_signal)), *argv]
        with open(log or os.devnull, "ab") as errors:
            popen = subprocess.Popen(
                shim,
                env={**environment, MARK: self._mark},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                pass_fds=tuple(pass_fds),
                start_new_session=True,
            )
        process = Process(name, popen)
        self._started.append(process)
        return process

    def ended(self) -> str | None:
        """The name of a process that has ended by itself, or None while all run."""
        return next((process.name for process in self._started if process.exited()), None)

    def stop(self) -> None:
        """Stop all, the last started first; returns when none is left. An interrupt on the way is raised after that."""
        interrupt: BaseException | None = None
        for process in reversed(self._started):
            try:
                self._stop(process)
            except BaseException as error:
                interrupt = interrupt or error
                _signal_group(process, signal.SIGKILL)
        self._started.clear()
        self._sweep()
        if interrupt is not None:
            raise interrupt

    def _stop(self, process: Process) -> None:
        if process.name == "Xvfb":
            # Killed outright it leaves its lock and its socket behind; told to, it takes them away.
            _signal_group(process, signal.SIGTERM)
            deadline = time.monotonic() + TERMINATE_SECONDS
            while not process.exited() and time.monotonic() < deadline:
                time.sleep(0.01)
        _signal_group(process, signal.SIGKILL)
        process.popen.wait()

    def _sweep(self) -> None:
        deadline = time.monotonic() + SWEEP_SECONDS
        while (left := marked(self._mark)) and time.monotonic() < deadline:
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            time.sleep(0.01)


def _signal_group(process: Process, number: signal.Signals) -> None:
    try:
        os.killpg(process.popen.pid, number)
    except (ProcessLookupError, PermissionError):
        return  # nobody of that group is left


def marked(mark: str) -> list[int]:
    """Pids of living processes (zombies have no environment) that carry this desktop's mark."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            environment = Path("/proc", entry, "environ").read_bytes()
        except OSError:  # ended meanwhile, or somebody else's
            continue
        if wanted in environment.split(b"\0"):
            found.append(int(entry))
    return found
