"""Passages that a search returned, and the answers that stand in them.

Decides: which date or identifier in the passages answers a question, and on which document and page it stands. Never answers
from anything else: what no passage says is not answered.

Rules:
- A date answers by the words around it in its sentence: the nearest of "effective, takes effect, …" and "compliance, required
  by, on and after, …" says which of the two it is. Only a full date with its day counts, and a sentence that speaks of what was
  expected, proposed or asked for counts against the date.
- An identifier answers by how many of the question's words stand around it, in its sentence first, and by whether the sentence
  lays something down ("requires the use of …") or says what did not work ("without …", "misread as …"). A name cut off by the
  beginning of a passage is no name.
- Where the question names a rule, a document that names it in its file name, title or text goes before one that does not.
- A value is copied as it is printed, with line breaks made blanks and typographic hyphens made plain.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from infra.offline_model.clerk.likeness import words
from infra.offline_model.clerk.questions import Kind, Question

_SCORE = re.compile(r" \([^()]*\bscore \d[^()]*\)")
_REMARK = re.compile(r"\[[^\[\]]*\]")
_HYPHENS = "\u2010\u2011\u2012\u2013\u2014\u2212"
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|"
    r"Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_DATE = re.compile(rf"\b(?:{_MONTH}\s+\d{{1,2}},?\s+\d{{4}}|\d{{1,2}}\s+{_MONTH}\s+\d{{4}}|\d{{4}}-\d{{2}}-\d{{2}})\b")
_IDENTIFIER = re.compile(
    rf"(?<![\w{_HYPHENS}/.-])(\d{{2,4}})\s?[-{_HYPHENS}]\s?([A-Z][A-Z0-9]{{1,2}})(?![\w{_HYPHENS}-])"
)
_SENTENCE = re.compile(r"(?<=[.;?!])(?<!\bNo\.)(?<!\bVol\.)(?<!\bv\.)(?<!\bU\.S\.)\s+(?=[\"'“‘(]*[A-Z*])")

_EFFECT = re.compile(
    r"\beffective\b|\b(?:take|takes|took|taking|in|into|come|comes) (?:effect|force)\b|\beffect on\b", re.I
)
_COMPLIANCE = re.compile(
    r"\bcompl(?:y|ies|iance|ying)\b|\brequired (?:by|from|no later)|\bon and after\b|\bno later than\b|\bat the latest\b"
    r"|\bmust (?:use|begin|be using|follow|apply)\b",
    re.I,
)
_TENTATIVE = re.compile(
    r"\b(?:anticipat|expect|propos|estimat|would|could|might|tentativ|initial|original|former|earlier|previous|no longer|"
    r"supersed|withdr|rescind|suggest|comment|request|urge|plan(?:s|ned)?\b|forecast|instead|rather than|recommend|draft)",
    re.I,
)
_LAYS_DOWN = re.compile(
    r"\b(?:requir(?:e|es|ed|ing)|must|shall|compulsory|mandatory|obliged|has to|have to|adopt(?:s|ed|ing)?)\b", re.I
)
_COUNTERS = re.compile(
    r"\b(?:without|not aware|misinterpret|misread|mistak|other than|unable|could not|cannot|declin|preferred|combination)",
    re.I,
)
_OWN_RULE = re.compile(r"\b(?:this|these|the) (?:final )?(?:rule|regulations?|modification)\b", re.I)
# Words of a question that tell how to answer, not what about.
_FORM_OF_ANSWER = frozenset(
    "number name identif identify identifier field data element code part told used use mark".split()
)
_CAPITAL = r"[A-Z][A-Za-z/]+"
_TITLE = rf"{_CAPITAL}(?:\s+(?:(?:of|and|to)\s+)?{_CAPITAL}){{0,5}}"
_NOT_NAMES = frozenset("The This That A An Use Field Fields NCPDP Element Code Under For In See By".split())


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of text from one page of one document; `page` counts from 1."""

    document: str
    page: int
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A value as a passage prints it and where it stands.

    A higher `score` is a better support; `firm` is False where the wording leaves doubt, so that another search is worth it.
    """

    value: str
    document: str
    page: int
    score: float
    firm: bool

    @property
    def place(self) -> tuple[str, int]:
        return self.document, self.page


def parse_passage(block: Mapping[str, Any]) -> Passage | None:
    """A `search_result` block as a passage; None if it does not say its document and page.

    What stands in brackets is said about the passage and no part of it: in the title the remark with its score, in the content whole parts
    before the last.
    """
    source, title = str(block.get("source", "")), _SCORE.sub("", str(block.get("title", "")))
    content = block.get("content") or []
    parts = [str(part.get("text", "")) for part in content if isinstance(part, Mapping)]
    text = " ".join([*(part for part in parts[:-1] if not _REMARK.fullmatch(part)), *parts[-1:]])
    found = re.search(r"^(?P<document>.+?)#page=(?P<page>\d+)$", source) or re.search(
        r"(?P<document>[^\s—–/]+\.[A-Za-z]{2,5}),? (?:\()?page (?P<page>\d+)", f"{source} {title}"
    )
    if found is None:
        return None
    return Passage(found["document"].strip(), int(found["page"]), title, " ".join(text.split()))


def find_answers(question: Question, passages: Sequence[Passage]) -> tuple[Answer, ...]:
    """Every place that supports the best value, best place first; empty if nothing answers."""
    if question.kind is Kind.IDENTIFIER:
        found = list(_identifiers(question, passages))
        # An identifier that is only mentioned near the question's words is no answer; mentions count once one place lays it down.
        laid_down = {key for key, answer in found if answer.firm}
        found = [(key, answer) for key, answer in found if key in laid_down]
    elif question.kind in (Kind.EFFECT, Kind.COMPLIANCE):
        found = list(_dates(question, passages))
    else:
        return ()
    # A value said in several passages gains a little by each: it is what the documents agree on.
    totals: dict[str, float] = {}
    for key, answer in found:
        totals[key] = max(totals.get(key, 0.0), answer.score)
    for key in totals:
        totals[key] += min(2.1, 0.5 * (sum(1 for other, _ in found if other == key) - 1))
    if not totals:
        return ()
    best = max(totals, key=lambda key: totals[key])
    answers = [answer for key, answer in found if key == best]
    # Places that print less than the whole answer (the number without the name) do not support it.
    printed = Counter(answer.value for answer in answers)
    value = max(printed, key=lambda text: (" " in text, printed[text], len(text)))
    places: dict[tuple[str, int], Answer] = {}
    for answer in answers:
        if answer.value == value and (answer.place not in places or answer.score > places[answer.place].score):
            places[answer.place] = answer
    return tuple(sorted(places.values(), key=lambda answer: -answer.score))


def agree(answers: Mapping[str, Sequence[Answer]]) -> dict[str, Answer]:
    """One answer for each question, from the page (or else the document) that supports most of them where it supports it."""
    pages = Counter(answer.place for found in answers.values() for answer in found)
    documents = Counter(document for found in answers.values() for document in {answer.document for answer in found})
    chosen: dict[str, Answer] = {}
    for key, found in answers.items():
        # A page that carries other answers too is worth a somewhat weaker wording, but not a passing mention.
        good = [answer for answer in found if answer.score >= found[0].score - 3.0]
        chosen[key] = max(good, key=lambda answer: (pages[answer.place], documents[answer.document], answer.score))
    return chosen


def _dates(question: Question, passages: Sequence[Passage]) -> Iterable[tuple[str, Answer]]:
    about = _documents_about(question.subjects, passages)
    for rank, passage in enumerate(passages):
        if about and passage.document not in about:
            continue
        for sentence in _SENTENCE.split(passage.text):
            found = list(_DATE.finditer(sentence))
            for index, date in enumerate(found):
                before = sentence[found[index - 1].end() if index else 0 : date.start()]
                after = sentence[date.end() : found[index + 1].start() if index + 1 < len(found) else len(sentence)]
                strength = _event(question.kind, before, after, sentence)
                if not strength:
                    continue
                score = strength + 1.5 * bool(_OWN_RULE.search(sentence)) - 3.0 * bool(_TENTATIVE.search(sentence))
                score += about.get(passage.document, 0.0) - 0.02 * rank
                if score >= 3.0:
                    value = " ".join(date[0].split())
                    firm = strength >= 3.5 and score >= 4.5
                    yield _date_key(value), Answer(value, passage.document, passage.page, score, firm)


def _event(kind: Kind, before: str, after: str, sentence: str) -> float:
    """How surely a date is that of the event: 0 if the words next to it name the other one."""
    own, other = (_EFFECT, _COMPLIANCE) if kind is Kind.EFFECT else (_COMPLIANCE, _EFFECT)
    own_end = max((match.end() for match in own.finditer(before)), default=-1)
    other_end = max((match.end() for match in other.finditer(before)), default=-1)
    if max(own_end, other_end) >= 0:
        return 4.0 if own_end > other_end else 0.0
    own_start = min((match.start() for match in own.finditer(after)), default=len(after) + 1)
    other_start = min((match.start() for match in other.finditer(after)), default=len(after) + 1)
    if min(own_start, other_start) <= len(after):
        return 3.5 if own_start < other_start else 0.0
    return 2.5 if own.search(sentence) else 0.0


def _date_key(value: str) -> str:
    """The same day in any of the spellings."""
    month = re.search(r"[A-Za-z]{3}", value)
    if month is None:
        year, number, day = value.split("-")
        return f"{year}-{int(number)}-{int(day)}"
    numbers = [int(number) for number in re.findall(r"\d+", value)]
    names = "jan feb mar apr may jun jul aug sep oct nov dec".split()
    return f"{max(numbers)}-{names.index(month[0].lower()) + 1}-{min(numbers)}"


def _identifiers(question: Question, passages: Sequence[Passage]) -> Iterable[tuple[str, Answer]]:
    about = _documents_about(question.subjects, passages)
    asked = {_stem(word) for word in question.content_words if len(word) > 1} - _FORM_OF_ANSWER
    for rank, passage in enumerate(passages):
        near_page = {_stem(word) for word in words(f"{passage.title} {passage.text}")}
        titled = len(
            asked & {_stem(word) for word in re.findall(r"[a-z]+", f"{passage.document} {passage.title}".lower())}
        )
        for sentence in _SENTENCE.split(passage.text):
            lays_down = bool(_LAYS_DOWN.search(sentence)) and not _COUNTERS.search(sentence)
            base = 0.3 * titled + about.get(passage.document, -2.0 if about else 0.0) - 0.02 * rank
            base += 2.0 * lays_down - 2.0 * bool(_COUNTERS.search(sentence)) - 2.0 * bool(_TENTATIVE.search(sentence))
            for found in _IDENTIFIER.finditer(sentence):
                identifier = f"{found[1]}-{found[2]}"
                name = _name(sentence, found, whole=passage.text.find(sentence) > 0)
                # The words of a field's own name say nothing about what it is for.
                near = {_stem(word) for word in words(sentence.replace(name, " ") if name else sentence)}
                shared = len(asked & near) + 0.4 * len((asked & near_page) - near)
                if shared < 1.0:
                    continue
                around = sentence[max(0, found.start() - 60) : found.end() + 60]
                score = base + shared + 1.5 * bool(name) + 1.0 * bool(re.search(r"\b(field|element)\b", around, re.I))
                value = f"{identifier} {name}".strip()
                doubtful = bool(_COUNTERS.search(sentence) or _TENTATIVE.search(sentence))
                firm = (lays_down and shared >= 2.5) or (shared >= 4.5 and not doubtful)
                yield identifier, Answer(value, passage.document, passage.page, score, firm)


def _name(sentence: str, found: re.Match[str], *, whole: bool) -> str:
    """The name printed with an identifier: "Some Name (123-AB)", "123-AB (Some Name)", "123-AB, Some Name".

    `whole` is False where the sentence stands at the beginning of the passage and may have lost its first words.
    """
    before, after = sentence[: found.start()], sentence[found.end() :]
    patterns = (
        (before, rf"({_TITLE})(?:,)?\s*(?:field|element)?\s*[(\[]\s*(?:field\s+)?$"),
        (before, rf"({_TITLE}),?\s+(?:field|element)\s+$"),
        (after, rf"^\s*[(\[\"“]+\s*({_TITLE})\s*[)\]\"”]"),
        (after, rf"^\s*[,:]?\s+({_TITLE})"),
    )
    for text, pattern in patterns:
        match = re.search(pattern, text)
        if match is None or (not whole and text is before and match.start(1) == 0):
            continue
        parts = match[1].split()
        while parts and parts[0] in _NOT_NAMES:
            parts.pop(0)
        if parts:
            return " ".join(parts)
    return ""


def _documents_about(subjects: Sequence[str], passages: Sequence[Passage]) -> dict[str, float]:
    """The documents that name one of the rules, and how plainly; empty if no passage tells."""
    about: dict[str, float] = {}
    for passage in passages:
        for subject in subjects:
            plain = _plain(subject)
            if plain in _plain(f"{passage.document} {passage.title}"):
                weight = 1.5
            elif plain in _plain(passage.text):
                weight = 1.0
            else:
                continue
            about[passage.document] = max(about.get(passage.document, 0.0), weight)
    return about


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def _stem(word: str) -> str:
    for ending in ("ingly", "ing", "ies", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word
