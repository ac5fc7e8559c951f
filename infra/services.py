"""Which services there are, and what each of them may know.

| service | database role | knows besides |
| --- | --- | --- |
| postgres | | its data folder |
| prefect | prefect | the API's password |
| portal | filewright_portal | |
| model (offline) | none | nothing: no database, corpus, key, or API |
| filing worker | filewright_filing | the API's password; the model's key, only where a real model was chosen by name |
| audit worker | filewright_audit | the API's password |

Pure: values in, `Service`s out; nothing is started here.
"""

from __future__ import annotations

import hashlib
import os
import signal
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from infra.allowed import QUIET, child_environment
from infra.credentials import Credentials
from infra.environment import Environment
from infra.places import ROOT, Home
from infra.ports import Ports
from infra.postgres import EmbeddedPostgres
from infra.service import Service

OFFLINE = "offline"
KEY = "ANTHROPIC_API_KEY"
# What the workers are told by us; a user's value for one of these would break the separation of roles.
OURS = frozenset(
    {
        "FILEWRIGHT_DATABASE_URL",
        "FILEWRIGHT_HOME",
        "FILEWRIGHT_PORTAL_URL",
        "FILEWRIGHT_MODEL",
        "FILEWRIGHT_MODEL_URL",
        "FILEWRIGHT_MAX_DOLLARS",
        KEY,
    }
)
AGENT_PREFIXES = ("FILEWRIGHT_MAX_", "FILEWRIGHT_EFFORT", "FILEWRIGHT_THREADS")
PATHS = frozenset({"FILEWRIGHT_CORPUS_FOLDER", "FILEWRIGHT_CORPUS_MIRROR", "FILEWRIGHT_BROWSER"})


@dataclass(frozen=True)
class Model:
    """`name` is "offline" or a real model's; `max_dollars` is the ceiling of one attempt; the key is set for a real one only."""

    name: str = OFFLINE
    max_dollars: float = 2.0
    key: str = field(default="", repr=False)

    @property
    def real(self) -> bool:
        return self.name != OFFLINE

    def __str__(self) -> str:
        if self.real:
            return f"{self.name}: a real model, which costs money; the run stops at {self.max_dollars:.2f} US dollars"
        return "offline: a local stand-in that costs nothing; no key is used"


@dataclass(frozen=True)
class Databases:
    """One URL per role."""

    filing: str = field(repr=False)
    audit: str = field(repr=False)
    portal: str = field(repr=False)
    prefect: str = field(repr=False)


@dataclass(frozen=True)
class Installation:
    """Everything that the services' definitions follow from."""

    environment: Environment
    home: Home
    ports: Ports
    credentials: Credentials
    databases: Databases
    surroundings: Mapping[str, str] = field(repr=False)
    model: Model = Model()
    # Names of the worker side's settings (tasks/settings.py), which pass from the user's environment.
    settings: tuple[str, ...] = ()

    @property
    def prefect_address(self) -> str:
        return f"http://127.0.0.1:{self.ports.prefect}"

    @property
    def portal_address(self) -> str:
        return f"http://127.0.0.1:{self.ports.portal}"

    @property
    def model_address(self) -> str:
        return f"http://127.0.0.1:{self.ports.model}"


def prefect_client_environment(home: Home, ports: Ports, credentials: Credentials) -> dict[str, str]:
    """What a Prefect client needs to reach our server, and nothing of the user's own Prefect profile."""
    return {
        **QUIET,
        "PREFECT_HOME": str(home.prefect),
        "PREFECT_API_URL": f"http://127.0.0.1:{ports.prefect}/api",
        "PREFECT_API_AUTH_STRING": credentials.prefect,
    }


def postgres(server: EmbeddedPostgres, environment: Environment, surroundings: Mapping[str, str]) -> Service:
    """The embedded server. SIGINT is its fast shutdown: clients are cut off, the data is whole."""
    return Service(
        name="postgres",
        command=tuple(server.command()),
        environment={"PATH": child_environment(environment, surroundings)["PATH"], "LC_ALL": "C.UTF-8"},
        health=f"postgres://127.0.0.1:{server.port}",
        stop_signal=int(signal.SIGINT),
        stop_seconds=20.0,
        address=f"127.0.0.1:{server.port}",
    )


def others(installation: Installation, *, embedded: bool) -> tuple[Service, ...]:
    """All services but Postgres; `embedded` says whether Postgres is one of ours and must be up first."""
    database = ("postgres",) if embedded else ()
    python = str(installation.environment.python)
    basic = child_environment(installation.environment, installation.surroundings)
    client = prefect_client_environment(installation.home, installation.ports, installation.credentials)
    return (
        _prefect(installation, python, basic, database),
        _portal(installation, python, basic, database),
        _model(installation, python),
        _worker(installation, python, client, "filing", {**filing_settings(installation)}),
        _worker(installation, python, client, "audit", {**audit_settings(installation)}),
    )


def _prefect(installation: Installation, python: str, basic: dict[str, str], after: tuple[str, ...]) -> Service:
    port = str(installation.ports.prefect)
    address = installation.prefect_address
    return Service(
        name="prefect",
        command=(python, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", port),
        environment={
            **basic,
            "PREFECT_HOME": str(installation.home.prefect),
            "PREFECT_API_URL": f"{address}/api",
            "PREFECT_SERVER_API_HOST": "127.0.0.1",
            "PREFECT_SERVER_API_PORT": port,
            "PREFECT_SERVER_UI_API_URL": f"{address}/api",
            "PREFECT_SERVER_API_AUTH_STRING": installation.credentials.prefect,
            "PREFECT_API_AUTH_STRING": installation.credentials.prefect,
            "PREFECT_API_DATABASE_CONNECTION_URL": installation.databases.prefect.replace(
                "postgresql://", "postgresql+asyncpg://", 1
            ),
        },
        folder=str(ROOT),
        # Readiness needs no password and looks at the database.
        health=f"{address}/api/ready",
        after=after,
        start_seconds=120.0,
        address=address,
    )


def _portal(installation: Installation, python: str, basic: dict[str, str], after: tuple[str, ...]) -> Service:
    own = {name: value for name, value in installation.surroundings.items() if name.startswith("PORTAL_") and value}
    address = installation.portal_address
    return Service(
        name="portal",
        command=(python, "-m", "portal"),
        environment={
            **basic,
            **own,
            "PORTAL_DATABASE_URL": installation.databases.portal,
            "PORTAL_HOST": "127.0.0.1",
            "PORTAL_PORT": str(installation.ports.portal),
        },
        folder=str(ROOT),
        health=f"{address}/health",
        after=after,
        address=address,
        source=digest([ROOT / "portal"]),
    )


def _model(installation: Installation, python: str) -> Service:
    basic = child_environment(installation.environment, installation.surroundings)
    kept: dict[str, str] = {
        name: basic[name] for name in ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "PATH", "TMPDIR", "TZ") if name in basic
    }
    return Service(
        name="model",
        command=(python, "-m", "infra.offline_model", "--port", str(installation.ports.model)),
        # One thread per page is fastest where several programs share two cores.
        environment={**kept, "OMP_THREAD_LIMIT": "1", "PYTHONUNBUFFERED": "1"},
        folder=str(ROOT),
        health=f"{installation.model_address}/health",
        address=installation.model_address,
        source=digest([ROOT / "infra" / "offline_model"]),
    )


def _worker(
    installation: Installation, python: str, client: Mapping[str, str], pool: str, settings: Mapping[str, str]
) -> Service:
    port = {"filing": installation.ports.filing, "audit": installation.ports.audit}[pool]
    # Only the filing side downloads documents and calls a model: the audit side gets no way out.
    basic = child_environment(installation.environment, installation.surroundings, network=pool == "filing")
    return Service(
        name=f"worker-{pool}",
        command=(
            *(python, "-m", "prefect", "worker", "start", "--pool", pool, "--name", pool, "--type", "process"),
            *("--no-create-pool-if-not-found", "--install-policy", "never", "--with-healthcheck"),
        ),
        environment={
            **basic,
            **client,
            "PREFECT_WORKER_QUERY_SECONDS": "2",
            "PREFECT_WORKER_WEBSERVER_HOST": "127.0.0.1",
            "PREFECT_WORKER_WEBSERVER_PORT": str(port),
            # Module entrypoints (flows.filing.filing) are found from here.
            "PYTHONPATH": str(ROOT),
            **settings,
        },
        folder=str(ROOT),
        health=f"http://127.0.0.1:{port}/health",
        after=("prefect",),
        start_seconds=90.0,
        stop_seconds=20.0,
        address=f"pool {pool}",
    )


def filing_settings(installation: Installation) -> dict[str, str]:
    """The settings of ingest and filing: own role, portal's address, model; the key only for a real model."""
    model = installation.model
    given = _given(installation)
    chosen = {
        # On here, because this Prefect server is this user's alone and asks for a password; off by default elsewhere.
        "FILEWRIGHT_SCREENSHOT_ARTIFACT": "true",
        # The portal is our own demonstration, where nothing reaches a regulator: its submit needs no person.
        "FILEWRIGHT_APPROVAL": "auto",
        **given,
        "FILEWRIGHT_HOME": str(installation.home.folder),
        "FILEWRIGHT_DATABASE_URL": installation.databases.filing,
        "FILEWRIGHT_PORTAL_URL": installation.portal_address,
        "FILEWRIGHT_MODEL": model.name,
        "FILEWRIGHT_MAX_DOLLARS": f"{model.max_dollars:g}",
    }
    if model.real:
        chosen[KEY] = model.key
    else:
        chosen["FILEWRIGHT_MODEL_URL"] = installation.model_address
    return chosen


def audit_settings(installation: Installation) -> dict[str, str]:
    """The settings of verify: its read-only role; nothing of the model, the browser or the portal's address."""
    given = {
        name: value
        for name, value in _given(installation).items()
        if not name.startswith((*AGENT_PREFIXES, "FILEWRIGHT_SCREEN", "FILEWRIGHT_BROWSER", "FILEWRIGHT_CORPUS_MIRROR"))
    }
    return {
        **given,
        "FILEWRIGHT_HOME": str(installation.home.folder),
        "FILEWRIGHT_DATABASE_URL": installation.databases.audit,
    }


def _given(installation: Installation) -> dict[str, str]:
    """The user's own settings, paths made absolute: the services' folder is the repository, not the user's."""
    given = {
        name: installation.surroundings[name]
        for name in installation.settings
        if name not in OURS and installation.surroundings.get(name)
    }
    return {
        name: os.path.abspath(os.path.expanduser(value)) if name in PATHS else value for name, value in given.items()
    }


def databases(address: str, passwords: Mapping[str, str], database: str, prefect: str) -> Databases:
    """The roles' URLs on the server at `address` ("host:port", with "?…" options kept)."""
    return Databases(
        filing=role_url("filewright_filing", address, passwords, database),
        audit=role_url("filewright_audit", address, passwords, database),
        portal=role_url("filewright_portal", address, passwords, database),
        prefect=role_url("prefect", address, passwords, prefect),
    )


def role_url(role: str, address: str, passwords: Mapping[str, str], database: str) -> str:
    """The URL with which `role` reaches `database` at `address` ("host:port" or "host:port?options")."""
    host, _, options = address.partition("?")
    tail = f"?{options}" if options else ""
    return f"postgresql://{role}:{quote(passwords[role], safe='')}@{host}/{quote(database, safe='')}{tail}"


def digest(paths: Iterable[Path]) -> str:
    """A digest of the code below `paths`, so that an edit restarts the service that runs it."""
    seen = hashlib.sha256()
    for path in paths:
        for file in sorted(path.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                seen.update(f"{file.relative_to(ROOT)}\0{hashlib.sha256(file.read_bytes()).hexdigest()}\0".encode())
    return seen.hexdigest()[:16]


def client_path(environment: Environment, surroundings: Mapping[str, str]) -> str:
    """PATH with the environment's programs first."""
    return os.pathsep.join([str(environment.binaries), surroundings.get("PATH", os.defpath)])
