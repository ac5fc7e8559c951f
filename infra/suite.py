"""`python3 -m infra test`: linters, types, import rules and the whole test suite, with no key in reach.

pytest runs last and its closing line is the last line printed. Every check runs even if one before it failed.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

from infra.allowed import suite_environment
from infra.environment import Environment
from infra.places import ROOT


def checks(environment: Environment, pytest_arguments: Sequence[str] = ()) -> list[tuple[str, list[str]]]:
    """Name and command of each check, pytest last."""
    python = str(environment.python)
    tools = environment.binaries
    return [
        ("ruff", [str(tools / "ruff"), "check", "."]),
        ("format", [str(tools / "ruff"), "format", "--check", "--quiet", "."]),
        ("mypy", [python, "-m", "mypy"]),
        ("import-linter", [str(tools / "lint-imports")]),
        ("pytest", [python, "-m", "pytest", "-q", "--durations=10", *pytest_arguments]),
    ]


def run_suite(environment: Environment, surroundings: Mapping[str, str], pytest_arguments: Sequence[str] = ()) -> int:
    """0 if every check passed, else 1; a failure before pytest is named again at the very end."""
    variables = suite_environment(environment, surroundings)
    failed = []
    for name, command in checks(environment, pytest_arguments):
        started = time.monotonic()
        print(f"== {name}", flush=True)
        code = _run(command, variables)
        if code != 0:
            failed.append(name)
        if name != "pytest":
            result = f"failed with exit code {code}" if code else "passed"
            print(f"== {name} {result} in {time.monotonic() - started:.0f} s", flush=True)
    if failed and failed != ["pytest"]:
        print(f"failed: {', '.join(failed)}", flush=True)
    return 1 if failed else 0


def _run(command: Sequence[str], variables: Mapping[str, str]) -> int:
    """Run one check to its end; told to stop (SIGTERM, Ctrl-C), it stops the check too and gives it time to clean up after itself."""
    # A shell starts background commands deaf to SIGINT, and children inherit that; a handler of ours makes it the default again.
    deaf = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(command, cwd=ROOT, env=dict(variables))
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        return process.wait()
    finally:
        signal.signal(signal.SIGTERM, before)
        signal.signal(signal.SIGINT, deaf)
        if process.poll() is None:
            # As Ctrl-C does: pytest ends its fixtures, and with them every browser and database.
            process.send_signal(signal.SIGINT)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
