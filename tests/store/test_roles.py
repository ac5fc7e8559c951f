"""Each role may do its own work and nothing else, and nobody enters without a password."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import errors

from tests.conftest import Database

WRITES_OUTSIDE = [
    ("filing", "SELECT 1 FROM portal.submissions"),
    ("filing", "INSERT INTO portal.submissions DEFAULT VALUES"),
    ("filing", "UPDATE ledger.verdicts SET outcome = 'confirmed'"),
    ("filing", "INSERT INTO ledger.verdicts DEFAULT VALUES"),
    ("filing", "DELETE FROM ledger.steps"),
    ("filing", "UPDATE ledger.turns SET dollars = 0"),
    ("filing", "SELECT * FROM ledger.record_verdict('', '', '', '', 1, 'confirmed', '[]', NULL, NULL)"),
    ("filing", "CREATE TABLE ledger.mine ()"),
    ("filing", "CREATE TABLE corpus.mine ()"),
    ("filing", "CREATE TABLE corpus.chunks_0 PARTITION OF corpus.chunks FOR VALUES IN (0)"),
    ("filing", "INSERT INTO corpus.chunk_sets DEFAULT VALUES"),
    ("filing", "DROP TABLE corpus.chunks"),
    ("audit", "SELECT corpus.open_set('c', 's', 'm', 'r', 'single')"),
    ("audit", "SELECT corpus.index_set(1)"),
    ("audit", "SELECT corpus.drop_set(1)"),
    ("audit", "UPDATE corpus.chunks SET text = 'x'"),
    ("audit", "INSERT INTO ledger.verdicts DEFAULT VALUES"),
    ("audit", "UPDATE ledger.filings SET state = 'confirmed'"),
    ("audit", "DELETE FROM corpus.pages"),
    ("audit", "UPDATE portal.submissions SET report_id = 'QI-2025-001'"),
    ("audit", "SELECT 1 FROM portal.drafts"),
    ("portal", "SELECT 1 FROM ledger.filings"),
    ("portal", "SELECT 1 FROM corpus.pages"),
    ("portal", "SELECT corpus.open_set('c', 's', 'm', 'r', 'single')"),
    ("portal", "CREATE TABLE portal.mine ()"),
]


@pytest.mark.parametrize(("role", "statement"), WRITES_OUTSIDE)
def test_a_role_is_refused_outside_its_own_work(database: Database, role: str, statement: str) -> None:
    with psycopg.connect(getattr(database, f"{role}_url")) as connection, pytest.raises(errors.InsufficientPrivilege):
        connection.execute(statement)


@pytest.mark.parametrize("role", ["owner", "filing", "audit", "portal", "superuser"])
@pytest.mark.parametrize("password", ["", "wrong"])
def test_no_role_enters_without_its_password(database: Database, role: str, password: str) -> None:
    url = psycopg.conninfo.make_conninfo(getattr(database, f"{role}_url"), password=password or None)
    if not password:
        url = psycopg.conninfo.make_conninfo(
            **{k: v for k, v in psycopg.conninfo.conninfo_to_dict(url).items() if k != "password"}, passfile="/dev/null"
        )
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(url)


def test_only_the_roles_named_may_connect_to_the_database(database: Database) -> None:
    with psycopg.connect(database.superuser_url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS stranger")
        connection.execute("CREATE ROLE stranger LOGIN PASSWORD 'known'")
    try:
        url = psycopg.conninfo.make_conninfo(database.owner_url, user="stranger", password="known")
        with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
            psycopg.connect(url)
    finally:
        with psycopg.connect(database.superuser_url, autocommit=True) as connection:
            connection.execute("DROP ROLE stranger")
