"""Real parts that many tests share: one Postgres server a session, one fresh database a test."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from infra.postgres import EmbeddedPostgres, free_port, new_passwords, server_folder
from tasks.store.migrate import migrate

TEMPLATE = "filewright_template"
counter = itertools.count(1)


@dataclass(frozen=True)
class Database:
    """A migrated database of its own, with one URL per role."""

    name: str
    owner_url: str
    filing_url: str
    audit_url: str
    portal_url: str
    superuser_url: str


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    """The embedded server, started once; it ends with this process whatever happens."""
    home = tmp_path_factory.mktemp("postgres")
    server = EmbeddedPostgres(server_folder(home), free_port(), new_passwords())
    server.prepare()
    with (home / "postgres.log").open("wb") as log:
        # The fsync of a throwaway cluster protects nothing.
        process = subprocess.Popen(
            [*server.command(), "-c", "fsync=off"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd="/",
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
        )
    try:
        server.wait_until_ready()
        server.provision(TEMPLATE)
        migrate(server.url("filewright_owner", TEMPLATE))
        yield server
    finally:
        process.send_signal(signal.SIGINT)  # fast shutdown; SIGTERM would wait for every client to leave
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        shutil.rmtree(server.folder, ignore_errors=True)


@pytest.fixture
def database(postgres: EmbeddedPostgres) -> Iterator[Database]:
    """A fresh copy of the migrated database, dropped afterwards."""
    name = f"test_{os.getpid()}_{next(counter)}_{int(time.time())}"
    admin = postgres.url("postgres", "postgres")
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {} OWNER filewright_owner").format(
                sql.Identifier(name), sql.Identifier(TEMPLATE)
            )
        )
        connection.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(sql.Identifier(name)))
        connection.execute(
            sql.SQL("GRANT CONNECT ON DATABASE {} TO filewright_filing, filewright_audit, filewright_portal").format(
                sql.Identifier(name)
            )
        )
    yield Database(
        name,
        *(
            postgres.url(role, name)
            for role in ("filewright_owner", "filewright_filing", "filewright_audit", "filewright_portal", "postgres")
        ),
    )
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's root."""
    return Path(__file__).resolve().parents[1]
