"""`python3 -m infra explain FILE.json`: what the action policy would decide about one call, for people who write rules and for tests.

Reads a call and the scene that it would meet, asks the policy and the grounding rule as a filing does, and prints the answer. It does
nothing, starts nothing, and reads nothing but the file (`-` is standard input).

Rules
- The file is one JSON object; only `call` is needed:
  {"call": {"toolset_name", "name", "input"}, "under": {"role", "name", "value", "box", "url"} | null, "focused": the same | null,
   "field_text": "…", "passages": [{"document", "page", "text"}], "facts": {name: "…"}, "origins": ["https://…"], "approver": bool}
- `under` is what is under the pointer, `focused` what has the focus; of them only the role is needed. `role` is the accessibility tree's
  (entry, button, link, …). `box` is [x, y, width, height]. `url` is where a link leads; of anything else the address of its page.
  Without one the page is the first of `origins`.
- `field_text` is what the form's fields hold. It is judged as a whole where the call goes on or commits; a typed text is judged as the
  part of a field that it is.
- ASK without an approver is DENY. A call that no action can be made of is DENY by the rule `call`.
- Standard output has the answer, with `--json` as {"decision", "rule", "reason", "unsourced"}. Exit codes: 0 answered, whatever the answer,
  2 the file cannot be read or is not as above: standard error says what and where, a line for each fault.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.environment import Environment

if TYPE_CHECKING:
    from tasks.domain.actions import Decision, Element, Point, Scene

BAD_INPUT = 2
MOST_BYTES = 10_000_000
TOOLSET = "computer"
NO_APPROVER = "Not done: this action needs a person's approval, and nobody can give it in this run."

KEYS = ("call", "under", "focused", "field_text", "passages", "facts", "origins", "approver")
CLICK = (("coordinate", "text"), ())
ARGUMENTS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "screenshot": ((), ()),
    "zoom": (("region",), ("region",)),
    "left_click": CLICK,
    "right_click": CLICK,
    "middle_click": CLICK,
    "double_click": CLICK,
    "triple_click": CLICK,
    "left_click_drag": (("start_coordinate", "coordinate", "text"), ("start_coordinate", "coordinate")),
    "mouse_move": (("coordinate",), ("coordinate",)),
    "left_mouse_down": ((), ()),
    "left_mouse_up": ((), ()),
    "cursor_position": ((), ()),
    "scroll": (("coordinate", "scroll_direction", "scroll_amount", "text"), ("scroll_direction", "scroll_amount")),
    "type": (("text",), ("text",)),
    "key": (("text", "repeat"), ("text",)),
    "hold_key": (("text", "duration"), ("text", "duration")),
    "wait": (("duration",), ("duration",)),
}
"""What each member of the toolset takes, and what of it is needed; the types are the API's, in `TYPES`."""
DIRECTIONS = ("up", "down", "left", "right")


@dataclass
class Faults:
    """What is wrong with the file, each with the path of the place."""

    found: list[str] = field(default_factory=list)

    def add(self, where: str, what: str) -> None:
        self.found.append(f"{where}: {what}" if where else what)

    def read(self, where: str, value: Any, kind: str, fits: Callable[[Any], bool], otherwise: Any) -> Any:
        """`value` where it fits; else a fault, and `otherwise` in its place."""
        if fits(value):
            return value
        self.add(where, f"must be {kind}, not {_shown(value)}")
        return otherwise

    def known(self, where: str, value: Mapping[str, Any], keys: Sequence[str], needed: Sequence[str] = ()) -> None:
        """A fault for each key that is not known, and for each that is needed and missing."""
        for key in value:
            if key not in keys:
                has = f"there are {', '.join(keys)}" if keys else "there are none"
                self.add(f"{where}.{_shown_key(key)}".lstrip("."), f"is no key here; {has}")
        for key in needed:
            if key not in value:
                self.add(f"{where}.{key}".lstrip("."), "is missing")


def _shown(value: Any) -> str:
    try:
        text = json.dumps(value)
    except RecursionError:
        return "something nested deeply"
    return text if len(text) <= 60 else f"{text[:60]}…"


def _shown_key(key: str) -> str:
    return key if key.isidentifier() and len(key) <= 40 else _shown(key)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and not any("\ud800" <= character <= "\udfff" for character in value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return _is_whole(value) or isinstance(value, float)


def _are_whole(count: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and len(value) == count and all(_is_whole(one) for one in value)


TYPES: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "coordinate": ("[x, y] in whole pixels", _are_whole(2)),
    "start_coordinate": ("[x, y] in whole pixels", _are_whole(2)),
    "region": ("[x0, y0, x1, y1] in whole pixels", _are_whole(4)),
    "text": ("a text", _is_text),
    "scroll_direction": (f"one of {', '.join(DIRECTIONS)}", lambda value: value in DIRECTIONS),
    "scroll_amount": ("a whole number", _is_whole),
    "repeat": ("a whole number", _is_whole),
    "duration": ("a number of seconds", _is_number),
}


# ------------------------------------------------------------------------------------------------------------- the file


@dataclass(frozen=True)
class Target:
    role: str
    name: str
    value: str | None
    box: tuple[int, int, int, int]
    url: str | None


@dataclass(frozen=True)
class Question:
    """The file's content, checked."""

    name: str
    arguments: Mapping[str, Any]
    under: Target | None
    focused: Target | None
    field_text: str
    passages: tuple[tuple[str, int, str], ...]
    facts: tuple[str, ...]
    origins: tuple[str, ...]
    approver: bool


def parse(text: str) -> tuple[Question | None, list[str]]:
    """The question of a JSON text, or what is wrong with it, each fault with its place."""
    try:
        data = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        return None, [f"line {error.lineno}, column {error.colno}: {error.msg}"]
    except RecursionError:
        return None, ["it is nested too deeply"]
    except ValueError as error:
        return None, [str(error)]
    faults = Faults()
    if not isinstance(data, dict):
        faults.add("", f"must be an object with the keys {', '.join(KEYS)}, not {_shown(data)}")
        return None, faults.found
    faults.known("", data, KEYS, ("call",))
    name, arguments = _call(faults, data["call"]) if "call" in data else ("", {})
    question = Question(
        name,
        arguments,
        _target(faults, "under", data.get("under")),
        _target(faults, "focused", data.get("focused")),
        faults.read("field_text", data.get("field_text", ""), "a text", _is_text, ""),
        tuple(_passages(faults, data.get("passages", []))),
        tuple(_facts(faults, data.get("facts", {}))),
        tuple(_origins(faults, data.get("origins", []))),
        faults.read("approver", data.get("approver", False), "true or false", lambda one: isinstance(one, bool), False),
    )
    return (None, faults.found) if faults.found else (question, [])


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {_shown(twice)} stands twice in one object")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _object(faults: Faults, where: str, value: Any) -> dict[str, Any] | None:
    found = faults.read(where, value, "an object", lambda one: isinstance(one, dict), None)
    return found if isinstance(found, dict) else None


def _list(faults: Faults, where: str, value: Any) -> Iterator[tuple[str, Any]]:
    found = faults.read(where, value, "a list", lambda one: isinstance(one, list), [])
    return ((f"{where}[{number}]", one) for number, one in enumerate(found))


def _call(faults: Faults, value: Any) -> tuple[str, Mapping[str, Any]]:
    call = _object(faults, "call", value)
    if call is None:
        return "", {}
    faults.known("call", call, ("toolset_name", "name", "input"), ("name",))
    if call.get("toolset_name", TOOLSET) != TOOLSET:
        shown = _shown(call["toolset_name"])
        faults.add("call.toolset_name", f'must be "{TOOLSET}", the toolset that the policy decides about, not {shown}')
    name = faults.read("call.name", call.get("name", ""), "a text", _is_text, "")
    given = _object(faults, "call.input", call.get("input", {}))
    if given is None or name not in ARGUMENTS:
        return name, {}
    keys, needed = ARGUMENTS[name]
    faults.known("call.input", given, keys, needed)
    for key in keys:
        # The API leaves out what is not given, or sends null.
        if given.get(key) is not None or (key in needed and key in given):
            faults.read(f"call.input.{key}", given[key], *TYPES[key], None)
    return name, given


def _target(faults: Faults, where: str, value: Any) -> Target | None:
    if value is None:
        return None
    target = _object(faults, where, value)
    if target is None:
        return None
    faults.known(where, target, ("role", "name", "value", "box", "url"), ("role",))

    def text(key: str, otherwise: str | None) -> Any:
        given = target.get(key)
        return otherwise if given is None else faults.read(f"{where}.{key}", given, "a text", _is_text, otherwise)

    box = target.get("box")
    if box is None:
        box = [0, 0, 1, 1]
    fits = _are_whole(4)
    whole = "[x, y, width, height] in whole pixels, width and height above 0"
    box = faults.read(f"{where}.box", box, whole, lambda one: fits(one) and one[2] > 0 and one[3] > 0, [0, 0, 1, 1])
    if "role" in target:
        faults.read(f"{where}.role", target["role"], "a text", lambda one: _is_text(one) and bool(one.strip()), "")
    return Target(str(target.get("role")), text("name", ""), text("value", None), tuple(box), text("url", None))


def _passages(faults: Faults, value: Any) -> Iterator[tuple[str, int, str]]:
    for where, one in _list(faults, "passages", value):
        passage = _object(faults, where, one)
        if passage is None:
            continue
        keys = ("document", "page", "text")
        faults.known(where, passage, keys, keys)
        document = faults.read(
            f"{where}.document",
            passage.get("document", "x"),
            "a document's name",
            lambda each: _is_text(each) and bool(each.strip()),
            "x",
        )
        page = faults.read(
            f"{where}.page", passage.get("page", 1), "a page from 1 on", lambda each: _is_whole(each) and each > 0, 1
        )
        yield document, page, faults.read(f"{where}.text", passage.get("text", ""), "a text", _is_text, "")


def _facts(faults: Faults, value: Any) -> Iterator[str]:
    for name, fact in (_object(faults, "facts", value) or {}).items():
        yield faults.read(f"facts.{_shown_key(name)}", fact, "a text", _is_text, "")


def _origins(faults: Faults, value: Any) -> Iterator[str]:
    from tasks.domain.origins import origin

    for where, one in _list(faults, "origins", value):
        kind = "an address such as https://portal.example"
        yield faults.read(where, one, kind, lambda each: _is_text(each) and origin(each) is not None, "http://x")


# ----------------------------------------------------------------------------------------------------------- the answer


@dataclass(frozen=True)
class Answer:
    decision: str
    rule: str
    reason: str
    unsourced: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {
            "decision": self.decision,
            "rule": self.rule,
            "reason": self.reason,
            "unsourced": list(self.unsourced),
        }


def explain(question: Question, width: int, height: int) -> Answer:
    """What the policy decides about the call on a screen of this size in pixels, and what of its text has no source."""
    from tasks.desktop.requests import RefusalError, to_action
    from tasks.domain.actions import Deny
    from tasks.domain.policy import decide

    try:
        action = to_action(question.name, question.arguments, width, height)
    except RefusalError as error:
        return Answer("DENY", "call", error.phrase)
    scene = _scene(question, action, width, height)
    decision = decide(action, scene)
    missing = () if isinstance(decision, Deny) else _missing(question, action, scene, decision)
    return _answer(question, decision, missing)


def _missing(question: Question, action: Any, scene: Scene, decision: Decision) -> tuple[str, ...]:
    from tasks.domain.actions import Kind, TypeText
    from tasks.domain.fields import focused_field, in_date
    from tasks.domain.grounding import Source, unsourced

    passages = tuple(Source(*passage) for passage in question.passages)
    found: list[str] = []
    if isinstance(action, TypeText) and focused_field(scene) is not None and not in_date(scene):
        found += unsourced(action.text, passages=passages, facts=question.facts, fragment=True)
    if decision.kind in (Kind.CHANGE, Kind.COMMIT):
        found += unsourced(question.field_text, passages=passages, facts=question.facts)
    return tuple(dict.fromkeys(found))


def _answer(question: Question, decision: Decision, missing: tuple[str, ...]) -> Answer:
    from tasks.domain.actions import Ask, Deny
    from tasks.domain.grounding import advice
    from tasks.guard import UNSOURCED

    if isinstance(decision, Deny):
        return Answer("DENY", decision.rule, decision.reason)
    if missing:
        return Answer("DENY", UNSOURCED, advice(missing), missing)
    if isinstance(decision, Ask):
        if question.approver:
            return Answer("ASK", decision.rule, decision.reason)
        return Answer("DENY", decision.rule, NO_APPROVER)
    return Answer("ALLOW", decision.rule, f"{decision.kind}: nothing speaks against it.")


def _scene(question: Question, action: Any, width: int, height: int) -> Scene:
    from tasks.domain.actions import Drag, Point, Scene
    from tasks.domain.actions import Target as On

    under, focused = _element(question.under), _element(question.focused, question.field_text)
    pages = [
        one.url for one in (question.under, question.focused) if one is not None and one.url and one.role != "link"
    ]
    url = pages[0] if pages else (question.origins[0] if question.origins else None)
    pointer = _middle(under, width, height)
    ends = under is not None and isinstance(action, Drag) and under.box.contains(action.end)
    return Scene(
        width,
        height,
        pointer if 0 <= pointer.x < width and 0 <= pointer.y < height else Point(0, 0),
        url=url,
        elements=tuple(one for one in (under, focused) if one is not None),
        under=On(under) if under is not None else None,
        end=On(under) if under is not None and ends else None,
        focused=On(focused) if focused is not None else None,
        origins=question.origins,
    )


def _element(target: Target | None, field_text: str = "") -> Element | None:
    from tasks.domain.actions import Box, Element
    from tasks.domain.targets import PASSWORD, TEXT_FIELDS

    if target is None:
        return None
    value = target.value
    if value is None and target.role in TEXT_FIELDS:
        value = field_text
    if target.role == PASSWORD:
        value = None
    href = target.url if target.role in ("link", "document web", "document frame") else None
    return Element(target.role, target.name, Box(*target.box), value, href=href)


def _middle(element: Element | None, width: int, height: int) -> Point:
    from tasks.domain.actions import Point

    if element is None:
        return Point(width // 2, height // 2)
    return Point(element.box.x + element.box.width // 2, element.box.y + element.box.height // 2)


def run(options: argparse.Namespace, environment: Environment) -> int:
    """Answer the file's question; returns the exit code."""
    from tasks.settings import settings

    name = "standard input" if str(options.file) == "-" else str(options.file)
    try:
        text = _text(options.file)
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        print(f"{name}: {said}", file=sys.stderr)
        return BAD_INPUT
    question, faults = parse(text)
    if question is None:
        for fault in faults:
            print(f"{name}: {fault}", file=sys.stderr)
        return BAD_INPUT
    desktop = settings().desktop
    answer = explain(question, desktop.screen_width, desktop.screen_height)
    if options.json:
        print(json.dumps(answer.as_json(), ensure_ascii=False))
        return 0
    print(f"{answer.decision} by the rule {answer.rule}")
    print(answer.reason)
    for claim in answer.unsourced:
        print(f"  without a source: {claim}")
    return 0


def _text(file: Path) -> str:
    """The file's text. Raises OSError where it cannot be read, ValueError where it is too long or no UTF-8."""
    if str(file) == "-":
        raw = sys.stdin.buffer.read(MOST_BYTES + 1)
    else:
        with file.open("rb") as opened:
            raw = opened.read(MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise ValueError(f"it has more than {MOST_BYTES:,} bytes")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} is no UTF-8") from None
