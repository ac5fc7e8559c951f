"""What a run's actions must pass besides the policy: sources for what is written, a yes for a commit, the intent on record first."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from typing import Any

import pytest

from tasks.domain.actions import (
    Action,
    Allow,
    Ask,
    Box,
    Click,
    Decision,
    Deny,
    Drag,
    Element,
    Point,
    PressKeys,
    Scene,
    Target,
    TypeText,
)
from tasks.domain.briefs import parse_brief
from tasks.domain.passages import Chunk, Passage, SearchResult
from tasks.guard import AUTO, UNSOURCED, Evidence, Guard, task_facts
from tasks.settings import ROOT

HOME = "http://127.0.0.1:8000"
FORM = f"{HOME}/drafts/1/attestations"
REVIEW = f"{HOME}/drafts/1/review"
PAGE = Element("document web", "Step", Box(0, 0, 1024, 768))
BRIEF = parse_brief(tomllib.loads((ROOT / "corpus/sample/filings/qi-report/brief.toml").read_text(encoding="utf-8")))
FACTS = task_facts("File the report.", report_id="QI-2025-014", quarter="Q3 2025", department="Pharmacy")
RULE = "The rule is effective March 24, 2020. Field 460-ET applies."
NEXT = Element("button", "Continue to review", Box(10, 400, 100, 30), states=frozenset({"default"}))
BACK = Element("link", "Back to period and unit", Box(200, 400, 100, 30), href=f"{HOME}/drafts/1/period")
SUBMIT = Element("button", "Submit report", Box(10, 400, 100, 30))
DELETE = Element("button", "Delete draft", Box(200, 400, 100, 30))


def passage(text: str, document: str = "rule.pdf", page: int = 1) -> Passage:
    return Passage(Chunk(f"{document}-{page}", document, page, 0, len(text), text), "Rule", 1.0, 1)


def entry(name: str, value: str, number: int = 0, role: str = "entry", states: str = "editable focusable") -> Element:
    return Element(role, name, Box(10, 40 + 40 * number, 300, 30), value, frozenset(states.split()))


class Run:
    """A guard with a page whose fields can be changed; `do` decides on an action and says what came of it."""

    def __init__(self, approval: str = AUTO, passages: list[Passage] | None = None) -> None:
        self.intents = 0
        self.evidence = Evidence(FACTS)
        self.guard = Guard(BRIEF, approval, self.evidence, intend=self._intend)
        self.url = FORM
        self.fields: dict[str, str] = {"Date": "", "Field": ""}
        if passages is not None:
            self.evidence.searching(lambda query: SearchResult(tuple(passages), 4))("when?")

    def _intend(self) -> None:
        self.intents += 1

    def scene(self, under: Element | None = None, focused: str | None = None) -> Scene:
        fields = tuple(entry(name, value, number) for number, (name, value) in enumerate(self.fields.items()))
        controls = (SUBMIT, DELETE) if self.url == REVIEW else (NEXT, BACK)
        at = next((one for one in fields if one.name == focused), None)
        return Scene(
            1024,
            768,
            Point(0, 0),
            url=self.url,
            elements=(Element("heading", "Step", Box(0, 0, 10, 10)), *fields, *controls),
            under=Target(under or PAGE, (PAGE,)),
            focused=Target(at, (PAGE,)) if at else None,
            default=Target(controls[0], (PAGE,)),
            origins=(HOME,),
        )

    def do(self, action: Action, **where: Any) -> Decision:
        return self.guard.decide(action, self.scene(**where))

    def press(self, element: Element) -> Decision:
        return self.do(Click("left", 1, Point(element.box.x, element.box.y)), under=element)

    def write(self, name: str, text: str) -> Decision:
        """Type a text that the page then shows."""
        decision = self.do(TypeText(text), focused=name)
        if isinstance(decision, Allow):
            self.fields[name] += text
        return decision

    def keys(self, name: str, text: str) -> None:
        for key in text:
            assert isinstance(self.do(PressKeys(key if key != " " else "space"), focused=name), Allow)
            self.fields[name] += key

    def review(self) -> None:
        self.url, self.fields = REVIEW, {}


def denied(decision: Decision) -> str:
    assert isinstance(decision, Deny), decision
    return decision.rule


def test_a_text_with_a_source_is_typed_and_one_without_is_refused_by_name() -> None:
    run = Run(passages=[passage(RULE)])
    assert isinstance(run.write("Date", "March 24, 2020 (rule.pdf, page 1)"), Allow)
    refused = run.write("Date", "March 25, 2020 (rule.pdf, page 1)")
    assert denied(refused) == UNSOURCED and isinstance(refused, Deny) and "March 25, 2020" in refused.reason
    assert "search" in refused.reason
    assert denied(run.write("Field", "460-ED")) == UNSOURCED


def test_before_a_search_only_the_tasks_own_facts_may_be_typed() -> None:
    run = Run()
    assert denied(run.write("Date", "March 24, 2020")) == UNSOURCED
    for fact in ("QI-2025-014", "Q3 2025", "Q3", "2025", "Pharmacy"):
        assert isinstance(run.write("Field", fact), Allow), fact


def test_passages_of_every_search_are_sources() -> None:
    run = Run(passages=[passage(RULE)])
    found = SearchResult((passage("Compliance is due on September 21, 2020.", page=2),), 4)
    assert run.evidence.searching(lambda query: found)("by when?") is found
    assert isinstance(run.write("Date", "September 21, 2020 (rule.pdf, page 2)"), Allow)
    assert denied(run.write("Date", "September 21, 2020 (rule.pdf, page 3)")) == UNSOURCED


def test_the_same_words_at_another_place_may_be_cited_from_there() -> None:
    """A search shows them once and names the other place; what is around them there, it did not show."""
    twice = replace(passage(RULE), also_at=(("bulletin.pdf", 2),))
    run = Run(passages=[twice])
    assert isinstance(run.write("Date", "March 24, 2020 (bulletin.pdf, page 2)"), Allow)
    assert denied(run.write("Date", "March 24, 2020 (bulletin.pdf, page 1)")) == UNSOURCED


def test_the_text_that_the_model_was_shown_is_the_source() -> None:
    joined = replace(
        passage("on March 24, 2020."), joined="It takes effect on March 24, 2020. It was signed May 1, 2019."
    )
    run = Run(passages=[joined])
    assert isinstance(run.write("Date", "May 1, 2019"), Allow)


def test_what_was_pressed_key_by_key_is_judged_when_the_page_goes_on() -> None:
    run = Run(passages=[passage(RULE)])
    run.keys("Date", "March 25, 2020")
    assert denied(run.press(NEXT)) == UNSOURCED
    assert isinstance(run.press(BACK), Allow)  # leaving it behind saves nothing
    run.fields["Date"] = "March 24, 2020"
    assert isinstance(run.press(NEXT), Allow)


def test_return_that_sends_the_page_judges_it_too() -> None:
    run = Run(passages=[passage(RULE)])
    run.keys("Field", "460-ED")
    assert denied(run.do(PressKeys("Return"), focused="Field")) == UNSOURCED
    assert denied(run.do(TypeText("\n"), focused="Field")) == UNSOURCED


def test_a_text_built_from_sourced_pieces_is_judged_as_a_whole() -> None:
    run = Run(passages=[passage("Field 460-ET and field 403-D3, of March 24, 2020 and September 21, 2021.")])
    assert isinstance(run.write("Date", "March 24"), Allow)
    assert isinstance(run.write("Date", ", 2021"), Allow)
    assert denied(run.press(NEXT)) == UNSOURCED


def test_a_commit_judges_every_field_of_the_run_by_its_last_content() -> None:
    run = Run(passages=[passage(RULE)])
    run.keys("Date", "March 25, 2020")
    run.press(NEXT)  # refused, but the page may have gone on by itself
    run.review()
    refused = run.press(SUBMIT)
    assert denied(refused) == UNSOURCED and "March 25" in refused.reason and run.intents == 0  # type: ignore[union-attr]
    run.url, run.fields = FORM, {"Date": "March 24, 2020", "Field": ""}
    assert isinstance(run.press(NEXT), Allow)
    run.review()
    assert run.press(SUBMIT) == Allow("commit:brief", "commit", AUTO)


def test_what_the_portal_filled_in_or_the_model_did_not_touch_passes() -> None:
    run = Run()
    run.fields = {"Case number": "4711/08-15", "Due": "January 1, 2031", "Field": ""}
    run.write("Field", "Pharmacy")
    run.fields["Due"] = "January 2, 2031"  # the page worked it out
    assert isinstance(run.press(NEXT), Allow)
    run.do(PressKeys("BackSpace"), focused="Case number")
    run.fields["Case number"] = "4711/08-1"
    assert denied(run.press(NEXT)) == UNSOURCED
    run.fields["Case number"] = "4711/08-15"
    assert isinstance(run.press(NEXT), Allow)


@pytest.mark.parametrize("drop", [Drag(Point(1, 1), Point(20, 50)), Click("middle", 1, Point(20, 50))])
def test_what_was_dropped_or_pasted_with_the_mouse_counts_as_written(drop: Action) -> None:
    run = Run()
    scene = replace(run.scene(), end=Target(PAGE))
    assert isinstance(run.guard.decide(drop, scene), Allow)
    run.fields["Date"] = "March 25, 2020"
    assert denied(run.press(NEXT)) == UNSOURCED


def test_a_choice_from_a_list_needs_no_source() -> None:
    run = Run()
    combo = Element("combo box", "Year", Box(10, 40, 80, 30), "2019", frozenset({"focusable"}))
    scene = replace(run.scene(), focused=Target(combo, (PAGE,)), elements=(combo, NEXT))
    assert isinstance(run.guard.decide(TypeText("2019"), scene), Allow)
    assert isinstance(run.guard.decide(Click("left", 1, Point(10, 400)), replace(scene, under=Target(NEXT))), Allow)


def test_a_date_fields_digits_are_judged_as_the_date_that_they_make() -> None:
    run = Run(passages=[passage(RULE)])
    part = Element("spin button", "Month", Box(12, 42, 20, 20), "03", frozenset({"focusable"}))

    def scene(value: str) -> Scene:
        date = Element("date editor", "Date", Box(10, 40, 120, 30), value, frozenset({"editable"}))
        return replace(run.scene(), focused=Target(part, (PAGE,)), elements=(date, part, NEXT))

    go_on = Click("left", 1, Point(10, 400))
    assert isinstance(run.guard.decide(TypeText("03252020"), scene("")), Allow)
    assert denied(run.guard.decide(go_on, replace(scene("2020-03-25"), under=Target(NEXT)))) == UNSOURCED
    assert isinstance(run.guard.decide(go_on, replace(scene("2020-03-24"), under=Target(NEXT))), Allow)


def test_auto_answers_for_the_briefs_submit_alone() -> None:
    run = Run()
    run.review()
    assert run.press(SUBMIT) == Allow("commit:brief", "commit", AUTO)
    other = run.press(DELETE)
    assert isinstance(other, Ask) and other.control == "Delete draft"


def test_without_an_approver_a_question_stays_one_and_no_intent_is_recorded() -> None:
    run = Run(approval="none")
    run.review()
    assert isinstance(run.press(SUBMIT), Ask) and run.intents == 0


def test_the_intent_is_recorded_once_and_before_the_yes_is_given() -> None:
    run = Run()
    run.review()
    run.press(SUBMIT)
    run.press(SUBMIT)
    assert run.intents == 1 and run.guard.intended

    def broken() -> None:
        raise RuntimeError("the store is gone")

    other = Run()
    other.guard.intend = broken
    other.review()
    with pytest.raises(RuntimeError):
        other.press(SUBMIT)
    assert not other.guard.intended


def test_a_policys_refusal_stays_one() -> None:
    run = Run(passages=[passage(RULE)])
    away = Element("link", "Help", Box(10, 400, 100, 30), href="https://elsewhere.example/")
    assert denied(run.press(away)) == "link:leave"
