"""The classes of presses and texts: every rule catches its cases and lets its look-alikes through, and what no rule knows is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.domain.actions import Allow, Ask, Click, Deny, Kind, Target, noted
from tasks.domain.control_words import disguised, folded
from tasks.domain.irreversible import IRREVERSIBLE, irreversible
from tasks.domain.policy import decide
from tasks.domain.targets import ALLOW, ASK, PRESS_ROWS, TEXT_ROLES
from tests.domain.policy_cases import AT, BASE, CAUGHT, DOCUMENT, HEADING, HOME, PASSED, Case, at, element

ASKED = {row.rule for row in PRESS_ROWS if row.answer == ASK} | {"commit:return"}
ELSEWHERE = {"page:unread", "target:none", "leave:page", "text:no field", "text:one field", "commit:return"}


def cases(table: dict[str, list[Case]]) -> list[object]:
    return [pytest.param(rule, case, id=f"{rule} {case}") for rule, found in table.items() for case in found]


@pytest.mark.parametrize(("rule", "case"), cases(CAUGHT))
def test_a_case_is_caught_by_its_rule(rule: str, case: Case) -> None:
    decision = decide(case.action, case.scene)
    assert decision.rule == rule, decision
    assert isinstance(decision, Ask if rule in ASKED else Deny)


@pytest.mark.parametrize(("rule", "case"), cases(PASSED))
def test_a_look_alike_is_let_through(rule: str, case: Case) -> None:
    decision = decide(case.action, case.scene)
    assert isinstance(decision, Allow), decision
    assert decision.rule == case.rule


def test_every_rule_has_cases_of_both_kinds_and_there_are_many() -> None:
    rules = {row.rule for row in PRESS_ROWS if row.answer != ALLOW} | ELSEWHERE
    assert set(CAUGHT) == set(PASSED) == rules
    assert all(CAUGHT[rule] and PASSED[rule] for rule in rules)
    assert sum(map(len, CAUGHT.values())) >= 150 and sum(map(len, PASSED.values())) >= 90
    assert {case.rule for found in PASSED.values() for case in found} >= {
        row.rule for row in PRESS_ROWS if row.answer == ALLOW
    }


@pytest.mark.parametrize("row", [row for row in PRESS_ROWS if row.answer != ALLOW], ids=lambda row: row.rule)
def test_a_refusal_says_what_to_do_in_a_fixed_phrase(row) -> None:
    assert row.reason.endswith(".") and (row.answer == ASK or row.reason.startswith("Refused: "))
    for case in CAUGHT[row.rule]:
        decision = decide(case.action, case.scene)
        assert isinstance(decision, Ask | Deny) and (decision.reason == row.reason or row.rule == "commit:return")


def test_what_no_rule_knows_is_the_last_row_and_refused() -> None:
    assert PRESS_ROWS[-1].kind == Kind.UNKNOWN and PRESS_ROWS[-1].answer == "deny"


@given(st.text(max_size=20), st.text(max_size=30))
def test_a_role_that_stands_in_no_table_is_never_pressed(role: str, name: str) -> None:
    known = TEXT_ROLES | {"link"} | {row for row in ("button",)}
    decision = decide(Click("left", 1, AT), at(f"x-{role}", name).scene)
    assert f"x-{role}" not in known
    assert isinstance(decision, Deny)


WORDS = sorted({phrase for row in IRREVERSIBLE for phrase in row.anywhere})


@st.composite
def disguises(draw: st.DrawFn) -> str:
    """An irreversible phrase in a spelling that reads the same."""
    phrase = draw(st.sampled_from(WORDS))
    phrase = draw(st.sampled_from([str, str.upper, str.title, str.capitalize]))(phrase)
    if draw(st.booleans()):
        phrase = draw(st.sampled_from(["\u200b", "\u00ad", "\u2060", "\ufeff"])).join(phrase)
    if draw(st.booleans()):
        phrase = phrase.replace(" ", draw(st.sampled_from(["\u00a0", " \u2013 ", "_", "-", "\n"])))
    before = draw(st.sampled_from(["", "Continue and ", "Save, ", "1. ", "» "]))
    return f"{before}{phrase}{draw(st.sampled_from(['', ' now', '!', ' (2)', ' report']))}"


@given(disguises())
def test_an_irreversible_word_is_asked_for_in_every_spelling(name: str) -> None:
    decision = decide(Click("left", 1, AT), at("button", name).scene)
    assert isinstance(decision, Ask) or (isinstance(decision, Deny) and decision.rule in ("account", "files:chooser"))


@given(disguises(), st.sampled_from(["Sign in", "postcode", "Report ID", "apply filters"]))
def test_a_harmless_phrase_beside_it_does_not_hide_it(name: str, phrase: str) -> None:
    assert irreversible(f"{phrase} {name}") is not None or irreversible(name) is None


@given(st.text(max_size=60))
def test_folding_twice_is_folding_once(name: str) -> None:
    assert folded(folded(name)) == folded(name)


@pytest.mark.parametrize("locale", ["en", "de", "fr", "es"])
def test_every_language_has_words_of_every_kind_of_action(locale: str) -> None:
    assert {row.meaning for row in IRREVERSIBLE if row.locale == locale} == {
        "submit",
        "delete",
        "pay",
        "sign",
        "withdraw",
    }
    for row in IRREVERSIBLE:
        for phrase in (*row.anywhere, *row.first, *row.whole):
            assert phrase and phrase == folded(phrase) and irreversible(phrase) is not None


def test_a_word_of_two_scripts_is_disguised_and_a_text_of_two_is_not() -> None:
    assert (
        disguised("p\u0430y")
        and not disguised("pay \u0437\u0430")
        and not disguised("Größe")
        and not disguised("日本の")
    )


def test_a_label_is_pressed_for_the_gravest_of_what_it_labels() -> None:
    both = (element("check box", "Agree"), element("check box", "I certify it"))
    scene = at("label", "Agree", others=both).scene
    inside = replace(scene, under=Target(replace(element("label", "Both"), box=HEADING.box), (DOCUMENT,)))
    assert decide(Click("left", 1, AT), scene).rule == "person:vouch"  # both stand within the label's box
    assert decide(Click("left", 1, AT), inside).rule == "text"


def test_the_words_of_a_message_are_not_its_buttons() -> None:
    words = replace(element("label", "Really delete it?"), box=HEADING.box)
    alert = (element("alert", "Really?"), words, element("button", "OK"), element("button", "Cancel"))
    scene = replace(BASE, under=Target(words, alert), elements=(HEADING, *alert))
    assert decide(Click("left", 1, AT), scene).rule == "commit:text"
    on_the_button = replace(words, name="", box=alert[2].box)
    assert decide(Click("left", 1, AT), replace(scene, under=Target(on_the_button, alert))).rule == "commit:assent"


def test_a_drag_is_both_of_its_ends() -> None:
    from tasks.domain.actions import Drag

    text, leave = Target(HEADING, (DOCUMENT,)), Target(element("link", "Out", href="https://out.example/"), (DOCUMENT,))
    drag = Drag(AT, AT)
    assert isinstance(decide(drag, replace(BASE, under=text, end=text)), Allow)
    assert decide(drag, replace(BASE, under=leave, end=text)).rule == "link:leave"
    assert decide(drag, replace(BASE, under=text, end=leave)).rule == "link:leave"


def test_without_origins_nothing_is_ones_own() -> None:
    case = at("link", "Home", href=f"{HOME}/", origins=(), url=None)
    assert decide(case.action, case.scene).rule == "link:leave"


def test_a_decision_is_noted_with_its_class_first() -> None:
    case = at("button", "Submit report", commits=("Submit report",))
    decision = decide(case.action, case.scene)
    assert isinstance(decision, Ask) and decision.control == "Submit report"
    assert noted(decision) == "[commit] commit:brief"
    assert noted(Allow("commit:brief", "commit", "auto")) == "[commit] commit:brief, approved by auto"
    assert noted(Deny("blocked", "x")) == "blocked" and noted(Allow()) == "allow"
