"""Commands that look into the index: as the read-only role of the installation that runs, or with a word about what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infra.credentials import load
from infra.local import NotUp
from infra.places import Home
from infra.ports import SERVICES
from infra.postgres import EmbeddedPostgres
from infra.session import audit_url, use_installation
from tests.conftest import Database


def installation(folder: Path, port: int, passwords: dict[str, str]) -> Home:
    """A state folder as `up` leaves it."""
    home = Home(folder / "home")
    home.make()
    home.ports.write_text(json.dumps({name: port for name in SERVICES}))
    home.secrets.write_text(json.dumps({"passwords": passwords, "prefect": "filewright:x"}))
    home.secrets.chmod(0o600)
    return home


def test_an_installation_that_never_started_says_how_to_start_it(tmp_path: Path) -> None:
    """Nothing is made by looking."""
    with pytest.raises(NotUp, match="infra up"):
        use_installation(Home(tmp_path / "home"), {})
    assert not (tmp_path / "home").exists()


def test_a_database_that_is_down_says_so_without_its_password(tmp_path: Path) -> None:
    """The services were stopped since."""
    home = installation(tmp_path, 1, {})
    password = load(home).passwords["filewright_audit"]
    with pytest.raises(NotUp, match="not running") as error:
        use_installation(home, {})
    assert password not in str(error.value)


def test_the_role_can_read_and_nothing_else(tmp_path: Path, postgres: EmbeddedPostgres, database: Database) -> None:
    """A command that searches changes nothing, whatever is wrong with it."""
    home = installation(tmp_path, postgres.port, dict(postgres.passwords))
    environment = {"FILEWRIGHT_DATABASE_URL": f"postgresql://somebody:else@127.0.0.1:{postgres.port}/{database.name}"}
    use_installation(home, environment)
    assert environment["FILEWRIGHT_DATABASE_URL"] == database.audit_url
    assert environment["FILEWRIGHT_HOME"] == str(home.folder)


def test_an_address_that_makes_no_sense_is_refused_unquoted(tmp_path: Path) -> None:
    """It may hold a password anywhere."""
    home = installation(tmp_path, 1, {})
    with pytest.raises(NotUp) as error:
        audit_url(home, {"FILEWRIGHT_DATABASE_URL": "postgresql://a:secret@b@c/d"})
    assert "secret" not in str(error.value)
