"""What the right answers of a form are, as data: `corpus/<name>/filings/<form>/expected.toml`.

Decides what an expectation file may say, and whether it agrees with the corpus that it belongs to. It never reads a file or an index: the
caller hands it the parsed document and the pages. It never looks at an answer.

The shape, one table per question:

    form = "qi-report"

    [questions.effective_date]
    kind = "date"                          # date, identifier, cite, amount, choice, text or citation
    value = 2020-03-24                     # not for text and citation
    also = ["…"]                           # further values that the law allows for the same thing (a successor identifier)
    terms = ["…"]                          # words that the answer must carry besides the value
    labels = ["effective", "takes effect"] # how prose names this value; another question's label beside the value refutes it
    contrasts = ["refill"]                 # words for something else, which an answer may say that it is not
    short = ["[on|from] V"]                # how the value alone may be written; without it, V
    statements = ["[the] rule takes effect on V"]   # sentences that state the value, each naming what it is the value of
    remarks = ["60 days after publication"]         # true words that may follow the value
    sources = [ { document = "rule.pdf", pages = [1] } ]

    [questions.vote]
    kind = "choice"
    value = "Yes"
    choices = ["Yes", "No"]

    [questions.citation]
    kind = "citation"
    carries = ["effective_date"]           # the cited page must carry the values of these questions

Rules
- Every question that states a regulatory fact names its sources; only `choice` may go without.
- `short`, `statements` and `remarks` are templates (see `forms`). An answer in words that no template knows is left to a person; a
  statement of one question is accepted beside the answer to another, so it names its subject.
- `validate` holds the file against the corpus: each value and each term stands on each page that is named as its source.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Any

from tasks.domain import claims
from tasks.domain.characters import fold
from tasks.domain.claims import find_claims, find_identifier, find_phrase
from tasks.domain.errors import PermanentError
from tasks.domain.forms import parse_template, word


class Kind(StrEnum):
    DATE = "date"
    IDENTIFIER = "identifier"
    CITE = "cite"
    AMOUNT = "amount"
    CHOICE = "choice"
    TEXT = "text"
    CITATION = "citation"


_PARSED = {Kind.DATE: claims.DATE, Kind.CITE: claims.CITE, Kind.AMOUNT: claims.AMOUNT}
_FIELDS = {
    "kind",
    "value",
    "also",
    "terms",
    "labels",
    "contrasts",
    "short",
    "statements",
    "remarks",
    "sources",
    "choices",
    "carries",
}


@dataclass(frozen=True, slots=True)
class Source:
    """Pages of one document that carry the value; pages count from 1."""

    document: str
    pages: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """What is right for one question. `values` are canonical (see `claims`), the value itself first; empty for text and citation."""

    key: str
    kind: Kind
    values: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    contrasts: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    choices: tuple[str, ...] = ()
    carries: tuple[str, ...] = ()
    short: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def places(self) -> frozenset[tuple[str, int]]:
        return frozenset((source.document, page) for source in self.sources for page in source.pages)

    @property
    def described(self) -> str:
        """The expected value in words, for a reason that a person reads."""
        parts = [*self.values[:1], *(f"“{term}”" for term in self.terms)]
        return " with ".join(parts) if parts else "a page that carries " + ", ".join(self.carries)


@dataclass(frozen=True, slots=True)
class Expectation:
    form: str
    questions: Mapping[str, Question]


def parse_expectation(document: Mapping[str, Any]) -> Expectation:
    """The expectation in a parsed TOML document.

    Raises PermanentError with the table and the field that are wrong, and what they should be.
    """
    form = document.get("form")
    if not isinstance(form, str) or not form:
        raise PermanentError('The expectation file names no form: begin it with a line such as form = "qi-report".')
    unknown = sorted(set(document) - {"form", "questions"})
    if unknown:
        raise PermanentError(
            f"The expectation file of {form} has unknown entries: {', '.join(unknown)}. Only form and questions are known."
        )
    tables = document.get("questions")
    if not isinstance(tables, Mapping) or not tables:
        raise PermanentError(f"The expectation file of {form} has no [questions.…] table, so nothing could be graded.")
    questions = {key: _question(key, table) for key, table in tables.items()}
    for question in questions.values():
        for key in question.carries:
            if key not in questions or questions[key].kind is Kind.CITATION:
                raise PermanentError(
                    f"[questions.{question.key}] carries names {key!r}, which is no question with a value in this file."
                )
    return Expectation(form, questions)


def _question(key: str, table: Any) -> Question:
    where = f"[questions.{key}]"
    if not isinstance(table, Mapping):
        raise PermanentError(f"{where} is not a table.")
    unknown = sorted(set(table) - _FIELDS)
    if unknown:
        raise PermanentError(
            f"{where} has unknown fields: {', '.join(unknown)}. Known are {', '.join(sorted(_FIELDS))}."
        )
    try:
        kind = Kind(table.get("kind", ""))
    except ValueError:
        raise PermanentError(f"{where} kind is {table.get('kind')!r}; it must be one of {', '.join(Kind)}.") from None
    terms = _texts(where, "terms", table)
    carries = _texts(where, "carries", table)
    choices = _texts(where, "choices", table)
    sources = _sources(where, table.get("sources", []))
    values: tuple[str, ...] = ()
    if kind in {Kind.TEXT, Kind.CITATION}:
        if "value" in table or "also" in table:
            raise PermanentError(
                f"{where} is of kind {kind}, which has no value: use {'terms' if kind is Kind.TEXT else 'carries'}."
            )
    else:
        if "value" not in table:
            raise PermanentError(f"{where} has no value.")
        raw = [table["value"], *_list(where, "also", table)]
        values = tuple(dict.fromkeys(_canonical(where, kind, value) for value in raw))
    if kind is Kind.TEXT and not terms:
        raise PermanentError(f"{where} is of kind text and needs terms: without one any answer would do.")
    if kind is Kind.CITATION and not carries:
        raise PermanentError(
            f"{where} is of kind citation and needs carries: the questions whose values the cited page must carry."
        )
    if kind is Kind.CHOICE and not set(values) <= set(choices):
        raise PermanentError(f"{where} is of kind choice and needs choices, the value among them.")
    if kind is not Kind.CHOICE and not sources:
        raise PermanentError(f"{where} has no sources: name the documents and pages that carry the value.")
    if carries and kind is not Kind.CITATION:
        raise PermanentError(f"{where} has carries, which only kind citation uses.")
    labels, contrasts = _texts(where, "labels", table), _texts(where, "contrasts", table)
    short, statements, remarks = (_templates(where, name, table) for name in ("short", "statements", "remarks"))
    return Question(
        *(key, kind, values, terms, labels, contrasts, sources, choices, carries), *(short, statements, remarks)
    )


def _list(where: str, name: str, table: Mapping[str, Any]) -> Sequence[Any]:
    value = table.get(name, [])
    if not isinstance(value, list):
        raise PermanentError(f"{where} {name} must be a list.")
    return value


def _texts(where: str, name: str, table: Mapping[str, Any]) -> tuple[str, ...]:
    texts = _list(where, name, table)
    if not all(isinstance(text, str) and text.strip() for text in texts):
        raise PermanentError(f"{where} {name} must be a list of texts that are not empty.")
    return tuple(texts)


def _templates(where: str, name: str, table: Mapping[str, Any]) -> tuple[str, ...]:
    templates = _texts(where, name, table)
    for template in templates:
        try:
            parse_template(template, word("V"))
        except ValueError as error:
            raise PermanentError(f"{where} {name}: the template {template!r} cannot be read: {error}.") from None
        if name == "short" and "V" not in re.findall(r"\w+", template):
            raise PermanentError(f"{where} short: the template {template!r} has no V, so it would state no value.")
    return templates


def _sources(where: str, raw: Any) -> tuple[Source, ...]:
    if not isinstance(raw, list):
        raise PermanentError(f'{where} sources must be a list such as [ {{ document = "rule.pdf", pages = [1] }} ].')
    sources = []
    for entry in raw:
        if not isinstance(entry, Mapping) or set(entry) != {"document", "pages"}:
            raise PermanentError(f"{where} each source has exactly a document and its pages.")
        document, pages = entry["document"], entry["pages"]
        if not isinstance(document, str) or not document:
            raise PermanentError(f"{where} a source's document must be a file name of the corpus.")
        if not isinstance(pages, list) or not pages or not all(type(page) is int and page > 0 for page in pages):
            raise PermanentError(f"{where} the pages of {document} must be a list of whole numbers from 1.")
        sources.append(Source(document, tuple(pages)))
    return tuple(sources)


def _canonical(where: str, kind: Kind, value: Any) -> str:
    if kind is Kind.DATE and isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    if not isinstance(value, str) or not fold(value):
        raise PermanentError(
            f"{where} value {value!r} is not {'a date such as 2020-03-24' if kind is Kind.DATE else 'a text'}."
        )
    if kind is Kind.IDENTIFIER:
        return fold(value).upper()
    if kind is Kind.CHOICE:
        return value
    found = find_claims(value)
    if len(found) != 1 or found[0].kind != _PARSED[kind] or len(found[0].values) != 1:
        raise PermanentError(f"{where} value {value!r} is not exactly one {kind} with one reading.")
    return found[0].values[0]


def value_places(question: Question, text: str) -> tuple[tuple[int, int], ...]:
    """Where one of the question's values stands in `fold(text)`; an ambiguous spelling stands for nothing."""
    if question.kind is Kind.IDENTIFIER:
        return tuple(span for value in question.values for span in find_identifier(value, text))
    if question.kind is Kind.CHOICE:
        return tuple(span for value in question.values for span in find_phrase(value, text))
    kind = _PARSED.get(question.kind)
    found = find_claims(text) if kind else ()
    return tuple(
        (claim.start, claim.end)
        for claim in found
        if claim.kind == kind and len(claim.values) == 1 and claim.values[0] in question.values
    )


def missing_on_page(question: Question, text: str) -> tuple[str, ...]:
    """What of the question a page's text does not carry: its value, or some of its terms. Empty means that the page carries all."""
    missing = []
    if question.values and not value_places(question, text):
        missing.append(question.values[0])
    missing += [f"“{term}”" for term in question.terms if not find_phrase(term, text)]
    return tuple(missing)


def validate(expectation: Expectation, pages: Mapping[tuple[str, int], str]) -> tuple[str, ...]:
    """What in the expectation does not agree with the corpus: one sentence each, none if it all holds.

    `pages` maps (document, page) to the stored page text of the generation.
    """
    problems = []
    known = {document for document, _ in pages}
    for question in expectation.questions.values():
        carried = [expectation.questions[key] for key in question.carries] or [question]
        for document, page in sorted(question.places):
            if document not in known:
                problems.append(f"{question.key}: {document} is not in the corpus.")
            elif (document, page) not in pages:
                problems.append(f"{question.key}: {document} has no page {page}.")
            else:
                for each in carried:
                    missing = missing_on_page(each, pages[(document, page)])
                    if missing:
                        problems.append(
                            f"{question.key}: {document}, page {page} does not carry {' and '.join(missing)}."
                        )
    return tuple(dict.fromkeys(problems))
