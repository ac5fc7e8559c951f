"""What a measurement needs: a database server of its own, memory as the kernel counts it, quantiles, and a table for a person.

It decides how a time is summed up (median and 95 % quantile; where two ways are compared, both in one run, by turns) and never whether it
is good enough: a target that is missed is printed as missed.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TypeVar

from infra.postgres import EmbeddedPostgres, free_port, new_passwords, server_folder

T = TypeVar("T")


@dataclass(frozen=True)
class Times:
    """Milliseconds over `count` calls."""

    p50: float
    p95: float
    least: float
    count: int


def times(seconds: Sequence[float]) -> Times:
    """Sum up the durations of at least one call; a quantile is the smallest value that at least that share of the calls did not exceed."""
    ordered = sorted(seconds)

    def quantile(share: float) -> float:
        return 1000 * ordered[max(0, -(-int(share * 100) * len(ordered) // 100) - 1)]

    return Times(quantile(0.5), quantile(0.95), 1000 * ordered[0], len(ordered))


def clocked(work: Callable[[], T]) -> tuple[float, T]:
    """Seconds by the wall clock, and what `work` returned."""
    begun = time.perf_counter()
    value = work()
    return time.perf_counter() - begun, value


def memory(process: int | None = None) -> dict[str, float]:
    """MB of this or another process: `now` and `peak` resident, `own` without what it shares (files and Postgres' buffers).

    Zeros where the kernel does not say (no /proc, or somebody else's process).
    """
    try:
        text = Path(f"/proc/{process or 'self'}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        text = ""
    kilobytes = {
        line.partition(":")[0]: int(line.split()[1])
        for line in text.splitlines()
        if line.startswith(("VmRSS", "VmHWM", "RssAnon"))
    }
    return {
        "now": kilobytes.get("VmRSS", 0) / 1024,
        "peak": kilobytes.get("VmHWM", 0) / 1024,
        "own": kilobytes.get("RssAnon", 0) / 1024,
    }


def processor_ms(process: int) -> float:
    """Milliseconds that this process has had of a processor: what it costs itself, whatever else the machine does. 0 where unknown."""
    try:
        return int(Path(f"/proc/{process}/schedstat").read_text(encoding="ascii").split()[0]) / 1e6
    except (OSError, ValueError, IndexError):
        return 0.0


def descendants(process: int) -> list[int]:
    """The processes below this one, children's children included; empty where the kernel does not say."""
    found: list[int] = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            children = [int(each) for each in task.read_text(encoding="ascii").split()]
        except OSError:  # it ended meanwhile
            continue
        for child in children:
            found += [child, *descendants(child)]
    return found


@dataclass
class Peaks:
    """The most MB that were resident at once: of this process, and of all processes below it together."""

    own: float = 0.0
    below: float = 0.0


@contextmanager
def peaks(every: float = 0.05, leave_out: Collection[int] = ()) -> Iterator[Peaks]:
    """Look at the memory from time to time while the block runs; processes in `leave_out`, and those below them, do not count."""
    found, stop = Peaks(), threading.Event()

    def look() -> None:
        left_out = {each for root in leave_out for each in (root, *descendants(root))}
        found.own = max(found.own, memory()["now"])
        found.below = max(
            found.below, sum(memory(each)["now"] for each in descendants(os.getpid()) if each not in left_out)
        )

    def watch() -> None:
        while not stop.wait(every):
            look()

    watcher = threading.Thread(target=watch, name="memory", daemon=True)
    watcher.start()
    try:
        yield found
    finally:
        stop.set()
        watcher.join()
        look()


def say(line: str) -> None:
    """Progress goes to stderr, so that the output stays a table or JSON."""
    print(line, file=sys.stderr, flush=True)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as they must be, the first to the left, the others to the right."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]

    def line(row: Sequence[str]) -> str:
        return "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()

    return "\n".join([line(head), "  ".join("-" * width for width in widths), *(line(row) for row in rows)])


@dataclass(frozen=True)
class OwnPostgres:
    """A server of one measurement alone; `process` is the pid of its first process."""

    server: EmbeddedPostgres
    process: int

    def database(self, name: str) -> str:
        """Make and migrate a database of that name; returns the address for the filing worker's role."""
        from tasks.store.migrate import migrate

        self.server.provision(name)
        migrate(self.server.url("filewright_owner", name))
        return self.server.url("filewright_filing", name)


@contextmanager
def ended_properly() -> Iterator[None]:
    """SIGTERM ends the block like an exception while it runs, because what it left on the disk would be gigabytes.

    Only the main thread can say so to Python; in another one nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def own_postgres() -> Iterator[OwnPostgres]:
    """A server of this measurement alone, set as the product's, and gone afterwards.

    Raises PostgresUnavailable where there is no embedded server for this machine.
    """
    with ended_properly():
        yield from _own_postgres()


def _own_postgres() -> Iterator[OwnPostgres]:
    home = Path(tempfile.mkdtemp(prefix="filewright-bench-"))
    server = EmbeddedPostgres(server_folder(home), free_port(), new_passwords())
    process = None
    try:
        server.prepare()
        with (home / "postgres.log").open("wb") as log:
            process = subprocess.Popen(
                server.command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd="/",
                env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8"},
            )
        server.wait_until_ready()
        yield OwnPostgres(server, process.pid)
    finally:
        if process is not None:
            process.send_signal(signal.SIGINT)  # fast shutdown; SIGTERM would wait for every client to leave
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(server.folder, ignore_errors=True)
        shutil.rmtree(home, ignore_errors=True)
