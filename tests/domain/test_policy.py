"""The action policy: what must be refused, what must be permitted, and that spelling changes neither."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.desktop import keys as driver
from tasks.domain.actions import (
    Action,
    Allow,
    Ask,
    Box,
    Click,
    CursorPosition,
    Deny,
    Drag,
    Element,
    HoldKeys,
    MouseDown,
    MouseUp,
    MoveMouse,
    Point,
    PressKeys,
    Scene,
    Screenshot,
    Scroll,
    Target,
    TypeText,
    Wait,
    Zoom,
)
from tasks.domain.amounts import LIMITS
from tasks.domain.keys_policy import (
    ALLOWED,
    KEY_RULES,
    KEYS,
    MODIFIERS,
    canonical_combinations,
    canonical_key,
    meaning,
)
from tasks.domain.policy import decide

PAGE = Element("document web", "Step 2", Box(0, 0, 1024, 768))
NOTES = Element("entry", "Notes", Box(10, 10, 200, 90), "", frozenset({"editable", "multi-line", "focused"}))
SCENE = Scene(
    1024,
    768,
    Point(500, 300),
    elements=(NOTES,),
    under=Target(PAGE),
    end=Target(PAGE),
    focused=Target(NOTES, (PAGE,)),
)
"""An empty place of the page under the pointer, a field of several lines with the focus."""

REFUSED = {
    "keys:close": [
        "ctrl+w",
        "Ctrl+W",
        "W+CTRL",
        "Control_L+w",
        "control+shift+w",
        "ctrl-w",
        "Ctrl + W",
        "ctrl+q",
        "alt+F4",
        "Option+f4",
        "Alt_R+F4",
        "ctrl+KP_F4",
        "ctrl+a ctrl+w",
        "ｃｔｒｌ＋ｗ",
        "ctrl+ctrl+w",
    ],
    "keys:window": [
        "ctrl+n",
        "ctrl+shift+n",
        "ctrl+t",
        "CTRL+SHIFT+T",
        "ctrl+Tab",
        "ctrl+shift+ISO_Left_Tab",
        "ctrl+Page_Up",
        "ctrl+Prior",
        "ctrl+PageDown",
        "ctrl+1",
        "ctrl+KP_9",
        "alt+3",
        "alt+Tab",
        "alt+space",
        "F11",
        "f11",
        "alt+Escape",
        "alt+esc",
    ],
    "keys:address": [
        "ctrl+l",
        "Control+L",
        "ctrl+k",
        "ctrl+e",
        "alt+d",
        "F6",
        "alt+Home",
        "alt+Return",
        "alt+KP_Enter",
        "alt+Enter",
    ],
    "keys:tools": [
        "F12",
        "ctrl+shift+i",
        "shift+ctrl+I",
        "Shift-Ctrl-C",
        "ctrl+shift+c",
        "ctrl+shift+k",
        "ctrl+u",
        "ctrl+i",
        "shift+F5",
        "shift+F9",
        "ctrl+Shift_R+J",
    ],
    "keys:print": ["ctrl+p", "ctrl+shift+p", "Print", "Print_Screen", "PrtSc", "Sys_Req", "alt+SysRq"],
    "keys:file": ["ctrl+s", "ctrl+shift+s", "ctrl+o", "Ctrl+O"],
    "keys:browser": [
        "ctrl+h",
        "ctrl+b",
        "ctrl+d",
        "ctrl+j",
        "ctrl+shift+y",
        "ctrl+shift+Delete",
        "ctrl+shift+del",
        "ctrl+comma",
        "ctrl+,",
        "alt+f",
        "alt+t",
        "alt",
        "Alt_L",
        "option",
        "F1",
        "F7",
        "F10",
        "shift+F10",
        "Menu",
        "context_menu",
    ],
    "keys:system": [
        "ctrl+alt+F1",
        "ctrl+alt+F12",
        "Ctrl-Alt-Del",
        "ctrl+alt+Delete",
        "ctrl+alt+BackSpace",
        "ctrl+alt+t",
        "alt+F2",
        "super",
        "cmd+q",
        "Super_L+e",
        "meta+w",
        "win+r",
        "Windows",
        "command+space",
        "ctrl+Escape",
        "ctrl+shift+esc",
        "XF86Sleep",
        "ctrl+alt+XF86Switch_VT_1",
    ],
    "keys:unlisted": [
        "Pause",
        "Caps_Lock",
        "Scroll_Lock",
        "Num_Lock",
        "ctrl+Return",
        "ctrl+space",
        "alt+x",
        "ctrl+alt+x",
        "F2",
        "F4",
        "F8",
        "F9",
        "F13",
        "a+b",
        "ctrl+;",
        "alt+shift",
        "Help",
        "Undo",
        "Nonsense",
    ],
    "keys:number": ["0x77", "ctrl+0x77", "U0077", "U+0077", "25", "ctrl+25"],
    "keys:empty": ["", "   "],
}

PERMITTED = [
    "Return", "KP_Enter", "enter", "Tab", "shift+Tab", "Shift_L+ISO_Left_Tab", "Escape", "space", "BackSpace", "Delete",
    "ctrl+a", "CTRL+A", "Control_R+a", "ctrl+c", "ctrl+C", "ctrl+v", "ctrl+shift+v", "ctrl+x", "ctrl+z", "ctrl+shift+z",
    "ctrl+y", "ctrl+f", "ctrl+r", "F5", "Home", "End", "ctrl+Home", "ctrl+End", "Page_Up", "Next", "Left", "ctrl+Right",
    "shift+End", "ctrl+shift+Left", "Up", "Down", "alt+Down", "alt+Left", "a", "A", "7", "+", "-", "ctrl++", "ctrl+plus",
    "ctrl+minus", "ctrl+-", "ctrl+0", "ctrl+BackSpace", "shift", "ctrl", "shift+a", "F3", "ctrl+a ctrl+c", "page-up",
]  # fmt: skip


def rule_of(action: Action, scene: Scene = SCENE) -> str:
    decision = decide(action, scene)
    return decision.rule if isinstance(decision, Deny) else ""


@pytest.mark.parametrize(("rule", "keys"), [(rule, keys) for rule, spellings in REFUSED.items() for keys in spellings])
def test_a_blocked_combination_is_refused_pressed_or_held(rule: str, keys: str) -> None:
    assert rule_of(PressKeys(keys)) == rule
    assert rule_of(HoldKeys(keys, 1.0)) == rule


@pytest.mark.parametrize("keys", PERMITTED)
def test_a_key_that_a_form_needs_is_permitted(keys: str) -> None:
    assert isinstance(decide(PressKeys(keys), SCENE), Allow)


def test_the_allow_list_is_closed() -> None:
    """A combination of any keys and modifiers is on it, or is refused."""
    for key in sorted({*KEYS, *"abcxyz019#§é", "xf86sleep", "unheard"}):
        for held in ((), ("ctrl",), ("alt",), ("shift",), ("ctrl", "shift"), ("ctrl", "alt"), ("super",)):
            keys = "+".join((*held, key))
            listed = any(meaning(one) is not None and one - set(MODIFIERS) for one in canonical_combinations(keys))
            allowed = isinstance(decide(PressKeys(keys), SCENE), Allow)
            assert allowed <= listed, keys
    assert {row.meaning for row in ALLOWED}


@pytest.mark.parametrize("row", KEY_RULES, ids=lambda row: row.rule)
def test_every_combination_of_every_row_is_refused_by_that_row(row) -> None:
    for combination in (*row.combinations, *row.alone):
        assert rule_of(PressKeys(combination)).startswith("keys:"), combination
    assert row.rule in REFUSED
    assert row.reason.startswith("Refused: ") and row.reason.endswith(".")


@pytest.mark.parametrize("row", KEY_RULES, ids=lambda row: row.rule)
def test_every_spelling_that_the_driver_understands_as_a_blocked_combination_is_refused(row) -> None:
    """The driver has names of its own for keys: whatever it would press as a blocked combination, the policy refuses."""
    names = {**driver.MODIFIERS, **driver.NAMED}
    left_of = {0xFFE2: driver.SHIFT, 0xFFE4: driver.CTRL, 0xFFEA: driver.ALT, 0xFFEC: driver.SUPER}
    spelled: dict[int, list[str]] = {}
    for name, keysym in names.items():
        spelled.setdefault(left_of.get(keysym, keysym), []).append(name)
    for combination in (*row.combinations, *row.alone):
        parts = combination.split("+")
        names_of = {part: driver_names(part, names, left_of, spelled) for part in parts}
        for changed in parts:
            for name in names_of[changed]:
                keys = "+".join(name if part == changed else part for part in parts)
                assert rule_of(PressKeys(keys)).startswith("keys:"), keys
                assert rule_of(PressKeys(keys.upper())).startswith("keys:"), keys.upper()


def driver_names(part: str, names: dict[str, int], left_of: dict[int, int], spelled: dict[int, list[str]]) -> list[str]:
    keysym = names.get(part)
    return spelled[left_of.get(keysym, keysym)] if keysym is not None else [part]


SPELLED = {
    **{name: sorted(spellings) for name, spellings in MODIFIERS.items()},
    **{name: sorted(spellings) for name, spellings in KEYS.items()},
    **{letter: [letter] for letter in "abcdefghijklmnopqrstuvwxyz"},
}


@st.composite
def two_spellings(draw: st.DrawFn) -> tuple[str, str]:
    """One combination of modifiers and a key, written in two ways."""
    modifiers = draw(st.lists(st.sampled_from(sorted(MODIFIERS)), unique=True, max_size=3))
    key = draw(st.sampled_from(sorted(set(SPELLED) - set(MODIFIERS) - {"plus", "minus"})))

    def written() -> str:
        names = [draw(st.sampled_from(SPELLED[name])) for name in (*modifiers, key)]
        cased = [draw(st.sampled_from([str.lower, str.upper, str.title]))(name) for name in names]
        sided = [
            name + draw(st.sampled_from(["", "_L", "_r"])) if index < len(modifiers) else name
            for index, name in enumerate(cased)
        ]
        return draw(st.sampled_from(["+", " + ", "+ "])).join(draw(st.permutations(sided)))

    return written(), written()


@given(two_spellings())
def test_order_case_and_synonyms_change_neither_the_canonical_form_nor_the_decision(pair: tuple[str, str]) -> None:
    one, other = pair
    assert canonical_combinations(one) == canonical_combinations(other)
    assert decide(PressKeys(one), SCENE) == decide(PressKeys(other), SCENE)


@given(two_spellings(), st.sampled_from(sorted(MODIFIERS)))
def test_a_further_modifier_never_makes_a_blocked_combination_permitted(pair: tuple[str, str], modifier: str) -> None:
    keys, _ = pair
    if canonical_combinations(keys) == (frozenset({"alt"}),):
        return  # alt alone opens the menu, with another key it is that combination
    if rule_of(PressKeys(keys)):
        assert rule_of(PressKeys(f"{modifier}+{keys}"))


@given(st.text(max_size=40))
def test_any_text_of_keys_gets_a_decision(keys: str) -> None:
    assert isinstance(decide(PressKeys(keys), SCENE), Allow | Ask | Deny)
    assert all(keys for keys in canonical_combinations(keys))


@given(st.text(st.characters(codec="ascii"), max_size=12))
def test_a_canonical_name_is_its_own_canonical_name(name: str) -> None:
    once = canonical_key(name)
    assert canonical_key(once) == once


def test_no_spelling_belongs_to_two_keys() -> None:
    spellings = [spelling for table in (MODIFIERS, KEYS) for names in table.values() for spelling in names]
    assert len(spellings) == len(set(spellings))


INSIDE = [Point(0, 0), Point(1023, 767), Point(512, 3)]
BEYOND = [Point(-1, 0), Point(0, -1), Point(1024, 0), Point(0, 768), Point(5_000, 5_000)]


def at(point: Point) -> list[Action]:
    return [
        Click("left", 1, point),
        Click("left", 3, point),
        Click("middle", 3, point),
        MoveMouse(point),
        Scroll(point, "down", 3),
        Drag(None, point),
        Drag(point, Point(5, 5)),
    ]


@pytest.mark.parametrize("point", BEYOND)
def test_a_coordinate_outside_the_display_is_refused(point: Point) -> None:
    assert {rule_of(action) for action in at(point)} == {"outside the display"}


@pytest.mark.parametrize("point", INSIDE)
def test_a_coordinate_on_the_display_is_permitted(point: Point) -> None:
    assert {rule_of(action) for action in at(point)} == {""}


def test_an_action_without_coordinate_is_judged_by_where_the_pointer_is() -> None:
    lost = replace(SCENE, pointer=Point(2_000, 10))
    for action in (Click("left", 1, None), Scroll(None, "up", 1), MouseDown(), MouseUp(), Drag(None, Point(1, 1))):
        assert rule_of(action, lost) == "outside the display"
        assert rule_of(action) == ""


@pytest.mark.parametrize(
    "region", [(-1, 0, 10, 10), (0, 0, 1025, 10), (0, 0, 10, 769), (10, 0, 10, 10), (20, 20, 10, 30)]
)
def test_a_zoom_that_leaves_the_display_or_has_no_area_is_refused(region: tuple[int, int, int, int]) -> None:
    assert rule_of(Zoom(region)) == "outside the display"


def test_a_zoom_on_the_whole_display_is_permitted() -> None:
    assert rule_of(Zoom((0, 0, 1024, 768))) == ""


AMOUNTS = {
    "repeat": lambda amount: PressKeys("Tab", repeat=amount),
    "scroll": lambda amount: Scroll(Point(5, 5), "down", amount),
    "hold": lambda amount: HoldKeys("Down", amount),
    "wait": lambda amount: Wait(amount),
    "text length": lambda amount: TypeText("x" * amount),
}


@pytest.mark.parametrize("rule", sorted(LIMITS))
def test_each_amount_is_permitted_to_its_limits_and_refused_beyond(rule: str) -> None:
    limit, action = LIMITS[rule], AMOUNTS[rule]
    assert rule_of(action(int(limit.least))) == ""
    assert rule_of(action(int(limit.most))) == ""
    assert rule_of(action(int(limit.most) + 1)) == rule
    if rule != "text length":
        assert rule_of(action(int(limit.least) - 1)) == rule
        assert rule_of(action(math.nan)) == rule
        assert rule_of(action(math.inf)) == rule


@pytest.mark.parametrize("modifiers", ["ctrl+w", "a", "shift+Return", "F12", "ctrl+super+1", "12"])
def test_a_key_among_the_modifiers_of_a_mouse_action_is_refused(modifiers: str) -> None:
    for action in (
        Click("left", 1, Point(5, 5), modifiers),
        Scroll(Point(5, 5), "down", 1, modifiers),
        Drag(Point(5, 5), Point(6, 6), modifiers),
    ):
        assert rule_of(action) == "modifiers only"


@pytest.mark.parametrize("modifiers", ["", "shift", "Control_L", "ctrl+shift"])
def test_modifiers_may_be_held_during_a_mouse_action(modifiers: str) -> None:
    assert rule_of(Click("left", 1, Point(5, 5), modifiers)) == ""


def test_the_system_key_may_not_be_held_during_a_mouse_action() -> None:
    assert rule_of(Click("left", 1, Point(5, 5), "cmd")) == "keys:system"


@pytest.mark.parametrize("text", ["\x1b", "a\x17b", "\x00", "\x7f", "ab\x08"])
def test_control_characters_in_a_text_are_refused(text: str) -> None:
    assert rule_of(TypeText(text)) == "control characters"


@pytest.mark.parametrize(
    "text", ["", "460-ET Quantity Prescribed (rule.pdf, page 1)", "a\nb c\t", "§ 162.1102 – “ü” €", "ctrl+w"]
)
def test_an_ordinary_text_may_be_typed(text: str) -> None:
    assert rule_of(TypeText(text)) == ""


def test_looking_and_waiting_are_permitted() -> None:
    for action in (Screenshot(), CursorPosition(), Wait(1.0)):
        assert isinstance(decide(action, SCENE), Allow)


@given(st.text(min_size=4, max_size=30))
def test_no_phrase_that_the_model_reads_repeats_what_was_asked(keys: str) -> None:
    """The phrase is the row's, whatever the argument: two different refusals of one row read the same."""
    decision = decide(PressKeys(f"ctrl+w {keys}"), SCENE)
    assert decision == decide(PressKeys("ctrl+w"), SCENE)
