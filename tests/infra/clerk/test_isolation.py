"""The clerk knows nothing but the conversation: what its code imports and what stands in it."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

from infra.offline_model import clerk

FILES = sorted(Path(clerk.__file__).parent.glob("*.py"))
ALLOWED = {"numpy", "PIL"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_it_imports_nothing_of_ours_but_itself(file: Path) -> None:
    """The standard library, the two picture packages, and its own modules: no database, no network, no task."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names.add(node.module or "")
    for name in names:
        top = name.split(".")[0]
        assert top in ALLOWED or top in sys.stdlib_module_names or name.startswith("infra.offline_model.clerk"), name
        assert top not in {"socket", "http", "urllib", "sqlite3", "pathlib", "glob"}, name


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_no_regulatory_value_stands_in_its_code(file: Path) -> None:
    """No date, no field identifier, no document's name, no portal's address or key: it cannot file from memory."""
    code = file.read_text()
    months = "January|February|March|April|May|June|July|August|September|October|November|December"
    assert not re.search(rf"\b(?:{months})\s+\d", code)
    assert not re.search(r"\b(?:19|20)\d\d-\d\d-\d\d\b", code)
    assert not re.search(r"\b(?!123-AB)\d{3}[-–][A-Z][A-Z0-9]\b", code)
    assert not re.search(r"\.pdf\b|/reports|/drafts|/receipts|ncpdp_field|effective_date|compliance_date", code)
    assert "Quantity Prescribed" not in code
