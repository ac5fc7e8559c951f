"""Errors of a connection: which are worth another try, and that none shows a password."""

from __future__ import annotations

import psycopg
import pytest

from tasks.domain.errors import FilewrightError, PermanentError, TemporaryError
from tasks.store.connection import connect
from tests.conftest import Database

MALFORMED = [
    "",
    "hunter2",
    "postgresql//filing:hunter2@localhost/db",
    "postgresql://filing:hunter%2secret@localhost/db",
    "postgresql://filing:hun ter2@localhost/db",
    "postgresql://filing:p@hunter2@localhost/db",
    "mysql://filing:hunter2@localhost/db",
    "host=localhost password=hunter2",
]


@pytest.mark.parametrize("url", MALFORMED)
def test_a_malformed_address_is_refused_without_quoting_it(url: str) -> None:
    with pytest.raises(PermanentError) as caught, connect(url):
        pass
    seen: BaseException | None = caught.value
    while seen is not None:
        assert "hunter" not in str(seen) and "ter2" not in str(seen)
        seen = None if seen.__suppress_context__ else seen.__context__


def test_a_wrong_password_is_permanent_and_a_dead_server_is_temporary(database: Database) -> None:
    wrong = psycopg.conninfo.conninfo_to_dict(database.filing_url)
    url = f"postgresql://{wrong['user']}:hunter2@{wrong['host']}:{wrong['port']}/{wrong['dbname']}"
    with pytest.raises(PermanentError, match="password"), connect(url):
        pass
    with pytest.raises(TemporaryError, match="does not answer"), connect("postgresql://u:hunter2@127.0.0.1:1/d"):
        pass


def test_a_block_that_raises_leaves_nothing_written(database: Database) -> None:
    with pytest.raises(KeyError), connect(database.filing_url) as connection:
        connection.execute(
            "INSERT INTO ledger.filings (id, corpus, form, report_id, quarter, department) VALUES ('a','b','c','d','e','f')"
        )
        raise KeyError
    with connect(database.filing_url, read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM ledger.filings").fetchone() == (0,)


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("SELECT 1 FROM portal.submissions", PermanentError),
        ("SELECT 1 FROM ledger.no_such_table", PermanentError),
        ("SELECT pg_terminate_backend(pg_backend_pid())", TemporaryError),
    ],
)
def test_what_a_person_must_mend_is_told_from_what_passes(
    database: Database, statement: str, kind: type[FilewrightError]
) -> None:
    with pytest.raises(kind), connect(database.filing_url) as connection:
        connection.execute(statement)


def test_a_read_only_connection_writes_nothing(database: Database) -> None:
    with (
        pytest.raises(psycopg.errors.ReadOnlySqlTransaction),
        connect(database.filing_url, read_only=True) as connection,
    ):
        connection.execute("INSERT INTO ledger.filings DEFAULT VALUES")
