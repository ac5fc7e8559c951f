"""The whole of it on the real screen: portal and offline model as processes of their own, flows as Prefect runs them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from infra.postgres import EmbeddedPostgres, free_port
from tasks.settings import settings
from tests.conftest import Database, fresh_database

ROOT = Path(__file__).resolve().parents[2]
CLEAN = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"}


@dataclass(frozen=True)
class World:
    """Everything that a filing meets; `variables` is the filing worker's environment."""

    database: Database
    home: Path
    corpora: Path
    portal_url: str
    variables: dict[str, str]

    def rows(self, report_id: str) -> list[dict[str, Any]]:
        """What the portal has of a report."""
        with psycopg.connect(self.database.audit_url) as connection:
            return [
                dict(zip(("quarter", "department", "answers", "reference"), row, strict=True))
                for row in connection.execute(
                    "SELECT quarter, department, answers, reference FROM portal.submissions WHERE report_id = %s",
                    (report_id,),
                )
            ]

    def ledger(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.database.audit_url) as connection:
            return connection.execute(statement, values).fetchall()


@contextmanager
def service(name: str, arguments: list[str], environment: dict[str, str], port: int, log: Path) -> Iterator[None]:
    """A server of ours as its own process, ready when its health check says so."""
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", *arguments],
            cwd=ROOT,
            env={**CLEAN, **environment},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2).close()
                break
            except (urllib.error.URLError, OSError):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise AssertionError(f"{name} did not start: {log.read_text()[-2000:]}") from None
                time.sleep(0.2)
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture(scope="session")
def world(
    postgres: EmbeddedPostgres, prefect_server: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    """One world for all tests here; each files reports of its own."""
    folder = tmp_path_factory.mktemp("world")
    shutil.copytree(ROOT / "corpus", folder / "corpus")
    portal, model = free_port(), free_port()
    with ExitStack() as stack:
        database = stack.enter_context(fresh_database(postgres))
        stack.enter_context(
            service(
                "portal",
                ["portal"],
                {"PORTAL_DATABASE_URL": database.portal_url, "PORTAL_PORT": str(portal)},
                portal,
                folder / "portal.log",
            )
        )
        stack.enter_context(
            service(
                "offline model",
                ["infra.offline_model", "--port", str(model)],
                {},
                model,
                folder / "model.log",
            )
        )
        variables = {
            "FILEWRIGHT_DATABASE_URL": database.filing_url,
            "FILEWRIGHT_HOME": str(folder / "home"),
            "FILEWRIGHT_CORPUS_FOLDER": str(folder / "corpus"),
            "FILEWRIGHT_CORPUS_DOWNLOAD": "false",
            "FILEWRIGHT_PORTAL_URL": f"http://127.0.0.1:{portal}",
            "FILEWRIGHT_MODEL": "offline",
            "FILEWRIGHT_MODEL_URL": f"http://127.0.0.1:{model}",
            "FILEWRIGHT_LEASE_SECONDS": "6",
            "FILEWRIGHT_SCREENSHOT_ARTIFACT": "true",
            # The portal is our own demonstration: its submit needs no person. Tests that say so take it away.
            "FILEWRIGHT_APPROVAL": "auto",
        }
        yield World(database, folder / "home", folder / "corpus", f"http://127.0.0.1:{portal}", variables)


@pytest.fixture
def filing_worker(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """This process as the filing worker."""
    for name, value in world.variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    settings.cache_clear()
    yield monkeypatch
    settings.cache_clear()


@contextmanager
def audit_worker(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This process as the audit worker, for a while."""
    with monkeypatch.context() as context:
        context.setenv("FILEWRIGHT_DATABASE_URL", world.database.audit_url)
        settings.cache_clear()
        yield
    settings.cache_clear()


def desktops(home: Path) -> list[str]:
    """Command lines of processes that belong to a desktop of this home."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            surroundings = (entry / "environ").read_bytes()
        except OSError:
            continue
        if str(home).encode() in surroundings and any(
            name in command for name in ("Xvfb", "firefox", "matchbox", "dbus-daemon", "at-spi")
        ):
            found.append(command)
    return found
