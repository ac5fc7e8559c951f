"""requirements.lock from pyproject.toml: `python3 -m infra.lock` writes it anew.

It resolves once for Python 3.11, 3.12 and 3.13 (universal markers), carries the hash of every file, and leaves torch out together with
everything that only a CUDA build of torch would bring (the override in pyproject.toml). Run it after a change of the dependencies,
with an environment in place (uv comes from there).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from infra.places import LOCK, PYPROJECT, ROOT

LOWEST = "3.11"


def requirements(pyproject: Path = PYPROJECT, extra: str = "dev") -> list[str]:
    """The requirements that pyproject.toml names, those of the extra last."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    return [*project["dependencies"], *project["optional-dependencies"][extra]]


def torch_pin(pyproject: Path = PYPROJECT) -> str:
    """The one requirement that is installed by itself, such as `torch==2.13.0`. Raises ValueError unless it is an exact pin."""
    for requirement in requirements(pyproject):
        if re.fullmatch(r"torch==[\d.]+", requirement):
            return requirement
    raise ValueError(f"{pyproject} does not pin torch exactly (torch==X.Y.Z)")


def locked(lock: Path = LOCK) -> dict[str, list[str]]:
    """Normalised name to the versions in the lock (several where they depend on the Python version)."""
    found: dict[str, list[str]] = {}
    for line in lock.read_text(encoding="utf-8").splitlines():
        match = re.match(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)", line)
        if match:
            found.setdefault(normalised(match[1]), []).append(match[2])
    return found


def normalised(name: str) -> str:
    """A project name as indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def command(uv: str, output: Path) -> list[str]:
    """The compiler's command line."""
    return [
        *(uv, "pip", "compile", "--universal", "--python-version", LOWEST, "--generate-hashes", "--extra", "dev"),
        *("--no-emit-package", "torch", "--quiet", str(PYPROJECT.relative_to(ROOT)), "--output-file", str(output)),
    ]


def main() -> int:
    uv = Path(sys.prefix) / "bin" / "uv"
    environment = {**os.environ, "UV_CUSTOM_COMPILE_COMMAND": "python3 -m infra.lock"}
    return subprocess.run(command(str(uv), LOCK), cwd=ROOT, env=environment).returncode


if __name__ == "__main__":
    raise SystemExit(main())
