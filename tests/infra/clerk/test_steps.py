"""What the clerk does next on each kind of page, on conversations with drawn pages."""

from __future__ import annotations

from typing import Any

import pytest

from infra.offline_model.clerk.clerk import _REFERENCE
from tests.infra.clerk.dialogue import (
    Dialogue,
    calls,
    clicked,
    ended,
    opened_with,
    picture,
    said,
    typed,
)
from tests.infra.clerk.paper import MONO, SANS, SERIF, Button, Drawn, Entry, Heading, Link, Options, Row, Text, draw
from tests.infra.clerk.regulations import TASK, Regulations

FIELD = "Which NCPDP field (number and name) identifies a partial fill of a Schedule II drug under rule HHS-7781-F?"
EFFECT = "On what date does the rule take effect?"
COMPLY = "By what date must covered entities comply?"
SOURCE = "Which document and page is your source?"
RULE = Regulations()
PLACE = f"{RULE.document}, page 3"
ANSWERS = {
    FIELD: f"{RULE.identifier} {RULE.name} ({PLACE})",
    EFFECT: f"{RULE.effective} ({PLACE})",
    COMPLY: f"{RULE.compliance} ({PLACE})",
    SOURCE: PLACE,
}
UNIT = {"Quarter": "Q3 2025", "Department": "Pharmacy", "Report ID": "QI-2025-014"}


def unit_page(content: dict[str, str] | None = None, warning: str = "") -> Drawn:
    shown = content or {}
    return draw(
        Heading("Period and unit"),
        Entry("Quarter", shown.get("Quarter", "Choose a quarter"), select=True),
        Entry("Department", shown.get("Department", "Choose a department"), select=True),
        Entry("Report ID", shown.get("Report ID", ""), warning=warning),
        Button("Continue"),
    )


def question_page(
    content: dict[str, str] | None = None, order: tuple[str, ...] = (FIELD, EFFECT, COMPLY, SOURCE), **look: Any
) -> Drawn:
    shown = content or {}
    return draw(
        Heading("Attestations"),
        *(Entry(label, shown.get(label, "")) for label in order),
        Button("Continue to review"),
        **look,
    )


def review_page(values: dict[str, str]) -> Drawn:
    rows = [Row(name, value) for name, value in values.items()]
    return draw(Heading("Review and submit"), Link("Change attestations"), *rows, Button("Submit report"))


def passages(regulations: Regulations = RULE) -> list[dict[str, Any]]:
    return regulations.search(most=20)("rule effective date compliance partial fill field Schedule II drug")


def answered() -> Dialogue:
    """A conversation that has filled both pages; what it sees next decides."""
    dialogue, _ = opened_with(unit_page())
    dialogue.see(unit_page(UNIT))
    dialogue.see(question_page())
    dialogue.see(question_page(), passages())
    dialogue.see(question_page(ANSWERS))
    return dialogue


def submitted() -> Dialogue:
    dialogue = answered()
    dialogue.see(review_page({**UNIT, **ANSWERS}))
    return dialogue


def test_it_looks_before_it_does_anything() -> None:
    """The first turn is a screenshot and nothing else."""
    assert calls(Dialogue().turn()) == [("screenshot", {})]


def test_on_the_list_it_starts_a_new_report() -> None:
    """A button or a link, whichever the page has; other reports in the list do not matter."""
    for start in (Button("Start a new report"), Link("Start a new report")):
        page = draw(Heading("Filed reports"), Row("Report ID", "Reference"), Row("QI-2025-013", "RCT-1111-2222"), start)
        _, blocks = opened_with(page)
        assert len(clicked(blocks)) == 1
        assert page.holds("Start a new report", clicked(blocks)[0])
        assert calls(blocks)[-1] == ("screenshot", {})


def test_it_fills_the_unit_page_from_the_task() -> None:
    """One batch: select boxes by their letters and Return, text fields by click, select all and type, then a look."""
    page = unit_page()
    _, blocks = opened_with(page)
    names = [name for name, _ in calls(blocks)]
    assert names == [
        "left_click",
        "type",
        "key",
        "left_click",
        "type",
        "key",
        "left_click",
        "key",
        "type",
        "screenshot",
    ]
    assert typed(blocks) == ["Q3 2025", "Pharmacy", "QI-2025-014"]
    for label, point in zip(UNIT, clicked(blocks), strict=True):
        assert page.holds(label, point)
    keys = [arguments["text"] for name, arguments in calls(blocks) if name == "key"]
    assert keys == ["Return", "Return", "ctrl+a"]


def test_a_year_asked_apart_leaves_the_quarter() -> None:
    """Where the page has a field for the year, the quarter is typed without it."""
    page = draw(Heading("Period"), Entry("Quarter", select=True), Entry("Year"), Entry("Report ID"), Button("Next"))
    _, blocks = opened_with(page)
    assert typed(blocks) == ["Q3", "2025", "QI-2025-014"]


def test_it_goes_on_when_the_page_shows_what_it_typed() -> None:
    """The button is pressed in a turn of its own, after the fields were read."""
    dialogue, _ = opened_with(unit_page())
    page = unit_page(UNIT)
    blocks = dialogue.see(page)
    assert page.holds("Continue", clicked(blocks)[0])
    assert not typed(blocks)


def test_a_field_that_did_not_take_the_text_is_filled_again() -> None:
    """Only the field that is wrong."""
    dialogue, _ = opened_with(unit_page())
    blocks = dialogue.see(unit_page({**UNIT, "Report ID": "QI-2025-0"}))
    assert typed(blocks) == ["QI-2025-014"]


def test_a_list_that_ignores_letters_is_opened_and_read() -> None:
    """The option is clicked where the open list shows it; a marked option is light on blue."""
    dialogue, _ = opened_with(unit_page())
    blocks = dialogue.see(unit_page({**UNIT, "Department": "Choose a department"}))
    assert [name for name, _ in calls(blocks)] == ["left_click", "screenshot"]
    opened = draw(
        Heading("Period and unit"),
        Entry("Quarter", "Q3 2025", select=True),
        Entry("Department", "Choose a department", select=True),
        Options(("Cardiology", "Oncology", "Pharmacy"), marked=2),
    )
    blocks = dialogue.see(opened)
    assert opened.holds("Pharmacy", clicked(blocks)[0])


def test_a_list_without_the_wanted_option_ends_the_turn() -> None:
    """Nothing else is chosen instead."""
    dialogue, _ = opened_with(unit_page())
    dialogue.see(unit_page({**UNIT, "Department": "Choose a department"}))
    blocks = dialogue.see(
        draw(Entry("Department", "Choose a department", select=True), Options(("Cardiology", "Oncology")))
    )
    assert ended(blocks)
    assert "Pharmacy" in said(blocks)


@pytest.mark.parametrize(
    ("size", "font", "order"),
    [
        ((1024, 768), SANS, (FIELD, EFFECT, COMPLY, SOURCE)),
        ((1280, 800), SERIF, (SOURCE, COMPLY, FIELD, EFFECT)),
        ((1280, 800), MONO, (EFFECT, SOURCE, COMPLY, FIELD)),
    ],
)
def test_it_searches_with_each_question_s_words_and_copies_what_it_finds(
    size: tuple[int, int], font: str, order: tuple[str, ...]
) -> None:
    """In any order, font and size each answer lands in its own field, after a search of its own."""
    page = question_page(order=order, size=size, font=font)
    dialogue, blocks = opened_with(page)
    queries = [arguments["query"] for name, arguments in calls(blocks) if name == "search_regulations"]
    assert len(queries) == 3
    assert not typed(blocks)
    for words in (
        "partial fill of a Schedule II drug",
        "date does the rule take effect",
        "must covered entities comply",
    ):
        assert any(words in query for query in queries)
    assert all("HHS-7781-F" in query for query in queries)
    dialogue.answer(None, passages())
    blocks = dialogue.turn()
    filled = dict(zip(map(tuple, clicked(blocks)), typed(blocks), strict=True))
    for label, value in ANSWERS.items():
        assert [given for point, given in filled.items() if page.holds(label, point)] == [value]


@pytest.mark.parametrize(
    "values",
    [
        {"identifier": "902-K7", "name": "Dispensed Portion"},
        {"effective": "January 31, 2029", "compliance": "July 2, 2030"},
        {"document": "other-name.pdf", "effective": "1 March 2033", "compliance": "2034-04-05"},
    ],
)
def test_other_passages_give_other_answers(values: dict[str, str]) -> None:
    """Whatever is changed in the passages is changed in what is typed: nothing comes from memory."""
    rule = RULE.with_values(**values)
    dialogue, _ = opened_with(question_page())
    dialogue.answer(None, passages(rule))
    place = f"{rule.document}, page 3"
    assert sorted(typed(dialogue.turn())) == sorted(
        [
            f"{rule.identifier} {rule.name} ({place})",
            f"{rule.effective} ({place})",
            f"{rule.compliance} ({place})",
            place,
        ]
    )


def test_it_searches_again_with_other_words_before_it_gives_up() -> None:
    """Passages that say nothing about compliance: more queries, then an end that names the open question, and no typing."""
    rule = Regulations(without=frozenset({"compliance"}))
    dialogue, blocks = opened_with(question_page())
    asked: list[str] = []
    for _ in range(6):
        if ended(blocks):
            break
        assert not typed(blocks)
        asked += [arguments["query"] for _, arguments in calls(blocks)]
        dialogue.answer(None, passages(rule))
        blocks = dialogue.turn()
    assert ended(blocks)
    assert COMPLY in said(blocks)
    assert EFFECT not in said(blocks)
    assert len(set(asked)) == len(asked) == 5


def test_without_any_passage_nothing_is_typed() -> None:
    """The search finds nothing: the turn ends, and all three questions are named."""
    dialogue, blocks = opened_with(question_page())
    while not ended(blocks):
        assert not typed(blocks)
        dialogue.answer(None, [{"type": "text", "text": "No passage found."}])
        blocks = dialogue.turn()
    assert all(question[:30] in said(blocks) for question in (FIELD, EFFECT, COMPLY))


def test_a_field_that_neither_task_nor_regulations_know_ends_the_turn() -> None:
    """A required field of unknown meaning is not guessed."""
    _, blocks = opened_with(
        draw(Heading("Unit"), Entry("Report ID"), Entry("Name of the attending clerk's horse"), Button("Next"))
    )
    assert ended(blocks)
    assert "horse" in said(blocks)


def test_it_submits_when_the_review_page_shows_everything() -> None:
    """All seven values stand on the review page: Submit is pressed."""
    dialogue = answered()
    page = review_page({**UNIT, **ANSWERS})
    blocks = dialogue.see(page)
    assert page.holds("Submit report", clicked(blocks)[0])


def test_it_does_not_submit_what_the_review_page_shows_otherwise() -> None:
    """Another date on the page: back to the attestations once, and after that an end without submitting."""
    dialogue = answered()
    page = review_page({**UNIT, **ANSWERS, EFFECT: f"June 7, 2032 ({PLACE})"})
    blocks = dialogue.see(page)
    pressed = []
    while clicked(blocks) or any(name in ("scroll", "wait") for name, _ in calls(blocks)):
        pressed += clicked(blocks)
        blocks = dialogue.see(page)
    assert pressed
    assert all(page.holds("Change attestations", point) for point in pressed)
    assert ended(blocks)
    assert RULE.effective in said(blocks)


def test_it_ends_with_the_reference_on_the_receipt() -> None:
    """The reference is read beside or below its name."""
    rows = (Row("Receipt reference", "RCT-5654-6256"), Row("Report ID", "QI-2025-014"), Row("Quarter", "Q3 2025"))
    blocks = submitted().see(draw(Heading("Report filed"), *rows))
    assert ended(blocks)
    assert "RCT-5654-6256" in said(blocks)
    blocks = submitted().see(draw(Heading("Done"), Text("Reference: 58213-KX"), Text("Report ID QI-2025-014")))
    assert ended(blocks)
    assert "58213-KX" in said(blocks)


def test_a_report_filed_before_ends_the_turn() -> None:
    """On the list, as a warning on the form, or as a page of its own: nothing is filed."""
    listed = draw(Heading("Filed reports"), Button("Start a new report"), Row("QI-2025-014", "RCT-1111-2222"))
    taken = draw(
        Heading("Not submitted"), Text("Report QI-2025-014 has already been filed."), Button("View the first receipt")
    )
    for page in (listed, taken):
        _, blocks = opened_with(page)
        assert ended(blocks)
        assert "already been filed" in said(blocks)
    dialogue, _ = opened_with(unit_page())
    dialogue.see(unit_page(UNIT))
    blocks = dialogue.see(unit_page(UNIT, "A report with this ID has already been filed."))
    assert ended(blocks)


def test_a_list_that_says_it_holds_no_such_report_is_no_report() -> None:
    """The report ID in a filter and in the sentence that denies it does not count as filed."""
    page = draw(
        Heading("Filed reports"),
        Button("Start a new report"),
        Entry("Find a report by its ID", "QI-2025-014"),
        Text("No report with ID QI-2025-014 has been filed."),
    )
    _, blocks = opened_with(page)
    assert page.holds("Start a new report", clicked(blocks)[0])


def test_a_warning_is_answered_once() -> None:
    """The field is filled again and the button pressed again; the second warning ends the turn with the page's words."""
    warning = "The format of this ID is not known."
    dialogue, _ = opened_with(unit_page())
    dialogue.see(unit_page(UNIT))
    warned = unit_page(UNIT, warning)
    assert typed(dialogue.see(warned)) == ["QI-2025-014"]
    blocks = dialogue.see(warned)
    assert warned.holds("Continue", clicked(blocks)[0])
    blocks = dialogue.see(warned)
    assert ended(blocks)
    assert "format of this ID" in said(blocks)


def test_a_page_that_stays_is_looked_at_again_before_the_button_is_pressed_again() -> None:
    """Wait and look, press, wait and look, … and in the end say that it does not go on."""
    dialogue, _ = opened_with(unit_page())
    page = unit_page(UNIT)
    blocks = dialogue.see(page)
    kinds = []
    while not ended(blocks):
        kinds.append(calls(blocks)[0][0])
        blocks = dialogue.see(page)
    assert kinds[:4] == ["left_click", "wait", "left_click", "wait"]
    assert kinds.count("left_click") == 3
    assert "Continue" in said(blocks)


def test_a_page_that_comes_late_is_waited_for() -> None:
    """The old page on the first look, the next page on the second."""
    dialogue, _ = opened_with(unit_page())
    dialogue.see(unit_page(UNIT))
    assert calls(dialogue.see(unit_page(UNIT)))[0][0] == "wait"
    assert calls(dialogue.see(question_page()))[0][0] == "search_regulations"


def test_three_refusals_end_the_turn() -> None:
    """Each refusal is followed by a look; halted calls do not count; the reason is told."""
    dialogue, _ = opened_with(unit_page())
    for _ in range(2):
        dialogue.answer(None, refused="This action is not allowed.")
        assert calls(dialogue.turn()) == [("screenshot", {})]
        assert typed(dialogue.see(unit_page()))
    dialogue.answer(None, refused="This action is not allowed.")
    blocks = dialogue.turn()
    assert ended(blocks)
    assert "not allowed" in said(blocks)


def test_a_refused_turn_has_filled_nothing() -> None:
    """What was said before a refused call is no record of it: the review is not compared with it."""
    dialogue, _ = opened_with(unit_page())
    dialogue.answer(None, refused="This action is not allowed.")
    dialogue.turn()
    assert typed(dialogue.see(unit_page())) == ["Q3 2025", "Pharmacy", "QI-2025-014"]


def test_after_a_prompt_of_the_user_it_looks_again() -> None:
    """An end of turn that the user questions: one new look, then on from what it shows."""
    nudge = "If the report is filed, say so. If not, go on."
    dialogue = submitted()
    receipt = draw(Heading("Report filed"), Row("Receipt reference", "RCT-5654-6256"), Row("Report ID", "QI-2025-014"))
    assert ended(dialogue.see(receipt))
    assert calls(dialogue.say(nudge)) == [("screenshot", {})]
    assert "RCT-5654-6256" in said(dialogue.see(receipt))


def test_a_zoomed_part_is_never_taken_for_the_screen() -> None:
    """A picture from `zoom` has other coordinates; without a screenshot of its own the clerk takes one."""
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": TASK},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "toolu_1", "name": "zoom", "toolset_name": "computer", "input": {"region": [0, 0, 9, 9]}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "toolset_name": "computer", "content": [picture(unit_page().png)]},
        ]},
    ]  # fmt: skip
    dialogue = Dialogue()
    dialogue.messages = messages
    assert calls(dialogue.turn()) == [("screenshot", {})]


def test_older_pictures_may_be_gone() -> None:
    """With every picture but the newest cleared the clerk decides the same."""
    dialogue = answered()
    page = review_page({**UNIT, **ANSWERS})
    dialogue.answer(page)
    images = [
        (message, result)
        for message in dialogue.messages
        if message["role"] == "user" and isinstance(message["content"], list)
        for result in message["content"]
        if any(part["type"] == "image" for part in result["content"])
    ]
    for _, result in images[:-1]:
        result["content"] = [{"type": "text", "text": "[cleared]"}]
    assert page.holds("Submit report", clicked(dialogue.turn())[0])


def test_a_page_it_does_not_know_is_waited_for_and_then_named() -> None:
    """A portal that is out of order: some patience, then an end with what the page says."""
    page = draw(Heading("Service unavailable"), Text("The service is not available at the moment."))
    _, blocks = opened_with(page)
    assert calls(blocks)[0][0] == "wait"
    dialogue, _ = opened_with(page)
    for _ in range(3):
        blocks = dialogue.see(page)
        if ended(blocks):
            break
    assert ended(blocks)
    assert "unavailable" in said(blocks)


@pytest.mark.parametrize(
    ("read", "reference"),
    [
        ("RCT-4432-9918", "RCT-4432-9918"),
        ("RcT -4432-9918", "RcT -4432-9918"),
        ("RCT—4432-9918", "RCT—4432-9918"),
        ("4432-9918", "4432-9918"),
        ("AB-CD12", "AB-CD12"),
        ("Keep it for your records", None),
    ],
)
def test_a_reference_is_found_in_what_ocr_makes_of_it(read: str, reference: str | None) -> None:
    found = _REFERENCE.search(read)
    assert (found[0] if found else None) == reference
