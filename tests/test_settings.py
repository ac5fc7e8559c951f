"""Settings are documented, read in one place, and never show a secret."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from pydantic import ValidationError

from tasks.settings import AgentSettings, Settings, StoreSettings, settings_table


def readme_table() -> str:
    rows = ["| variable | default | |", "| --- | --- | --- |"]
    for variable, _, default, text in settings_table():
        rows.append(f"| `{variable}` | {f'`{default}`' if default else ''} | {text} |")
    return "\n".join(rows)


def test_every_setting_has_a_sentence_of_documentation() -> None:
    for variable, _, _, text in settings_table():
        assert len(text) > 20 and text.endswith("."), variable


def test_the_readme_lists_every_setting_as_it_is(root: Path) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    written = text.split("<!-- settings -->")[1].split("<!-- /settings -->")[0]
    assert written.strip() == readme_table()


def test_only_the_three_places_read_the_environment(root: Path) -> None:
    found = subprocess.run(
        ["git", "grep", "-lE", r"os\.(environ|getenv)", "--", "flows", "tasks", "portal"],
        cwd=root,
        capture_output=True,
        text=True,
    ).stdout.split()
    # These two do not read it: one switches a vendor's telemetry off before its import, one takes the user's session bus away.
    allowed = {"tasks/settings.py", "portal/settings.py", "tasks/documents/unstructured_setup.py"}
    assert set(found) <= allowed


def test_secrets_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FILEWRIGHT_DATABASE_URL", "postgresql://u:hunter2@h/d")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-hunter3")
    made = Settings()
    shown = " ".join(f"{group!r} {group} {group.model_dump_json()}" for group in (made.store, made.agent))
    assert "hunter" not in shown


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("FILEWRIGHT_CHUNK_SIZE", "many"),
        ("FILEWRIGHT_CHUNK_SIZE", "1"),
        ("FILEWRIGHT_EMBEDDING_MODEL", "gpt"),
        ("FILEWRIGHT_MAX_DOLLARS", "0"),
        ("FILEWRIGHT_MAX_DOLLARS", "-3"),
        ("FILEWRIGHT_SCREEN_WIDTH", "99999"),
        ("FILEWRIGHT_LEASE_SECONDS", "0"),
    ],
)
def test_a_wrong_value_is_refused_by_name(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ValidationError, match=re.escape(variable.removeprefix("FILEWRIGHT_").lower())):
        Settings()


def test_an_empty_variable_means_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FILEWRIGHT_MODEL", "")
    assert AgentSettings().model == "offline"


def test_the_groups_are_frozen() -> None:
    with pytest.raises(ValidationError):
        StoreSettings().home = Path("/")
