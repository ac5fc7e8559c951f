"""What kind of value a question asks for, and whether a text holds one.

It decides from words alone: a question for a day is better answered by a passage that holds a day than by one that only speaks of
deadlines. It ranks nothing and never says that a value is the right one.

Rules
- The first row of TYPES whose pattern matches the question counts; most questions match none, and then nothing follows.
- Case does not count. A month with a year is no day.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?"
    r"|dec(?:ember)?)\.?"
)


@dataclass(frozen=True, slots=True)
class AnswerType:
    """`asked` matches questions for such a value, `value` texts in lower case that hold one (without case it is three times as fast)."""

    name: str
    asked: re.Pattern[str]
    value: re.Pattern[str]

    def in_text(self, text: str) -> bool:
        """Whether the text holds such a value, anywhere."""
        return self.value.search(text.lower()) is not None


def _type(name: str, asked: str, value: str) -> AnswerType:
    return AnswerType(name, re.compile(rf"(?:{asked})\b", re.IGNORECASE), re.compile(value))


TYPES = (
    _type(
        "month",
        r"\b(?:which|what) months?",
        rf"\b{_MONTH}\s+(?:\d{{1,2}},?\s+)?\d{{4}}\b|\b\d{{4}}\s+{_MONTH}\b",
    ),
    _type(
        "day",
        # "When" within a question mostly begins a condition: it asks for a day at the head, or as "from when".
        r"\A\W*when|\b(?:from|since|until|till|by) when|\b(?:(?:what|which) (?:date|day)|dates?|deadlines?|by what)",
        rf"\b{_MONTH}\s+\d{{1,2}},?\s+\d{{4}}\b|\b\d{{1,2}}\s+{_MONTH},?\s+\d{{4}}\b|\b\d{{4}}\s+{_MONTH}\s+\d{{1,2}}\b"
        r"|\b\d{4}-\d\d-\d\d\b|\b\d{1,2}/\d{1,2}/\d{4}\b",
    ),
    _type("money", r"\b(?:how much|costs?|expenses?|savings?|save|amounts?|prices?|fees?|fines?)", r"[$€£]\s?\d"),
    _type("share", r"\b(?:percentage|share|percent)", r"\d\s?(?:%|percent)"),
    _type("address", r"\b(?:web|online|url|mailbox|e-?mail)", r"https?://|\bwww\.|@"),
)


def answer_type(question: str) -> AnswerType | None:
    """The type of value that `question` asks for; None where it asks for no value of these."""
    return next((each for each in TYPES if each.asked.search(question)), None)
