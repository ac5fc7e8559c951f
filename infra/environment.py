"""The Python environment: one folder per lock, Python and processor, shared by all clones of this repository.

Rules:
- it is made under a file lock, so that two bootstraps at once make one environment;
- its marker is written last: a folder without a marker was left by a killed bootstrap and is made anew;
- torch comes first and by itself (infra/torch_build.py); then everything of the lock, without dependencies of its own choosing, each file
  checked against the lock's hash;
- an environment whose Python no longer runs (a system upgrade took it away) is made anew.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from infra.lock import locked, torch_pin
from infra.places import LOCK, ROOT, data_home, environment_key

MARKER = "filewright.json"
# Packages with compiled parts: a wheel that does not fit this processor or C library shows here and not in the middle of a run.
TRIED = ("torch", "psycopg", "pydantic", "PIL", "numpy", "pypdfium2", "asyncpg", "sqlalchemy", "prefect")
Say = Callable[[str], None]


class InstallationFailed(RuntimeError):
    """A step of the installation did not work; the message says which, and what its last lines were."""


@dataclass(frozen=True)
class Environment:
    """A virtual environment at `folder`; it may not exist yet."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def binaries(self) -> Path:
        return self.folder / "bin"

    def complete(self) -> bool:
        """Whether it was made to the end and its Python runs."""
        if not (self.folder / MARKER).is_file():
            return False
        try:
            tried = subprocess.run([str(self.python), "-I", "-S", "-c", "print(1)"], capture_output=True, timeout=60)
        except (OSError, subprocess.TimeoutExpired):
            return False
        return tried.returncode == 0

    def current(self) -> bool:
        """Whether this very process runs in it."""
        return Path(sys.prefix).resolve() == self.folder.resolve()

    def facts(self) -> dict[str, str]:
        """What the marker recorded when the environment was made."""
        return dict(json.loads((self.folder / MARKER).read_text(encoding="utf-8")))

    def enter(self, arguments: Sequence[str]) -> None:
        """Replace this process by `python -m infra ARGUMENTS` of the environment; the folder stays the user's."""
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
        sys.stdout.flush()
        sys.stderr.flush()
        os.execv(self.python, [str(self.python), "-m", "infra", *arguments])


def base_python() -> Path:
    """The interpreter that environments are made from: the one behind this process, also from inside an environment."""
    return Path(getattr(sys, "_base_executable", None) or sys.executable)


def expected() -> Environment:
    """The environment that this checkout wants under this Python."""
    return Environment(data_home() / "filewright" / "envs" / environment_key(LOCK.read_bytes(), torch_pin()))


@contextlib.contextmanager
def exclusive(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the file lock at `path`; `waiting` is called once if somebody else holds it. The kernel frees it with its holder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def run(command: Sequence[str], what: str, log: Path, environment: Mapping[str, str] | None = None) -> str:
    """Run one step of the installation with its output in `log`; returns the output.

    Raises InstallationFailed with the last lines.
    """
    with log.open("a+", encoding="utf-8", errors="replace") as output:
        start = output.seek(0, os.SEEK_END)
        output.write(f"$ {' '.join(command)}\n")
        output.flush()
        code = subprocess.run(
            list(command), stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment
        ).returncode
        output.seek(start)
        text = output.read()
    if code != 0:
        tail = "\n".join("  " + line for line in text.splitlines()[-15:])
        raise InstallationFailed(f"{what} failed with exit code {code}. The log is {log}; its last lines:\n{tail}")
    return text


def make(environment: Environment, build: Callable[[Environment, Path], dict[str, str]], say: Say) -> None:
    """Make the environment unless it is complete: `build` fills the folder, writes to the log it is given, and returns the facts for the
    marker. Whatever a killed bootstrap left is removed first. Raises what `build` raises.
    """
    envs = environment.folder.parent
    name = environment.folder.name
    with exclusive(envs / f"{name}.lock", lambda: say("another bootstrap makes this environment: waiting for it")):
        if environment.complete():
            return
        if environment.folder.exists():
            shutil.rmtree(environment.folder)
        log = envs / f"{name}.log"
        log.unlink(missing_ok=True)
        say(f"making {environment.folder}")
        facts = build(environment, log)
        draft = environment.folder / f"{MARKER}.draft"
        draft.write_text(json.dumps(facts, indent=2), encoding="utf-8")
        draft.rename(environment.folder / MARKER)


def build_with(
    install_torch: Callable[[Environment, Path], str], say: Say
) -> Callable[[Environment, Path], dict[str, str]]:
    """The builder of real environments; `install_torch` puts torch in and returns what it took. It raises InstallationFailed."""

    def build(environment: Environment, log: Path) -> dict[str, str]:
        python = str(environment.python)
        run([str(base_python()), "-m", "venv", str(environment.folder)], "making the virtual environment", log)
        uv = f"uv=={locked()['uv'][0]}"
        run([python, "-m", "pip", "install", "--quiet", "--no-input", uv], "installing uv (the installer)", log)
        torch = install_torch(environment, log)
        say("installing the packages of requirements.lock")
        try:
            run(install_command(environment), "installing the packages of requirements.lock", log)
        except InstallationFailed as failure:
            # pip reads places that uv does not (an index in pip's own configuration), and checks the same hashes.
            say(f"uv could not ({str(failure).splitlines()[-1].strip()}): the same with pip")
            run(pip_install_command(environment), "installing the packages of requirements.lock with pip", log)
        say("trying the environment")
        run([python, "-I", "-c", f"import {', '.join(TRIED)}"], "importing the main packages", log)
        return {"torch": torch, "python": platform.python_version(), "lock": LOCK.name}

    return build


def install_command(environment: Environment) -> list[str]:
    """Everything of the lock: hashes checked, nothing resolved anew, compiled once here instead of at each process's start."""
    return [
        *(str(environment.binaries / "uv"), "pip", "install", "--python", str(environment.python), "--no-deps"),
        *("--compile-bytecode", "-r", str(LOCK)),
    ]


def pip_install_command(environment: Environment) -> list[str]:
    """The same by pip."""
    return [
        *(str(environment.python), "-m", "pip", "install", "--no-input", "--no-deps", "--require-hashes"),
        *("-r", str(LOCK)),
    ]
