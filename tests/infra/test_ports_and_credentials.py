"""Ports that stay from start to start, and secrets that nobody else can read."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from infra import credentials, ports
from infra.places import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def test_ports_are_free_different_and_remembered(home: Home) -> None:
    """The addresses in a browser's history stay true."""
    first = ports.choose(home, {})
    numbers = [getattr(first, name) for name in ports.SERVICES]
    assert len(set(numbers)) == len(numbers) and all(ports.free(number) for number in numbers)
    assert ports.choose(home, {}) == first == ports.recall(home)


def test_a_remembered_port_that_a_stranger_took_is_given_up(home: Home) -> None:
    """But kept where the listener is our own service."""
    first = ports.choose(home, {})
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", first.portal))
        stranger.listen(1)
        assert ports.choose(home, {}, lambda service, port: service == "portal") == first
        second = ports.choose(home, {})
    assert second.portal != first.portal and second.prefect == first.prefect


def test_a_named_port_is_taken_or_refused(home: Home) -> None:
    """Never silently replaced."""
    number = ports.any_free()
    assert ports.choose(home, {"FILEWRIGHT_PORT_PREFECT": str(number)}).prefect == number
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen(1)
        taken = stranger.getsockname()[1]
        with pytest.raises(ports.PortTaken, match="in use"):
            ports.choose(home, {"FILEWRIGHT_PORT_PORTAL": str(taken)})
    for nonsense in ("http", "0", "70000", "-1"):
        with pytest.raises(ports.PortTaken, match="no port"):
            ports.choose(home, {"FILEWRIGHT_PORT_PORTAL": nonsense})
    with pytest.raises(ports.PortTaken, match="another service"):
        ports.choose(home, {"FILEWRIGHT_PORT_PORTAL": str(number), "FILEWRIGHT_PORT_PREFECT": str(number)})


def test_a_damaged_list_of_ports_is_replaced(home: Home) -> None:
    """Nothing depends on it but old addresses."""
    home.make()
    for content in ("{", "[1]", '{"prefect": "x"}'):
        home.ports.write_text(content)
        assert ports.recall(home) is None
        assert ports.choose(home, {}) == ports.recall(home)


def test_secrets_are_made_once_and_for_the_owner_alone(home: Home) -> None:
    """The second start reads the same passwords."""
    first = credentials.load(home)
    assert credentials.load(home) == first
    assert home.secrets.stat().st_mode & 0o777 == 0o600 and home.folder.stat().st_mode & 0o077 == 0
    assert len(set(first.passwords.values())) == len(first.passwords)
    assert "filewright:" in first.prefect
    for secret in (*first.passwords.values(), first.prefect):
        assert secret not in repr(first)


def test_a_role_that_a_newer_version_adds_gets_its_password(home: Home) -> None:
    """The others keep theirs."""
    first = credentials.load(home)
    stored = json.loads(home.secrets.read_text())
    del stored["passwords"]["filewright_audit"]
    home.secrets.write_text(json.dumps(stored))
    home.secrets.chmod(0o600)
    second = credentials.load(home)
    assert second.passwords["filewright_filing"] == first.passwords["filewright_filing"]
    assert second.passwords["filewright_audit"] and home.secrets.stat().st_mode & 0o777 == 0o600


def test_secrets_that_others_can_read_are_refused(home: Home) -> None:
    """They may be known by now."""
    credentials.load(home)
    home.secrets.chmod(0o644)
    with pytest.raises(ValueError, match="read by others"):
        credentials.load(home)


def test_damaged_secrets_are_not_replaced_silently(home: Home) -> None:
    """New passwords would lock us out of the database that has the old ones."""
    credentials.load(home)
    home.secrets.write_text("{")
    with pytest.raises(ValueError, match="damaged"):
        credentials.load(home)
