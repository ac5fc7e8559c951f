"""The facts that the task gives: report ID, quarter, year, department, and whatever it lists as "name: value".

Decides: which of these a field's label asks for. Never decides anything about regulations.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from infra.offline_model.clerk.likeness import words

_REPORT_ID = re.compile(r"\b[A-Z]{2,}-\d{4}-[A-Z0-9]+\b")
_QUARTER = re.compile(r"\b(Q[1-4])[ /-]*(\d{4})\b")
_LISTED = re.compile(r"^\W*([A-Za-z][A-Za-z /-]{1,40}?)\s*[:=]\s*(\S.{0,80}?)\s*[.;]?\s*$", re.MULTILINE)
_NAME = r"[A-Z][\w&'-]*(?: (?:of|and|&|[A-Z][\w&'-]*))*"
_DEPARTMENT = (
    re.compile(rf"\b[Dd]epartment(?: is| of|:| =)? [\"'“]?(?P<name>{_NAME})"),
    re.compile(rf"(?P<name>{_NAME}) [Dd]epartment\b"),
)

# How a form may call a fact of the task: a label asks for the fact whose name it says first.
_ALIASES: dict[str, tuple[str, ...]] = {
    "report id": ("report id", "report number", "report identifier", "report no", "id of report"),
    "quarter": ("quarter", "period", "reporting period"),
    "year": ("year",),
    "department": ("department", "unit", "ward"),
}


@dataclass(frozen=True, slots=True)
class Task:
    """`facts` maps the name of a fact, in lower case, to its value."""

    facts: dict[str, str]

    def value_for(self, label: str, other_labels: Collection[str] = ()) -> str | None:
        """What the task says about a field; `other_labels` are the page's other fields (a year asked apart leaves the quarter)."""
        asked = words(label)
        found = []
        for name in self.facts:
            for alias in (name, *_ALIASES.get(name, ())):
                start = _position(words(alias), asked)
                # The name of a field stands at its beginning; what follows may be a hint that names other facts.
                if start is not None and (start <= 4 or len(asked) <= 9):
                    found.append((start, -len(words(alias)), name))
        if not found:
            return None
        name = min(found)[2]
        value = self.facts[name]
        year_apart = any("year" in words(other) and "quarter" not in words(other) for other in other_labels)
        return value.split()[0] if name == "quarter" and year_apart else value


def _position(part: list[str], whole: list[str]) -> int | None:
    """Where `part` begins in `whole` as neighbouring words."""
    starts = range(len(whole) - len(part) + 1) if part else ()
    return next((start for start in starts if whole[start : start + len(part)] == part), None)


def read_task(text: str) -> Task:
    facts: dict[str, str] = {}
    for name, value in _LISTED.findall(text):
        facts.setdefault(" ".join(words(name)), value.strip("\"'“” "))
    report = _REPORT_ID.search(text)
    if report:
        facts["report id"] = report[0]
    quarter = _QUARTER.search(text)
    if quarter:
        facts["quarter"], facts["year"] = f"{quarter[1]} {quarter[2]}", quarter[2]
    if "department" not in facts:
        for pattern in _DEPARTMENT:
            found = pattern.search(text)
            if found:
                facts["department"] = found["name"]
                break
    return Task(facts)
