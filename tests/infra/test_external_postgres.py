"""Somebody else's Postgres: roles are made where the user may, and the SQL is shown where not."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass

import psycopg
import pytest
from psycopg import sql

from infra import external_postgres
from infra.external_postgres import AdministratorNeeded, Unsuitable
from infra.postgres import PREFECT_DATABASE, ROLES, EmbeddedPostgres, new_passwords
from infra.services import role_url
from tasks.store.migrate import migrate

GUESTS = ("filewright_filing", "filewright_audit", "filewright_portal")


@dataclass
class Server:
    """The test server, on which the roles exist with passwords that this installation does not know."""

    server: EmbeddedPostgres
    database: str
    passwords: dict[str, str]

    @property
    def admin(self) -> str:
        return self.server.url("postgres", self.database)

    def url(self, user: str, password: str) -> str:
        return role_url(user, f"127.0.0.1:{self.server.port}", {user: password}, self.database)

    def urls(self) -> dict[str, str]:
        names = {role: PREFECT_DATABASE if role == "prefect" else self.database for role in ROLES}
        address = f"127.0.0.1:{self.server.port}"
        return {role: role_url(role, address, self.passwords, names[role]) for role in ROLES}

    def provision(self, url: str) -> list[str]:
        return external_postgres.provision(url, self.passwords, self.urls())


@pytest.fixture
def foreign(postgres: EmbeddedPostgres) -> Iterator[Server]:
    """A fresh database without the extension; the roles' own passwords come back afterwards."""
    name = f"foreign_{secrets.token_hex(4)}"
    administrator = postgres.url("postgres", "postgres")
    with psycopg.connect(administrator, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        connection.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(sql.Identifier(name)))
    yield Server(postgres, name, new_passwords())
    with psycopg.connect(administrator, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
    postgres.provision()


def logs_in(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


def test_an_administrator_gets_everything_in_place_and_a_second_start_changes_nothing(foreign: Server) -> None:
    """Every role logs in with our password, the owner can bring the schema in, and no password is in what is announced."""
    assert not any(logs_in(url) for url in foreign.urls().values())
    done = foreign.provision(foreign.admin)
    assert any("vector" in line for line in done)
    assert not any(password in line for line in done for password in foreign.passwords.values())
    assert all(logs_in(foreign.urls()[role]) for role in (*GUESTS, "filewright_owner"))
    assert migrate(foreign.urls()["filewright_owner"])
    assert foreign.provision(foreign.admin) == []


def test_a_user_without_rights_gets_the_sql_to_hand_on_and_changes_nothing(foreign: Server) -> None:
    """Run by an administrator as it is printed, it does the same."""
    with psycopg.connect(foreign.admin, autocommit=True) as connection:
        connection.execute("CREATE ROLE someone LOGIN PASSWORD 'pw'")
        connection.execute(sql.SQL("GRANT CONNECT ON DATABASE {} TO someone").format(sql.Identifier(foreign.database)))
    try:
        with pytest.raises(AdministratorNeeded) as needed:
            foreign.provision(foreign.url("someone", "pw"))
        statements = [item.text for item in needed.value.statements]
        assert not any(logs_in(url) for url in foreign.urls().values())
        assert foreign.passwords["filewright_audit"] not in repr(needed.value.statements)
        with psycopg.connect(foreign.admin, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)
        assert foreign.provision(foreign.url("someone", "pw")) == []
    finally:
        with psycopg.connect(foreign.admin, autocommit=True) as connection:
            connection.execute("DROP OWNED BY someone")
            connection.execute("DROP ROLE someone")


def test_a_wrong_address_is_told_without_the_password(foreign: Server) -> None:
    """The message can be shown and logged."""
    with pytest.raises(Unsuitable) as unsuitable:
        foreign.provision(foreign.url("postgres", "a-wrong-secret"))
    assert "a-wrong-secret" not in str(unsuitable.value) and "FILEWRIGHT_DATABASE_URL" in str(unsuitable.value)


def test_the_address_is_taken_apart_with_its_options() -> None:
    """The port and the database have defaults."""
    full = external_postgres.parse("postgresql://u:p%40w@db.example:6432/file%20wright?sslmode=require")
    assert full == external_postgres.Address("db.example:6432?sslmode=require", "file wright")
    assert external_postgres.parse("postgresql://u@db.example") == external_postgres.Address(
        "db.example:5432", "filewright"
    )


@pytest.mark.parametrize(
    "url",
    [
        "postgresql//filing:hunter2@localhost/db",
        "postgresql://filing:p@hunter2@localhost/db",
        "mysql://filing:hunter2@localhost/db",
        "postgresql:///hunter2",
        "postgresql://filing:hunter2@localhost:notaport/db",
        "hunter2",
    ],
)
def test_what_is_no_address_is_refused_without_quoting_it(url: str) -> None:
    with pytest.raises(Unsuitable) as caught:
        external_postgres.parse(url)
    assert "hunter2" not in str(caught.value)


def test_an_address_gives_its_parts() -> None:
    address = external_postgres.parse("postgresql://admin:p%40ss@db.example:6543/records?sslmode=require")
    assert (address.server, address.database) == ("db.example:6543?sslmode=require", "records")
