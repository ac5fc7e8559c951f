"""The supervisor: one process that keeps the services running, and takes them with it when it goes.

What it does
- starts each service through a guard (infra/guard.py) once those before it are well, always from its main thread, because the kernel
  ties "die with your parent" to the thread;
- restarts what ends or stays unwell, after 1, 2, 4 … 30 seconds; a minute of health resets that;
- writes what it sees to services.json, and each service's output to logs/NAME.log;
- answers on a socket in the state folder (its own user only): `apply` sets the services that shall run, `status`, `stop`.

What it never does: read settings, choose ports, know what a service is for. Secrets reach it over the socket and stay in memory.

It holds a file lock for its whole life: whether a supervisor runs is asked of the kernel, never of a pid in a file. Standard library only.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import selectors
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from infra.guard import become_subreaper, descendants, send
from infra.places import Home
from infra.processes import MARK, children, identify
from infra.service import Service, differences, service_from_json, well

BACK_OFF = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
RESET_SECONDS = 60.0
TICK_SECONDS = 0.2
HEALTH_EVERY = 5.0
UNWELL_LIMIT = 6  # looks in a row, half a minute
LOG_BYTES = 10_000_000
GUARD = Path(__file__).with_name("guard.py")


@dataclass
class Watch:
    """Looks at one service's health in a thread of its own, because looking may take seconds."""

    health: str
    answer: str | None = None  # None: not looked at yet
    unwell: int = 0
    ended: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self) -> None:
        seen_well = False
        while not self.ended.wait(HEALTH_EVERY if seen_well else TICK_SECONDS):
            answer = well(self.health)
            seen_well = seen_well or answer == ""
            self.unwell = 0 if answer == "" else self.unwell + 1
            self.answer = answer


@dataclass
class Running:
    """One service and where it stands: waiting, starting, well, unwell, resting (before a restart), stopping, stopped."""

    service: Service
    state: str = "waiting"
    guard: subprocess.Popen[bytes] | None = None
    watch: Watch | None = None
    since: float = field(default_factory=time.monotonic)
    restarts: int = 0
    failures: int = 0
    rest_until: float = 0.0
    last: str = ""
    wanted: bool = True
    # Stops it once, to start again with this.
    successor: Service | None = None
    kill_at: float = 0.0

    def turn(self, state: str) -> None:
        if state != self.state:
            self.state, self.since = state, time.monotonic()


class Supervisor:
    """See the module. `run` returns when everything has stopped."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.running: dict[str, Running] = {}
        self.stopping = False
        self.farewells: list[socket.socket] = []
        self.written = ""

    # ---------------------------------------------------------------------------------------------- the loop

    def run(self, listener: socket.socket) -> None:
        wake, waker = socket.socketpair()
        for end in (wake, waker):
            end.setblocking(False)
        signal.set_wakeup_fd(waker.fileno())
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._asked_to_stop)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        become_subreaper()
        with selectors.DefaultSelector() as selector:
            selector.register(listener, selectors.EVENT_READ, "request")
            selector.register(wake, selectors.EVENT_READ, "signal")
            while not (self.stopping and all(item.guard is None for item in self.running.values())):
                for key, _ in selector.select(TICK_SECONDS):
                    if key.data == "request":
                        self._serve(listener)
                    else:
                        with contextlib.suppress(BlockingIOError):
                            wake.recv(4096)
                self.step()
        self.home.services.unlink(missing_ok=True)
        for connection in self.farewells:
            _answer(connection, {"stopped": True})

    def step(self) -> None:
        """One look at everything: who ended, who is to stop, who is to start."""
        self._reap()
        for item in list(self.running.values()):
            self._advance(item)
        self._write()

    def _asked_to_stop(self, *_: object) -> None:
        self.stopping = True

    def _advance(self, item: Running) -> None:
        now = time.monotonic()
        if self.stopping:
            item.wanted = False
        if item.state == "stopping":
            if now > item.kill_at and item.guard is not None:
                # The guard itself hangs: the tree below it goes first, then the guard.
                send([*descendants(item.guard.pid), item.guard.pid], signal.SIGKILL)
            return
        if item.guard is not None:
            if not item.wanted or item.successor is not None:
                if not item.wanted and not self._nobody_needs(item):
                    return
                self._stop(item)
                return
            self._judge(item, now)
            return
        if not item.wanted:
            item.turn("stopped")
            if not self.stopping:
                self.running.pop(item.service.name, None)
            return
        if item.successor is not None:
            item.service, item.successor, item.failures, item.rest_until = item.successor, None, 0, 0.0
        if now >= item.rest_until and all(self._is_well(name) for name in item.service.after):
            self._start(item)
        elif item.state not in {"resting", "waiting"}:
            item.turn("waiting")

    def _judge(self, item: Running, now: float) -> None:
        """Turn what the watch saw into a state, and end what stays unwell."""
        watch = item.watch
        assert watch is not None
        if watch.answer is None:
            pass
        elif watch.answer == "":
            item.turn("well")
            item.last = ""
            if now - item.since > RESET_SECONDS:
                item.failures = 0
        elif item.state != "starting":
            item.turn("unwell")
            item.last = watch.answer
        if item.state == "starting" and now - item.since > item.service.start_seconds:
            self._fail(
                item, f"not well {item.service.start_seconds:.0f} s after its start: {watch.answer or 'no answer yet'}"
            )
        elif item.state == "unwell" and watch.unwell >= UNWELL_LIMIT:
            self._fail(item, watch.answer or "unwell")

    # -------------------------------------------------------------------------------------- starting and ending

    def _start(self, item: Running) -> None:
        service = item.service
        path = self.home.logs / f"{service.name}.log"
        if path.exists() and path.stat().st_size > LOG_BYTES:
            path.replace(path.with_suffix(".log.1"))
        command = [
            *(sys.executable, "-I", "-S", str(GUARD), "--parent", str(os.getpid())),
            *("--stop-signal", str(service.stop_signal), "--grace", str(service.stop_seconds), "--", *service.command),
        ]
        with path.open("ab") as log:
            log.write(f"--- {time.strftime('%Y-%m-%d %H:%M:%S')} start of {service.name}\n".encode())
            log.flush()
            item.guard = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=service.folder,
                env={**service.environment, MARK: self.home.mark},
                start_new_session=True,
            )
        item.watch = Watch(service.health)
        item.watch.start()
        item.turn("starting")

    def _stop(self, item: Running) -> None:
        assert item.guard is not None and item.watch is not None
        item.watch.ended.set()
        item.guard.send_signal(signal.SIGTERM)
        # The guard uses up the grace period twice at the most, for the service and for what it left behind.
        item.kill_at = time.monotonic() + 2 * item.service.stop_seconds + 10
        item.turn("stopping")

    def _fail(self, item: Running, why: str) -> None:
        item.last = why
        self._log(f"{item.service.name}: {why}")
        self._stop(item)

    def _ended(self, item: Running, code: int) -> None:
        """The guard is gone, and so is everything below it."""
        by_itself = item.state != "stopping"
        if item.watch is not None:
            item.watch.ended.set()
        item.guard = item.watch = None
        if by_itself:
            item.last = f"ended with exit code {code}"
            self._log(f"{item.service.name}: {item.last}")
        if item.wanted and item.successor is None:
            item.rest_until = time.monotonic() + BACK_OFF[min(item.failures, len(BACK_OFF) - 1)]
            item.failures += 1
            item.restarts += 1
            item.turn("resting")
        else:
            item.turn("stopped")

    def _reap(self) -> None:
        """Collect ended guards, and end orphans: children that are no guard lost theirs to a SIGKILL."""
        for item in self.running.values():
            if item.guard is not None and (code := item.guard.poll()) is not None:
                self._ended(item, code)
        guards = {item.guard.pid for item in self.running.values() if item.guard is not None}
        for pid in set(children(os.getpid())) - guards:
            if os.waitpid(pid, os.WNOHANG)[0] == 0:
                send([*descendants(pid), pid], signal.SIGKILL)

    def _is_well(self, name: str) -> bool:
        return name not in self.running or self.running[name].state == "well"

    def _nobody_needs(self, item: Running) -> bool:
        """Services stop in the opposite order of their start."""
        return not any(
            other.guard is not None and item.service.name in other.service.after for other in self.running.values()
        )

    # ------------------------------------------------------------------------------------------------- requests

    def _serve(self, listener: socket.socket) -> None:
        connection, _ = listener.accept()
        # SO_PEERCRED: the socket's mode keeps others out already; root is welcome.
        _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        if user not in {0, os.geteuid()}:
            connection.close()
            return
        connection.settimeout(2)
        try:
            request = json.loads(_line(connection))
            if request.get("do") == "stop":
                self.stopping = True
                self.farewells.append(connection)
                return
            _answer(connection, self._do(request))
        except (OSError, ValueError, TypeError, KeyError) as error:
            self._log(f"a request could not be served: {error!r}")
            _answer(connection, {"error": repr(error)})

    def _do(self, request: Mapping[str, Any]) -> dict[str, Any]:
        if request["do"] == "apply":
            return self.apply(
                [service_from_json(value) for value in request["services"]], partly=bool(request.get("partly"))
            )
        if request["do"] == "status":
            return self.status()
        raise ValueError(f"unknown request {request['do']!r}")

    def apply(self, services: list[Service], *, partly: bool = False) -> dict[str, Any]:
        """Make these the services that run: new ones start, changed ones restart, others stop (unless `partly`)."""
        if self.stopping:
            raise ValueError("the supervisor is stopping")
        changed = {}
        for service in services:
            item = self.running.get(service.name)
            if item is None:
                self.running[service.name] = Running(service)
                changed[service.name] = ["new"]
                continue
            item.wanted = True
            different = differences(service, (item.successor or item.service).fingerprints())
            if different:
                item.successor = service
                changed[service.name] = different
        if not partly:
            names = {service.name for service in services}
            for name, item in self.running.items():
                if name not in names:
                    item.wanted = False
        self.step()
        return {"changed": changed}

    def status(self) -> dict[str, Any]:
        """What services.json holds: no secret, digests only."""
        now = time.monotonic()
        return {
            "supervisor": _identity(os.getpid()),
            "home": str(self.home.folder),
            "services": {
                name: {
                    "state": item.state,
                    "seconds": round(now - item.since),
                    "restarts": item.restarts,
                    "last": item.last,
                    "address": item.service.address,
                    "health": item.service.health,
                    "guard": None if item.guard is None else _identity(item.guard.pid),
                    "fingerprints": item.service.fingerprints(),
                    "settled": item.successor is None,
                }
                for name, item in self.running.items()
            },
        }

    def _write(self) -> None:
        status = self.status()
        for entry in status["services"].values():
            # The file is written when something changed, so a counting value has no place in it.
            del entry["seconds"]
        text = json.dumps(status, indent=1)
        if text == self.written:
            return
        draft = self.home.services.with_suffix(".draft")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        draft.replace(self.home.services)
        self.written = text

    def _log(self, line: str) -> None:
        print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}", flush=True)


def _identity(pid: int) -> dict[str, int | str] | None:
    identity = identify(pid)
    return None if identity is None else identity.to_json()


# -------------------------------------------------------------------------------------------- the socket, both ends


def _line(connection: socket.socket) -> bytes:
    received = b""
    while not received.endswith(b"\n"):
        part = connection.recv(65536)
        if not part:
            raise ValueError("the connection ended in the middle of a line")
        received += part
    return received


def _answer(connection: socket.socket, answer: Mapping[str, Any]) -> None:
    with connection, contextlib.suppress(OSError):
        # Whoever asked may be gone by now; that is their affair.
        connection.sendall(json.dumps(answer).encode() + b"\n")


@contextlib.contextmanager
def _socket_name(home: Home) -> Iterator[str]:
    """A name for the socket that fits into 107 bytes (unix(7)) however long the folder's path is."""
    descriptor = os.open(home.folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/control.sock"
    finally:
        os.close(descriptor)


class NotRunning(RuntimeError):
    """No supervisor answers for this state folder."""


def ask(home: Home, request: Mapping[str, Any], seconds: float = 10.0) -> dict[str, Any]:
    """Send one request to the supervisor of `home`. Raises NotRunning, or ValueError where it refuses."""
    try:
        with _socket_name(home) as name, socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(seconds)
            connection.connect(name)
            connection.sendall(json.dumps(request).encode() + b"\n")
            answer: dict[str, Any] = json.loads(_line(connection))
    except (FileNotFoundError, ConnectionError) as error:
        raise NotRunning(f"no supervisor answers in {home.folder}") from error
    if "error" in answer:
        raise ValueError(answer["error"])
    return answer


def _lock_file(home: Home) -> Path:
    return home.folder / "supervisor.lock"


def supervised(home: Home) -> bool:
    """Whether a supervisor of `home` is alive, as the kernel's file lock says."""
    try:
        with _lock_file(home).open("a") as handle:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True


def _take(handle: TextIO, seconds: float = 2.0) -> bool:
    """Take the lock for good. It is tried for a while, because whoever asks `supervised` holds it for a moment."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m infra.supervisor")
    parser.add_argument("--home", type=Path, required=True)
    home = Home(parser.parse_args().home.absolute())
    home.make()
    os.umask(0o077)
    # No folder of the user's is held by a process that stays.
    os.chdir("/")
    with _lock_file(home).open("a") as handle:
        if not _take(handle):
            print("another supervisor runs here already", file=sys.stderr)
            return 1
        with _socket_name(home) as name, socket.socket(socket.AF_UNIX) as listener:
            Path(name).unlink(missing_ok=True)
            listener.bind(name)
            listener.listen(8)
            Supervisor(home).run(listener)
            Path(name).unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
