"""Briefs: what must stand in one, and which actions may commit a report."""

from __future__ import annotations

import copy
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tasks.domain.actions import (
    Action,
    Box,
    Click,
    Drag,
    Element,
    HoldKeys,
    MouseUp,
    MoveMouse,
    Point,
    PressKeys,
    Scene,
    Screenshot,
    TypeText,
)
from tasks.domain.briefs import may_commit, parse_brief
from tasks.domain.errors import PermanentError
from tests.conftest import CORPORA

BRIEFS = sorted(CORPORA.glob("*/filings/*/brief.toml"))
INSIDE, OUTSIDE = Point(110, 210), Point(10, 10)
SUBMIT = Element("button", "Submit report", Box(100, 200, 120, 40))


def data() -> dict[str, Any]:
    return copy.deepcopy(tomllib.loads(BRIEFS[0].read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", BRIEFS, ids=lambda path: path.parents[2].name)
def test_every_brief_in_the_repository_is_whole(path: Path) -> None:
    brief = parse_brief(tomllib.loads(path.read_text(encoding="utf-8")))
    task = brief.task_for(report_id="QI-2025-014", quarter="Q3 2025", department="Pharmacy")
    assert "QI-2025-014" in task and "search_regulations" in task
    assert brief.form == path.parent.name


@pytest.mark.parametrize(
    "key",
    ["form", "title", "portal", "list", "receipt", "report_ids", "task"],
)
def test_a_missing_key_is_named(key: str) -> None:
    broken = data()
    del broken[key]
    with pytest.raises(PermanentError, match=key):
        parse_brief(broken)


@pytest.mark.parametrize(
    ("table", "key", "value"),
    [
        ("portal", "submit", ""),
        ("portal", "steps", []),
        ("portal", "steps", "one"),
        ("list", "absent", "No report {nonsense}"),
        ("list", "columns", {"report_id": "Report ID"}),
        ("task", "text", "File {report_id} for {someone}"),
        ("report_ids", "departments", {"Pharmacy": 0}),
        ("report_ids", "departments", {"Pharmacy": "fourteen"}),
        ("report_ids", "pattern", "QI-{year}-{month}"),
    ],
)
def test_a_wrong_value_is_refused(table: str, key: str, value: object) -> None:
    broken = data()
    broken[table][key] = value
    with pytest.raises(PermanentError, match=r"brief\.toml"):
        parse_brief(broken)


def test_progress_grows_along_the_steps_and_is_nothing_elsewhere() -> None:
    brief = parse_brief(data())
    seen = [brief.progress(f"Step: {step} - Portal") for step in brief.steps]
    assert seen == sorted(seen) and seen[-1] == 100
    assert brief.progress("Filed reports") == 0


@pytest.mark.parametrize(
    ("action", "commits"),
    [
        (Click("left", 1, INSIDE), True),
        (Click("left", 2, INSIDE), True),
        (Click("left", 1, None), True),
        (Click("left", 1, OUTSIDE), False),
        (MouseUp(), True),
        (Drag(INSIDE, INSIDE), True),
        (Drag(OUTSIDE, INSIDE), True),
        (Drag(INSIDE, OUTSIDE), False),
        (PressKeys("Return"), True),
        (PressKeys("KP_Enter"), True),
        (PressKeys("space"), True),
        (PressKeys("ctrl+Return"), True),
        (PressKeys("Tab"), False),
        (HoldKeys("Return", 1.0), True),
        (TypeText("yes\n"), True),
        (TypeText("yes"), False),
        (MoveMouse(INSIDE), False),
        (Screenshot(), False),
    ],
)
def test_what_may_press_the_submit_control_is_recorded_as_intent(action: Action, commits: bool) -> None:
    scene = Scene(1024, 768, pointer=INSIDE, elements=(SUBMIT,))
    assert may_commit(action, scene, "Submit report") is commits
    assert not may_commit(action, Scene(1024, 768, pointer=INSIDE), "Submit report")


def test_controls_that_can_be_undone_are_optional_and_not_the_submit() -> None:
    assert parse_brief(data()).changes == ()
    given = data()
    given["portal"]["changes"] = ["Section B"]
    assert parse_brief(given).changes == ("Section B",)
    for wrong in (["Submit report"], [""], "Section B", [1]):
        given["portal"]["changes"] = wrong
        with pytest.raises(PermanentError, match="changes"):
            parse_brief(given)
