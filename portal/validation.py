"""What a valid report is: pure rules over what was typed, used at each step and again, on the whole draft, at submit.

It decides whether each field can be accepted and says in one sentence why not. It never looks at a clock, a request or
the database, and never judges whether an answer is true: that is the business of whoever reads the record.

Rules
    every field     filled in, sent once, as text (not as a file), without characters that cannot be seen or read
    quarter         Q1 to Q4, and the quarter has begun (a quarter that is still running may be reported early)
    year            four ASCII digits, from EARLIEST_YEAR to the current year
    department      one of DEPARTMENTS
    report ID       QI-YYYY-NNN in ASCII, YYYY being the quarter's year
    answers         1 to ANSWER_LIMIT characters once spaces at both ends are dropped
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")

QUARTERS = ("Q1", "Q2", "Q3", "Q4")
DEPARTMENTS = ("Cardiology", "Emergency", "Oncology", "Pediatrics", "Pharmacy", "Surgery")
EARLIEST_YEAR = 2000  # the portal's reports begin here; anything older is a slip of the keyboard
ANSWER_LIMIT = 300  # characters (code points) in one answer
PERIOD_FIELDS = ("quarter", "year", "department", "report_id")
REPORT_ID = re.compile(r"QI-([0-9]{4})-([0-9]{3})")

MARK = "\ufffd"  # shown for a character that cannot be shown, and what bytes that are no UTF-8 are decoded to

# Characters that print nothing although their general category says letter, mark or symbol.
_BLANK_OTHERWISE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
# Cc, Cf: control and format; Cs, Co, Cn: surrogates, private use, unassigned; Zl, Zp: line and paragraph separators.
_REFUSED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_CONTROL_NAMES = {"\t": "TAB", "\n": "LINE FEED", "\r": "CARRIAGE RETURN", "\0": "NULL"}


class Asked(Protocol):
    """A question as far as validation needs it."""

    @property
    def key(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Form:
    """What a form carried: text by field name, and the names that came as a file or more than once."""

    values: Mapping[str, str]
    uploads: frozenset[str] = frozenset()
    repeated: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Problem:
    """Why one field cannot be accepted, in a sentence for the person who typed it."""

    field: str
    message: str
    link: str = ""  # a page that explains more: path
    link_text: str = ""


@dataclass(frozen=True, slots=True)
class Period:
    """A valid step 1. `quarter` is Q1 to Q4."""

    quarter: str
    year: int
    department: str
    report_id: str

    @property
    def quarter_text(self) -> str:
        """The quarter as it stands in the record: `Q3 2025`."""
        return f"{self.quarter} {self.year}"

    def values(self) -> dict[str, str]:
        """The fields of the form that give this period."""
        return {
            "quarter": self.quarter,
            "year": str(self.year),
            "department": self.department,
            "report_id": self.report_id,
        }


@dataclass(frozen=True, slots=True)
class Checked(Generic[T]):
    """The outcome of checking one step: a value, or the problems in the order of the fields on the page."""

    value: T | None
    problems: tuple[Problem, ...] = field(default=())


def check_period(form: Form, today: date) -> Checked[Period]:
    """Check step 1. `today` decides whether the quarter has begun."""
    problems: dict[str, str] = {}
    texts: dict[str, str] = {}
    asks = {
        "quarter": "Choose a quarter.",
        "year": "Enter the year of the quarter, such as 2025.",
        "department": "Choose a department.",
        "report_id": "Enter the report ID, such as QI-2025-014.",
    }
    for name, ask in asks.items():
        text, message = _text(form, name, ask)
        if message:
            problems[name] = message
        else:
            texts[name] = text

    if "quarter" in texts and texts["quarter"] not in QUARTERS:
        problems["quarter"] = "Choose a quarter from the list."
    if "department" in texts and texts["department"] not in DEPARTMENTS:
        problems["department"] = "Choose a department from the list."
    year = None
    if "year" in texts:
        year, message = _year(texts["year"], today)
        if message:
            problems["year"] = message
    if "report_id" in texts and (message := report_id_problem(texts["report_id"], year)):
        problems["report_id"] = message
    if year is not None and "quarter" not in problems:
        quarter = texts["quarter"]
        if date(year, 3 * int(quarter[1]) - 2, 1) > today:
            problems["quarter"] = f"{quarter} {year} has not begun yet. Choose a quarter that is not in the future."

    ordered = tuple(Problem(name, problems[name]) for name in PERIOD_FIELDS if name in problems)
    if ordered or year is None:
        return Checked(None, ordered)
    return Checked(Period(texts["quarter"], year, texts["department"], texts["report_id"]))


def report_id_problem(text: str, year: int | None = None) -> str:
    """Why `text` is no report ID (of `year`, when one is given), or an empty string."""
    match = REPORT_ID.fullmatch(text)
    if not match:
        return "Enter the report ID as QI-YYYY-NNN, such as QI-2025-014: the letters QI, a year and three digits."
    if year is not None and int(match[1]) != year:
        return f"The year in the report ID ({match[1]}) must be the year of the quarter ({year})."
    return ""


def check_answers(form: Form, questions: Sequence[Asked]) -> Checked[dict[str, str]]:
    """Check step 2: the answers by question key, in the order of the questions."""
    answers: dict[str, str] = {}
    problems: list[Problem] = []
    for question in questions:
        text, message = _text(form, question.key, "Enter an answer.")
        if not message and len(text) > ANSWER_LIMIT:
            message = f"Use {ANSWER_LIMIT} characters or fewer; this answer has {len(text)}."
        if message:
            problems.append(Problem(question.key, message))
        answers[question.key] = text
    return Checked(None, tuple(problems)) if problems else Checked(answers)


def unseen_character(text: str) -> str:
    """Describe the first character that cannot be seen or read as itself, or return an empty string.

    The ordinary space is the only blank that is allowed: two answers that look the same shall be the same.
    """
    for position, character in enumerate(text, start=1):
        if character == MARK:
            return f"character {position} could not be read"
        if _is_unseen(character):
            name = _CONTROL_NAMES.get(character) or unicodedata.name(character, "unnamed")
            return f"character {position} is U+{ord(character):04X} {name}"
    return ""


def unseen_characters_marked(text: str) -> str:
    """`text` with MARK for each character that `unseen_character` refuses, so that it can be found on the page."""
    return "".join(MARK if _is_unseen(character) else character for character in text)


def _is_unseen(character: str) -> bool:
    category = unicodedata.category(character)
    return (
        category in _REFUSED_CATEGORIES
        or (category == "Zs" and character != " ")
        or character in _BLANK_OTHERWISE
        or "\ufe00" <= character <= "\ufe0f"  # variation selectors
        or "\U000e0100" <= character <= "\U000e01ef"
    )


def _text(form: Form, name: str, ask: str) -> tuple[str, str]:
    """The text of one field without spaces at both ends, and why it cannot be accepted (or an empty string)."""
    if name in form.uploads:
        return "", "Type the answer as text. A file cannot be uploaded here."
    if name in form.repeated:
        return "", "This field was sent more than once. Enter it once."
    text = form.values.get(name, "").strip(" ")
    if not text:
        return "", ask
    if unseen := unseen_character(text):
        return text, f"Remove the characters that cannot be seen, marked {MARK} below: {unseen}."
    return text, ""


def _year(text: str, today: date) -> tuple[int | None, str]:
    if not re.fullmatch(r"[0-9]{4}", text):
        return None, "Enter the year as four digits, such as 2025."
    year = int(text)
    if year > today.year:
        return None, f"The year {year} is in the future. Enter a year from {EARLIEST_YEAR} to {today.year}."
    if year < EARLIEST_YEAR:
        return None, f"The year {year} is too early. Enter a year from {EARLIEST_YEAR} to {today.year}."
    return year, ""
