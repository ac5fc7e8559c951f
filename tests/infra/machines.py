"""Machines to probe: a PATH of small scripts, each of which writes down how it was called."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from infra.host import Host


@dataclass
class Machine:
    """A folder of programs, and the record of their calls."""

    folder: Path

    @property
    def programs(self) -> Path:
        return self.folder / "bin"

    def program(self, name: str, script: str = "exit 0", path: Path | None = None) -> Path:
        """A shell script; its first act is to note its name and arguments."""
        file = path or self.programs / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'#!/bin/sh\necho "{name} $*" >> {self.folder}/calls\n{script}\n')
        file.chmod(0o755)
        return file

    def calls(self) -> list[str]:
        record = self.folder / "calls"
        return record.read_text().splitlines() if record.exists() else []

    def host(self, *, user: int = 1000, python: Path | None = None, **environment: str) -> Host:
        """As this machine shows itself; `user` 0 is root."""
        self.programs.mkdir(exist_ok=True)
        found = {"PATH": f"{self.programs}", "HOME": str(self.folder), **environment}
        return Host(environment=found, python=python or Path(sys.executable), user=user)

    def python(self, *, ensurepip: bool = True, index: dict[str, str] | None = None) -> Path:
        """An interpreter of which only the answers to the probes exist; `index` maps a package to what `pip index versions` prints."""
        cases = "\n".join(f'    *"index versions"*" {name}") echo "{text}" ;;' for name, text in (index or {}).items())
        works = "echo '23.0.1 3.11'" if ensurepip else "echo \"No module named 'ensurepip'\" >&2; exit 1"
        return self.program(
            "python3",
            f"""case "$*" in
    *ensurepip*) {works} ;;
    *"pip --version"*) echo 'pip 23.0.1' ;;
    *"sys.version_info"*) echo 3.11 ;;
{cases}
    *"index versions"*) echo 'ERROR: No matching distribution found' >&2; exit 1 ;;
    *) exit 0 ;;
esac""",
        )
