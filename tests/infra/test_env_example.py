"""`.env.example` names every setting once, with the default that it has."""

from __future__ import annotations

import re

from infra import ports
from infra.places import ROOT
from portal.settings import PortalSettings
from tasks.settings import settings_table


def listed() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in (ROOT / ".env.example").read_text(encoding="utf-8").splitlines():
        match = re.fullmatch(r"#?([A-Z][A-Z0-9_]+)=(.*)", line)
        if match:
            found.setdefault(match[1], []).append(match[2])
    return found


def test_every_setting_stands_in_it_once() -> None:
    """Worker side, portal and services; and nothing that does not exist."""
    # Where the services run, infra decides these.
    decided = {"PORTAL_DATABASE_URL", "PORTAL_HOST", "PORTAL_PORT"}
    wanted = {row[0] for row in settings_table()}
    wanted |= {f"PORTAL_{name.upper()}" for name in PortalSettings.model_fields} - decided
    wanted |= {ports.variable(service) for service in ports.SERVICES} | {"XDG_DATA_HOME"}
    found = listed()
    assert set(found) == wanted
    assert [name for name, values in found.items() if len(values) != 1] == []


def test_the_defaults_are_the_real_ones() -> None:
    """Of the worker side's settings."""
    found = listed()
    for name, _, default, _ in settings_table():
        assert found[name] == [default], name


def test_it_changes_nothing_as_it_stands() -> None:
    """Every line is a comment: a copy sets nothing by accident."""
    lines = (ROOT / ".env.example").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line and not line.startswith("#")] == []
