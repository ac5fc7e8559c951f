"""The committed corpora: sound, complete, and honest about where answers stand."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterator
from datetime import date
from functools import cache
from pathlib import Path

import pytest

from infra.sample_corpus import build
from tasks.documents import Manifest, Status, load_manifest, read_pages
from tasks.domain.chunking import chunk_page
from tasks.domain.evaluation import is_answerable, parse_golden, rank_of_answer
from tasks.domain.passages import Chunk, GoldenQuestion, Page, Passage
from tasks.domain.text import LINE_BREAK_HYPHEN, leftover_hyphens
from tests.conftest import CORPORA

NAMES = ("sample", "hipaa")
LEAST = {"sample": (12, 2), "hipaa": (22, 4)}
KINDS = {"several-pages", "dash", "paraphrase", "table-row", "footnote", "unanswerable"}
WORDS_IN_A_ROW = 5


@cache
def golden(name: str) -> tuple[GoldenQuestion, ...]:
    return parse_golden((CORPORA / name / "golden.jsonl").read_text(encoding="utf-8"))


@cache
def pages_of(paths: tuple[tuple[str, Path], ...]) -> dict[tuple[str, int], Page]:
    pages: dict[tuple[str, int], Page] = {}
    for name, path in paths:
        result = read_pages(path, name)
        assert result.status is Status.OK, result.reason
        pages.update({(page.document, page.number): page for page in result.pages})
    return pages


@pytest.fixture(params=NAMES)
def corpus(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def pages(corpus: str, request: pytest.FixtureRequest) -> dict[tuple[str, int], Page]:
    """Every page of the corpus; the federal one only where its files are."""
    if corpus == "hipaa":
        paths = request.getfixturevalue("federal_pdfs")
    else:
        folder = CORPORA / corpus
        paths = {entry.name: folder / "documents" / entry.name for entry in load_manifest(folder).documents}
    return pages_of(tuple(sorted(paths.items())))


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def runs(text: str) -> set[tuple[str, ...]]:
    found = words(text)
    return {tuple(found[start : start + WORDS_IN_A_ROW]) for start in range(len(found) - WORDS_IN_A_ROW + 1)}


def test_the_manifest_names_the_documents(corpus: str) -> None:
    manifest: Manifest = load_manifest(CORPORA / corpus)
    assert manifest.name == corpus and len(manifest.documents) == 3
    if corpus == "sample":
        for entry in manifest.documents:
            content = (CORPORA / corpus / "documents" / entry.name).read_bytes()
            assert hashlib.sha256(content).hexdigest() == entry.sha256 and entry.url is None


def test_there_are_enough_golden_questions_of_every_kind(corpus: str) -> None:
    questions = golden(corpus)
    answerable = [question for question in questions if is_answerable(question)]
    least_answerable, least_unanswerable = LEAST[corpus]
    assert len(answerable) >= least_answerable and len(questions) - len(answerable) >= least_unanswerable
    assert {question.kind for question in questions} >= KINDS
    names = {entry.name for entry in load_manifest(CORPORA / corpus).documents}
    assert {question.document for question in answerable} == names
    assert any(len(question.pages) > 1 for question in answerable)


def test_every_labelled_page_carries_the_answer_and_a_chunk_holds_it(
    corpus: str, pages: dict[tuple[str, int], Page]
) -> None:
    for question in filter(is_answerable, golden(corpus)):
        for number in question.pages:
            page = pages[question.document or "", number]
            assert re.search(question.pattern or "", " ".join(page.text.split()), re.IGNORECASE), (question.id, number)
            assert any(rank_of_answer(question, [found]) for found in passages(chunk_page(page))), (question.id, number)


def passages(chunks: tuple[Chunk, ...]) -> Iterator[Passage]:
    return (Passage(chunk, "", 0.0, 1) for chunk in chunks)


def test_no_question_shares_five_words_in_a_row_with_a_page_that_answers_it(
    corpus: str, pages: dict[tuple[str, int], Page]
) -> None:
    for question in filter(is_answerable, golden(corpus)):
        for number in question.pages:
            assert not runs(question.question) & runs(pages[question.document or "", number].text), question.id


def test_each_retriever_alone_misses_at_least_one(
    corpus: str, pages: dict[tuple[str, int], Page], tmp_path: Path
) -> None:
    """Else the corpus could not show what fusing them is for. Counted at four passages, with the packaged model."""
    from tasks.retrieval.embedding import load_embedder
    from tasks.retrieval.keywords import KeywordIndex

    chunks = [chunk for page in pages.values() for chunk in chunk_page(page)]
    by_id = {chunk.id: chunk for chunk in chunks}
    embedder = load_embedder("minilm")
    vectors = embedder.passages([chunk.text for chunk in chunks])
    keywords = KeywordIndex.build(tmp_path / "bm25", [chunk.id for chunk in chunks], [chunk.text for chunk in chunks])

    def nearest(query: str) -> list[str]:
        wanted = embedder.query(query)
        scores = [sum(a * b for a, b in zip(vector, wanted, strict=True)) for vector in vectors]
        return [
            chunks[position].id for position in sorted(range(len(chunks)), key=lambda position: -scores[position])[:4]
        ]

    missed: dict[str, set[str]] = {"vectors": set(), "bm25": set()}
    for question in filter(is_answerable, golden(corpus)):
        for retriever, ids in (("vectors", nearest(question.question)), ("bm25", keywords.rank(question.question, 4))):
            if rank_of_answer(question, list(passages(tuple(by_id[found] for found in ids)))) is None:
                missed[retriever].add(question.id)
    assert missed["vectors"] and missed["bm25"]
    assert missed["vectors"] - missed["bm25"] and missed["bm25"] - missed["vectors"], (
        "one retriever makes the other useless"
    )


def expected(corpus: str) -> dict[str, dict[str, object]]:
    path = CORPORA / corpus / "filings" / "qi-report" / "expected.toml"
    return dict(tomllib.loads(path.read_text(encoding="utf-8"))["questions"])


SPELLINGS = {
    date(2020, 3, 24): "March 24, 2020",
    date(2020, 9, 21): "September 21, 2020",
    "460-ET": "460[–-]ET",
}


def test_every_page_that_a_report_may_cite_carries_the_value(corpus: str, pages: dict[tuple[str, int], Page]) -> None:
    questions = expected(corpus)
    assert list(questions) == ["ncpdp_field", "effective_date", "compliance_date", "citation"]
    for key, rule in questions.items():
        value = rule["value"] if key != "citation" else questions["ncpdp_field"]["value"]
        for source in rule["sources"]:  # type: ignore[attr-defined]
            for number in source["pages"]:
                assert re.search(SPELLINGS[value], pages[source["document"], number].text), (key, source, number)  # type: ignore[index]


def test_no_other_page_carries_a_date_that_only_the_named_ones_may_prove(
    corpus: str, pages: dict[tuple[str, int], Page]
) -> None:
    for rule in (expected(corpus)["effective_date"], expected(corpus)["compliance_date"]):
        named = {(source["document"], number) for source in rule["sources"] for number in source["pages"]}  # type: ignore[attr-defined]
        carrying = {place for place, page in pages.items() if SPELLINGS[rule["value"]] in page.text}  # type: ignore[index]
        assert carrying == named


def test_the_trap_is_there(corpus: str, pages: dict[tuple[str, int], Page]) -> None:
    """A page of the rule names expected months that differ, a table other dates, one of them with the same day and month."""
    rule = next(entry.name for entry in load_manifest(CORPORA / corpus).documents if "rule" in entry.name)
    trap = [number for (name, number), page in pages.items() if name == rule and "February 2020" in page.text]
    assert len(trap) == 1 and "August 2020" in pages[rule, trap[0]].text
    table = " ".join(page.text for (name, _), page in pages.items() if "timeline" in name)
    assert re.search(r"Mar(ch)? 24, 2003", table) and "March 24, 2020" not in table


def test_stored_text_shows_no_line_break_hyphen_and_no_furniture(
    corpus: str, pages: dict[tuple[str, int], Page]
) -> None:
    for page in pages.values():
        assert page.text and leftover_hyphens(page.text) == ()
        assert not re.search(r"VerDate|\bJkt\b|Federal Register / Vol|Sample Register|with RULES", page.text)


def test_the_brief_fits_the_form(corpus: str) -> None:
    brief = tomllib.loads((CORPORA / corpus / "filings" / "qi-report" / "brief.toml").read_text(encoding="utf-8"))
    assert brief["form"] == "qi-report" and brief["receipt"]["path"] == "/receipts/"
    assert "{report_id}" in brief["portal"]["list"]
    task = brief["task"]["text"].format(report_id="QI-2025-014", quarter="Q3 2025", department="Pharmacy")
    assert all(words in task for words in ("QI-2025-014", "Q3 2025", "Pharmacy", "search_regulations"))
    ids = brief["report_ids"]
    made = {
        ids["pattern"].format(year=2025, quarter=3, department_number=number) for number in ids["departments"].values()
    }
    assert len(made) == 3 and all(re.fullmatch(r"QI-\d{4}-\d{3}", each) for each in made)


def test_the_task_tells_the_model_no_fact(corpus: str) -> None:
    """What it files must come out of a search, so the task must not hold an answer."""
    text = (CORPORA / corpus / "filings" / "qi-report" / "brief.toml").read_text(encoding="utf-8")
    assert not re.search(r"460|2020|March|September|Quantity", text)


def test_the_committed_sample_is_what_its_script_sets(tmp_path: Path) -> None:
    for path in build(tmp_path):
        assert path.read_bytes() == (CORPORA / "sample" / "documents" / path.name).read_bytes(), path.name


def test_every_sample_page_says_that_it_is_a_sample(tmp_path: Path) -> None:
    import pypdfium2

    for path in sorted((CORPORA / "sample" / "documents").iterdir()):
        with pypdfium2.PdfDocument(path) as document:
            for page in document:
                assert (
                    page.get_textpage().get_text_range().startswith("SAMPLE — written for the Filewright demonstration")
                )


def test_pdfium_marks_the_line_end_hyphens_of_every_page_of_the_sample_rule() -> None:
    """The sample is only worth ingesting if it is as hard as the real thing."""
    import pypdfium2

    with pypdfium2.PdfDocument(CORPORA / "sample" / "documents" / "sample-rule-partial-fills.pdf") as document:
        marks = [page.get_textpage().get_text_range().count(LINE_BREAK_HYPHEN) for page in document]
    assert len(marks) == 3 and all(marks) and sum(marks) > 20


WHOLE = {
    "sample": ("demonstration", "pharmacist", "third-party", "24-hour", "cut-over", "OEI–02–09–00605", "(460–ET"),
    "hipaa": (
        "Involvement",
        "Requirements",
        "about-the-epidemic",
        "third-party",
        "cut-over",
        "work-around",
        "(460–ET)",
        "96–354",
    ),
}


def test_broken_words_read_whole_again_and_compounds_keep_their_hyphen(
    corpus: str, pages: dict[tuple[str, int], Page]
) -> None:
    joined = " ".join(page.text for page in pages.values())
    assert [word for word in WHOLE[corpus] if word not in joined] == []
