"""A supervisor under test, and services small enough to start in milliseconds."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from infra.places import ROOT, Home
from infra.service import Service
from infra.supervisor import ask, supervised


def eventually(condition: Callable[[], Any], seconds: float = 15.0, what: str = "") -> Any:
    """The condition's first true value; fails the test after `seconds`."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"not within {seconds} s: {what or condition}"
        time.sleep(0.05)
    return value


@dataclass
class Bench:
    """A supervisor under test."""

    home: Home
    process: subprocess.Popen[bytes]

    def apply(self, *services: Service, partly: bool = False) -> dict[str, list[str]]:
        answer = ask(self.home, {"do": "apply", "services": [item.to_json() for item in services], "partly": partly})
        return dict(answer["changed"])

    def service(self, name: str) -> dict[str, Any]:
        return dict(ask(self.home, {"do": "status"})["services"].get(name, {}))

    def wait(self, name: str, state: str = "well", seconds: float = 15.0) -> dict[str, Any]:
        eventually(lambda: self.service(name).get("state") == state, seconds, f"{name} is {state}")
        return self.service(name)

    def log(self, name: str) -> str:
        path = self.home.logs / f"{name}.log"
        return path.read_text() if path.exists() else ""

    def pid(self, name: str) -> int:
        """The newest process id that the service printed as `pid N`."""
        lines = eventually(
            lambda: [line for line in self.log(name).splitlines() if line.startswith("pid ")], what="a pid"
        )
        return int(lines[-1].split()[1])


def script(name: str, code: str, **options: Any) -> Service:
    """A service that runs a few lines of Python."""
    return Service(name, (sys.executable, "-I", "-S", "-u", "-c", code), **options)


def start_supervisor(home: Home) -> subprocess.Popen[bytes]:
    with (home.folder / "supervisor.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "infra.supervisor", "--home", str(home.folder)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    eventually(lambda: supervised(home) and (home.folder / "control.sock").exists(), what="the supervisor answers")
    return process
