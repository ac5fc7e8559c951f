"""Processes by identity, not by number: a pid alone may belong to a stranger by now.

A process is known by its pid and its start time in kernel ticks since boot, together with the boot's id; what an installation started
is also known by a mark in its environment. Nothing is ever signalled on the strength of its pid.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from infra.guard import descendants, send

# In the environment of every process of an installation; the value is Home.mark.
MARK = "FILEWRIGHT_SERVICES_OF"


@dataclass(frozen=True)
class Identity:
    """One process for all time: `boot` tells the starts of the machine apart."""

    pid: int
    started: int
    boot: str

    def alive(self) -> bool:
        """Whether exactly this process still runs (a zombie does not)."""
        return self.boot == boot_id() and start_time(self.pid) == self.started

    def to_json(self) -> dict[str, int | str]:
        return {"pid": self.pid, "started": self.started, "boot": self.boot}


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def start_time(pid: int) -> int | None:
    """Field 22 of /proc/PID/stat (proc(5)), in ticks since boot; None for a process that is gone or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] == b"Z" else int(fields[19])


def identify(pid: int) -> Identity | None:
    """The identity of a running process, or None."""
    started = start_time(pid)
    return None if started is None else Identity(pid, started, boot_id())


def from_json(value: object) -> Identity | None:
    """Read back what `to_json` wrote; None for anything else."""
    if not isinstance(value, dict):
        return None
    pid, started, boot = value.get("pid"), value.get("started"), value.get("boot")
    if isinstance(pid, int) and isinstance(started, int) and isinstance(boot, str):
        return Identity(pid, started, boot)
    return None


def children(pid: int) -> list[int]:
    """Process ids of the direct children, zombies included."""
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]
    except FileNotFoundError:
        # A kernel without CONFIG_PROC_CHILDREN: every process is asked for its parent.
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and _parent(int(name)) == pid]


def marked(mark: str) -> list[Identity]:
    """Every process that carries `mark` and that we may look at, this process and its parents excepted."""
    wanted = f"{MARK}={mark}".encode()
    spared = _ancestry()
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) in spared:
            continue
        try:
            variables = Path(f"/proc/{name}/environ").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue  # ended while we looked, or another user's
        if wanted in variables and (identity := identify(int(name))) is not None:
            found.append(identity)
    return found


def end(processes: Iterable[Identity], seconds: float = 5.0) -> list[Identity]:
    """Ask these processes and all below them to end, kill what is left after `seconds`; returns what even then remains."""
    known: dict[int, Identity] = {}
    for identity in processes:
        if identity.alive():
            known[identity.pid] = identity
            for pid in descendants(identity.pid):
                below = identify(pid)
                if below is not None:
                    known[pid] = below
    _signal(known.values(), signal.SIGTERM)
    if _gone(known.values(), seconds):
        return []
    _signal(known.values(), signal.SIGKILL)
    _gone(known.values(), 5.0)
    return [identity for identity in known.values() if identity.alive()]


def _ancestry() -> set[int]:
    spared, pid = set(), os.getpid()
    while pid > 0 and pid not in spared:
        spared.add(pid)
        pid = _parent(pid)
    return spared


def _parent(pid: int) -> int:
    """The parent's process id (field 4 of /proc/PID/stat); 0 for a process that is gone."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def _signal(processes: Iterable[Identity], number: int) -> None:
    send([identity.pid for identity in processes if identity.alive()], number)


def _gone(processes: Iterable[Identity], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while any(identity.alive() for identity in processes):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
