"""Cleaning up after the dead, never among strangers; and what a shell gets from `env`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra import credentials, local, ports
from infra.environment import Environment
from infra.places import Home
from infra.processes import MARK, Identity, boot_id, identify, marked
from infra.supervisor import supervised
from tests.infra.bench import Bench, eventually, script, start_supervisor
from tests.infra.test_supervisor import SLEEP, TREE, deaf_pid, gone


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.make()
    return home


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    """A process of somebody else."""
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()


def test_down_stops_everything_and_may_be_said_again(bench: Bench) -> None:
    """The second time there is nothing to do."""
    bench.apply(script("tree", TREE, stop_seconds=1.0))
    bench.wait("tree")
    pid = bench.pid("tree")
    assert local.down(bench.home) == ["the services are stopped"]
    assert gone(pid) and not supervised(bench.home) and not bench.home.services.exists()
    assert local.down(bench.home) == []


def test_a_service_that_survived_everything_is_found_by_its_mark(bench: Bench) -> None:
    """Supervisor and guard killed at one blow: the orphan is ended by the next `down` or `up`."""
    bench.apply(script("tree", TREE))
    bench.wait("tree")
    guard = bench.service("tree")["guard"]["pid"]
    orphan = deaf_pid(bench, "tree")
    for pid in (bench.process.pid, guard):
        os.kill(pid, signal.SIGSTOP)  # so that neither can act between the two blows
    for pid in (bench.process.pid, guard):
        os.kill(pid, signal.SIGKILL)
    bench.process.wait()
    assert not gone(orphan)
    assert any("a dead supervisor left" in line for line in local.down(bench.home))
    eventually(lambda: gone(orphan), 5)
    assert marked(bench.home.mark) == []


def test_a_pid_that_belongs_to_a_stranger_by_now_is_left_alone(home: Home, stranger: subprocess.Popen[bytes]) -> None:
    """The state file names its number, but not its start time."""
    known = identify(stranger.pid)
    assert known is not None
    for identity in (
        Identity(known.pid, known.started - 1, known.boot),
        Identity(known.pid, known.started, "another-boot"),
    ):
        home.services.write_text(json.dumps({"services": {"old": {"guard": identity.to_json()}}}))
        assert local.clean(home) == []
        assert stranger.poll() is None and not home.services.exists()


def test_a_recorded_process_that_is_still_the_same_is_ended(home: Home, stranger: subprocess.Popen[bytes]) -> None:
    """Number, start time and boot agree."""
    known = identify(stranger.pid)
    assert known is not None and known.boot == boot_id()
    home.services.write_text(json.dumps({"services": {"old": {"guard": known.to_json()}}}))
    assert local.clean(home) == ["ended 1 process that a dead supervisor left"]
    assert stranger.wait(5) == -signal.SIGTERM


def test_the_mark_of_another_installation_is_left_alone(home: Home, tmp_path: Path) -> None:
    """Two clones on one machine do not end each other's services."""
    other = Home(tmp_path / "other")
    process = subprocess.Popen(["sleep", "600"], env={**os.environ, MARK: other.mark})
    try:
        eventually(lambda: marked(other.mark), 5)
        assert local.down(home) == [] and process.poll() is None
    finally:
        process.kill()
        process.wait()


def test_a_damaged_state_file_stops_nobody(home: Home) -> None:
    """It is removed."""
    for content in ("", "{", "[]", '{"services": {"a": {"guard": 7}}}', '{"services": null}'):
        home.services.write_text(content)
        assert local.down(home) == []
        assert not home.services.exists()


def test_after_a_killed_supervisor_a_new_one_starts_in_the_same_folder(bench: Bench) -> None:
    """Its stale socket is no obstacle."""
    bench.process.kill()
    bench.process.wait()
    assert (bench.home.folder / "control.sock").exists()
    bench.process = start_supervisor(bench.home)
    bench.apply(script("one", SLEEP))
    bench.wait("one")


def test_status_shows_what_runs(bench: Bench) -> None:
    """One line per service, and whether all is well."""
    bench.apply(script("one", SLEEP, address="http://127.0.0.1:1/"), script("short", "raise SystemExit(3)"))
    bench.wait("one")
    bench.wait("short", "resting")
    lines, all_well = local.status_lines(bench.home)
    assert not all_well
    assert any(line.startswith("one ") and "well" in line and "http://127.0.0.1:1/" in line for line in lines)
    assert any(line.startswith("short ") and "ended with exit code 3" in line for line in lines)


def test_env_gives_a_shell_what_prefect_needs(home: Home) -> None:
    """Evaluated by a POSIX shell; quoting holds for values with spaces."""
    chosen, secrets = ports.choose(home, {}), credentials.load(home)
    environment = Environment(Path("/envs/with space/one"))
    lines = local.exports(environment, home, {"PATH": "/usr/bin:/bin"})
    shown = 'printf "%s\\n" "$PATH" "$PREFECT_API_URL" "$PREFECT_API_AUTH_STRING" "$DO_NOT_TRACK" "$PREFECT_HOME"'
    done = subprocess.run(
        ["sh", "-c", f'eval "$(cat)"; {shown}'],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=True,
        env={},
    )
    assert done.stdout.splitlines() == [
        "/envs/with space/one/bin:/usr/bin:/bin",
        f"http://127.0.0.1:{chosen.prefect}/api",
        secrets.prefect,
        "1",
        str(home.prefect),
    ]
    # A shell that evaluates this must not be taken for one of our services.
    assert MARK not in "\n".join(lines) and "DATABASE" not in "\n".join(lines)


def test_env_before_the_first_start_says_so(home: Home) -> None:
    """Nothing is exported."""
    with pytest.raises(local.NotUp, match="not been started"):
        local.exports(Environment(Path("/e")), home, {})


def test_a_log_in_a_message_is_short_and_says_where_the_rest_is(home: Home) -> None:
    """The last lines, indented."""
    (home.logs / "one.log").write_text("\n".join(f"line {number}" for number in range(1000)))
    shown = local.tail(home, "one", 3)
    assert shown.splitlines()[:3] == ["  line 997", "  line 998", "  line 999"] and str(home.logs / "one.log") in shown
    assert "no log yet" in local.tail(home, "two")


def test_nothing_of_a_process_is_guessed() -> None:
    """The identity of a finished process is not alive, and neither is a zombie's."""
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", "pass"])
    identity = identify(process.pid)
    eventually(lambda: identify(process.pid) is None, 5, "a zombie has no identity")
    assert identity is None or not identity.alive()
    process.wait()


def test_restarts_of_long_ago_do_not_count_against_new_settings(bench: Bench) -> None:
    """A service that died three times in its life comes up with other settings like any other."""
    bench.apply(script("one", SLEEP))
    bench.wait("one")
    for number in range(1, 4):
        os.kill(bench.pid("one"), signal.SIGKILL)
        assert eventually(
            lambda n=number: bench.service("one")["restarts"] == n and bench.service("one")["state"] == "well"
        )
    local._apply(bench.home, (script("one", SLEEP + "  # other settings"),), print)
    local._wait(bench.home, ["one"], print)
    assert bench.service("one")["state"] == "well"
