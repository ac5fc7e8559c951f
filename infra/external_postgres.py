"""A Postgres that somebody else runs (FILEWRIGHT_DATABASE_URL): the same roles and databases as in the embedded one.

The address names a database and a user. Where that user may, roles, Prefect's database and the extension are made; where not, the SQL for
an administrator is printed, with the passwords that this installation generated. A second start finds everything in place and
changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from infra.postgres import PREFECT_DATABASE, ROLES

if TYPE_CHECKING:
    import psycopg

# Postgres 15 took CREATE on the public schema from everybody; pgvector 0.8 brought iterative index scans.
LOWEST_SERVER = 150000
LOWEST_VECTOR = (0, 8)


class AdministratorNeeded(RuntimeError):
    """The named user may not do what is missing; `statements` are for somebody who may."""

    def __init__(self, reason: str, statements: list[Statement]) -> None:
        super().__init__(reason)
        self.reason = reason
        self.statements = statements


class Unsuitable(RuntimeError):
    """The server cannot be used: too old, no pgvector, no connection. The message says what to do."""


@dataclass(frozen=True)
class Statement:
    """One SQL statement and the database in which it runs ("" is the address's own)."""

    text: str = field(repr=False)
    database: str = ""


@dataclass(frozen=True)
class Address:
    """The parts of FILEWRIGHT_DATABASE_URL that the roles' URLs are made from."""

    server: str
    database: str


def parse(url: str) -> Address:
    """`server` is "host:port", with the URL's options (sslmode and the like) behind a question mark.

    Raises Unsuitable, without quoting it, for what is no Postgres URL: it may hold a password anywhere.
    """
    try:
        parts = urlsplit(url)
        whole = parts.scheme in ("postgresql", "postgres") and bool(parts.hostname) and parts.netloc.count("@") <= 1
        whole = whole and (parts.port or 5432) > 0
    except ValueError:
        whole = False
    if not whole:
        raise Unsuitable(
            "FILEWRIGHT_DATABASE_URL is not an address like postgresql://user:password@host:port/database. "
            "A character such as @, / or % in the password must be percent-encoded."
        )
    server = f"{parts.hostname}:{parts.port or 5432}"
    return Address(
        f"{server}?{parts.query}" if parts.query else server, unquote(parts.path.lstrip("/")) or "filewright"
    )


def missing(
    connection: psycopg.Connection, passwords: Mapping[str, str], logins: Mapping[str, bool]
) -> list[Statement]:
    """What has to be run, in order. `logins` says of each role whether it can log in with our password."""
    from psycopg import sql

    def text(query: str, *parts: sql.Composable) -> str:
        return sql.SQL(query).format(*parts).as_string(connection)

    database = connection.info.dbname
    known = {row[0] for row in connection.execute("SELECT rolname FROM pg_roles")}
    statements = []
    for role in ROLES:
        if logins[role]:
            continue
        verb = "ALTER" if role in known else "CREATE"
        query = f"{verb} ROLE {{}} LOGIN PASSWORD {{}}"
        statements.append(Statement(text(query, sql.Identifier(role), sql.Literal(passwords[role]))))
    databases = {row[0] for row in connection.execute("SELECT datname FROM pg_database")}
    if PREFECT_DATABASE not in databases:
        # The creator must be a member of the role that shall own it, unless it is a superuser.
        statements.append(Statement(text("GRANT {} TO CURRENT_USER", sql.Identifier("prefect"))))
        statements.append(
            Statement(text("CREATE DATABASE {} OWNER {}", sql.Identifier(PREFECT_DATABASE), sql.Identifier("prefect")))
        )
    owner, guests = ROLES[0], ROLES[1:4]
    name = sql.Identifier(database)
    if owner not in known or not _may(connection, owner, database, "CREATE"):
        statements.append(Statement(text("GRANT CONNECT, CREATE ON DATABASE {} TO {}", name, sql.Identifier(owner))))
    for guest in guests:
        if guest not in known or not _may(connection, guest, database, "CONNECT"):
            statements.append(Statement(text("GRANT CONNECT ON DATABASE {} TO {}", name, sql.Identifier(guest))))
    if connection.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'").fetchone() is None:
        statements.append(Statement("CREATE EXTENSION vector"))
    return statements


def _may(connection: psycopg.Connection, role: str, database: str, privilege: str) -> bool:
    row = connection.execute("SELECT has_database_privilege(%s, %s, %s)", (role, database, privilege)).fetchone()
    return bool(row and row[0])


def provision(url: str, passwords: Mapping[str, str], urls: Mapping[str, str]) -> list[str]:
    """Bring the server at `url` to the state that `missing` describes; `urls` holds each role's own URL, to try its login.

    Returns the statements that were run, without passwords. Raises Unsuitable, or AdministratorNeeded before anything was changed.
    """
    import psycopg
    from psycopg import sql

    try:
        with psycopg.connect(url, autocommit=True, connect_timeout=10) as connection:
            _require(connection)
            logins = {role: _logs_in(urls[role]) for role in ROLES}
            statements = missing(connection, passwords, logins)
            if not statements:
                return []
            row = connection.execute(
                "SELECT rolsuper, rolcreaterole AND rolcreatedb FROM pg_roles WHERE rolname = current_user"
            ).fetchone()
            superuser, creator = row or (False, False)
            needs_superuser = any(item.text.startswith("CREATE EXTENSION") for item in statements) and not _trusted(
                connection
            )
            if not (superuser or (creator and not needs_superuser)):
                raise AdministratorNeeded(
                    "the user of FILEWRIGHT_DATABASE_URL may not create what is missing", statements
                )
            for item in statements:
                try:
                    connection.execute(sql.SQL(item.text))
                except psycopg.errors.InsufficientPrivilege as error:
                    raise AdministratorNeeded(str(error).splitlines()[0], statements) from error
    except psycopg.OperationalError as error:
        raise Unsuitable(f"FILEWRIGHT_DATABASE_URL: {str(error).strip().splitlines()[0]}") from error
    return [item.text.split(" PASSWORD ")[0] for item in statements]


def _require(connection: psycopg.Connection) -> None:
    if connection.info.server_version < LOWEST_SERVER:
        raise Unsuitable(f"the server is Postgres {connection.info.server_version // 10000}: 15 or later is needed")
    row = connection.execute("SELECT default_version FROM pg_available_extensions WHERE name = 'vector'").fetchone()
    if row is None:
        raise Unsuitable(
            "the server has no pgvector: install it there (the package is often called postgresql-NN-pgvector)"
        )
    if tuple(int(part) for part in str(row[0]).split(".")[:2]) < LOWEST_VECTOR:
        raise Unsuitable(f"the server's pgvector is {row[0]}: 0.8 or later is needed")


def _trusted(connection: psycopg.Connection) -> bool:
    """Whether an ordinary user may create the extension (some hosts mark it so)."""
    row = connection.execute(
        "SELECT bool_or(trusted) FROM pg_available_extension_versions WHERE name = 'vector'"
    ).fetchone()
    return bool(row and row[0])


def _logs_in(url: str) -> bool:
    import psycopg

    try:
        # Only whether the password fits is asked here, so any database that exists will do.
        psycopg.connect(url, connect_timeout=10).close()
    except psycopg.OperationalError as error:
        return "does not exist" in str(error) and "database" in str(error)
    return True
