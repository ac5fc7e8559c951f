"""Which build of torch is installed. A CUDA build is several GB of which nothing here uses a byte.

In this order:
1. pip, where what it can see (an index, a folder of wheels in its configuration) holds a CPU build of the pinned version: pip knows of
   places that uv does not read;
2. uv, asked for CPU wheels (`--torch-backend cpu`), where their index can be reached;
3. what pip takes by default. On Linux x86_64 that is the CUDA build: the bootstrap says so and asks first.

Nothing is downloaded to find out: `pip index versions` and `uv pip install --dry-run` only read an index.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

SECONDS = 120


@dataclass(frozen=True)
class Choice:
    """How torch is installed: `means` is pip, uv or default; `note` says it to a person; `command` does it."""

    means: str
    note: str
    command: tuple[str, ...]

    @property
    def heavy(self) -> bool:
        return self.means == "default"


def cpu_build_in_pip(python: str, pin: str) -> str | None:
    """The CPU version that pip would take for `pin` ("torch==2.13.0"), such as "2.13.0+cpu", or None."""
    name, version = pin.split("==")
    tried = _tried([python, "-m", "pip", "index", "versions", "--disable-pip-version-check", name])
    if tried is None:
        return None
    match = re.search(r"Available versions: (.*)", tried)
    known = match[1].split(", ") if match else []
    return next((item for item in known if item == f"{version}+cpu"), None)


def uv_reaches_cpu_wheels(uv: str, python: str, pin: str) -> bool:
    """Whether uv, told to take CPU wheels, can resolve `pin` for this Python."""
    return _tried([*_uv(uv, python), "--dry-run", pin]) is not None


def choose(python: str, uv: str, pin: str) -> Choice:
    """Decide for the interpreter `python` of a new environment that holds `uv`."""
    version = cpu_build_in_pip(python, pin)
    if version is not None:
        command = (python, "-m", "pip", "install", "--no-input", "--no-deps", f"torch=={version}")
        return Choice("pip", f"torch {version}, found by pip", command)
    if uv_reaches_cpu_wheels(uv, python, pin):
        return Choice("uv", f"{pin.replace('==', ' ')}, CPU wheel found by uv", (*_uv(uv, python), pin))
    note = (
        f"no CPU build of {pin} can be reached from here, by pip or by uv. What pip takes instead is the default build: on Linux x86_64 "
        "that is the CUDA build with its libraries, a download of several GB"
    )
    # With its dependencies: the default build does not even import without its libraries.
    return Choice("default", note, (python, "-m", "pip", "install", "--no-input", pin))


def _uv(uv: str, python: str) -> list[str]:
    return [uv, "pip", "install", "--python", python, "--no-deps", "--torch-backend", "cpu"]


def _tried(command: list[str]) -> str | None:
    """The command's output, or None where it fails or takes too long. uv gives up after one try instead of four."""
    environment = {**os.environ, "UV_HTTP_RETRIES": "1"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=environment, cwd=Path("/"))
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
