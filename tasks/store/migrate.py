"""Applies each room's schema: plain SQL files, numbered per room, each once.

Two processes that migrate at once are serialised by a transaction-level advisory lock (session locks break behind
transaction-pooling proxies), and all files of one call are one transaction: a broken file leaves nothing half applied.
A file that was applied and edited afterwards is refused: add a new number instead.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from psycopg import sql

from tasks.domain.errors import PermanentError
from tasks.store.connection import connect

LOCK = 4_236_2020  # any constant; all migrations of one database take the same
FILE_NAME = re.compile(r"(\d{4})_[a-z0-9_]+\.sql")
ROOT = Path(__file__).resolve().parents[2]
ROOMS: tuple[tuple[str, Path], ...] = (
    ("retrieval", ROOT / "tasks" / "retrieval" / "schema"),
    ("ledger", ROOT / "tasks" / "ledger" / "schema"),
    ("portal", ROOT / "portal" / "schema"),
)


@dataclass(frozen=True, slots=True)
class Migration:
    room: str
    number: int
    name: str
    statements: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.statements.encode()).hexdigest()


def read_migrations(rooms: Sequence[tuple[str, Path]] = ROOMS) -> tuple[Migration, ...]:
    """The SQL files of `rooms` in the order in which they apply.

    Raises PermanentError for a file whose name has no number, or a number that stands twice in a room.
    """
    found: list[Migration] = []
    for room, folder in rooms:
        for path in sorted(folder.glob("*.sql")):
            match = FILE_NAME.fullmatch(path.name)
            if match is None:
                raise PermanentError(f"{path.name} in {room}: a schema file is named like 0001_what_it_does.sql")
            if any(known.room == room and known.number == int(match[1]) for known in found):
                raise PermanentError(f"{room} has two schema files with number {match[1]}")
            found.append(Migration(room, int(match[1]), path.name, path.read_text(encoding="utf-8")))
    return tuple(found)


def migrate(owner_url: str, rooms: Sequence[tuple[str, Path]] = ROOMS) -> tuple[str, ...]:
    """Apply what is missing, as the owner role; returns the names of the files applied now.

    Raises PermanentError where an applied file has changed or a statement is refused.
    """
    migrations = read_migrations(rooms)
    applied_now = []
    with connect(owner_url, application="filewright-migrate") as connection:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        connection.execute("CREATE SCHEMA IF NOT EXISTS store")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS store.migrations ("
            " room text NOT NULL, number integer NOT NULL, name text NOT NULL, digest text NOT NULL,"
            " applied_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (room, number))"
        )
        rows = connection.execute("SELECT room, number, digest FROM store.migrations").fetchall()
        known = {(room, number): digest for room, number, digest in rows}
        for migration in migrations:
            digest = known.get((migration.room, migration.number))
            if digest == migration.digest:
                continue
            if digest is not None:
                raise PermanentError(
                    f"{migration.room}/{migration.name} was applied before and has changed since. "
                    "An applied schema file is never edited: undo the edit and add a new file."
                )
            connection.execute(sql.SQL(migration.statements))
            connection.execute(
                "INSERT INTO store.migrations (room, number, name, digest) VALUES (%s, %s, %s, %s)",
                (migration.room, migration.number, migration.name, migration.digest),
            )
            applied_now.append(f"{migration.room}/{migration.name}")
    return tuple(applied_now)
