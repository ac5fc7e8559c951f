"""The next thing that the clerk does, given the whole conversation.

Decides: which step of a filing the newest screenshot shows and what to do about it: start a report, search, fill, go on, compare,
submit, end. Never states a regulatory value that no passage carries, never repeats a refused call for ever, and keeps nothing
between requests.

Rules:
- It looks before it acts: without a screenshot newer than the last action it takes one.
- Pages are told apart by what they show, in this order: receipt, already filed, form, review, list.
- Each form field gets a fact of the task, or an answer out of the passages with document and page. A question is searched for
  with its own words at least once, then with others until a passage answers; if none does, the turn ends saying so.
- A page that stays after its button was pressed is looked at again before anything is repeated; a warning is answered once by
  filling the field again, the second time the clerk gives up.
- Three refused calls end the turn, and so does the same batch of calls made four times.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from infra.offline_model.clerk.conversation import (
    Conversation,
    note_filled,
    note_opened,
    note_postponed,
    note_pressed,
    read_conversation,
    same_label,
)
from infra.offline_model.clerk.likeness import canonical, containment, says, similarity
from infra.offline_model.clerk.page import Field, Line, Page, Target, read_page
from infra.offline_model.clerk.passages import Answer, agree, find_answers
from infra.offline_model.clerk.questions import Kind, Question, queries, read_question, rules_named
from infra.offline_model.clerk.task import Task, read_task

Block = dict[str, Any]

MOST_REFUSALS = 3
MOST_REPEATS = 4  # identical batches before the clerk believes that nothing will change
MOST_TURNS = 80
_SCROLL = 5  # wheel clicks: less than half a screen in the usual browsers, so every field is whole on some view

_FORWARD = re.compile(r"\b(continue|next|proceed|save and|go on)\b|^review\b", re.I)
_BACKWARD = re.compile(r"\b(back|previous|cancel|discard|change|start)\b", re.I)
_SUBMIT = re.compile(r"\b(submit|file|send|confirm)\b", re.I)
_START = re.compile(r"\b(start|new|create|begin|add)\b.*\breport\b|\bnew (?:filing|submission)\b", re.I)
_CHANGE = re.compile(r"\b(change|edit|correct|amend)\b", re.I)
_AGAIN = re.compile(r"\b(try again|retry|reload)\b", re.I)
_FILED_BEFORE = re.compile(r"\balready\b.{0,20}\b(?:filed|submitted)\b|\bfiled (?:already|before)\b", re.I)
_OUT_OF_ORDER = re.compile(r"\b(unavailable|try again|not reach\w*|went wrong|50[0-9]\b|error)", re.I)
_REFERENCE_LABEL = re.compile(
    r"\b(?:receipt|confirmation|filing)\b.{0,12}\b(?:reference|number|code)\b|^reference\b", re.I
)
# Capital letters, digits and hyphens with a digit among them; or letters before the digits with whatever OCR made of them and of the hyphen
# between: "RcT -4432", "RCT—4432".
_REFERENCE = re.compile(
    r"\b(?:(?=[A-Z0-9-]*\d)[A-Z0-9]{2,}(?:-[A-Z0-9]+)*|[A-Za-z]{1,6} ?[-\u2010-\u2015_.~]? ?\d[A-Za-z0-9]*(?:-[A-Za-z0-9]+)*)\b"
)
_SOURCE = re.compile(r"\(([^()]+), page (\d+)\)$")


def respond(
    system: str, messages: list[dict[str, Any]], tools: list[dict[str, Any]], screen: tuple[int, int] | None
) -> list[Block]:
    """The content blocks of the next assistant turn: text and tool_use without ids; no tool_use ends the turn.

    `system` and `screen` (width, height in pixels) are accepted for the sake of the interface: the task is in the first user
    message, and the size of a screenshot is its own. Raises ocr.RecognitionError if tesseract is missing or fails.
    """
    conversation = read_conversation(messages)
    if len(conversation.refusals) >= MOST_REFUSALS:
        last = conversation.refusals[-1] or "no reason given"
        return _end(f"I stop here: {len(conversation.refusals)} of my calls were refused, the last with: {last}")
    if len(conversation.turns) >= MOST_TURNS:
        return _end("I stop here: the report is not filed and I have used up my turns.")
    picture = conversation.picture
    if picture is None or conversation.prompted:
        return [_computer("screenshot")]
    blocks = _Filing(conversation, read_page(picture), _search_tool(tools)).next()
    if _repeats(messages, blocks) >= MOST_REPEATS:
        return _end("I stop here: the page does not react to what I do. The report is not filed.")
    return blocks


class _Filing:
    """One decision: the conversation so far and the page that is open. Nothing in it outlives the request."""

    def __init__(self, conversation: Conversation, page: Page, search_tool: str) -> None:
        self.conversation = conversation
        self.page = page
        self.search_tool = search_tool
        self.task: Task = read_task(conversation.task)
        self.report_id = self.task.facts.get("report id", "")
        self.fields = [field for field in page.fields if field.label]
        self.last = conversation.turns[-1]

    def next(self) -> list[Block]:
        if self.last.opened:
            return self._choose_option(*self.last.opened)
        reference = self._reference()
        if reference and self._has_submitted():
            return _end(f"The report {self.report_id} is filed. Receipt reference: {reference}")
        filed_before = self._filed_before()
        if filed_before:
            return _end(
                f"The report {self.report_id} has already been filed, so I file nothing. The portal says: {filed_before}"
            )
        forward, submit = self._button(_FORWARD, _BACKWARD), self._button(_SUBMIT, _BACKWARD)
        start = self._button(_START, None) or self._link(_START)
        if self.fields and (forward or submit or len(self.fields) > 1) and not (start and start.button):
            return self._form(forward or submit)
        if self.fields and not start and not submit and self._scrolling():
            return self._form(None)
        if submit:
            return self._review(submit)
        if start and not forward:
            return self._press(start)
        if re.search(r"\breview\b", self.page.text, re.I) and self.conversation.filled:
            return self._scroll("down") or _end(
                "I stop here: I find no button to submit the report with. It is not filed."
            )
        if forward:
            return self._press(forward)
        return self._out_of_order()

    # ---- the pages

    def _form(self, button: Target | None) -> list[Block]:
        wanted: dict[Field, str] = {}
        questions: dict[Field, Question] = {}
        unknown: list[str] = []
        labels = [field.label for field in self.fields]
        subjects = rules_named(*labels) or rules_named(self.conversation.task)
        record = self.conversation.record
        for field in self.fields:
            known = next((value for label, value in record.items() if same_label(label, field.label)), None)
            question = read_question(field.label, subjects)
            fact = self.task.value_for(field.label, [label for label in labels if label != field.label])
            if known is not None:
                wanted[field] = known
            elif fact is not None and "?" not in field.label:
                wanted[field] = fact
            elif question is not None:
                questions[field] = question
            elif fact is not None:
                wanted[field] = fact
            elif not field.content and "optional" not in field.label.lower():
                unknown.append(field.label)
        if unknown:
            return _end(
                "I stop here: neither the task nor the regulations say what to enter for "
                + "; ".join(f'"{label}"' for label in unknown)
                + ". The report is not filed."
            )
        asked = {field: question for field, question in questions.items() if question.kind is not Kind.SOURCE}
        found, searches, unanswered = self._answers(asked)
        if searches:
            said = "Looking up: " + "; ".join(question.text for question, _ in searches)
            return [_text(said), *(self._search(query) for _, query in searches)]
        if unanswered:
            return _end(
                "I stop here: in the regulations that I can search I could not find an answer to "
                + "; ".join(f'"{question.text}"' for question in unanswered)
                + ". I have entered nothing for it, and the report is not filed."
            )
        chosen = agree({field.label: answers for field, answers in found.items()})
        for field in found:
            answer = chosen[field.label]
            wanted[field] = f"{answer.value} ({answer.document}, page {answer.page})"
        source = _common_source([*record.values(), *wanted.values()])
        notes: list[str] = []
        for field, question in questions.items():
            if question.kind is not Kind.SOURCE:
                continue
            if source:
                wanted[field] = source
            elif not any(same_label(field.label, label) for label in self.conversation.postponed):
                notes.append(note_postponed(field.label))
        return self._fill(wanted, notes) or self._leave(button, wanted, notes)

    def _answers(
        self, asked: Mapping[Field, Question]
    ) -> tuple[dict[Field, Sequence[Answer]], list[tuple[Question, str]], list[Question]]:
        """What the passages so far answer, what to search next, and what every search has left open."""
        found: dict[Field, Sequence[Answer]] = {}
        searches: list[tuple[Question, str]] = []
        unanswered: list[Question] = []
        for field, question in asked.items():
            tries = queries(question)
            open_tries = [query for query in tries if not self._searched(query)]
            answers = find_answers(question, self.conversation.passages)
            # At least one search with the question's own words, even where passages fetched for another would do.
            if tries[0] in open_tries or (open_tries and not any(answer.firm for answer in answers)):
                searches.append((question, open_tries[0]))
            elif answers:
                found[field] = answers
            else:
                unanswered.append(question)
        return found, searches, unanswered

    def _fill(self, wanted: Mapping[Field, str], notes: Sequence[str]) -> list[Block]:
        """Calls that put the wanted values in, for the fields that do not show them; [] if all do."""
        due: dict[Field, str] = {}
        for field, value in wanted.items():
            times = self.conversation.times_filled(field.label, value)
            if _shows(field, value, strict=times < 2):
                continue
            if times >= 3:
                return _end(
                    f'I stop here: the field "{field.label}" shows "{field.content}" and not "{value}", which I typed '
                    f"{times} times. The report is not filed."
                )
            if field.select and times >= 1:
                # Typing the first letters did not find the option: open the list and read it.
                opened = [_click(field.rect.centre), _computer("screenshot")]
                return [_text(note_opened(field.label, value)), *opened]
            due[field] = value
        return self._fill_fields(due, notes) if due else []

    def _fill_fields(self, due: Mapping[Field, str], notes: Sequence[str]) -> list[Block]:
        calls: list[Block] = []
        for field, value in due.items():
            calls.append(_click(field.rect.centre))
            if field.select:
                calls += [_computer("type", text=value), _computer("key", text="Return")]
            else:
                calls += [_computer("key", text="ctrl+a"), _computer("type", text=value)]
        said = ["Filling in:", *notes, *(note_filled(field.label, value) for field, value in due.items())]
        return [_text("\n".join(said)), *calls, _computer("screenshot")]

    def _leave(self, button: Target | None, wanted: Mapping[Field, str], notes: Sequence[str]) -> list[Block]:
        """On to the next page, or to the part of this one that is out of view."""
        if button is None:
            return self._scroll("down", notes) or _end(
                "I stop here: I find no button to go on with. The report is not filed."
            )
        if self.conversation.postponed:
            up = self._scroll("up", notes)
            if up:
                return up
        warned = [field for field in wanted if field.warning]
        for field in warned:
            if self.conversation.times_filled(field.label, wanted[field]) < 2:
                return self._fill_fields({field: wanted[field]}, notes)
        # A warning stays on the page until the button is pressed again.
        refused_twice = bool(warned) or (bool(self.page.warnings) and self._stayed() and self._times_pressed() >= 2)
        if refused_twice and not self._filled_since_press():
            said = "; ".join(field.warning for field in warned) or "; ".join(self.page.warnings)
            return _end(f"I stop here: the page refuses what I entered and I know nothing better. It says: {said}")
        return self._press(button)

    def _review(self, submit: Target) -> list[Block]:
        missing = self._missing(careful=False)
        if missing:
            missing = self._missing(careful=True)
        if missing and self._turns_here() < 8:
            # Most often a part of the page is out of view.
            return self._scroll("down") or self._correct(missing)
        if missing:
            return self._correct(missing)
        return self._press(submit)

    def _missing(self, *, careful: bool) -> list[tuple[str, str]]:
        """(label, value) of what was entered and stands on no view of the open page."""
        shown: list[str] = []
        for picture in self.conversation.pictures_since_press:
            page = read_page(picture, careful=careful)
            shown += [*page.blocks, page.text, " ".join(field.content for field in page.fields)]
        record = self.conversation.record
        return [(label, value) for label, value in record.items() if not any(says(value, text) for text in shown)]

    def _correct(self, missing: Sequence[tuple[str, str]]) -> list[Block]:
        links = [line for line in self.page.lines if _CHANGE.search(line.text) and len(line.text) < 60]
        tried = [turn.pressed[0] for turn in self.conversation.turns if turn.pressed]
        label = missing[0][0]
        at = next((line.rect.top for line in self.page.lines if containment(line.text, label) > 0.8), self.page.height)
        above = [line for line in links if line.rect.top <= at] or links
        if above and not any(similarity(above[-1].text, button) > 0.8 for button in tried):
            return self._press(_as_target(above[-1]))
        said = "; ".join(f'"{name}" should be "{value}"' for name, value in missing)
        return _end(f"I stop here without submitting: the review page does not show what I entered: {said}")

    def _choose_option(self, label: str, value: str) -> list[Block]:
        """The list of a select box is open: click the option that says the value."""
        options = [
            line for line in self.page.everything if containment(value, line.text) > 0.9 or _short_of(value, line.text)
        ]
        if not options:
            return _end(f'I stop here: the list "{label}" offers no "{value}". The report is not filed.')
        option = min(options, key=lambda line: abs(len(canonical(line.text)) - len(canonical(value))))
        return [_text("Filling in:\n" + note_filled(label, value)), _click(option.rect.centre), _computer("screenshot")]

    def _out_of_order(self) -> list[Block]:
        again = self._button(_AGAIN, None) or self._link(_AGAIN)
        waited = 0
        for turn in reversed(self.conversation.turns):
            if not turn.calls or any(call.acts and call.name not in ("wait", "scroll") for call in turn.calls):
                break
            waited += 1
        if again and _OUT_OF_ORDER.search(self.page.text) and waited >= 1:
            return self._press(again)
        if waited < 3:
            return [_computer("wait", duration=1 + waited), _computer("screenshot")]
        said = " ".join(self.page.text.split())[:200]
        return _end(f"I stop here: I do not know what to do on this page, and the report is not filed. It says: {said}")

    # ---- what the page and the conversation tell

    def _has_submitted(self) -> bool:
        pressed = [turn.pressed[0] for turn in self.conversation.turns if turn.pressed]
        return any(_SUBMIT.search(button) for button in pressed)

    def _reference(self) -> str:
        """The receipt reference, if the page names one and the report."""
        if self.fields or (self.report_id and containment(self.report_id, self.page.text) < 0.9):
            return ""
        for line in self.page.lines:
            label = _REFERENCE_LABEL.search(line.text)
            if label is None:
                continue
            same_line = _REFERENCE.search(line.text[label.end() :])
            if same_line:
                return same_line[0]
            for other in self.page.lines:
                beside = abs(other.rect.centre[1] - line.rect.centre[1]) <= 8 and other.rect.left >= line.rect.right
                below = 0 <= other.rect.top - line.rect.bottom <= 24 and abs(other.rect.left - line.rect.left) <= 40
                code = _REFERENCE.search(other.text)
                if code and (beside or below):
                    return code[0]
        return ""

    def _filed_before(self) -> str:
        for line in [*self.page.lines]:
            named = self.report_id and containment(self.report_id, line.text) > 0.93
            if _FILED_BEFORE.search(line.text) and (named or line.red):
                return line.text
        warnings = [field.warning for field in self.fields if _FILED_BEFORE.search(field.warning)]
        if warnings:
            return warnings[0]
        # The list of filed reports has a row for it.
        start = self._button(_START, None) or self._link(_START)
        if start and self.report_id and not self._has_submitted():
            for line in self.page.lines:
                if canonical(self.report_id) == canonical(line.text):
                    row = [
                        other.text for other in self.page.lines if abs(other.rect.centre[1] - line.rect.centre[1]) <= 8
                    ]
                    return " ".join(row)
        return ""

    def _button(self, wording: re.Pattern[str], not_wording: re.Pattern[str] | None) -> Target | None:
        """The lowest button with this wording."""
        found = [
            button
            for button in self.page.buttons
            if wording.search(button.text) and not (not_wording and not_wording.search(button.text))
        ]
        return max(found, key=lambda button: button.rect.top) if found else None

    def _link(self, wording: re.Pattern[str]) -> Target | None:
        found = [line for line in self.page.lines if wording.search(line.text) and len(line.text) <= 40]
        return _as_target(found[0]) if found else None

    def _place(self) -> str:
        """A name for the open page that its own content and warnings leave alone: its first field or else its heading."""
        if self.fields:
            return self.fields[0].label
        return "without fields: " + " / ".join(line.text[:30] for line in self.page.lines[:8] if not line.red)

    def _stayed(self) -> bool:
        """Whether the page is still the one on which a button was last pressed."""
        pressed = [turn.pressed for turn in self.conversation.turns if turn.pressed]
        return bool(pressed) and same_label(pressed[-1][1], self._place())

    def _times_pressed(self) -> int:
        """How often in a row a button was pressed on this page."""
        times = 0
        for turn in reversed(self.conversation.turns):
            if turn.pressed is None:
                continue
            if not same_label(turn.pressed[1], self._place()):
                break
            times += 1
        return times

    def _filled_since_press(self) -> bool:
        for turn in reversed(self.conversation.turns):
            if turn.pressed:
                return False
            if turn.filled:
                return True
        return False

    def _turns_here(self) -> int:
        """Turns since a button was last pressed."""
        turns = 0
        for turn in reversed(self.conversation.turns):
            if turn.pressed:
                break
            turns += 1
        return turns

    def _searched(self, query: str) -> bool:
        return any(similarity(query, other) > 0.9 for other in self.conversation.queries)

    def _scrolling(self) -> bool:
        return any(call.name == "scroll" for call in self.last.calls)

    # ---- calls

    def _press(self, target: Target) -> list[Block]:
        if self._stayed():
            times = self._times_pressed()
            if self.last.pressed is not None:
                return [_text("The page has not changed yet."), _computer("wait", duration=1), _computer("screenshot")]
            if times >= 3:
                return _end(
                    f'I stop here: pressing "{target.text}" does not bring the next page. The report is not filed.'
                )
        said = note_pressed(target.text, self._place())
        return [_text(said), _click(target.rect.centre), _computer("screenshot")]

    def _scroll(self, direction: str, notes: Sequence[str] = ()) -> list[Block]:
        """[] if the last turn scrolled that way and nothing moved."""
        last = [call for call in self.last.calls if call.name == "scroll"]
        if last and last[-1].arguments.get("scroll_direction") == direction:
            pictures = [call.picture for call in self.conversation.calls if call.picture is not None]
            if len(pictures) > 1 and read_page(pictures[-2]).same_as(self.page):
                return []
        # The margin at the right holds no field whose value a wheel could change.
        at = [self.page.width - 24, self.page.height // 2]
        call = _computer("scroll", coordinate=at, scroll_direction=direction, scroll_amount=_SCROLL)
        return [*([_text("\n".join(notes))] if notes else []), call, _computer("screenshot")]

    def _search(self, query: str) -> Block:
        return {"type": "tool_use", "name": self.search_tool, "input": {"query": query}}


def _shows(field: Field, value: str, *, strict: bool) -> bool:
    """Whether the field shows the value; a long value may show only a part. `strict` forgives less misreading."""
    content, expected = canonical(field.content), canonical(value)
    if not content:
        return not expected
    least = 0.95 if strict else 0.8
    if strict and len(content) >= len(expected) and not says(value, field.content):
        return False
    if field.select and containment(value, field.content) >= least and len(content) <= 2 * len(expected) + 6:
        return True
    if len(expected) > 40 and len(content) >= 0.5 * len(expected):
        return containment(field.content, value) >= (0.9 if strict else 0.75)
    return similarity(field.content, value) >= least


def _short_of(value: str, option: str) -> bool:
    """Whether an option is the value's first word, as "Q1" is of "Q1 2030"."""
    return len(canonical(option)) >= 2 and canonical(value).startswith(canonical(option))


def _common_source(values: Sequence[str]) -> str:
    """The document and page that the answers cite: that of the identifier, if there is one, or else the most cited."""
    places: Counter[str] = Counter()
    for value in values:
        found = _SOURCE.search(value)
        if found:
            # The facts of a rule hang on what it is about; the dates follow from the same rule.
            weight = 100 if re.match(r"\d+-[A-Z0-9]+\b", value) and not re.match(r"\d{4}-\d\d-\d\d", value) else 1
            places[f"{found[1]}, page {found[2]}"] += weight
    return places.most_common(1)[0][0] if places else ""


def _as_target(line: Line) -> Target:
    return Target(line.text, line.rect, False)


def _search_tool(tools: Sequence[Mapping[str, Any]]) -> str:
    """The name of the custom tool that searches."""
    named = [str(tool["name"]) for tool in tools if tool.get("name") and "search" in str(tool["name"])]
    return named[0] if named else "search_regulations"


def _repeats(messages: Sequence[Mapping[str, Any]], blocks: Sequence[Block]) -> int:
    """How often the same calls were made before; scrolling and waiting have limits of their own."""
    calls = [(block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"]
    if not calls or any(name in ("scroll", "wait") for name, _ in calls) or len(calls) < 2:
        return 0
    times = 0
    for message in messages:
        if message["role"] == "assistant" and not isinstance(message["content"], str):
            made = [(part["name"], part["input"]) for part in message["content"] if part.get("type") == "tool_use"]
            times += made == calls
    return times


def _end(text: str) -> list[Block]:
    return [_text(text)]


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _click(at: tuple[int, int]) -> Block:
    return _computer("left_click", coordinate=list(at))


def _computer(name: str, **arguments: Any) -> Block:
    return {"type": "tool_use", "name": name, "toolset_name": "computer", "input": arguments}
