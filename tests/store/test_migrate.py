"""Schema files are applied once, whole or not at all, whoever runs them and however often."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from infra.postgres import EmbeddedPostgres
from tasks.domain.errors import PermanentError, TemporaryError
from tasks.store.migrate import ROOMS, migrate, read_migrations


@pytest.fixture
def empty(postgres: EmbeddedPostgres) -> Iterator[str]:
    """A database with the extension and no schema, as its owner."""
    admin = postgres.url("postgres", "postgres")
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS unmigrated WITH (FORCE)")
    postgres.provision("unmigrated")
    yield postgres.url("filewright_owner", "unmigrated")
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE unmigrated WITH (FORCE)"))


def write(folder: Path, name: str, text: str) -> tuple[tuple[str, Path], ...]:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    return (("room", folder),)


def tables(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT table_schema || '.' || table_name FROM information_schema.tables").fetchall()
    return {row[0] for row in rows if row[0].split(".")[0] not in ("pg_catalog", "information_schema")}


def test_a_second_run_applies_nothing(empty: str) -> None:
    assert migrate(empty)
    assert migrate(empty) == ()


def _migrate(url: str) -> int:
    return len(migrate(url))


def test_two_processes_at_once_apply_each_file_once(empty: str) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        applied = pool.map(_migrate, [empty, empty])
    assert sorted(applied) == [0, len(read_migrations(ROOMS))]


def test_a_broken_file_leaves_nothing_half_applied(empty: str, tmp_path: Path) -> None:
    write(tmp_path / "s", "0001_good.sql", "CREATE TABLE public_one ();")
    rooms = write(tmp_path / "s", "0002_bad.sql", "CREATE SCHEMA two; CREATE TABLE two.t (); SELECT nonsense;")
    with pytest.raises(psycopg.Error):
        migrate(empty, rooms)
    assert tables(empty) == set()


def test_a_file_that_changed_after_it_was_applied_is_refused(empty: str, tmp_path: Path) -> None:
    rooms = write(tmp_path / "s", "0001_first.sql", "CREATE SCHEMA mine;")
    migrate(empty, rooms)
    write(tmp_path / "s", "0001_first.sql", "CREATE SCHEMA other;")
    with pytest.raises(PermanentError, match="changed since"):
        migrate(empty, rooms)


@pytest.mark.parametrize("name", ["first.sql", "1_first.sql", "0001-first.sql", "0001_First.sql"])
def test_a_file_without_a_number_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(PermanentError, match="named like"):
        read_migrations(write(tmp_path / "s", name, "SELECT 1;"))


def test_a_number_that_stands_twice_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "s", "0001_a.sql", "SELECT 1;")
    with pytest.raises(PermanentError, match="two schema files"):
        read_migrations(write(tmp_path / "s", "0001_b.sql", "SELECT 1;"))


def test_a_server_that_is_away_is_a_temporary_error() -> None:
    with pytest.raises(TemporaryError, match="does not answer"):
        migrate("postgresql://filewright_owner:secret@127.0.0.1:1/filewright")


def test_no_error_carries_the_password() -> None:
    with pytest.raises(TemporaryError) as caught:
        migrate("postgresql://filewright_owner:hunter2@127.0.0.1:1/filewright")
    assert "hunter2" not in str(caught.value)
