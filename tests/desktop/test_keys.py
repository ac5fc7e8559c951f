"""Names of keys, read as the API spells them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.desktop.keys import (
    ALT,
    CTRL,
    MODIFIERS,
    NAMED,
    RETURN,
    SHIFT,
    SUPER,
    Combination,
    UnknownKeyError,
    keysym_of,
    parse_combination,
    parse_modifiers,
)


@pytest.mark.parametrize(
    ("text", "combination"),
    [
        ("Return", Combination((), RETURN)),
        ("return", Combination((), RETURN)),
        ("ctrl+s", Combination((CTRL,), ord("s"))),
        ("CTRL+S", Combination((CTRL,), ord("s"))),
        ("ctrl+shift+Escape", Combination((CTRL, SHIFT), 0xFF1B)),
        ("shift+ctrl", Combination((SHIFT, CTRL), None)),
        ("ctrl+ctrl", Combination((CTRL,), None)),
        ("A", Combination((), ord("A"))),
        ("shift+A", Combination((SHIFT,), ord("A"))),
        ("cmd+c", Combination((SUPER,), ord("c"))),
        ("alt+Tab", Combination((ALT,), 0xFF09)),
        ("+", Combination((), ord("+"))),
        ("ctrl++", Combination((CTRL,), ord("+"))),
        ("ctrl + a", Combination((CTRL,), ord("a"))),
        ("F12", Combination((), 0xFFC9)),
        ("é", Combination((), 0xE9)),
        ("€", Combination((), 0x010020AC)),
    ],
)
def test_a_combination_is_its_modifiers_and_one_key(text: str, combination: Combination) -> None:
    assert parse_combination(text) == combination


@pytest.mark.parametrize(
    "text", ["", " ", "ctrl+", "+a", "a+b", "Return+a", "nokey", "ctrl+nokey", "F13", "ab", "\n", "ctrl+\x1b"]
)
def test_what_is_no_combination_is_an_error(text: str) -> None:
    with pytest.raises(UnknownKeyError):
        parse_combination(text)


def test_modifiers_are_modifiers_only() -> None:
    assert parse_modifiers("") == ()
    assert parse_modifiers("Ctrl+Shift") == (CTRL, SHIFT)
    for text in ("a", "ctrl+a", "Return"):
        with pytest.raises(UnknownKeyError):
            parse_modifiers(text)


@given(st.lists(st.sampled_from(sorted(MODIFIERS)), max_size=3), st.sampled_from(sorted(NAMED)), st.booleans())
def test_case_and_doubled_modifiers_change_nothing(modifiers: list[str], key: str, upper: bool) -> None:
    text = "+".join([*modifiers, key])
    plain = parse_combination(text)
    assert parse_combination(text.upper() if upper else text.title()) == plain
    assert len(set(plain.modifiers)) == len(plain.modifiers)


@given(st.text(max_size=20))
def test_any_text_is_a_combination_or_an_unknown_key(text: str) -> None:
    try:
        combination = parse_combination(text)
    except UnknownKeyError:
        return
    assert combination.keysyms and all(keysym > 0 for keysym in combination.keysyms)


@given(st.characters(min_codepoint=0x20, blacklist_categories=("Cc", "Cs")))
def test_no_two_characters_share_a_keysym(character: str) -> None:
    keysym = keysym_of(character)
    assert chr(keysym & 0xFFFFFF) == character
