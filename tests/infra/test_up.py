"""The real services, once: up, Prefect's own command line, one run through a worker, `kill -9`, up again, down."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra import local
from infra.environment import Environment
from infra.places import Home
from infra.postgres import server_folder
from infra.processes import end, marked
from infra.services import Model
from infra.supervisor import ask, supervised
from tests.infra.bench import eventually

HERE = Environment(Path(sys.prefix))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    home = Home(tmp_path_factory.mktemp("installation") / "home")
    yield home
    local.down(home)
    left = marked(home.mark)
    end(left)
    # As root the data lies outside the state folder.
    shutil.rmtree(server_folder(home.folder), ignore_errors=True)
    assert left == []


def start(home: Home, said: list[str] | None = None) -> local.Up:
    surroundings = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return local.up(HERE, home, surroundings, Model(), announce=(said if said is not None else []).append)


@pytest.mark.timeout(420)
def test_the_services_come_up_outlive_nothing_and_come_up_again(home: Home) -> None:
    """One test, because starting everything is what takes the time."""
    up = start(home)

    # Everything is well, every deployment of prefect.yaml is there, and both pools know not to stream a run's output.
    assert set(up.api.deployments()) == {"ingest/ingest", "filing/filing", "verify/verify", "quarterly/quarterly"}
    states = {name: entry["state"] for name, entry in ask(home, {"do": "status"})["services"].items()}
    assert states == dict.fromkeys(("postgres", "prefect", "portal", "model", "worker-filing", "worker-audit"), "well")
    for pool in local.POOLS:
        template = up.api.request("GET", f"/work_pools/{pool}")["base_job_template"]
        assert template["variables"]["properties"]["stream_output"]["default"] is False

    # Without its password Prefect's API answers nobody.
    with pytest.raises(Exception, match="401"):
        type(up.api)(up.api.address, "filewright:guess").deployments()

    # A second `up` with the same settings changes nothing.
    said: list[str] = []
    assert start(home, said).changed == {} and said == []

    # Prefect's own command line works in a shell that evaluated `env`.
    lines = local.exports(HERE, home, os.environ)
    shell = 'eval "$(cat)"; exec python -m prefect deployment ls'
    listed = subprocess.run(
        ["sh", "-c", shell],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        cwd=home.folder,
        env={"HOME": str(home.folder)},
    )
    assert listed.returncode == 0 and "ingest/ingest" in listed.stdout, listed.stderr

    # A run is under way in a worker when the supervisor is killed: nothing is left of it, at any depth.
    run = up.api.start("ingest/ingest", {"corpus": "sample"})
    eventually(lambda: up.api.run(run["id"])["state"]["type"] == "RUNNING", 60, "the run is under way")
    postgres = json.loads(home.services.read_text())["services"]["postgres"]["guard"]["pid"]
    supervisor = json.loads(home.services.read_text())["supervisor"]["pid"]
    os.kill(supervisor, 9)
    eventually(lambda: marked(home.mark) == [] and not Path(f"/proc/{postgres}").exists(), 15, "nothing is left")
    assert not supervised(home)

    # The next `up` cleans up, keeps the addresses, and says of the run what happened to it.
    said = []
    again = start(home, said)
    assert again.installation.ports == up.installation.ports
    assert any("marked as crashed" in line for line in said), said
    assert again.api.run(run["id"])["state"]["type"] == "CRASHED"

    # `down` ends everything, and may be said twice.
    started = time.monotonic()
    assert local.down(home) == ["the services are stopped"]
    assert local.down(home) == [] and time.monotonic() - started < 60


def test_the_pools_template_is_prefects_own_but_for_the_stream(tmp_path: Path) -> None:
    """A new Prefect that changes its template fails this test instead of a run."""
    done = subprocess.run(
        [sys.executable, "-m", "prefect", "work-pool", "get-default-base-job-template", "--type", "process"],
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "PREFECT_HOME": str(tmp_path),
            "NO_COLOR": "1",
            "COLUMNS": "10000",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    theirs, ours = json.loads(done.stdout), json.loads(local.WORK_POOL.read_text())
    assert ours["job_configuration"] == theirs["job_configuration"]

    def shapes(template: dict[str, object]) -> dict[str, object]:
        properties = template["variables"]["properties"]  # type: ignore[index]
        return {name: {k: v for k, v in value.items() if k != "description"} for name, value in properties.items()}

    assert shapes(ours) | {"stream_output": None} == shapes(theirs) | {"stream_output": None}
    assert shapes(theirs)["stream_output"]["default"] is True  # type: ignore[index]
    assert shapes(ours)["stream_output"]["default"] is False  # type: ignore[index]
