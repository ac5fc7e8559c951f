"""How well a search answers the golden questions: ranks and scores.

It decides whether a passage answers a question and what recall and rank follow. It sets no threshold: the index gate does. It never
searches.

Rules
- A passage answers a question when it comes from the question's document (by its chunk, or by another place that has the same text), from
  one of the question's pages there, and the text that is shown matches every pattern of the question. One passage must match them all.
- Unanswerable questions have no rank and stay out of every score; they are there so that a filing's refusals can be tested.
- A draft, written by a program and accepted by nobody yet, stays out of every score too.
- A question whose answer is not among the passages counts as 0 in the mean reciprocal rank.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks.domain import patterns
from tasks.domain.errors import PermanentError
from tasks.domain.passages import GoldenQuestion, Passage

UNANSWERABLE = "unanswerable"
PLAIN = "plain"  # the kind of a question that names none
DRAFT = "draft"
REQUIRED = ("id", "question", "document", "pages", "answer_patterns", "answerable")
OPTIONAL = ("kind", "status")


@dataclass(frozen=True, slots=True)
class Score:
    """Shares between 0 and 1 over `evaluated` answerable questions; all 0.0 where none was evaluated."""

    recall_at_1: float
    recall_at_4: float
    mrr: float
    evaluated: int


def is_answerable(question: GoldenQuestion) -> bool:
    return question.answerable


def accepted(questions: Iterable[GoldenQuestion]) -> tuple[GoldenQuestion, ...]:
    """The questions that count: all but drafts."""
    return tuple(question for question in questions if not question.draft)


def answers(question: GoldenQuestion, passage: Passage) -> bool:
    """Whether the passage carries the question's answer, by the rule above; never for an unanswerable question."""
    if not question.answerable or not question.patterns:
        return False
    places = ((passage.chunk.document, passage.chunk.page), *passage.also_at)
    if not any(document == question.document and page in question.pages for document, page in places):
        return False
    return all(patterns.matches(pattern, passage.text) for pattern in question.patterns)


def rank_of_answer(question: GoldenQuestion, passages: Sequence[Passage]) -> int | None:
    """The position, from 1, of the first passage that answers the question; None where no passage does.

    Positions are those in `passages`, best first, whatever their `rank` fields say.
    """
    return next((position for position, passage in enumerate(passages, start=1) if answers(question, passage)), None)


def score(results: Iterable[tuple[GoldenQuestion, int | None]]) -> Score:
    """The score over the answerable, accepted questions among `results`, each with its rank of the answer."""
    ranks = [rank for question, rank in results if question.answerable and not question.draft]
    if not ranks:
        return Score(0.0, 0.0, 0.0, 0)
    found = [rank for rank in ranks if rank is not None]
    count = len(ranks)
    return Score(
        recall_at_1=sum(rank <= 1 for rank in found) / count,
        recall_at_4=sum(rank <= 4 for rank in found) / count,
        mrr=sum(1.0 / rank for rank in found) / count,
        evaluated=count,
    )


def score_by_kind(results: Iterable[tuple[GoldenQuestion, int | None]]) -> dict[str, Score]:
    """One score for each kind of answerable, accepted question, by kind in alphabetical order."""
    by_kind: dict[str, list[tuple[GoldenQuestion, int | None]]] = {}
    for question, rank in results:
        if question.answerable and not question.draft:
            by_kind.setdefault(question.kind, []).append((question, rank))
    return {kind: score(by_kind[kind]) for kind in sorted(by_kind)}


def parse_golden(text: str) -> tuple[GoldenQuestion, ...]:
    """The questions of a golden.jsonl, drafts too: one JSON object a line, empty lines are passed over; () for a file without a question.

    Keys: `id`, `question`, `document`, `pages`, `answer_patterns` and `answerable`; optional `kind` (a text, "plain" where missing) and
    `status` ("draft" or missing). An unanswerable question has no document, pages or patterns (null, or an empty list).

    Raises PermanentError that names the line and says what to do: for a line that is no such object, an unknown or repeated key, an id used
    twice, an answerable question without document, pages or patterns, a pattern that is no regular expression or could run for ever (see
    `patterns`), an unanswerable question with any of them.
    """
    questions: list[GoldenQuestion] = []
    seen: dict[str, int] = {}
    # Not splitlines(): a question may hold U+2028 or another character that it would take for a line's end.
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        if not line.strip():
            continue
        question = _question(number, line)
        if question.id in seen:
            raise _wrong(
                number,
                f"the id {question.id!r} is used twice (first on line {seen[question.id]}); give each question its own",
            )
        seen[question.id] = number
        questions.append(question)
    return tuple(questions)


def _question(number: int, line: str) -> GoldenQuestion:
    data = _object(number, line)
    missing = [key for key in REQUIRED if key not in data]
    unknown = sorted(set(data) - {*REQUIRED, *OPTIONAL})
    if missing or unknown:
        what = [f"{', '.join(missing)} missing"] * bool(missing) + [f"{', '.join(unknown)} unknown"] * bool(unknown)
        raise _wrong(
            number,
            f"expected an object with the keys {', '.join(REQUIRED)} (and optional kind, status); {'; '.join(what)}",
        )
    identity, question = (_string(number, data, key) for key in ("id", "question"))
    answerable, draft = data["answerable"], _draft(number, data)
    if not isinstance(answerable, bool):
        raise _wrong(number, "answerable must be true or false")
    kind = _string(number, data, "kind") if "kind" in data else PLAIN if answerable else UNANSWERABLE
    if (kind == UNANSWERABLE) == answerable and "kind" in data:
        raise _wrong(number, f"kind {kind!r} does not go with answerable {str(answerable).lower()}: change one of them")
    if not answerable:
        if any(data[key] not in (None, "", []) for key in ("document", "pages", "answer_patterns")):
            raise _wrong(
                number,
                "an unanswerable question has no document, pages or patterns: write null, [] and [], or make answerable true",
            )
        return GoldenQuestion(identity, question, kind, None, (), (), answerable=False, draft=draft)
    return GoldenQuestion(
        identity,
        question,
        kind,
        _string(number, data, "document"),
        _pages(number, data),
        _patterns(number, data),
        answerable=True,
        draft=draft,
    )


def _object(number: int, line: str) -> Mapping[str, Any]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            repeated = next(key for index, (key, _) in enumerate(pairs) if key in dict(pairs[:index]))
            raise _wrong(number, f"the key {repeated!r} is given twice; keep one")
        return found

    try:
        data = json.loads(line, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise _wrong(number, f"not JSON ({error}); each question is one object on a line of its own") from error
    if not isinstance(data, dict):
        raise _wrong(number, f"expected an object with the keys {', '.join(REQUIRED)}")
    return data


def _draft(number: int, data: Mapping[str, Any]) -> bool:
    if "status" in data and data["status"] != DRAFT:
        raise _wrong(number, f'status must be "{DRAFT}"; leave it out of a question that a person has accepted')
    return "status" in data


def _pages(number: int, data: Mapping[str, Any]) -> tuple[int, ...]:
    pages = data["pages"]
    if not isinstance(pages, list) or not pages or not all(type(page) is int and page >= 1 for page in pages):
        raise _wrong(number, "pages must be a list of page numbers from 1: every page that carries the answer")
    return tuple(pages)


def _patterns(number: int, data: Mapping[str, Any]) -> tuple[str, ...]:
    found = data["answer_patterns"]
    if not isinstance(found, list) or not found or not all(isinstance(pattern, str) for pattern in found):
        raise _wrong(number, "answer_patterns must be a list of regular expressions, at least one")
    for pattern in found:
        if complaint := patterns.complaint(pattern):
            raise _wrong(number, f"the pattern {pattern[:60]!r} {complaint}")
    return tuple(found)


def _string(number: int, data: Mapping[str, Any], key: str) -> str:
    value = data[key]
    if not isinstance(value, str) or not value.strip():
        raise _wrong(number, f"{key} must be a text that is not empty")
    # Neither Postgres, where the gate keeps a rank for each id, nor a terminal takes these.
    if any(character == "\0" or "\ud800" <= character <= "\udfff" for character in value):
        raise _wrong(number, f"{key} has a NUL or half a character (\\u0000, \\ud800 to \\udfff): write it without")
    return value


def _wrong(number: int, what: str) -> PermanentError:
    return PermanentError(f"golden questions, line {number}: {what}.")
