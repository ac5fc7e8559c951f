"""The README of the offline model says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import infra.offline_model
from infra.offline_model.faults import KINDS, Fault
from infra.offline_model.models import COMPUTER_TOOL, COMPUTER_TOOLSET, MODELS

FOLDER = Path(infra.offline_model.__file__).parent
TEXT = (FOLDER / "README.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[list[str]]:
    """The cells of the table below a heading, without its head."""
    section = TEXT.split(f"## {heading}\n")[1].split("\n## ")[0]
    table = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]


def test_every_fault_is_described_with_its_defaults() -> None:
    described = {re.sub("`", "", row[0]): row[1] for row in rows("Faults")}
    assert set(described) == set(KINDS)
    assert f"({Fault('429').retry_after:g})" in described["429"]
    assert f"({Fault('slow').seconds:g})" in described["slow"]


def test_every_model_is_described() -> None:
    described = {name: row for row in rows("Models") for name in re.findall("`([^`]+)`", row[0])}
    assert set(described) == set(MODELS)
    for name, (_, tools, thinking, checked) in described.items():
        rules = MODELS[name]
        assert ("toolset" in tools) == (COMPUTER_TOOLSET in rules.tool_types)
        assert (COMPUTER_TOOL in tools) == (COMPUTER_TOOL in rules.tool_types)
        assert (thinking == "always") == rules.always_thinks
        assert rules.always_thinks or set(re.findall("adaptive|enabled|disabled", thinking)) == set(
            rules.thinking_types
        )
        assert (checked == "yes") == rules.checks_prefix


def test_every_module_has_its_place_in_the_map() -> None:
    listed = {name for row in rows("Where is what decided?") for name in re.findall("`([^`]+)`", row[0])}
    modules = {path.name for path in FOLDER.glob("*.py")} - {"__init__.py", "__main__.py", "errors.py"}
    assert listed == modules | {"clerk/"}
