"""The machine as a probe sees it: an environment, a way to run a program, and who we are. Tests hand in another PATH."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Tried:
    """What became of a program that was run: `code` is None where it could not be started or took too long."""

    code: int | None
    output: str
    errors: str = ""

    @property
    def worked(self) -> bool:
        return self.code == 0

    @property
    def last_line(self) -> str:
        lines = (self.output + "\n" + self.errors).strip().splitlines()
        return lines[-1].strip() if lines else ""


@dataclass(frozen=True)
class Host:
    """`environment` holds PATH and settings; `python` makes environments; `user` is the effective user id."""

    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    python: Path = Path(sys.executable)
    user: int = field(default_factory=os.geteuid)

    def which(self, program: str) -> str | None:
        """The program's path, with the folders of administration programs looked at too (a user's PATH may lack them)."""
        path = os.pathsep.join([self.environment.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
        return shutil.which(program, path=path)

    def run(self, command: Sequence[str], *, seconds: float = 60, extra: Mapping[str, str] | None = None) -> Tried:
        """Run a program to its end without a terminal; never raises for what the program does."""
        environment = {**self.environment, "LC_ALL": "C", **(extra or {})}
        try:
            done = subprocess.run(
                list(command),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=seconds,
                env=environment,
                cwd="/",
            )
        except subprocess.TimeoutExpired:
            return Tried(None, "", f"took longer than {seconds:.0f} s")
        except OSError as error:
            return Tried(None, "", str(error))
        return Tried(done.returncode, done.stdout, done.stderr)

    @property
    def unattended(self) -> bool:
        """Whether there is nobody to ask: root in a container, in CI, or without a terminal."""
        if self.user != 0:
            return False
        container = (
            Path("/.dockerenv").exists() or Path("/run/.containerenv").exists() or "container" in self.environment
        )
        return container or bool(self.environment.get("CI")) or not sys.stdin.isatty()
