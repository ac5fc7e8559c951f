"""Real parts that many tests share: one Postgres server a session, one fresh database a test."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import hypothesis
import psycopg
import pytest
from psycopg import sql

from infra.postgres import EmbeddedPostgres, free_port, new_passwords, server_folder
from tasks.documents import Manifest, load_manifest, locate
from tasks.domain.errors import PermanentError
from tasks.store.migrate import migrate

REPOSITORY = Path(__file__).resolve().parents[1]
CORPORA = REPOSITORY / "corpus"
# In CI the examples are the same at each run, so that a change is judged and not its luck; elsewhere they are new each time.
hypothesis.settings.register_profile("ci", derandomize=True, deadline=None)
hypothesis.settings.register_profile("here", deadline=None)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "here")

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


@contextmanager
def fresh_database(postgres: EmbeddedPostgres) -> Iterator[Database]:
    """A copy of the migrated database, dropped afterwards."""
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


@pytest.fixture
def database(postgres: EmbeddedPostgres) -> Iterator[Database]:
    """A database of the test's own."""
    with fresh_database(postgres) as made:
        yield made


@pytest.fixture(scope="session")
def prefect_server() -> Iterator[None]:
    """A real Prefect server of the session's own, with its own database."""
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=120):
        yield


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's root."""
    return REPOSITORY


@pytest.fixture(scope="session")
def federal_pdfs() -> dict[str, Path]:
    """The three federal PDFs by name: from the mirror, from beside the repository, or from what a download left."""
    manifest = load_manifest(CORPORA / "hipaa")
    home = Path(os.environ.get("FILEWRIGHT_HOME", REPOSITORY / ".filewright"))
    named = os.environ.get("FILEWRIGHT_CORPUS_MIRROR")
    mirrors = [Path(named)] if named else []
    for mirror in [*mirrors, REPOSITORY.parent / "shared" / "corpus", None]:
        if mirror is not None and not mirror.is_dir():
            continue
        try:
            return _located(manifest, mirror, home / "downloads")
        except PermanentError:
            continue
    pytest.skip(
        "the federal PDFs are not here: not in FILEWRIGHT_CORPUS_MIRROR, not in ../shared/corpus, not in the download cache; "
        "they are not part of the repository"
    )


def _located(manifest: Manifest, mirror: Path | None, cache: Path) -> dict[str, Path]:
    folder = CORPORA / "hipaa"
    return {
        entry.name: locate(entry, folder=folder, mirror=mirror, cache=cache, download=False)
        for entry in manifest.documents
    }
