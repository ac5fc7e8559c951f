"""What a filing of one form needs to know besides its parameters: `brief.toml` as values.

Code reads [portal], [list] and [receipt]; the model reads only [task]. It decides the wording of nothing: every text that is compared with
a page stands in the file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tasks.domain.actions import Action, Click, Drag, HoldKeys, MouseUp, PressKeys, Scene, TypeText
from tasks.domain.errors import PermanentError

PRESSING_KEYS = re.compile(r"\b(return|enter|kp_enter|space)\b|^ $", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Brief:
    """`list_path` is below the portal's address, with {report_id} where it belongs; a filing begins there.

    `submit` names the control whose click cannot be undone: the only one that `auto` approval answers for. `changes` names controls that
    can be, where their own words do not say so ("Section B"). `steps` are texts of page titles in their order, for showing progress;
    `list_columns` and `receipt_labels` map "report_id" and "reference" to the words on the page; `absent` is what the list says of a report
    that is not there, because an empty or broken page is no proof of absence.
    """

    form: str
    title: str
    list_path: str
    submit: str
    steps: tuple[str, ...]
    list_columns: Mapping[str, str]
    absent: str
    receipt_path: str
    receipt_labels: Mapping[str, str]
    task: str
    report_id_pattern: str
    departments: Mapping[str, int]
    changes: tuple[str, ...] = ()

    def task_for(self, *, report_id: str, quarter: str, department: str) -> str:
        return self.task.format(report_id=report_id, quarter=quarter, department=department).strip()

    def progress(self, title: str) -> float:
        """How far a filing is, in percent, by the title of the page it is on; 0 for a title that is no step."""
        for number, step in reversed(tuple(enumerate(self.steps, start=1))):
            if step in title:
                return 100 * number / len(self.steps)
        return 0.0


def parse_brief(data: Mapping[str, Any]) -> Brief:
    """The brief from TOML's tables. Raises PermanentError naming the key that is missing or wrong."""
    portal, listing, receipt = (_table(data, name) for name in ("portal", "list", "receipt"))
    ids, task = _table(data, "report_ids"), _table(data, "task")
    departments = _table(ids, "departments")
    if not all(isinstance(number, int) and 0 < number < 100 for number in departments.values()):
        raise PermanentError("brief.toml: each department's number in [report_ids] must be 1 to 99.")
    steps = portal.get("steps")
    if not isinstance(steps, list) or not steps or not all(isinstance(step, str) and step for step in steps):
        raise PermanentError("brief.toml: [portal] needs steps, a list of page titles.")
    changes = portal.get("changes", [])
    if not isinstance(changes, list) or not all(isinstance(name, str) and name.strip() for name in changes):
        raise PermanentError("brief.toml: changes in [portal] must be a list of names of controls.")
    brief = Brief(
        form=_text(data, "form"),
        title=_text(data, "title"),
        list_path=_text(portal, "list"),
        submit=_text(portal, "submit"),
        steps=tuple(steps),
        list_columns=_words(listing, "columns"),
        absent=_text(listing, "absent"),
        receipt_path=_text(receipt, "path"),
        receipt_labels=_words(receipt, "labels"),
        task=_text(task, "text"),
        report_id_pattern=_text(ids, "pattern"),
        departments=dict(departments),
        changes=tuple(changes),
    )
    if brief.submit in brief.changes:
        raise PermanentError("brief.toml: [portal] names its submit among its changes.")
    try:
        brief.task_for(report_id="", quarter="", department="")
        brief.list_path.format(report_id="")
        brief.absent.format(report_id="")
        brief.report_id_pattern.format(year=2025, quarter=1, department_number=1)
    except (KeyError, IndexError, ValueError) as error:
        raise PermanentError(f"brief.toml: a text names a placeholder that does not exist: {error}.") from error
    return brief


def may_commit(action: Action, scene: Scene, submit: str) -> bool:
    """Whether `action` may press the control named `submit`: then the intent is recorded before it runs.

    Where the control is on the page it errs on the side of yes: a recorded intent only means that the next attempt looks before it does
    anything, which it does in any case.
    """
    controls = [element for element in scene.elements if element.name.strip() == submit]
    if not controls:
        return False
    if isinstance(action, Click):
        point = action.point or scene.pointer
        return any(element.box.contains(point) for element in controls)
    if isinstance(action, Drag):
        return any(element.box.contains(action.end) for element in controls)
    if isinstance(action, MouseUp):
        return any(element.box.contains(scene.pointer) for element in controls)
    if isinstance(action, PressKeys | HoldKeys):
        return PRESSING_KEYS.search(action.keys) is not None
    # A newline or a blank typed with the focus on the button presses it; in a text field it may submit the form.
    return isinstance(action, TypeText) and ("\n" in action.text or " " in action.text)


def _table(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = data.get(key)
    if not isinstance(value, Mapping):
        raise PermanentError(f"brief.toml: the table [{key}] is missing.")
    return value


def _text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    if not isinstance(value, str) or not value.strip():
        raise PermanentError(f"brief.toml: {key} must be a text.")
    return value


def _words(data: Mapping[str, Any], key: str) -> Mapping[str, str]:
    value = _table(data, key)
    return {name: _text(value, name) for name in ("report_id", "reference")}
