"""What a question on a form asks for, and with which words to search.

Decides: the kind of answer (an identifier, a date, a source) and the queries, made of the question's own words. Never knows an
answer.

Rules: the first word that names a kind of thing decides ("On what date … under which document" asks for a date). A rule named
anywhere on the page or in the task is the subject of the questions that say only "the rule".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from infra.offline_model.clerk.likeness import words


class Kind(StrEnum):
    IDENTIFIER = "identifier"
    EFFECT = "date of effect"
    COMPLIANCE = "date of compliance"
    SOURCE = "source"


# What each kind of answer is called. A noun right behind "which", "what" or "name" tells more than one further on.
_HEADS: dict[str, str] = {
    "date": r"dates?|day|deadline|moment",
    "identifier": r"field|element|identifier|code|data item",
    "source": r"documents?|sources?|page|citations?|reference|publication",
}
_ASKED = {
    head: re.compile(rf"\b(?:which|what|name|give|state|enter|identify)(?: [\w-]+){{0,3}}? (?:{nouns})\b")
    for head, nouns in _HEADS.items()
}
_NAMED = {
    "date": re.compile(
        rf"\b(?:{_HEADS['date']})\b|\bwhen (?:do|does|did|is|are|must|will|shall|should|has|have|can)\b"
        r"|\b(?:since|by|from|until) when\b"
    ),
    "identifier": re.compile(rf"\b(?:{_HEADS['identifier']})\b"),
    "source": re.compile(rf"\b(?:{_HEADS['source']}|cite|where)\b"),
}
_COMPLIANCE = re.compile(r"\b(compl\w+|must|deadline|obliged|required|have to|mandatory|latest|observe|follow)\b")
_EFFECT = re.compile(r"\b(effect|effective|force|applicable|valid|commence\w*|begin\w*|start\w*)\b")
_RULE = re.compile(r"\b[A-Z]{2,6}[-\u2013]\d{3,5}(?:[-\u2013][A-Z]{1,3}\d?)?\b")
_STOP = frozenset(
    "a an and are as at be by do does for from give have how if in into is it its may must name of on or please rely that the "
    "their this to under was what when which who will with you your number state".split()
)
# How regulations word the thing asked for: search words, never answers.
_WORDED = {
    Kind.IDENTIFIER: "final rule adopts a modification requiring covered entities to use the field",
    Kind.EFFECT: "effective date this final rule is effective on",
    Kind.COMPLIANCE: "compliance date compliance with these regulations is required by",
    Kind.SOURCE: "",
}


@dataclass(frozen=True, slots=True)
class Question:
    """`subjects` are names of rules such as a docket number, from the question itself or from what stands around it."""

    text: str
    kind: Kind
    subjects: tuple[str, ...]

    @property
    def content_words(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(word for word in words(self.text) if word not in _STOP))


def rules_named(*texts: str) -> tuple[str, ...]:
    """Docket-like names (letters, digits, letters) in the texts, each once."""
    return tuple(dict.fromkeys(name.replace("\u2013", "-") for text in texts for name in _RULE.findall(text)))


def read_question(label: str, subjects: Sequence[str] = ()) -> Question | None:
    """The question that a field's label asks, or None if it asks for nothing that can be looked up."""
    # What follows the question mark is mostly a hint on how to answer, and may name dates and documents; now and then it asks.
    text = label.rsplit("?", 1)[0] + "?" if "?" in label else label
    kind = _kind(text)
    if kind is None and text != label:
        text, kind = label, _kind(label)
    if kind is None:
        return None
    return Question(text, kind, rules_named(text) or tuple(subjects))


def _kind(text: str) -> Kind | None:
    lower = " ".join(text.lower().split())
    head = _first(_ASKED, lower) or _first(_NAMED, lower)
    compliance, effect = _COMPLIANCE.search(lower), _EFFECT.search(lower)
    if not head and (compliance or effect):
        head = "date"
    if head == "identifier":
        return Kind.IDENTIFIER
    if head == "source":
        return Kind.SOURCE
    if head != "date":
        return None
    if compliance and (re.search(r"\bcompl", lower) or not effect):
        return Kind.COMPLIANCE
    return Kind.EFFECT if effect else None


def _first(patterns: Mapping[str, re.Pattern[str]], text: str) -> str:
    # Where the noun stands counts, not where the words before it begin: "which field (…)" and "which date" may overlap.
    found = [(match.end(), head) for head, pattern in patterns.items() if (match := pattern.search(text))]
    return min(found)[1] if found else ""


def queries(question: Question) -> tuple[str, ...]:
    """What to search, in this order until a passage answers."""
    named = [name for name in question.subjects if name.lower() not in words(question.text)]
    plain = " ".join(re.sub(r"[^\w\s-]", " ", question.text).split())
    keywords = [word for word in question.content_words if word not in {name.lower() for name in question.subjects}]
    tries = (
        " ".join([plain, *named]),
        " ".join([*keywords, _WORDED[question.kind], *question.subjects]),
        " ".join([_WORDED[question.kind], *question.subjects]),
    )
    return tuple(dict.fromkeys(query.strip() for query in tries if query.strip()))
