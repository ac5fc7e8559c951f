"""The supervisor with real processes: order, restarts, and that nothing outlives it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from infra.places import ROOT, Home
from infra.processes import marked
from infra.supervisor import NotRunning, ask, supervised
from tests.infra.bench import Bench, eventually, script, start_supervisor

SLEEP = "import os, time; print('pid', os.getpid()); time.sleep(600)"
# A service that leaves a grandchild in a session of its own, deaf to SIGTERM, whose parent is gone: the worst that a browser does.
TREE = """
import os, signal, subprocess, sys, time
deaf = "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', os.getpid(), flush=True); time.sleep(600)"
between = f"import subprocess, sys; subprocess.Popen([sys.executable, '-I', '-S', '-c', {deaf!r}], start_new_session=True)"
subprocess.run([sys.executable, '-I', '-S', '-c', between], start_new_session=True)
print('pid', os.getpid())
time.sleep(600)
"""


def gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists() or b") Z " in Path(f"/proc/{pid}/stat").read_bytes()


def deaf_pid(bench: Bench, name: str) -> int:
    lines = eventually(
        lambda: [line for line in bench.log(name).splitlines() if line.startswith("deaf ")], what="grandchild"
    )
    return int(lines[-1].split()[1])


def test_a_service_runs_and_its_output_goes_to_its_log(bench: Bench) -> None:
    """The log holds what it printed; the state file says that it is well and is readable by its owner alone."""
    assert bench.apply(script("one", SLEEP)) == {"one": ["new"]}
    bench.wait("one")
    assert bench.pid("one") > 0
    state = json.loads(bench.home.services.read_text())
    assert state["services"]["one"]["state"] == "well"
    assert bench.home.services.stat().st_mode & 0o777 == 0o600


def test_what_ends_is_started_again_after_growing_pauses(bench: Bench) -> None:
    """Three starts within the first back-off steps of one and two seconds, and not faster."""
    bench.apply(script("short", "import time; print('at', time.monotonic())"))

    def starts() -> list[float]:
        return [float(line.split()[1]) for line in bench.log("short").splitlines() if line.startswith("at ")]

    eventually(lambda: len(starts()) >= 3, 20, "three starts")
    first, second, third = starts()[:3]
    assert 1.0 <= second - first < 2.0 <= third - second < 4.5
    entry = bench.service("short")
    assert entry["restarts"] >= 2 and entry["last"] == "ended with exit code 0"


def test_a_program_that_does_not_exist_is_named_in_the_log(bench: Bench) -> None:
    """Exit code 127 and the reason, and another try later."""
    service = script("absent", "")
    bench.apply(type(service)("absent", ("/nowhere/to/be/found",)))
    bench.wait("absent", "resting")
    assert "cannot start /nowhere/to/be/found" in bench.log("absent")
    assert bench.service("absent")["last"] == "ended with exit code 127"


def test_a_service_waits_until_the_one_before_it_is_well(bench: Bench, tmp_path: Path) -> None:
    """Health is an HTTP answer of 200; before it the dependent service does not start."""
    code = (
        "import http.server, pathlib\n"
        f"flag = pathlib.Path({str(tmp_path / 'well')!r})\n"
        "class Handler(http.server.BaseHTTPRequestHandler):\n"
        "    def do_GET(self):\n"
        "        self.send_response(200 if flag.exists() else 503); self.end_headers()\n"
        "    def log_message(self, *_): ...\n"
        "server = http.server.HTTPServer(('127.0.0.1', 0), Handler)\n"
        f"pathlib.Path({str(tmp_path / 'port')!r}).write_text(str(server.server_port))\n"
        "server.serve_forever()\n"
    )
    # The port is not known before the start, so a first start finds it out.
    finder = subprocess.Popen([sys.executable, "-I", "-S", "-c", code.replace("server.serve_forever()", "")])
    finder.wait(10)
    port = (tmp_path / "port").read_text()
    first = script(
        "first", code.replace("('127.0.0.1', 0)", f"('127.0.0.1', {port})"), health=f"http://127.0.0.1:{port}/"
    )
    bench.apply(first, script("second", SLEEP, after=("first",)))
    time.sleep(1.5)
    assert bench.service("first")["state"] == "starting"
    assert bench.service("second")["state"] == "waiting" and bench.log("second") == ""
    (tmp_path / "well").touch()
    bench.wait("second")


def test_a_service_that_never_becomes_well_is_ended_and_tried_again(bench: Bench) -> None:
    """Its reason is what the health check saw."""
    bench.apply(script("sick", SLEEP, health="http://127.0.0.1:9/", start_seconds=0.5, stop_seconds=1.0))
    first = bench.pid("sick")
    eventually(lambda: bench.service("sick")["restarts"] >= 1, what="a restart")
    assert "not well 0 s after its start" in bench.service("sick")["last"]
    assert gone(first)


def test_kill_9_of_the_supervisor_leaves_nothing_running(bench: Bench) -> None:
    """Neither the service, nor an orphaned grandchild that ignores SIGTERM in a session of its own."""
    bench.apply(script("tree", TREE), script("plain", SLEEP))
    bench.wait("tree")
    pids = [bench.pid("tree"), deaf_pid(bench, "tree"), bench.pid("plain")]
    assert not any(gone(pid) for pid in pids)
    bench.process.kill()
    bench.process.wait()
    eventually(lambda: all(gone(pid) for pid in pids), 10, "everything gone")
    eventually(lambda: marked(bench.home.mark) == [], 5, "guards gone")
    assert not supervised(bench.home)
    with pytest.raises(NotRunning):
        ask(bench.home, {"do": "status"})


def test_kill_9_of_a_guard_takes_its_service_along_and_starts_it_again(bench: Bench) -> None:
    """The kernel ends the child; the supervisor inherits and ends the rest."""
    bench.apply(script("tree", TREE))
    bench.wait("tree")
    pids = [bench.pid("tree"), deaf_pid(bench, "tree")]
    os.kill(bench.service("tree")["guard"]["pid"], signal.SIGKILL)
    eventually(lambda: all(gone(pid) for pid in pids), 10, "the old tree gone")
    eventually(lambda: bench.service("tree")["state"] == "well" and bench.pid("tree") not in pids, 10, "a new one")


def test_what_a_crashed_service_left_behind_is_ended(bench: Bench) -> None:
    """kill -9 of the service alone: its grandchild does not linger beside the new start."""
    bench.apply(script("tree", TREE, stop_seconds=1.0))
    bench.wait("tree")
    left = deaf_pid(bench, "tree")
    os.kill(bench.pid("tree"), signal.SIGKILL)
    eventually(lambda: gone(left), 10, "the grandchild gone")


def test_applying_the_same_again_changes_nothing(bench: Bench) -> None:
    """One pid before and after."""
    bench.apply(script("one", SLEEP, environment={"SETTING": "a"}))
    bench.wait("one")
    before = bench.pid("one")
    assert bench.apply(script("one", SLEEP, environment={"SETTING": "a"})) == {}
    assert bench.pid("one") == before and not gone(before)


def test_a_changed_setting_restarts_that_service_alone_and_is_named(bench: Bench) -> None:
    """Only the variable's name is told, never its value."""
    other = script("other", SLEEP)
    bench.apply(script("one", SLEEP, environment={"SETTING": "a"}), other)
    bench.wait("one")
    bench.wait("other")
    one, untouched = bench.pid("one"), bench.pid("other")
    assert bench.apply(script("one", SLEEP, environment={"SETTING": "b"}), other) == {"one": ["SETTING"]}
    eventually(lambda: bench.service("one")["settled"] and bench.pid("one") != one, what="a restart")
    assert gone(one) and bench.pid("other") == untouched and not gone(untouched)


def test_a_service_that_is_not_applied_any_more_stops(bench: Bench) -> None:
    """Unless only a part is applied."""
    bench.apply(script("one", SLEEP), script("two", SLEEP))
    bench.wait("two")
    pid = bench.pid("two")
    bench.apply(script("one", SLEEP), partly=True)
    assert not gone(pid)
    bench.apply(script("one", SLEEP))
    eventually(lambda: gone(pid) and not bench.service("two"), what="two gone")


def test_services_stop_in_the_opposite_order_of_their_start(bench: Bench) -> None:
    """The first one ends after the one that needs it, and the state file is gone with the supervisor."""
    code = (
        "import signal, sys, time, os\n"
        "def bye(*_): time.sleep(0.3); print('ended', time.monotonic()); sys.exit()\n"
        "signal.signal(signal.SIGTERM, bye); print('pid', os.getpid()); time.sleep(600)\n"
    )
    bench.apply(script("first", code), script("second", code, after=("first",)))
    bench.wait("second")
    bench.pid("second"), bench.pid("first")
    assert ask(bench.home, {"do": "stop"}, seconds=20) == {"stopped": True}
    bench.process.wait(10)

    def ended(name: str) -> float:
        return next(float(line.split()[1]) for line in bench.log(name).splitlines() if line.startswith("ended "))

    assert ended("second") + 0.25 < ended("first")
    assert not bench.home.services.exists()


def test_secrets_reach_a_service_and_no_file(bench: Bench) -> None:
    """The value is in the child's environment and in nothing that the supervisor writes."""
    bench.apply(
        script(
            "one",
            "import os, time; print(len(os.environ['KEY'])); time.sleep(600)",
            environment={"KEY": "s3cr3t-value"},
        )
    )
    bench.wait("one")
    eventually(lambda: "12" in bench.log("one").splitlines(), what="the length")
    for path in bench.home.folder.rglob("*"):
        if path.is_file():
            assert b"s3cr3t-value" not in path.read_bytes(), path


def test_a_second_supervisor_of_the_same_folder_is_refused(bench: Bench) -> None:
    """The kernel's lock decides."""
    second = subprocess.run(
        [sys.executable, "-m", "infra.supervisor", "--home", str(bench.home.folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert second.returncode == 1 and "another supervisor" in second.stderr


def test_a_long_state_folder_works(tmp_path: Path) -> None:
    """A unix socket's name has 107 bytes; the folder's path may have more."""
    home = Home(tmp_path / ("long" * 20) / ("folder" * 20))
    home.make()
    process = start_supervisor(home)
    try:
        assert ask(home, {"do": "status"})["services"] == {}
        assert ask(home, {"do": "stop"}) == {"stopped": True}
        process.wait(5)
    finally:
        process.kill()
        process.wait()


def test_a_request_that_makes_no_sense_is_answered_with_an_error(bench: Bench) -> None:
    """And the supervisor goes on."""
    for request in ({"do": "dance"}, {"do": "apply", "services": [{"name": "half"}]}, {"nothing": 1}):
        with pytest.raises(ValueError):
            ask(bench.home, request)
    assert ask(bench.home, {"do": "status"})["services"] == {}
