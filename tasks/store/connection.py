"""Connections to Postgres, with its errors told apart.

`connect` gives one transaction: committed at the end of the block, rolled back on any exception. What is worth another try
(server away, shutting down, too many clients, serialisation, lock time-out) leaves as TemporaryError; what a person must mend
(wrong password, missing right, missing schema) as PermanentError. No message carries a URL, because a URL carries a password.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import errors, sql
from psycopg.rows import TupleRow

from tasks.domain.errors import PermanentError, TemporaryError

Connection = psycopg.Connection[TupleRow]

CONNECT_SECONDS = 10
# Nothing that Filewright asks of Postgres takes minutes; a statement that does is stuck.
STATEMENT_MILLISECONDS = 120_000

HOST = re.compile(r"[\w.,:/%-]*")

PERMANENT = (
    errors.InvalidPassword,
    errors.InvalidAuthorizationSpecification,
    errors.InsufficientPrivilege,
    errors.UndefinedTable,
    errors.InvalidSchemaName,
    errors.InvalidCatalogName,
)


@contextmanager
def connect(url: str, *, read_only: bool = False, application: str = "filewright") -> Iterator[Connection]:
    """One connection, one transaction. Raises TemporaryError or PermanentError as the module says."""
    check_url(url)
    with translated():
        connection = psycopg.connect(
            url,
            connect_timeout=CONNECT_SECONDS,
            application_name=application,
            options=f"-c statement_timeout={STATEMENT_MILLISECONDS} -c idle_in_transaction_session_timeout=600000",
        )
        connection.read_only = read_only
        with connection:
            yield connection


def check_url(url: str) -> None:
    """Raise PermanentError for an address that Postgres' own library would misread, because its complaint quotes the password."""
    try:
        host = str(psycopg.conninfo.conninfo_to_dict(url).get("host", ""))
    except psycopg.Error:
        host = "@"
    if not url.startswith(("postgresql://", "postgres://")) or not HOST.fullmatch(host):
        raise PermanentError(
            "FILEWRIGHT_DATABASE_URL is not an address like postgresql://role:password@host:port/database. "
            "A character such as @, / or % in the password must be percent-encoded."
        )


@contextmanager
def translated() -> Iterator[None]:
    """Turn psycopg's errors into ours; other exceptions pass as they are."""
    try:
        yield
    except PERMANENT as error:
        raise PermanentError(
            f"Postgres refused this: {_first_line(error)}. Check the role and the schema "
            "(`python3 -m infra up` applies it)."
        ) from error
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        # A wrong password during connect has no SQLSTATE in libpq's answer, only its words.
        if "password authentication failed" in str(error) or "no password supplied" in str(error):
            raise PermanentError("Postgres refused the password of this role.") from error
        raise TemporaryError(f"Postgres does not answer: {_first_line(error)}. Trying again may help.") from error


def role_of(connection: Connection) -> str:
    """The name of the role that this connection logged in as."""
    row = connection.execute(sql.SQL("SELECT current_user")).fetchone()
    assert row is not None
    return str(row[0])


def one(row: tuple[Any, ...] | None) -> tuple[Any, ...]:
    """The row of a statement that always returns one."""
    if row is None:
        raise TemporaryError("Postgres returned no row where one was expected.")
    return row


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
