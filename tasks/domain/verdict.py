"""What a grader says of a filed report: findings, and the verdict that follows from them.

Decides from the portal's records, the expectation file and the pages of the filing's own index generation. It never sees what the agent
did or said, has no model in it, and touches nothing outside its arguments.

Rules
- Three values: a check ends as confirmed, refuted or indeterminate, and says why in words that a person can hold against the page.
  What is plainly wrong is refuted; what nobody here can understand is indeterminate, never confirmed.
- One refuted finding refutes the report; one indeterminate finding, or none at all, keeps it from being confirmed. The order never counts.
- A report is one record, with the report ID, quarter and department that were asked for.
- An answer is right if it consists of nothing but known forms of stating the expected value (see `forms`), states nothing else that no
  cited page carries, and cites only pages that exist, carry the value, and are named by the expectation file. An answer in other words is
  refuted if something speaks against it (see `assertion`), else left open.
- The same records, expectation and pages always give the same verdict. `GRADER_VERSION` changes with every change of a rule.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum

from tasks.domain import claims
from tasks.domain.assertion import Assertion, Mark, Role, read_assertion
from tasks.domain.characters import fold, oddities, visible
from tasks.domain.citation import Reference, parse_citations
from tasks.domain.claims import Claim, find_claims, find_identifier, find_phrase, implied, same_family
from tasks.domain.expectations import Expectation, Kind, Question, missing_on_page, value_places
from tasks.domain.forms import CITED, DENIED, OPAQUE, Row, Wording, answer_forms, read_answer, tokens
from tasks.domain.lexicon import PUBLICATION

GRADER_VERSION = "2"

ANSWER_LIMIT = 2000
"""Characters of an answer that are read; the longest answer of a form has a few hundred."""

WHOLE_DOCUMENT = 3
"""From this many pages on, citing every page of a document is citing none."""


class Outcome(StrEnum):
    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    INDETERMINATE = "indeterminate"


@dataclass(frozen=True, slots=True)
class Submission:
    """What the portal recorded, as the record source read it: `answers` maps question key to the text that was filed."""

    report_id: str
    quarter: str
    department: str
    answers: dict[str, str]
    reference: str
    submitted_at: datetime


@dataclass(frozen=True, slots=True)
class Asked:
    """What the filing was asked to file; `reference` is the receipt that code read in the browser, None where nothing was read."""

    report_id: str
    quarter: str
    department: str
    reference: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: `check` names it ("value", "citation", "record", …), `key` the question (or "" for the whole record).

    `document`, `page` and `sentence` say where a person can look; they are empty where a check has no place.
    """

    check: str
    key: str
    outcome: Outcome
    reason: str
    document: str = ""
    page: int | None = None
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """REFUTED if any finding is; else INDETERMINATE if any is, or if there is none; else CONFIRMED."""

    findings: tuple[Finding, ...]

    @property
    def outcome(self) -> Outcome:
        outcomes = {finding.outcome for finding in self.findings}
        if Outcome.REFUTED in outcomes:
            return Outcome.REFUTED
        if Outcome.INDETERMINATE in outcomes or not outcomes:
            return Outcome.INDETERMINATE
        return Outcome.CONFIRMED


def submission_digest(submission: Submission) -> str:
    """SHA-256 in hex over all that the record says, in one canonical form: equal records give equal digests, and only they."""
    canonical = {
        "report_id": submission.report_id,
        "quarter": submission.quarter,
        "department": submission.department,
        "answers": submission.answers,
        "reference": submission.reference,
        "submitted_at": submission.submitted_at.astimezone(UTC).isoformat(),
    }
    return hashlib.sha256(json.dumps(canonical, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def records_digest(records: Sequence[Submission]) -> str:
    """The digest of what the portal holds for one report: "" for nothing, the record's own digest for one, else one over all of them."""
    digests = sorted(submission_digest(record) for record in records)
    if len(digests) < 2:
        return "".join(digests)
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


def grader_version(expectation: Expectation, asked: Asked) -> str:
    """What a verdict depends on besides the record and the pages: the rules, what was expected, and what was asked for.

    An expectation file that was mended gives a new version, so a verdict by the old one does not stand in its way.
    """
    basis = json.dumps([asdict(expectation), asdict(asked)], sort_keys=True, default=str)
    return f"{GRADER_VERSION}-{hashlib.sha256(basis.encode()).hexdigest()[:12]}"


def grade(
    records: Sequence[Submission],
    expectation: Expectation,
    pages: Mapping[tuple[str, int], str],
    page_counts: Mapping[str, int],
    asked: Asked,
    titles: Mapping[str, str] | None = None,
) -> Verdict:
    """Grade what the portal holds for one report.

    `records` are all records with the report's ID; `pages` maps (document, page) to the stored page text and `page_counts` each document to
    its number of pages, both of the filing's own generation; `titles` maps each document to the title that the corpus gives it, whose cites
    and dates an answer may repeat. Never raises for what a record says.
    """
    if not records:
        return Verdict((_refuted("record", "", f"The portal has no record of report {asked.report_id}."),))
    if len(records) > 1:
        reason = f"The portal has {len(records)} records of report {asked.report_id}; a report is filed once."
        return Verdict((_refuted("record", "", reason),))
    record = records[0]
    findings = [_confirmed("record", "", f"The portal has exactly one record of report {asked.report_id}.")]
    findings.append(_same("report ID", record.report_id, asked.report_id))
    findings.append(_same("quarter", record.quarter, asked.quarter))
    findings.append(_same("department", record.department, asked.department))
    if asked.reference is not None:
        findings.append(_same("receipt", record.reference, asked.reference))
    for key, question in expectation.questions.items():
        findings.extend(
            _Grading(question, expectation, pages, page_counts, titles or {}).findings(record.answers.get(key))
        )
    for key in record.answers:
        if key not in expectation.questions:
            reason = f"The record answers {visible(key)}, and the expectation file has no such question: a person must decide."
            findings.append(_open("question", visible(key), reason))
    return Verdict(tuple(dict.fromkeys(findings)))


def _confirmed(check: str, key: str, reason: str) -> Finding:
    return Finding(check, key, Outcome.CONFIRMED, reason)


def _refuted(check: str, key: str, reason: str) -> Finding:
    return Finding(check, key, Outcome.REFUTED, reason)


def _open(check: str, key: str, reason: str) -> Finding:
    return Finding(check, key, Outcome.INDETERMINATE, reason)


def _same(check: str, recorded: str, asked: str) -> Finding:
    if recorded == asked:
        return _confirmed(check, "", f"The record says {asked}, as asked.")
    return _refuted(check, "", f"The record says {visible(str(recorded))}; asked was {asked}.")


_CLAIM_KINDS = {
    Kind.DATE: claims.DATE,
    Kind.IDENTIFIER: claims.IDENTIFIER,
    Kind.CITE: claims.CITE,
    Kind.AMOUNT: claims.AMOUNT,
}
_GENERIC_KEY_WORDS = frozenset(
    {"date", "field", "number", "name", "value", "code", "id", "question", "answer", "of", "the"}
)
_LINES = re.compile(r"\s*[\r\n]+\s*")
_MASK = "\u00a4"


def _labels(question: Question) -> tuple[str, ...]:
    """How prose names the question's value: by the expectation file, else by the telling words of its key."""
    return question.labels or tuple(word for word in question.key.split("_") if word not in _GENERIC_KEY_WORDS)


def _wording(question: Question) -> Wording:
    return Wording(
        values=question.values,
        terms=question.terms,
        labels=_labels(question),
        contrasts=question.contrasts,
        short=question.short,
        statements=question.statements,
        remarks=question.remarks,
    )


@dataclass(frozen=True, slots=True)
class _Cited:
    """A page that the answer relies on."""

    document: str
    page: int


class _Grading:
    """The checks of one question. Made for one answer and thrown away."""

    def __init__(
        self,
        question: Question,
        expectation: Expectation,
        pages: Mapping[tuple[str, int], str],
        page_counts: Mapping[str, int],
        titles: Mapping[str, str],
    ) -> None:
        self.question = question
        self.pages = pages
        self.page_counts = page_counts
        self.titles = titles
        self.carried = tuple(expectation.questions[key] for key in question.carries) or (question,)
        self.rivals = tuple(
            other
            for other in expectation.questions.values()
            if other.key != question.key and other.kind is question.kind and question.kind in _CLAIM_KINDS
        )
        self.others = tuple(other for other in expectation.questions.values() if other.key != question.key)
        # Group 0 is the question itself, then one group per rival, then the document's own publication.
        published = (PUBLICATION,) if question.kind is Kind.DATE else ()
        self.labels = (_labels(question), *map(_labels, self.rivals), *published)
        self.subject = {
            Kind.TEXT: {Role.TERM},
            Kind.CITATION: {Role.CITATION},
        }.get(question.kind, {Role.VALUE, Role.TERM})

    def findings(self, answer: object) -> list[Finding]:
        key = self.question.key
        if answer is None or (isinstance(answer, str) and not answer.strip()):
            return [_refuted("value", key, "The record has no answer to this question.")]
        if not isinstance(answer, str):
            return [_refuted("value", key, "The record's answer is not a text.")]
        if len(answer) > ANSWER_LIMIT:
            reason = (
                f"The answer has {len(answer)} characters; more than {ANSWER_LIMIT} are not read, so a person must."
            )
            return [_open("characters", key, reason)]
        odd = oddities(answer)
        if odd:
            first = odd[0]
            reason = f"The answer contains {first.label} at character {first.index + 1}: a {first.kind} character ({visible(answer)})."
            return [_open("characters", key, reason) if first.kind == "symbol" else _refuted("characters", key, reason)]
        # A new line is a new statement.
        folded = fold(_LINES.sub("; ", answer.strip()))
        references = parse_citations(folded, self.page_counts)
        masked = _masked(folded, references)
        stated = find_claims(masked)
        marks = self._marks(masked, references, stated)
        sources = self._sources(references)
        reading = read_assertion(
            folded,
            list(marks),
            labels=self.labels,
            contrasts=self.question.contrasts,
            subject=self.subject,
        )
        return [
            *self._value(
                folded, marks, reading, sources, self._not_understood(folded, marks, reading, sources, references)
            ),
            *self._extras(marks, reading, sources, references),
            *self._citations(references, reading),
        ]

    # -- marks ------------------------------------------------------------------------------------------------------------------------

    def _marks(self, masked: str, references: Sequence[Reference], stated: Sequence[Claim]) -> dict[Mark, Claim | None]:
        """Every span of the answer that means something, with the claim that stands there. No two marks overlap."""
        question = self.question
        candidates: list[tuple[Mark, Claim | None]] = [
            (Mark(part.start, part.end, Role.CITATION), None) for reference in references for part in reference.parts
        ]
        # One expression may state two dates (`March 24-26, 2020`); the one that is not expected counts.
        by_span: dict[tuple[int, int], Claim] = {}
        for each in sorted(stated, key=lambda claim: set(claim.values) <= set(question.values), reverse=True):
            by_span[(each.start, each.end)] = each
        if question.kind is not Kind.CITATION:
            for span in value_places(question, masked):
                candidates.append((Mark(*span, Role.VALUE), by_span.get(span)))
            for choice in question.choices:
                candidates += [(Mark(*span, Role.OTHER), None) for span in find_phrase(choice, masked)]
            for term in question.terms:
                candidates += [(Mark(*span, Role.TERM), None) for span in find_phrase(term, masked)]
        candidates += [(Mark(claim.start, claim.end, self._role(claim)), claim) for claim in stated]
        marks: dict[Mark, Claim | None] = {}
        taken = bytearray(len(masked))
        for mark, claim in candidates:
            if not any(taken[mark.start : mark.end]):
                taken[mark.start : mark.end] = b"\x01" * (mark.end - mark.start)
                marks[mark] = claim
        return marks

    def _role(self, claim: Claim) -> Role:
        """Whether a claim competes with the value, or with a value that the cited page must carry."""
        return Role.OTHER if _accepted(self.carried, claim) is False else Role.PLAIN

    def _sources(self, references: Sequence[Reference]) -> str:
        """The text of every page that the answer cites, and the titles of the documents."""
        places = dict.fromkeys((c.document, c.page) for reference in references for c in reference.citations)
        texts = [self.pages[place] for place in places if place in self.pages]
        return "\n".join([*texts, *(self.titles[document] for document, _ in places if document in self.titles)])

    # -- value ------------------------------------------------------------------------------------------------------------------------

    def _not_understood(
        self,
        folded: str,
        marks: Mapping[Mark, Claim | None],
        reading: Assertion,
        sources: str,
        references: Sequence[Reference],
    ) -> str | None:
        """The words from which on the answer has no known form; None if it has one from end to end."""
        question = self.question
        spans: dict[tuple[int, int], str] = {}
        on_page = set()
        for mark, claim in marks.items():
            text = OPAQUE
            if mark.role is Role.CITATION:
                text = DENIED if mark in reading.denied else CITED
            elif mark.role is Role.VALUE:
                text = (
                    f"={question.values[0]}" if claim is None or set(claim.values) <= set(question.values) else OPAQUE
                )
            elif mark.role is Role.TERM:
                text = folded[mark.start : mark.end].lower().replace("-", " ")
            elif claim is not None and len(claim.values) == 1:
                text = f"{'~' if mark.role is Role.OTHER else '='}{claim.values[0]}"
                if mark.role is Role.OTHER and _supported(claim, sources):
                    on_page.add(f"={claim.values[0]}")
            spans[(mark.start, mark.end)] = text
        row = Row(tuple(tokens(folded, spans)))
        titles = frozenset(self.titles.get(reference.document, "") for reference in references)
        others = tuple(map(_wording, self.others))
        forms = answer_forms(_wording(question), others, titles, frozenset(on_page), question.kind is Kind.CITATION)
        place = read_answer(row, *forms)
        if place is None:
            return None
        return folded[row.tokens[place].start :] if place < len(row.tokens) else folded

    def _value(
        self,
        folded: str,
        marks: Mapping[Mark, Claim | None],
        reading: Assertion,
        sources: str,
        strange: str | None,
    ) -> list[Finding]:
        question, key = self.question, self.question.key
        if strange is None and question.kind is not Kind.CITATION:
            reason = f"The answer states {question.described}, as expected, and nothing against it."
            return [_confirmed("value", key, reason)]
        found: list[Finding] = []
        held = [mark for mark in marks if mark.role is Role.VALUE]
        others = [mark for mark in marks if mark.role is Role.OTHER and mark not in reading.denied]
        if question.values and not held:
            found.append(self._absent(folded, marks))
        for term in question.terms:
            if not any(mark.role is Role.TERM and find_phrase(term, folded[mark.start : mark.end]) for mark in marks):
                found.append(
                    _refuted("value", key, f"The answer does not carry the words “{term}”: “{visible(folded)}”.")
                )
        for mark in others:
            found.extend(self._rival(folded, mark, marks[mark], reading, sources))
        for mark in held:
            stated = marks[mark]
            if stated is not None and not set(stated.values) <= set(question.values):
                found.append(_refuted("value", key, f"“{stated.text}” states more than {question.described}."))
            group = reading.labels.get(mark)
            if group:
                reason = f"The answer gives {folded[mark.start : mark.end]} as {self._group_name(group)}: “{visible(folded)}”."
                found.append(_refuted("value", key, reason))
        for doubt in reading.doubts:
            where = f" (“{visible(doubt.clause)}”)" if doubt.clause else ""
            if doubt.refutes:
                found.append(
                    _refuted("value", key, f"The answer does not assert {question.described}: {doubt.reason}{where}.")
                )
            else:
                found.append(
                    _open(
                        "value", key, f"Whether the answer asserts {question.described} is open: {doubt.reason}{where}."
                    )
                )
        if strange is not None and not any(finding.outcome is Outcome.REFUTED for finding in found):
            reason = (
                f"The grader does not understand the answer from “{visible(strange)}” on, so a person must read it."
            )
            found.append(_open("value", key, reason))
        return found

    def _absent(self, folded: str, marks: Mapping[Mark, Claim | None]) -> Finding:
        question = self.question
        stated = [claim for claim in marks.values() if claim is not None]
        for claim in stated:
            if len(claim.values) > 1 and set(claim.values) & set(question.values):
                reason = f"“{claim.text}” can be read as {' or '.join(claim.values)}; expected is {question.described}."
                return _open("value", question.key, reason)
        for rival in self.rivals:
            if any(claim.values and set(claim.values) <= set(rival.values) for claim in stated):
                reason = f"The answer is the value of {rival.key}, {rival.values[0]}; expected is {question.described}."
                return _refuted("value", question.key, reason)
        for claim in stated:
            if claim.kind == claims.DATE and not claim.values:
                return _refuted(
                    "value",
                    question.key,
                    f"“{claim.text}” is no date of the calendar; expected is {question.described}.",
                )
        return _refuted("value", question.key, f"The answer does not state {question.described}: “{visible(folded)}”.")

    def _rival(self, folded: str, mark: Mark, claim: Claim | None, reading: Assertion, sources: str) -> list[Finding]:
        """What another value of the question's kind, stated as so, does to the answer."""
        question, key = self.question, self.question.key
        words = folded[mark.start : mark.end]
        group = reading.labels.get(mark)
        values = set(claim.values) if claim else set()
        if len(values) > 1 and values & set(question.values):
            # An ambiguous spelling beside the plain one agrees with it; alone it was dealt with as absent.
            return []
        if group and group <= len(self.rivals):
            rival = self.rivals[group - 1]
            if values and values <= set(rival.values):
                return []
            return [_refuted("value", key, f"The answer gives {words} for {rival.key}, which is {rival.values[0]}.")]
        on_page = claim is not None and _supported(claim, sources)
        if group == len(self.rivals) + 1 and on_page:
            return []
        if claim is not None and claim.kind == claims.PARTIAL_DATE and on_page:
            return [
                _open(
                    "value",
                    key,
                    f"The answer names {words} beside {question.described}; whether it means another date is open.",
                )
            ]
        return [
            _refuted("value", key, f"The answer states {words}; expected is {question.described} and nothing else.")
        ]

    def _group_name(self, group: int) -> str:
        if group <= len(self.rivals):
            return f"the value of {self.rivals[group - 1].key}"
        return "the date of publication"

    # -- extra claims -----------------------------------------------------------------------------------------------------------------

    def _extras(
        self,
        marks: Mapping[Mark, Claim | None],
        reading: Assertion,
        sources: str,
        references: Sequence[Reference],
    ) -> list[Finding]:
        """Whatever else the answer states must stand on a page that it cites, or in the name of a document that it cites."""
        key = self.question.key
        names = " ".join(
            fold(reference.document).replace(".", " ").replace("_", " ") for reference in references if reference.known
        )
        titles = "\n".join(self.titles.get(reference.document, "") for reference in references)
        found = []
        for mark, claim in marks.items():
            if claim is None or mark.role is not Role.PLAIN or mark in reading.denied:
                continue
            if claim.kind == claims.PARTIAL_DATE and self.question.kind is Kind.DATE:
                continue  # a part of the expected date itself
            if _supported(claim, titles) or (claim.kind == claims.IDENTIFIER and _within(claim.text, names)):
                continue
            if _supported(claim, sources):
                # Beside a bare citation nothing says what a value stands for, so nothing can be held against the page.
                if self.question.kind is Kind.CITATION and _accepted(self.carried, claim) is None:
                    reason = f"The answer also states {claim.text}; what of is not asked here, so a person must look."
                    found.append(_open("extra", key, reason))
                continue
            reason = f"The answer also states {claim.text}, which no page that it cites carries."
            found.append(_open("extra", key, reason) if claim.kind == claims.NUMBER else _refuted("extra", key, reason))
        return found

    # -- citations --------------------------------------------------------------------------------------------------------------------

    def _citations(self, references: Sequence[Reference], reading: Assertion) -> list[Finding]:
        key = self.question.key
        needed = bool(self.question.sources)
        denied = {(mark.start, mark.end) for mark in reading.denied if mark.role is Role.CITATION}
        found: list[Finding] = []
        relied: set[_Cited] = set()
        paged = {reference.document for reference in references if reference.pages}
        for reference in references:
            if reference.document and not reference.known:
                reason = (
                    reference.problem
                    if reference.problem.startswith("more than")
                    else "it is no document of this corpus"
                )
                found.append(_refuted("citation", key, f"The answer cites {visible(reference.document)}: {reason}."))
                continue
            bare = not reference.pages and reference.problem == "it names no page"
            if bare and reference.document in paged:
                continue  # the document's name once more, in prose
            if reference.problem:
                found.append(
                    _refuted(
                        "citation",
                        key,
                        f"The citation “{visible(reference.text)}” cannot be checked: {reference.problem}.",
                    )
                )
                continue
            count = self.page_counts[reference.document]
            if reference.total is not None and reference.total != count:
                reason = f"The citation “{visible(reference.text)}” counts {reference.total} pages; the document has {count}."
                found.append(_refuted("citation", key, reason))
            named = next((part for part in reference.parts if not part.pages), None)
            if named and (named.start, named.end) in denied:
                continue
            stands = {page for part in reference.parts if (part.start, part.end) not in denied for page in part.pages}
            relied |= {_Cited(reference.document, page) for page in reference.pages if page in stands}
        for cited in sorted(relied, key=lambda cited: (cited.document, cited.page)):
            found.append(self._page(cited))
        for document in sorted({cited.document for cited in relied}):
            cited_pages = {cited.page for cited in relied if cited.document == document}
            if self.page_counts[document] >= WHOLE_DOCUMENT and len(cited_pages) >= self.page_counts[document]:
                reason = f"The answer cites every page of {document}: it points at none."
                found.append(_refuted("citation", key, reason))
        if needed and not found:
            why = "sets its citation aside as not so" if references else "cites no document and page"
            found.append(_refuted("citation", key, f"The answer {why}."))
        return found

    def _page(self, cited: _Cited) -> Finding:
        """Whether one cited page exists, carries the value, and is a source that the expectation names."""
        question = self.question
        count = self.page_counts[cited.document]
        where = f"{cited.document}, page {cited.page}"
        if cited.page > count:
            reason = f"{cited.document} has {count} pages; there is no page {cited.page}."
            return Finding("citation", question.key, Outcome.REFUTED, reason, cited.document, cited.page)
        text = self.pages.get((cited.document, cited.page))
        if text is None:
            reason = f"{where} has no stored text, so nothing can be checked on it."
            return Finding("citation", question.key, Outcome.INDETERMINATE, reason, cited.document, cited.page)
        missing = [part for carried in self.carried for part in missing_on_page(carried, text)]
        if missing:
            reason = f"{where} does not carry {' and '.join(missing)}."
            return Finding("citation", question.key, Outcome.REFUTED, reason, cited.document, cited.page)
        sentence = _sentence(self.carried[0], text)
        if question.sources and (cited.document, cited.page) not in question.places:
            reason = f"{where} carries the value, but the expectation file does not name it as a source: a person must decide."
            return Finding(
                "citation", question.key, Outcome.INDETERMINATE, reason, cited.document, cited.page, sentence
            )
        described = " and ".join(carried.described for carried in self.carried)
        reason = f"{where} carries {described}."
        return Finding("citation", question.key, Outcome.CONFIRMED, reason, cited.document, cited.page, sentence)


def _accepts(question: Question, claim: Claim) -> bool | None:
    """Whether a claim of the question's kind is its value; None for a claim that says nothing on it."""
    values = frozenset(question.values)
    if question.kind is Kind.DATE and claim.kind == claims.PARTIAL_DATE:
        return bool(set(claim.values) & {part for value in values for part in claims.date_parts(value)})
    if _CLAIM_KINDS.get(question.kind) != claim.kind:
        return None
    if claim.kind == claims.IDENTIFIER and not any(same_family(value, claim.values[0]) for value in values):
        return None
    return bool(claim.values) and set(claim.values) <= values


def _accepted(questions: Sequence[Question], claim: Claim) -> bool | None:
    """Whether a claim is the value of one of the questions; None where it is of no kind that they ask for."""
    answers = [accepted for question in questions if (accepted := _accepts(question, claim)) is not None]
    return any(answers) if answers else None


def _masked(folded: str, references: Sequence[Reference]) -> str:
    """The answer with its citations blanked, length kept, so that a year in a file's name is no claim."""
    characters = list(folded)
    for reference in references:
        for part in reference.parts:
            characters[part.start : part.end] = _MASK * (part.end - part.start)
    return "".join(characters)


def _supported(claim: Claim, sources: str) -> bool:
    if claim.kind == claims.IDENTIFIER:
        return bool(find_identifier(claim.values[0], sources))
    return len(claim.values) == 1 and (claim.kind, claim.values[0]) in implied(find_claims(sources))


def _within(identifier: str, names: str) -> bool:
    """Whether an identifier's parts stand one after the other in the names of the cited documents (`cms-0055-f-…-rule.pdf`)."""
    return f"-{identifier.lower()}-" in f"-{names.lower().replace(' ', '-')}-"


_SENTENCE_LIMIT = 300


def _sentence(question: Question, text: str) -> str:
    """The words of the page around the value: its sentence, or as much of it as `_SENTENCE_LIMIT` characters hold."""
    folded = fold(text)
    places = value_places(question, text) or tuple(span for term in question.terms for span in find_phrase(term, text))
    if not places:
        return ""
    start, end = places[0]
    left = max((folded.rfind(sign, 0, start) + len(sign) for sign in (". ", "! ", "? ", "; ")), default=0)
    rights = [folded.find(sign, end) + 1 for sign in (". ", "! ", "? ") if folded.find(sign, end) >= 0]
    left = left if left > 1 else 0
    right = min(rights, default=len(folded))
    room = max((_SENTENCE_LIMIT - (end - start)) // 2, 0)
    before, after = "", ""
    if start - left > room:
        left, before = folded.find(" ", start - room, start) + 1 or start, "…"
    if right - end > room:
        cut = folded.rfind(" ", end, end + room)
        right, after = cut if cut > 0 else end, "…"
    return before + folded[left:right].strip() + after
