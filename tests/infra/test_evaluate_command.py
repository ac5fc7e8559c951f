"""`python3 -m infra evaluate`: over a real index, with the exit codes that a script relies on."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.environment import Environment
from infra.evaluate_command import run
from tasks.domain.errors import PermanentError
from tasks.settings import settings
from tests.conftest import Database
from tests.retrieval import conftest as retrieval

draft = retrieval.draft
PAGES = {
    "rule.pdf": ("The rule takes effect on March 24, 2020.", "Field 460-ET carries the prescribed quantity."),
    "timeline.pdf": ("The standard was corrected on March 24, 2003.",),
}
WHEN = {
    "id": "when",
    "question": "From what day is the rule in effect?",
    "kind": "date",
    "document": "rule.pdf",
    "pages": [1],
    "answer_patterns": ["March 24, 2020"],
    "answerable": True,
}
FIELD = {
    "id": "field",
    "question": "Which field carries a quantity?",
    "document": "rule.pdf",
    "pages": [2],
    "answer_patterns": ["460-ET", "quantity"],
    "answerable": True,
}
LOST = {**FIELD, "id": "lost", "question": "When was it corrected?", "answer_patterns": ["never written"]}
NONE: dict[str, Any] = {
    "id": "none",
    "question": "What is the fine?",
    "document": None,
    "pages": [],
    "answer_patterns": [],
    "answerable": False,
}
Evaluate = Callable[..., tuple[int, Any, str]]


def lines(*questions: dict[str, Any]) -> str:
    return "".join(json.dumps(question) + "\n" for question in questions)


@pytest.fixture
def corpus(tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of corpus `c`, with golden questions, and settings that point at it and at the test's database."""
    folder = tmp_path / "corpora" / "c"
    folder.mkdir(parents=True)
    (folder / "golden.jsonl").write_text(lines(WHEN, FIELD, LOST, NONE))
    monkeypatch.setenv("FILEWRIGHT_CORPUS_FOLDER", str(folder.parent))
    monkeypatch.setenv("FILEWRIGHT_DATABASE_URL", database.audit_url)
    monkeypatch.setenv("FILEWRIGHT_HOME", str(tmp_path / "home"))
    settings.cache_clear()
    yield folder
    settings.cache_clear()


@pytest.fixture
def evaluate(corpus: Path, capsys: pytest.CaptureFixture[str]) -> Evaluate:
    def call(*, golden: Path | None = None, as_json: bool = True, name: str = "c") -> tuple[int, Any, str]:
        code = run(Namespace(corpus=name, golden=golden, json=as_json), Environment(corpus))
        shown = capsys.readouterr()
        return code, json.loads(shown.out) if as_json and shown.out else shown.out, shown.err

    return call


def test_json_has_the_scores_by_kind_and_leg_and_the_rank_of_each_question(
    evaluate: Evaluate, draft: retrieval.Draft
) -> None:
    generation = draft(documents=PAGES, vectors=retrieval.direction_of, opened=True)
    code, value, _ = evaluate()
    assert code == 0
    assert (value["corpus"], value["generation"], value["state"], value["evaluated"]) == ("c", generation, "open", 3)
    ranks = {question["id"]: question["rank"] for question in value["questions"]}
    assert ranks["when"] == 1 and ranks["field"] == 1 and ranks["lost"] is None and ranks["none"] is None
    assert value["recall_at_1"] == value["recall_at_4"] == value["mrr"] == pytest.approx(2 / 3)
    assert {kind: row["evaluated"] for kind, row in value["by_kind"].items()} == {"date": 1, "plain": 2}
    assert set(value["legs"]) == {"vectors", "bm25"} and value["legs"]["bm25"]["recall_at_1"] == pytest.approx(2 / 3)
    first = value["questions"][0]
    assert (first["document"], first["page"], first["answerable"], first["kind"]) == ("rule.pdf", 1, True, "date")
    assert [question["answerable"] for question in value["questions"]] == [True, True, True, False]


def test_the_table_has_a_row_for_each_kind_and_names_what_was_not_found(
    evaluate: Evaluate, draft: retrieval.Draft
) -> None:
    draft(documents=PAGES, vectors=retrieval.direction_of, opened=True)
    code, shown, said = evaluate(as_json=False)
    assert code == 0 and "(open)" in shown and "3 answerable questions, 1 unanswerable" in shown
    assert [line.split()[0] for line in shown.splitlines() if line.startswith(("date", "plain", "all"))] == [
        "date",
        "plain",
        "all",
    ]
    assert "lost: When was it corrected?" in shown and "field:" not in shown
    assert "asking" in said, "progress goes to standard error"


def test_an_index_that_nobody_evaluated_can_be_measured_and_says_what_it_is(
    evaluate: Evaluate, draft: retrieval.Draft
) -> None:
    draft(documents=PAGES, vectors=retrieval.direction_of, opened=True, evaluated=False)
    assert evaluate()[1]["state"] == "unevaluated"
    assert "search only" in evaluate(as_json=False)[1]


def test_another_golden_file_is_taken_instead_of_the_corpus_own(
    evaluate: Evaluate, draft: retrieval.Draft, tmp_path: Path
) -> None:
    draft(documents=PAGES, vectors=retrieval.direction_of, opened=True)
    other = tmp_path / "mine.jsonl"
    other.write_text("\ufeff" + lines(FIELD, {**WHEN, "status": "draft"}), encoding="utf-8")
    code, value, _ = evaluate(golden=other)
    assert code == 0 and [question["id"] for question in value["questions"]] == ["field"], "drafts are not asked"


def test_a_question_about_a_document_that_the_index_does_not_have_is_told(
    evaluate: Evaluate, draft: retrieval.Draft, tmp_path: Path
) -> None:
    """It counts as a miss, and nobody has to guess why."""
    draft(documents=PAGES, vectors=retrieval.direction_of, opened=True)
    other = tmp_path / "mine.jsonl"
    other.write_text(lines(FIELD, {**WHEN, "document": "rule.txt"}))
    code, value, said = evaluate(golden=other)
    assert code == 0 and value["recall_at_4"] == 0.5
    assert "no document 'rule.txt', so 1 question cannot be answered" in said and "rule.pdf" in said


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (None, "is missing"),
        (lines(FIELD) + "{", "line 2: not JSON"),
        (lines({**FIELD, "answer_patterns": ["x{y}"]}), "line 1: the pattern 'x{y}' has a brace"),
        (lines({**FIELD, "answer_patterns": ["("]}), "line 1: the pattern '(' is no regular expression"),
        ("", "nothing to measure"),
        (lines(NONE), "no answerable question"),
        (lines({**FIELD, "status": "draft"}), "only drafts (1)"),
        (b"\xff\xfe", "cannot be read as UTF-8"),
    ],
)
def test_a_golden_file_that_cannot_be_used_is_bad_input(
    evaluate: Evaluate, tmp_path: Path, text: str | bytes | None, complaint: str
) -> None:
    """Exit code 2, the file's name, the line and what is wrong; nothing on standard output."""
    path = tmp_path / "mine.jsonl"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    code, shown, said = evaluate(golden=path)
    assert (code, shown) == (2, "") and "mine.jsonl" in said and complaint in said


def test_a_corpus_without_golden_questions_says_how_to_get_some(evaluate: Evaluate, corpus: Path) -> None:
    (corpus / "golden.jsonl").unlink()
    code, shown, said = evaluate()
    assert (code, shown) == (2, "") and "--golden" in said and "suggest-golden" in said


@pytest.mark.parametrize("state", ["draft", "none"])
def test_without_an_index_that_serves_it_fails(evaluate: Evaluate, draft: retrieval.Draft, state: str) -> None:
    """Exit code 1 by the error that every command turns into it."""
    if state == "draft":
        draft(documents=PAGES, vectors=retrieval.direction_of)
    with pytest.raises(PermanentError, match=r"No index of 'c' serves.*ingest/ingest"):
        evaluate()
