"""Commands that look into the index: as the read-only role of the installation that runs, or with a word about what to do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra import commands
from infra.bootstrap import Stopped
from infra.credentials import load
from infra.environment import expected
from infra.local import NotUp
from infra.places import Home
from infra.ports import SERVICES
from infra.postgres import EmbeddedPostgres
from infra.session import audit_url, use_installation
from tasks.settings import settings
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


@pytest.fixture
def told(
    tmp_path: Path, postgres: EmbeddedPostgres, database: Database, monkeypatch: pytest.MonkeyPatch
) -> Iterator[pytest.MonkeyPatch]:
    """The command line as it is within the environment, beside an installation that runs."""
    home = installation(tmp_path, postgres.port, dict(postgres.passwords))
    monkeypatch.setenv("FILEWRIGHT_HOME", str(home.folder))
    monkeypatch.setenv("FILEWRIGHT_DATABASE_URL", f"postgresql://a:b@127.0.0.1:{postgres.port}/{database.name}")
    monkeypatch.setattr(commands, "ready", lambda *_, **__: expected())
    settings.cache_clear()
    yield monkeypatch
    settings.cache_clear()


@pytest.mark.parametrize("line", [["search", "--corpus", "sample", "When?"], ["evaluate", "--corpus", "sample"]])
def test_a_command_reaches_the_index_of_the_installation_from_its_first_word(
    told: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: list[str]
) -> None:
    """Nothing that it looks up before may keep the settings as they were. Here the database answers that it has no index."""
    with pytest.raises(Stopped) as stopped:
        commands.main(line)
    shown = capsys.readouterr()
    assert stopped.value.code == 1 and "No index of 'sample'" in shown.err and shown.out == ""


@pytest.mark.parametrize("word", [["search", "When?"], ["evaluate"], ["sweep"], ["suggest-golden"]])
def test_an_unknown_corpus_is_told_the_same_way_by_every_command(
    told: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], word: list[str]
) -> None:
    """With those that there are, and exit code 2."""
    with pytest.raises(Stopped) as stopped:
        commands.main([word[0], "--corpus", "nope", *word[1:]])
    shown = capsys.readouterr()
    assert stopped.value.code == 2 and "There is no corpus 'nope'" in shown.err and "hipaa, sample" in shown.err


def test_a_new_corpus_of_no_folder_is_refused_before_anything_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An environment has 3 GB."""
    monkeypatch.setattr(commands, "ready", lambda *_, **__: pytest.fail("it went on to the installation"))
    with pytest.raises(Stopped) as stopped:
        commands.main(["new", "corpus", str(tmp_path / "nowhere")])
    assert stopped.value.code == 2 and "is no folder" in capsys.readouterr().err
