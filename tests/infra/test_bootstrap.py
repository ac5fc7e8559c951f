"""The bootstrap: look, say, ask, do. On machines of stubs, so that what would change something is seen instead."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from infra.bootstrap import Stopped, apt_commands, bootstrap
from infra.environment import MARKER, Environment
from infra.host import Host
from infra.places import Home
from tests.infra.machines import Machine
from tests.infra.test_probes import INDEX

CHANGES = ("install --yes", " update", "-m venv", "pip install", "pip download")

SUDO = 'shift; [ "$1" = true ] && exit 0; exec "$@"'


def changing(machine: Machine) -> list[str]:
    """Calls that would change something; those of `env` and `sudo` show up as what they start."""
    calls = [call for call in machine.calls() if not call.startswith(("env ", "sudo "))]
    return [call for call in calls if any(word in call for word in CHANGES)]


class Bench:
    """A bootstrap on a stub machine: Python and index are there, no system package is."""

    def __init__(
        self, machine: Machine, tmp_path: Path, *, user: int = 1000, index: dict[str, str] | None = None
    ) -> None:
        self.machine = machine
        machine.program("apt-get", self.apt("exit 0"))
        machine.program("env", 'while :; do case "$1" in *=*) shift ;; *) break ;; esac; done; exec "$@"')
        self.place = Home(tmp_path / "home")
        self.environment = Environment(tmp_path / "envs" / "env")
        self.python = machine.python(index=INDEX if index is None else index)
        self.user = user

    @staticmethod
    def apt(simulated: str) -> str:
        return f"""case "$*" in
    *--assume-no*) echo 'Need to get 79.1 MB of archives.'
        echo 'After this operation, 260 MB of additional disk space will be used.'; exit 1 ;;
    *--simulate*) {simulated} ;;
esac"""

    def host(self, **environment: str) -> Host:
        return self.machine.host(user=self.user, python=self.python, **environment)

    def run(self, *, yes: bool = False, only_print: bool = False, **environment: str) -> None:
        bootstrap(
            host=self.host(**environment),
            yes=yes,
            only_print=only_print,
            place=self.place,
            environment=self.environment,
        )


@pytest.fixture
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))


def test_print_says_everything_and_changes_nothing(
    machine: Machine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """System, Python, rights, packages with sizes, environment and model are on the page; nothing was installed or made."""
    bench = Bench(machine, tmp_path, user=0)
    with pytest.raises(Stopped) as stopped:
        bench.run(only_print=True)
    assert stopped.value.code == 0
    shown = capsys.readouterr().out
    for part in (
        "system",
        "Python 3.",
        "root",
        "79.1 MB to fetch, 260 MB on disk",
        "xvfb",
        "firefox-esr",
        "offline",
        str(bench.environment.folder),
    ):
        assert part in shown, part
    assert changing(machine) == []
    assert not bench.environment.folder.parent.exists() and not bench.place.folder.exists()


def test_what_cannot_work_ends_with_2_before_any_download(
    machine: Machine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No wheel for this processor: said at once, although everything was agreed to."""
    bench = Bench(machine, tmp_path, user=0, index={"uv": "uv (1.0)"})
    with pytest.raises(Stopped) as stopped:
        bench.run(yes=True)
    assert stopped.value.code == 2
    assert "FILEWRIGHT_DATABASE_URL" in capsys.readouterr().out
    assert changing(machine) == []


def test_without_rights_the_exact_command_is_printed(
    machine: Machine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A user without sudo: exit code 2 and a line to copy."""
    bench = Bench(machine, tmp_path)
    with pytest.raises(Stopped) as stopped:
        bench.run(yes=True)
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert "sudo env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install --yes" in said
    for package in ("xvfb", "matchbox-window-manager", "firefox-esr", "dbus", "tesseract-ocr"):
        assert package in said
    assert changing(machine) == []


@pytest.mark.usefixtures("no_terminal")
def test_a_user_with_nobody_at_the_terminal_must_say_yes(
    machine: Machine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A script of an ordinary user does not install by accident."""
    bench = Bench(machine, tmp_path)
    machine.program("sudo", SUDO)
    with pytest.raises(Stopped) as stopped:
        bench.run()
    assert stopped.value.code == 2 and "--yes" in capsys.readouterr().err
    assert changing(machine) == []


def test_a_no_changes_nothing(machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And so does an answer that is neither yes nor no."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for answer in ("n\n", "maybe\n", "\n"):
        monkeypatch.setattr(sys, "stdin", Terminal(answer))
        machine.program("sudo", SUDO)
        with pytest.raises(Stopped) as stopped:
            Bench(machine, tmp_path).run()
        assert stopped.value.code == 1
    assert changing(machine) == []


def test_packages_are_installed_in_one_go_after_an_update(
    machine: Machine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """apt-get update, then one install that waits for another apt; what still does not work afterwards is named, not hoped away."""
    bench = Bench(machine, tmp_path, user=0)
    bench.environment.folder.mkdir(parents=True)
    (bench.environment.folder / "bin").mkdir()
    machine.program("python", path=bench.environment.python)
    (bench.environment.folder / MARKER).write_text('{"torch": "torch 2"}')
    with pytest.raises(Stopped) as stopped:
        bench.run(yes=True)
    assert stopped.value.code == 1  # the stub apt installs nothing
    update, install = changing(machine)
    assert update == "apt-get -o DPkg::Lock::Timeout=300 update"
    assert install.startswith("apt-get -o DPkg::Lock::Timeout=300 install --yes --no-install-recommends xvfb")
    assert "still not working: browser" in capsys.readouterr().err


def test_a_system_without_firefox_esr_is_told_what_helps(
    machine: Machine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ubuntu: apt's own simulation says so once its lists are there, and nothing but the lists was fetched."""
    bench = Bench(machine, tmp_path, user=0)
    machine.program("apt-get", Bench.apt("echo 'E: Unable to locate package firefox-esr' >&2; exit 100"))
    with pytest.raises(Stopped) as stopped:
        bench.run(yes=True)
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert "FILEWRIGHT_BROWSER" in said and "firefox-esr" in said
    assert [call for call in changing(machine) if "update" not in call] == []


def test_root_in_a_container_or_without_a_terminal_is_not_asked(
    monkeypatch: pytest.MonkeyPatch, machine: Machine, no_terminal: None
) -> None:
    """Anybody else is."""
    assert machine.host(user=0).unattended
    assert machine.host(user=0, CI="true").unattended
    assert not machine.host(user=1000, CI="true").unattended


def test_apt_is_called_with_a_lock_timeout_and_no_question() -> None:
    """Another apt at work (a fresh cloud machine) is waited for."""
    for command in apt_commands(["sudo", "-n"], ["xvfb"]):
        assert command[:2] == ["sudo", "-n"] and "DEBIAN_FRONTEND=noninteractive" in command
        assert "DPkg::Lock::Timeout=300" in command
