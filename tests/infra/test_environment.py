"""The environment: its key, its marker, and two bootstraps at once."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from infra import torch_build
from infra.environment import MARKER, Environment, InstallationFailed, make, run
from infra.places import Home, data_home, environment_key, home
from tests.infra.machines import Machine


def build(environment: Environment, log: Path) -> dict[str, str]:
    """An environment in miniature: a Python that runs."""
    environment.binaries.mkdir(parents=True)
    environment.python.write_text("#!/bin/sh\nexit 0\n")
    environment.python.chmod(0o755)
    return {"torch": "torch 2"}


def test_the_key_follows_lock_torch_python_and_processor() -> None:
    """Anything that makes another environment makes another folder; nothing else does."""
    first = environment_key(b"a==1", "torch==2", (3, 11), "x86_64")
    assert first == environment_key(b"a==1", "torch==2", (3, 11), "x86_64")
    others = {
        environment_key(b"a==2", "torch==2", (3, 11), "x86_64"),
        environment_key(b"a==1", "torch==3", (3, 11), "x86_64"),
        environment_key(b"a==1", "torch==2", (3, 12), "x86_64"),
        environment_key(b"a==1", "torch==2", (3, 11), "aarch64"),
    }
    assert len(others | {first}) == 5
    assert "py3.11" in first and "x86_64" in first


def test_it_lives_below_the_xdg_data_home() -> None:
    """A relative value is to be ignored, as the specification says."""
    assert data_home({"XDG_DATA_HOME": "/data"}) == Path("/data")
    assert data_home({"XDG_DATA_HOME": "data"}) == Path.home() / ".local" / "share"


def test_the_state_folder_is_the_repositorys_unless_named() -> None:
    """And two folders have two marks."""
    assert home({}).folder.name == ".filewright"
    assert home({"FILEWRIGHT_HOME": "/srv/filewright"}).folder == Path("/srv/filewright")
    assert Home(Path("/a")).mark != Home(Path("/b")).mark


def test_a_folder_without_a_marker_is_made_anew(tmp_path: Path) -> None:
    """It was left by a killed bootstrap."""
    environment = Environment(tmp_path / "env")
    environment.folder.mkdir()
    (environment.folder / "half").touch()
    assert not environment.complete()
    make(environment, build, lambda line: None)
    assert environment.complete() and not (environment.folder / "half").exists()
    assert environment.facts() == {"torch": "torch 2"}


def test_a_python_that_no_longer_runs_makes_it_incomplete(tmp_path: Path) -> None:
    """A system upgrade took the interpreter away; the marker alone is not believed."""
    environment = Environment(tmp_path / "env")
    make(environment, build, lambda line: None)
    environment.python.unlink()
    assert not environment.complete()
    make(environment, build, lambda line: None)
    assert environment.complete()


def test_two_bootstraps_at_once_make_it_once(tmp_path: Path) -> None:
    """The second waits, says so, and finds it made."""
    environment = Environment(tmp_path / "env")
    built, said = [], []

    def slow(target: Environment, log: Path) -> dict[str, str]:
        built.append(1)
        time.sleep(0.5)
        return build(target, log)

    threads = [threading.Thread(target=make, args=(environment, slow, said.append)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(built) == 1 and environment.complete()
    assert any("another bootstrap" in line for line in said)


def test_a_build_that_fails_leaves_no_marker(tmp_path: Path) -> None:
    """The next bootstrap starts over."""
    environment = Environment(tmp_path / "env")

    def broken(target: Environment, log: Path) -> dict[str, str]:
        build(target, log)
        run(["sh", "-c", "echo the reason; exit 3"], "installing something", log)
        return {}

    with pytest.raises(InstallationFailed) as failure:
        make(environment, broken, lambda line: None)
    assert "exit code 3" in str(failure.value) and "the reason" in str(failure.value)
    assert not (environment.folder / MARKER).exists()


def uv(machine: Machine, *, reaches: bool) -> str:
    return str(machine.program("uv", "exit 0" if reaches else "echo 'dns error' >&2; exit 2"))


def test_a_cpu_build_that_pip_knows_is_taken_with_pip(machine: Machine) -> None:
    """pip reads places that uv does not; without dependencies, which the lock holds."""
    python = machine.python(index={"torch": "torch (9.9)\nAvailable versions: 9.9, 2.13.0+cpu, 2.13.0"})
    choice = torch_build.choose(str(python), uv(machine, reaches=True), "torch==2.13.0")
    assert choice.means == "pip" and choice.command[-2:] == ("--no-deps", "torch==2.13.0+cpu")
    assert not any(call.startswith("uv") for call in machine.calls())


def test_elsewhere_uv_is_asked_for_cpu_wheels(machine: Machine) -> None:
    """A dry run first; then the same without it."""
    python = machine.python(index={"torch": "torch (9.9)\nAvailable versions: 9.9, 2.13.0"})
    choice = torch_build.choose(str(python), uv(machine, reaches=True), "torch==2.13.0")
    assert choice.means == "uv" and not choice.heavy
    assert "--torch-backend cpu" in " ".join(choice.command) and "--dry-run" not in choice.command
    assert any("--dry-run" in call for call in machine.calls() if call.startswith("uv"))


def test_where_no_cpu_build_can_be_reached_it_says_what_it_would_fetch(machine: Machine) -> None:
    """Several GB are a question, not a surprise."""
    python = machine.python(index={"torch": "torch (9.9)\nAvailable versions: 9.9, 2.13.0"})
    choice = torch_build.choose(str(python), uv(machine, reaches=False), "torch==2.13.0")
    assert choice.heavy and "several GB" in choice.note
    assert "--no-deps" not in choice.command
