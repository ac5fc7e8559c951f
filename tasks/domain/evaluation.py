"""How well a search answers the golden questions: ranks and scores.

It decides whether a passage answers a question and what recall and rank follow. It sets no threshold: the index gate does. It never
searches.

Rules
- A passage answers a question when it comes from the question's document, from one of its pages, and its text (blanks and line ends
  counted as one blank) matches the question's pattern, whatever the case.
- Unanswerable questions have no rank and stay out of every score; they are there so that a filing's refusals can be tested.
- A question whose answer is not among the passages counts as 0 in the mean reciprocal rank.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks.domain.errors import PermanentError
from tasks.domain.passages import GoldenQuestion, Passage

UNANSWERABLE = "unanswerable"
_KEYS = frozenset({"id", "question", "kind", "document", "pages", "pattern"})


@dataclass(frozen=True, slots=True)
class Score:
    """Shares between 0 and 1 over `evaluated` answerable questions; all 0.0 where none was evaluated."""

    recall_at_1: float
    recall_at_4: float
    mrr: float
    evaluated: int


def is_answerable(question: GoldenQuestion) -> bool:
    return question.kind != UNANSWERABLE


def answers(question: GoldenQuestion, passage: Passage) -> bool:
    """Whether the passage carries the question's answer, by the rule above; never for an unanswerable question."""
    if (
        question.pattern is None
        or passage.chunk.document != question.document
        or passage.chunk.page not in question.pages
    ):
        return False
    return re.search(question.pattern, " ".join(passage.chunk.text.split()), re.IGNORECASE) is not None


def rank_of_answer(question: GoldenQuestion, passages: Sequence[Passage]) -> int | None:
    """The position, from 1, of the first passage that answers the question; None where no passage does.

    Positions are those in `passages`, best first, whatever their `rank` fields say.
    """
    return next((position for position, passage in enumerate(passages, start=1) if answers(question, passage)), None)


def score(results: Iterable[tuple[GoldenQuestion, int | None]]) -> Score:
    """The score over the answerable questions among `results`, each with its rank of the answer."""
    ranks = [rank for question, rank in results if is_answerable(question)]
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
    """One score for each kind of answerable question, by kind in alphabetical order."""
    by_kind: dict[str, list[tuple[GoldenQuestion, int | None]]] = {}
    for question, rank in results:
        if is_answerable(question):
            by_kind.setdefault(question.kind, []).append((question, rank))
    return {kind: score(by_kind[kind]) for kind in sorted(by_kind)}


def parse_golden(text: str) -> tuple[GoldenQuestion, ...]:
    """The questions of a golden.jsonl, one JSON object a line with the keys id, question, kind, document, pages and pattern.

    Raises PermanentError, with the line's number, for a line that is no such object, an id used twice, an answerable question without
    document, pages or a valid pattern, and an unanswerable one with any of them; also for a file without a single question.
    """
    questions: list[GoldenQuestion] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        question = _question(number, line)
        if any(question.id == earlier.id for earlier in questions):
            raise PermanentError(f"golden questions, line {number}: the id {question.id!r} is used twice.")
        questions.append(question)
    if not questions:
        raise PermanentError("golden questions: the file has no question.")
    return tuple(questions)


def _question(number: int, line: str) -> GoldenQuestion:
    try:
        data = json.loads(line)
    except ValueError as error:
        raise PermanentError(f"golden questions, line {number}: not JSON ({error}).") from error
    if not isinstance(data, Mapping) or set(data) != _KEYS:
        raise PermanentError(
            f"golden questions, line {number}: expected an object with the keys {', '.join(sorted(_KEYS))}."
        )
    identity, question, kind = (_string(number, data, key) for key in ("id", "question", "kind"))
    if kind == UNANSWERABLE:
        if data["document"] is not None or data["pattern"] is not None or data["pages"] != []:
            raise PermanentError(
                f"golden questions, line {number}: an unanswerable question has no document, pages or pattern."
            )
        return GoldenQuestion(identity, question, kind, None, (), None)
    document, pattern = _string(number, data, "document"), _string(number, data, "pattern")
    pages = data["pages"]
    if not isinstance(pages, list) or not pages or not all(type(page) is int and page >= 1 for page in pages):
        raise PermanentError(f"golden questions, line {number}: pages must be a list of page numbers from 1.")
    try:
        re.compile(pattern)
    except re.error as error:
        raise PermanentError(
            f"golden questions, line {number}: the pattern is no regular expression ({error})."
        ) from error
    return GoldenQuestion(identity, question, kind, document, tuple(pages), pattern)


def _string(number: int, data: Mapping[str, Any], key: str) -> str:
    value = data[key]
    if not isinstance(value, str) or not value.strip():
        raise PermanentError(f"golden questions, line {number}: {key} must be a text.")
    return value
