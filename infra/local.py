"""The local installation: `up`, `down`, and what `status` and `env` show.

`up` in order: clean up after a dead supervisor, ports and secrets, supervisor, Postgres, roles, migrations, the other services, work pools,
deployments. Each step is safe to repeat; a second `up` changes only what differs from what runs.

Everything here runs inside the environment; `down`, `status` and `clean` need only the standard library.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra import credentials, ports, services
from infra.allowed import child_environment
from infra.environment import Environment, exclusive
from infra.places import ROOT, Home
from infra.prefect_api import PrefectApi, PrefectUnavailable
from infra.processes import Identity, end, from_json, marked
from infra.service import Service, differences
from infra.services import Installation, Model, prefect_client_environment
from infra.supervisor import NotRunning, ask, supervised

POOLS = ("filing", "audit")
START_SECONDS = 180.0
WORK_POOL = Path(__file__).with_name("work_pool.json")

Say = Callable[[str], None]


class NotUp(RuntimeError):
    """The services could not be brought up; the message says which and what its log says."""


@dataclass(frozen=True)
class Up:
    """A running installation: what `demo` and the commands work with."""

    installation: Installation
    owner_url: str
    changed: Mapping[str, list[str]]

    @property
    def api(self) -> PrefectApi:
        return PrefectApi(self.installation.prefect_address, self.installation.credentials.prefect)


def say(line: str) -> None:
    print(f"• {line}", flush=True)


# ------------------------------------------------------------------------------------------------------------ up


def up(
    environment: Environment,
    home: Home,
    surroundings: Mapping[str, str],
    model: Model,
    *,
    announce: Say = say,
) -> Up:
    """Bring everything up, or to what these settings say. Raises NotUp; ports and databases have errors of their own.

    Refuses to restart a worker with other settings while a run is under way in its pool.
    """
    home.make()
    with exclusive(home.folder / "up.lock", lambda: announce("another command brings the services up: waiting for it")):
        if not supervised(home):
            for line in clean(home):
                announce(line)
        secrets = credentials.load(home)
        running = _running(home)
        chosen = ports.choose(home, surroundings, lambda service, port: _ours(running, service, port))
        if not supervised(home):
            _start_supervisor(environment, home, surroundings)
        embedded = not surroundings.get("FILEWRIGHT_DATABASE_URL")
        if embedded:
            owner_url, databases, first = _embedded(environment, home, surroundings, secrets, chosen, announce)
        else:
            owner_url, databases = _external(surroundings["FILEWRIGHT_DATABASE_URL"], secrets, announce)
            first = ()
        _migrate(owner_url, announce)
        installation = Installation(
            environment, home, chosen, secrets, databases, surroundings, model, _setting_names()
        )
        wanted = (*first, *services.others(installation, embedded=embedded))
        _refuse_to_interrupt(installation, wanted, running)
        # Prefect, portal and model first: a worker needs its pool.
        workers = tuple(item for item in wanted if item.name.startswith("worker-"))
        rest = tuple(item for item in wanted if item not in workers)
        changed = _apply(home, rest, announce, partly=True)
        _wait(home, [item.name for item in rest], announce)
        result = Up(installation, owner_url, changed)
        if not any(item.name in running for item in workers):
            _settle_lost_runs(result.api, announce)
        _pools_and_deployments(result, announce)
        changed |= _apply(home, wanted, announce)
        _wait(home, [item.name for item in wanted], announce)
        return Up(installation, owner_url, changed)


def _start_supervisor(environment: Environment, home: Home, surroundings: Mapping[str, str]) -> None:
    """Start the supervisor in a session of its own: it outlives this command, so nobody here waits for its end."""
    log = os.open(home.logs / "supervisor.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        pid = os.posix_spawn(
            environment.python,
            [str(environment.python), "-m", "infra.supervisor", "--home", str(home.folder)],
            {**child_environment(environment, surroundings), "PYTHONPATH": str(ROOT)},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, nothing, 0),
                (os.POSIX_SPAWN_DUP2, log, 1),
                (os.POSIX_SPAWN_DUP2, log, 2),
            ],
            setsid=True,
        )
    finally:
        os.close(log)
        os.close(nothing)
    deadline = time.monotonic() + 15
    while True:
        try:
            ask(home, {"do": "status"})
            return
        except NotRunning:
            if os.waitpid(pid, os.WNOHANG)[0] == pid or time.monotonic() > deadline:
                raise NotUp(f"the supervisor does not start:\n{tail(home, 'supervisor')}") from None
            time.sleep(0.05)


def _embedded(
    environment: Environment,
    home: Home,
    surroundings: Mapping[str, str],
    secrets: credentials.Credentials,
    chosen: ports.Ports,
    announce: Say,
) -> tuple[str, services.Databases, tuple[Service, ...]]:
    from infra.postgres import DATABASE, PREFECT_DATABASE, EmbeddedPostgres, PostgresUnavailable, server_folder

    server = EmbeddedPostgres(server_folder(home.folder), chosen.postgres, secrets.passwords)
    try:
        server.prepare()
        service = services.postgres(server, environment, surroundings)
        _apply(home, (service,), announce, partly=True)
        _wait(home, ["postgres"], announce)
        server.wait_until_ready()
        server.provision()
    except PostgresUnavailable as error:
        raise NotUp(f"{error}\n{tail(home, 'postgres')}") from error
    databases = services.databases(f"127.0.0.1:{chosen.postgres}", secrets.passwords, DATABASE, PREFECT_DATABASE)
    return server.url("filewright_owner"), databases, (service,)


def _external(url: str, secrets: credentials.Credentials, announce: Say) -> tuple[str, services.Databases]:
    from infra import external_postgres
    from infra.postgres import PREFECT_DATABASE

    try:
        address = external_postgres.parse(url)
    except external_postgres.Unsuitable as error:
        raise NotUp(str(error)) from error
    databases = services.databases(address.server, secrets.passwords, address.database, PREFECT_DATABASE)
    owner_url = services.role_url("filewright_owner", address.server, secrets.passwords, address.database)
    urls = {
        "filewright_owner": owner_url,
        "filewright_filing": databases.filing,
        "filewright_audit": databases.audit,
        "filewright_portal": databases.portal,
        "prefect": databases.prefect,
    }
    try:
        for line in external_postgres.provision(url, secrets.passwords, urls):
            announce(f"database: {line}")
    except external_postgres.Unsuitable as error:
        raise NotUp(str(error)) from error
    except external_postgres.AdministratorNeeded as error:
        script = "\n".join(f"  {item.text};" for item in error.statements)
        raise NotUp(
            f"{error.reason}. Run this as an administrator, connected to the database {address.database}, then start again "
            f"(it holds passwords: keep it out of shell histories):\n{script}"
        ) from error
    return owner_url, databases


def _migrate(owner_url: str, announce: Say) -> None:
    from tasks.domain.errors import FilewrightError
    from tasks.store.migrate import migrate

    try:
        for name in migrate(owner_url):
            announce(f"schema: {name}")
    except FilewrightError as error:
        raise NotUp(f"the database's schema cannot be brought up to date: {error}") from error


def _setting_names() -> tuple[str, ...]:
    from tasks.settings import settings_table

    return tuple(row[0] for row in settings_table())


def _apply(home: Home, wanted: tuple[Service, ...], announce: Say, *, partly: bool = False) -> dict[str, list[str]]:
    changed: dict[str, list[str]] = ask(
        home, {"do": "apply", "services": [item.to_json() for item in wanted], "partly": partly}
    )["changed"]
    for name, what in changed.items():
        if what == ["new"]:
            announce(f"starting {name}")
        else:
            announce(f"restarting {name}: {', '.join(what)} differ{'s' if len(what) == 1 else ''} from what is running")
    return changed


def _wait(home: Home, names: list[str], announce: Say) -> None:
    """Until each of these is well with its newest settings. Raises NotUp with the tail of the log of what is not."""
    deadline = time.monotonic() + START_SECONDS
    # A service may have been restarted in its long life before: only what happens from now on counts.
    before = {name: item["restarts"] for name, item in ask(home, {"do": "status"})["services"].items()}
    while True:
        found = ask(home, {"do": "status"})["services"]
        left = [name for name in names if not (found[name]["state"] == "well" and found[name]["settled"])]
        if not left:
            return
        for name in left:
            # Three starts without success: it will not come by waiting.
            if found[name]["restarts"] - before[name] >= 3 or time.monotonic() > deadline:
                raise NotUp(
                    f"{name} does not come up ({found[name]['last'] or found[name]['state']}):\n{tail(home, name)}"
                )
        time.sleep(0.1)


def _refuse_to_interrupt(installation: Installation, wanted: tuple[Service, ...], running: Mapping[str, Any]) -> None:
    """Raise NotUp where other settings would restart something below a run that is under way."""
    different = {
        item.name: what
        for item in wanted
        if item.name in running and (what := differences(item, running[item.name]["fingerprints"]))
    }
    if not different:
        return
    api = PrefectApi(installation.prefect_address, installation.credentials.prefect)
    try:
        active = [str(run["name"]) for pool in POOLS for run in api.active(pool)]
    except PrefectUnavailable:
        return  # a server that is down has no run to interrupt
    if active:
        changes = "; ".join(f"{name}: {', '.join(what)}" for name, what in different.items())
        raise NotUp(
            f"These services would restart with other settings ({changes}), but a run is under way ({', '.join(active)}). "
            "Wait for it, cancel it in Prefect, or `python3 -m infra down` first."
        )


def _settle_lost_runs(api: PrefectApi, announce: Say) -> None:
    """Runs that Prefect still takes for running although no worker was: their processes ended with the services.

    Prefect would show them as running for ever. The filing itself is the ledger's affair, not theirs.
    """
    for pool in POOLS:
        for run in api.active(pool):
            if (run.get("state") or {}).get("name") == "Suspended":
                continue  # has no process by design and starts again when it is resumed
            api.crash(str(run["id"]), "The services ended while this run was under way.")
            announce(f"run {run['name']} ended with the services that were killed: marked as crashed")


def _pools_and_deployments(result: Up, announce: Say) -> None:
    template = json.loads(WORK_POOL.read_text(encoding="utf-8"))
    for pool in POOLS:
        result.api.set_pool(pool, template)
    installation = result.installation
    stamp = installation.home.folder / "deployed"
    # The deployments record this folder; flows are read afresh by each run, so only their definitions matter here.
    wanted = services.digest([ROOT / "flows"]) + hashlib.sha256((ROOT / "prefect.yaml").read_bytes()).hexdigest()[:16]
    wanted += f" {ROOT} {installation.databases.prefect.rpartition('@')[2]}"
    known = stamp.read_text(encoding="utf-8") if stamp.exists() else ""
    if known == wanted and result.api.deployments():
        return
    announce("deploying the flows of prefect.yaml")
    done = subprocess.run(
        [str(installation.environment.python), "-m", "prefect", "--no-prompt", "deploy", "--all"],
        cwd=ROOT,
        env={
            **child_environment(installation.environment, installation.surroundings),
            **prefect_client_environment(installation.home, installation.ports, installation.credentials),
            "PYTHONPATH": str(ROOT),
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    (installation.home.logs / "deploy.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    if done.returncode != 0:
        raise NotUp(f"`prefect deploy --all` failed:\n{_last_lines(done.stdout + done.stderr)}")
    stamp.write_text(wanted, encoding="utf-8")


# ---------------------------------------------------------------------------------------------------------- down


def down(home: Home, seconds: float = 90.0) -> list[str]:
    """Stop everything of this installation, whoever left it; returns what was done. Safe to repeat."""
    done = []
    try:
        ask(home, {"do": "stop"}, seconds)
        deadline = time.monotonic() + 5
        while supervised(home) and time.monotonic() < deadline:
            time.sleep(0.05)
        done.append("the services are stopped")
    except (NotRunning, OSError, ValueError):
        # No supervisor, or one that hangs; what it left is ended below.
        if supervised(home):
            done += _end_supervisor(home)
    return done + clean(home)


def clean(home: Home) -> list[str]:
    """After a dead supervisor: end what it left, remove its files; returns what was done.

    Only processes are ended that carry this installation's mark or that services.json names by pid *and* start time.
    """
    left = {identity.pid: identity for identity in (*marked(home.mark), *_recorded(home)) if identity.alive()}
    stubborn = end(left.values())
    lines = []
    if left:
        lines.append(f"ended {len(left)} process{'es' if len(left) > 1 else ''} that a dead supervisor left")
    if stubborn:
        lines.append(f"these could not be ended: {', '.join(str(item.pid) for item in stubborn)}")
    if not supervised(home):
        for path in (home.services, home.folder / "control.sock"):
            path.unlink(missing_ok=True)
    return lines


def _end_supervisor(home: Home) -> list[str]:
    identity = from_json(read_state(home).get("supervisor"))
    if identity is None or not identity.alive():
        return [f"a supervisor holds {home.folder} but does not answer, and its process is not known"]
    end([identity], 10.0)
    return ["the supervisor did not answer and was ended"]


def _recorded(home: Home) -> Iterator[Identity]:
    state = read_state(home)
    for entry in (state.get("services") or {}).values():
        identity = from_json(entry.get("guard"))
        if identity is not None:
            yield identity


# ---------------------------------------------------------------------------------------------------- status, env


def read_state(home: Home) -> dict[str, Any]:
    """What the supervisor wrote last; empty where there is nothing readable."""
    try:
        state = json.loads(home.services.read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return {}
    return state if isinstance(state, dict) else {}


def _running(home: Home) -> dict[str, Any]:
    try:
        return dict(ask(home, {"do": "status"})["services"])
    except NotRunning:
        return {}


def _ours(running: Mapping[str, Any], service: str, port: int) -> bool:
    name = f"worker-{service}" if service in POOLS else service
    return f":{port}" in str(running.get(name, {}).get("health", "")) + "/"


def status_lines(home: Home) -> tuple[list[str], bool]:
    """A table of the services, and whether all of them are well."""
    try:
        found = ask(home, {"do": "status"})["services"]
    except NotRunning:
        return [f"The services are not running ({home.folder}). Start them: python3 -m infra up"], False
    rows = [("SERVICE", "STATE", "SINCE", "RESTARTS", "ADDRESS", "REMARK")]
    for name, entry in found.items():
        rows.append(
            (name, entry["state"], _duration(entry["seconds"]), str(entry["restarts"]), entry["address"], entry["last"])
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.append(f"logs: {home.logs}")
    return lines, bool(found) and all(entry["state"] == "well" for entry in found.values())


def _duration(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def exports(environment: Environment, home: Home, surroundings: Mapping[str, str]) -> list[str]:
    """Shell lines that put the environment's programs and our Prefect server in place (POSIX sh, for eval).

    Raises NotUp where the services have never been started.
    """
    chosen = ports.recall(home)
    if chosen is None or not home.secrets.exists():
        raise NotUp("the services have not been started yet: python3 -m infra up")
    secrets = credentials.load(home)
    variables = {
        "PATH": services.client_path(environment, surroundings),
        **prefect_client_environment(home, chosen, secrets),
    }
    return [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]


def tail(home: Home, service: str, lines: int = 15) -> str:
    """The end of a service's log, for a message."""
    path = home.logs / f"{service}.log"
    if not path.exists():
        return f"  (no log yet: {path})"
    with path.open("rb") as log:
        log.seek(max(0, path.stat().st_size - 20_000))
        text = log.read().decode(errors="replace")
    return f"{_last_lines(text, lines)}\n  (the whole log: {path})"


def _last_lines(text: str, lines: int = 15) -> str:
    return "\n".join("  " + line for line in text.splitlines()[-lines:])


@contextmanager
def errors_as_exit() -> Iterator[None]:
    """Turn the errors that a person can act upon into a message and exit code 1."""
    from infra.bootstrap import Stopped
    from tasks.domain.errors import FilewrightError

    try:
        yield
    except (NotUp, NotRunning, ports.PortTaken, PrefectUnavailable, FilewrightError, ValueError) as error:
        print(error, file=sys.stderr)
        raise Stopped(1) from error


def surroundings() -> dict[str, str]:
    """This process's environment, as a value."""
    return dict(os.environ)
