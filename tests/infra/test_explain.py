"""`explain` answers as the policy and the grounding rule do, and says what is wrong with a file, and where."""

from __future__ import annotations

import argparse
import io
import json
import random
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from infra.commands import parser
from infra.environment import Environment
from infra.explain_command import ARGUMENTS, NO_APPROVER, TYPES, run
from tasks.desktop.computer_toolset import NOT_APPROVED
from tasks.desktop.requests import BUILDERS

PORTAL = "http://127.0.0.1:8080"
PASSAGE = {"document": "rule.pdf", "page": 2, "text": "The rule is effective on March 24, 2020 (460–ET)."}
SUBMIT = {"role": "button", "name": "Submit report", "value": None, "box": [480, 390, 80, 24], "url": None}
FIELD = {
    "role": "entry",
    "name": "Effective date",
    "value": "",
    "box": [100, 100, 300, 24],
    "url": f"{PORTAL}/reports/new",
}


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"toolset_name": "computer", "name": name, "input": arguments}


CLICK = call("left_click", coordinate=[512, 400])


def file(folder: Path, content: Any) -> Path:
    path = folder / "call.json"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def explained(path: Path | str, *, as_json: bool = True) -> int:
    options = argparse.Namespace(file=Path(path), json=as_json)
    return run(options, Environment(Path("/nowhere")))


@pytest.fixture
def answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def ask(**question: Any) -> dict[str, Any]:
        whole = {"origins": [PORTAL], "passages": [PASSAGE], "facts": {"report_id": "QI-2025-014"}, **question}
        assert explained(file(tmp_path, whole)) == 0
        shown = capsys.readouterr()
        assert shown.err == ""
        said: dict[str, Any] = json.loads(shown.out)
        assert list(said) == ["decision", "rule", "reason", "unsourced"] and said["reason"] and said["rule"]
        return said

    return ask


@pytest.mark.parametrize(
    ("question", "decision"),
    [
        ({"call": call("screenshot")}, "ALLOW"),
        ({"call": CLICK, "under": FIELD}, "ALLOW"),
        ({"call": CLICK, "under": {"role": "button", "name": "Continue"}}, "ALLOW"),
        ({"call": CLICK, "under": {"role": "link", "name": "Back", "url": f"{PORTAL}/reports"}}, "ALLOW"),
        ({"call": call("type", text="QI-2025-014"), "focused": FIELD}, "ALLOW"),
        ({"call": call("type", text="March 24, 2020"), "focused": FIELD}, "ALLOW"),
        ({"call": call("key", text="Tab")}, "ALLOW"),
        ({"call": CLICK, "under": SUBMIT, "approver": True}, "ASK"),
        ({"call": CLICK, "under": SUBMIT, "approver": True, "field_text": "460-ET (rule.pdf, page 2)"}, "ASK"),
        ({"call": call("key", text="Return"), "focused": SUBMIT, "approver": True}, "ASK"),
        ({"call": CLICK, "under": SUBMIT}, "DENY"),
        ({"call": CLICK, "under": None}, "DENY"),
        ({"call": CLICK, "under": {"role": "button", "name": "Mystery"}}, "DENY"),
        ({"call": CLICK, "under": {"role": "link", "name": "Back", "url": "https://elsewhere.example/"}}, "DENY"),
        ({"call": call("right_click"), "under": FIELD}, "DENY"),
        ({"call": call("key", text="Meta+q")}, "DENY"),
        ({"call": call("key", text="Alt+F4")}, "DENY"),
        ({"call": call("key", text="no such key")}, "DENY"),
        ({"call": call("type", text="x"), "focused": None}, "DENY"),
        ({"call": call("left_click", coordinate=[5000, 5000]), "under": FIELD}, "DENY"),
        ({"call": call("fly", height=3)}, "DENY"),
        (
            {"call": call("left_click_drag", start_coordinate=[110, 110], coordinate=[120, 110]), "under": FIELD},
            "ALLOW",
        ),
        ({"call": call("left_click_drag", start_coordinate=[110, 110], coordinate=[900, 700]), "under": FIELD}, "DENY"),
    ],
)
def test_the_decision_is_the_policys(answer: Any, question: dict[str, Any], decision: str) -> None:
    said = answer(**question)
    assert said["decision"] == decision and said["unsourced"] == []


def test_what_is_typed_needs_a_source(answer: Any) -> None:
    said = answer(call=call("type", text="460-ED since March 25, 2020"), focused=FIELD)
    assert (said["decision"], said["rule"], said["unsourced"]) == ("DENY", "grounding", ["460-ED", "March 25, 2020"])
    assert "March 25, 2020" in said["reason"] and "search_regulations" in said["reason"]


def test_a_form_with_a_claim_that_stands_nowhere_is_not_sent_whoever_approves(answer: Any) -> None:
    for question in (
        {"call": CLICK, "under": SUBMIT},
        {"call": CLICK, "under": {"role": "button", "name": "Continue"}},
    ):
        said = answer(**question, field_text="March 24, 2020 (rule.pdf, page 3)", approver=True)
        assert (said["decision"], said["rule"], said["unsourced"]) == ("DENY", "grounding", ["rule.pdf, page 3"])


def test_without_an_approver_the_answer_is_what_the_model_reads() -> None:
    assert NO_APPROVER == NOT_APPROVED


def test_every_member_of_the_toolset_can_be_asked_about() -> None:
    assert set(ARGUMENTS) == set(BUILDERS)
    assert {key for keys, _ in ARGUMENTS.values() for key in keys} == set(TYPES)
    assert all(set(needed) <= set(keys) for keys, needed in ARGUMENTS.values())


def test_without_json_the_answer_is_lines_to_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    question = {"call": call("type", text="460-ED"), "focused": FIELD, "origins": [PORTAL]}
    assert explained(file(tmp_path, question), as_json=False) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("DENY by the rule grounding\n") and shown.endswith("  without a source: 460-ED\n")


def test_the_example_of_the_help_can_be_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["explain", "--help"])
    example = re.search(r"echo '(.*?)'", capsys.readouterr().out, re.DOTALL)
    assert example is not None
    assert explained(file(tmp_path, example[1])) == 0
    assert json.loads(capsys.readouterr().out)["unsourced"] == ["March 25, 2020"]


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps({"call": call("screenshot")}).encode())))
    assert explained("-") == 0
    assert json.loads(capsys.readouterr().out)["decision"] == "ALLOW"


GOOD: dict[str, Any] = {
    "call": CLICK,
    "under": SUBMIT,
    "focused": FIELD,
    "field_text": "460-ET",
    "passages": [PASSAGE],
    "facts": {"quarter": "Q3 2025"},
    "origins": [PORTAL],
    "approver": True,
}

MALFORMED: list[tuple[Any, str]] = [
    ("", "line 1, column 1"),
    ('{"call": ', "line 1, column 10"),
    ('{"call": 1,\n "call": 2}', '"call" stands twice'),
    ('{"call": NaN}', "NaN is no JSON number"),
    ("[" * 100_000, "nested too deeply"),
    ('{"passages": [{"page": ' + "9" * 5000 + "}]}", "digits"),
    (b'{"call": "\xff"}', "byte 10 is no UTF-8"),
    (b" " * 10_000_001, "more than 10,000,000 bytes"),
    ([], "must be an object"),
    ("null", "must be an object"),
    ({}, "call: is missing"),
    ({**GOOD, "cal": 1}, "cal: is no key here"),
    ({**GOOD, "call": "left_click"}, "call: must be an object"),
    ({**GOOD, "call": {"input": {}}}, "call.name: is missing"),
    ({**GOOD, "call": {"name": 7, "input": {}}}, "call.name: must be a text, not 7"),
    ({**GOOD, "call": {**CLICK, "toolset_name": None}}, "call.toolset_name: must be"),
    ({**GOOD, "call": {**CLICK, "input": []}}, "call.input: must be an object"),
    ({**GOOD, "call": call("left_click", coordinate=[1])}, "call.input.coordinate: must be [x, y]"),
    ({**GOOD, "call": call("left_click", coordinate=["1", 2])}, "call.input.coordinate: must be [x, y]"),
    ({**GOOD, "call": call("left_click", coordinate=[True, 2])}, "call.input.coordinate: must be [x, y]"),
    ({**GOOD, "call": call("left_click", where=[1, 2])}, "call.input.where: is no key here"),
    ({**GOOD, "call": call("mouse_move")}, "call.input.coordinate: is missing"),
    ({**GOOD, "call": call("type", text=None)}, "call.input.text: must be a text, not null"),
    ({**GOOD, "call": call("type", text="\ud800")}, "call.input.text: must be a text"),
    ({**GOOD, "call": call("key", text="a", repeat=1.5)}, "call.input.repeat: must be a whole number"),
    ({**GOOD, "call": call("wait", duration="long")}, "call.input.duration: must be a number"),
    (
        {**GOOD, "call": call("scroll", scroll_direction="in", scroll_amount=1)},
        "call.input.scroll_direction: must be one of",
    ),
    ({**GOOD, "call": call("zoom", region=[1, 2, 3])}, "call.input.region: must be [x0, y0, x1, y1]"),
    ({**GOOD, "under": "Submit"}, "under: must be an object"),
    ({**GOOD, "under": {"name": "Submit"}}, "under.role: is missing"),
    ({**GOOD, "under": {**SUBMIT, "role": " "}}, "under.role: must be a text"),
    ({**GOOD, "under": {**SUBMIT, "box": [1, 2, 0, 4]}}, "under.box: must be [x, y, width, height]"),
    ({**GOOD, "focused": {**FIELD, "value": 3}}, "focused.value: must be a text, not 3"),
    ({**GOOD, "focused": {**FIELD, "states": []}}, "focused.states: is no key here"),
    ({**GOOD, "field_text": None}, "field_text: must be a text, not null"),
    ({**GOOD, "passages": {}}, "passages: must be a list"),
    ({**GOOD, "passages": [PASSAGE, "text"]}, "passages[1]: must be an object"),
    ({**GOOD, "passages": [{**PASSAGE, "page": 0}]}, "passages[0].page: must be a page from 1 on, not 0"),
    ({**GOOD, "passages": [{**PASSAGE, "page": "2"}]}, "passages[0].page: must be"),
    ({**GOOD, "passages": [{"page": 2, "text": ""}]}, "passages[0].document: is missing"),
    ({**GOOD, "facts": ["Q3 2025"]}, "facts: must be an object"),
    ({**GOOD, "facts": {"year": 2025}}, "facts.year: must be a text, not 2025"),
    ({**GOOD, "origins": PORTAL}, "origins: must be a list"),
    ({**GOOD, "origins": ["portal.example"]}, "origins[0]: must be an address"),
    ({**GOOD, "approver": "yes"}, "approver: must be true or false"),
]


@pytest.mark.parametrize(("content", "says"), MALFORMED, ids=[says for _, says in MALFORMED])
def test_a_file_that_is_not_as_it_must_be_is_exit_code_2_with_what_and_where(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: Any, says: str
) -> None:
    path = file(tmp_path, content)
    assert explained(path) == 2
    shown = capsys.readouterr()
    assert (
        shown.out == "" and says in shown.err and all(line.startswith(f"{path}: ") for line in shown.err.splitlines())
    )


def test_every_fault_of_a_file_is_said_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert explained(file(tmp_path, {**GOOD, "approver": 1, "origins": 2, "field_text": 3})) == 2
    assert len(capsys.readouterr().err.splitlines()) == 3


@pytest.mark.parametrize("name", ["missing.json", "", "a\0b"])
def test_a_file_that_cannot_be_read_is_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert explained(tmp_path / name) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and str(tmp_path) in shown.err and len(shown.err.splitlines()) == 1


def test_a_file_with_any_value_anywhere_is_answered_or_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each place of a good file with each kind of JSON value in it, one after the other, and some at random."""
    values = [None, True, 0, -1, 1.5, 1e400, "", "x", "\ud800", [], [[]], {}, {"role": 1}, 10**400]
    places: list[tuple[Any, ...]] = []

    def walk(value: Any, path: tuple[Any, ...]) -> None:
        places.append(path)
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, inner in items:
            walk(inner, (*path, key))

    walk(GOOD, ())
    chance = random.Random(4)
    for path in places[1:]:
        for value in chance.sample(values, 8):
            changed = json.loads(json.dumps(GOOD))
            at = changed
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = value
            assert explained(file(tmp_path, changed)) in {0, 2}
            shown = capsys.readouterr()
            assert bool(shown.out) is not bool(shown.err)
