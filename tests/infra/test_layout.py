"""The rules of the design that import-linter cannot say, and that the linter's contracts are what the design says they are."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.places import ROOT

CODE = ("flows", "tasks", "portal", "infra")


def files(*folders: str) -> Iterator[tuple[str, ast.Module]]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield str(path.relative_to(ROOT)), ast.parse(path.read_text(encoding="utf-8"))


def imports(tree: ast.AST) -> set[str]:
    """Top-level names imported absolutely, anywhere in the file."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.partition(".")[0])
    return found


def importers(name: str) -> list[str]:
    return [path for path, tree in files(*CODE) if name in imports(tree)]


def test_the_top_level_is_what_the_design_says() -> None:
    """No other code package and no docs folder."""
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if tracked.returncode != 0:
        names = {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()}
        assert names == set(CODE)
        return
    folders = {line.split("/")[0] for line in tracked.stdout.splitlines() if "/" in line}
    assert folders <= {*CODE, "corpus", "tests", ".ci"}


@pytest.mark.parametrize("name", ["great_expectations", "sentence_transformers", "Xlib"])
def test_heavy_or_odd_packages_have_one_file_each(name: str) -> None:
    """Where the vendor moves, one file moves."""
    folders = {
        "Xlib": "tasks/desktop/",
        "great_expectations": "tasks/retrieval/",
        "sentence_transformers": "tasks/retrieval/",
    }
    found = importers(name)
    assert len(found) == 1 and found[0].startswith(folders[name]), found


def test_anthropic_is_imported_in_the_agent_and_the_toolset_drivers_alone() -> None:
    """tasks/agent/ and tasks/desktop/*_toolset.py."""
    allowed = re.compile(r"tasks/agent/|tasks/desktop/\w+_toolset\.py$")
    assert [path for path in importers("anthropic") if not allowed.match(path)] == []


def test_prefect_is_imported_in_flows_and_boxes_alone() -> None:
    """flows/ and tasks/*.py, but not the settings."""
    allowed = re.compile(r"flows/|tasks/(?!settings)\w+\.py$")
    assert [path for path in importers("prefect") if not allowed.match(path)] == []


def test_the_environment_is_read_in_three_places() -> None:
    """tasks/settings.py, portal/settings.py and infra/."""
    users = {
        path
        for path, tree in files("flows", "tasks", "portal")
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv", "environb"}
    }
    # It writes a vendor's own opt-outs before that vendor's package is imported, and reads nothing.
    users.discard("tasks/documents/unstructured_setup.py")
    assert [path for path in users if not path.endswith("settings.py")] == []


def test_infra_starts_with_the_standard_library_alone() -> None:
    """Until the environment exists there is nothing else: no package, and nothing of tasks or flows, is imported at a file's head."""
    for path, tree in files("infra"):
        # A process of its own, a script of its own, and what only a bench imports, once the environment is there.
        if path.startswith("infra/offline_model/") or path in {"infra/sample_corpus.py", "infra/synthetic.py"}:
            continue
        heads = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        names = imports(ast.Module(body=list(heads), type_ignores=[])) - {"infra"}
        assert names <= sys.stdlib_module_names, (path, names - sys.stdlib_module_names)


def test_the_domain_asks_no_clock() -> None:
    """No datetime.now() and no date.today(): a time is handed in."""
    for path, tree in files("tasks/domain"):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                assert node.func.attr not in {"now", "today", "utcnow"}, path


def test_every_module_says_what_it_is() -> None:
    """A docstring at the head of each file of the code."""
    assert [path for path, tree in files(*CODE) if tree.body and not ast.get_docstring(tree)] == []


def test_every_folder_of_code_has_a_readme() -> None:
    """What it owns, what it never does, how to add to it."""
    folders = {path.parent for folder in CODE for path in (ROOT / folder).rglob("*.py")}
    missing = {str(path.relative_to(ROOT)) for path in folders if not (path / "README.md").exists()}
    assert missing == set()


def test_no_file_is_a_manager_or_a_helper() -> None:
    """The field's own words: a name that says nothing is no name."""
    for path, tree in files(*CODE):
        assert not re.search(r"(manager|helper|utils?)s?\.py$", path), path
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                assert not re.search(r"(Manager|Helper|Util)", node.name), (path, node.name)


def test_nothing_is_left_open_or_swallowed() -> None:
    """No TODO, no empty except."""
    for path, tree in files(*CODE):
        text = (ROOT / path).read_text(encoding="utf-8")
        assert not re.search(r"\b(TODO|FIXME|XXX|NotImplementedError)\b", text), path
        for node in ast.walk(tree):
            if isinstance(node, ast.ExceptHandler):
                body = node.body
                assert not (len(body) == 1 and isinstance(body[0], ast.Pass)), (path, node.lineno)


def test_nothing_committed_names_the_machine_that_it_was_made_on() -> None:
    """A clone elsewhere would look in vain for this checkout's folder, or for this user's home."""
    places = [f"{place}/" for place in (ROOT, Path.home()) if len(place.parts) > 1]
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    names = tracked.stdout.split() if tracked.returncode == 0 else [path for path, _ in files(*CODE, "tests")]
    for name in names:
        path = ROOT / name
        if path.is_file() and path.suffix not in {".pdf", ".png"}:
            text = path.read_text(encoding="utf-8", errors="replace")
            assert not [place for place in places if place in text], name


def test_the_lock_names_no_index() -> None:
    """Where packages come from is the installer's setting."""
    assert "://" not in (ROOT / "requirements.lock").read_text(encoding="utf-8")
