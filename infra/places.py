"""Where things lie: the repository, the shared environments, and the state folder of one installation.

Standard library only. The environment is shared by every clone whose lock, Python and processor are the same; the state folder
(FILEWRIGHT_HOME, by default .filewright in the repository) belongs to one clone.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements.lock"
PYPROJECT = ROOT / "pyproject.toml"
# Raised when the way in which the environment is built changes: environments of another layout are built anew.
LAYOUT = 1


@dataclass(frozen=True)
class Home:
    """The state folder of one installation; nothing is written outside it but the environment and, as root, Postgres' data."""

    folder: Path

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    @property
    def secrets(self) -> Path:
        return self.folder / "secrets.json"

    @property
    def services(self) -> Path:
        return self.folder / "services.json"

    @property
    def ports(self) -> Path:
        return self.folder / "ports.json"

    @property
    def runs(self) -> Path:
        return self.folder / "runs"

    @property
    def prefect(self) -> Path:
        return self.folder / "prefect"

    @property
    def mark(self) -> str:
        """What every process of this installation carries in its environment, so that a stranger is never taken for one."""
        return hashlib.sha256(str(self.folder.resolve()).encode()).hexdigest()[:20]

    def make(self) -> None:
        """Create the folder, readable by its owner alone: it holds passwords and screenshots."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.logs.mkdir(exist_ok=True, mode=0o700)


def home(environment: Mapping[str, str] | None = None) -> Home:
    """The state folder named by FILEWRIGHT_HOME, else .filewright in the repository."""
    chosen = (os.environ if environment is None else environment).get("FILEWRIGHT_HOME", "")
    return Home(Path(chosen).expanduser().absolute() if chosen else ROOT / ".filewright")


def data_home(environment: Mapping[str, str] | None = None) -> Path:
    """The XDG data home: $XDG_DATA_HOME where it is an absolute path, else ~/.local/share (XDG base directory specification)."""
    chosen = (os.environ if environment is None else environment).get("XDG_DATA_HOME", "")
    return Path(chosen) if chosen.startswith("/") else Path.home() / ".local" / "share"


def environment_key(lock: bytes, torch: str, version: tuple[int, int] | None = None, machine: str | None = None) -> str:
    """The name of the environment for this lock, torch pin, Python (major, minor) and processor."""
    major, minor = version or sys.version_info[:2]
    digest = hashlib.sha256(b"\0".join([str(LAYOUT).encode(), torch.encode(), lock])).hexdigest()[:12]
    return f"{digest}-py{major}.{minor}-{sys.platform}-{machine or platform.machine()}"
