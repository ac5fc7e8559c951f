"""The committed corpora: sound, complete, and honest about where answers stand."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from datetime import date
from functools import cache
from pathlib import Path

import pytest

from infra.sample_corpus import build
from tasks.documents import Manifest, Status, load_manifest, read_pages
from tasks.domain.chunking import OVERLAP, SIZE, chunk_page
from tasks.domain.evaluation import accepted, is_answerable, parse_golden, rank_of_answer
from tasks.domain.passages import Chunk, GoldenQuestion, Page, Passage
from tasks.domain.text import LINE_BREAK_HYPHEN, leftover_hyphens
from tests.conftest import CORPORA

NAMES = ("sample", "hipaa")
LEAST = {"sample": (30, 4), "hipaa": (60, 8)}  # answerable and unanswerable questions
KINDS = {
    "several-pages", "dash", "date", "expected-date", "paraphrase", "table-row", "footnote", "three-column", "near-duplicate", "digit",
    "unanswerable",
}  # fmt: skip
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
    assert {question.kind for question in questions} == KINDS
    assert min(Counter(question.kind for question in questions).values()) >= 2
    names = {entry.name for entry in load_manifest(CORPORA / corpus).documents}
    assert {question.document for question in answerable} == names
    assert all(len(question.pages) > 1 for question in answerable if question.kind == "several-pages")


def test_no_committed_question_is_a_draft_or_asked_twice(corpus: str) -> None:
    questions = golden(corpus)
    assert accepted(questions) == questions
    asked = Counter(" ".join(words(question.question)) for question in questions)
    assert [question for question, count in asked.items() if count > 1] == []


def test_exactly_the_labelled_pages_carry_the_answer_and_a_chunk_of_each_holds_it(
    corpus: str, pages: dict[tuple[str, int], Page]
) -> None:
    """Whatever the size of the chunks: labels name pages."""
    for question in filter(is_answerable, golden(corpus)):
        for (document, number), page in pages.items():
            if document != question.document:
                continue
            flat = " ".join(page.text.split())
            carries = all(re.search(pattern, flat, re.IGNORECASE) for pattern in question.patterns)
            assert carries == (number in question.pages), (question.id, number)
        for number in question.pages:
            page = pages[question.document or "", number]
            for size, overlap in ((300, 60), (SIZE, OVERLAP), (1100, 150)):
                found = passages(chunk_page(page, size=size, overlap=overlap))
                assert any(rank_of_answer(question, [each]) for each in found), (question.id, number, size)


def test_patterns_are_short(corpus: str) -> None:
    """They name a value, and never hold a sentence of a publication."""
    assert [pattern for question in golden(corpus) for pattern in question.patterns if len(words(pattern)) > 11] == []


def test_another_digit_is_another_answer(corpus: str, pages: dict[tuple[str, int], Page]) -> None:
    """For each digit that a pattern of these kinds matched, the text with another digit there does not match."""
    for question in golden(corpus):
        if question.kind != "digit":
            continue
        page = pages[question.document or "", question.pages[0]]
        for pattern in question.patterns:
            found = re.search(pattern, " ".join(page.text.split()), re.IGNORECASE)
            assert found is not None and re.search(r"\d", found[0]), question.id
            for at, character in enumerate(found[0]):
                if character.isdigit():
                    other = found[0][:at] + str((int(character) + 1) % 10) + found[0][at + 1 :]
                    assert re.search(pattern, other, re.IGNORECASE) is None, (question.id, other)


# What stands elsewhere and says nearly the same, for each question of this kind: a pattern of a wrong passage.
NEIGHBOURS = {
    "sample": {
        "paper-claims": "small health plans until October 16, 2003",
        "icd10-planned": "from October 1, 2013 to October 1, 2014",
        "section-referral": r"162\.1802, coordination",
        "section-cob": r"162\.1302, referral",
        "small-chain-saving": r"\$10,800 to \$54,000",
    },
    "hipaa": {
        "certification-withdrawn": "2014 Jan 2 Certification of Compliance",
        "icd10-second-delay": "2014 Apr 1 PAMA",
        "icd10-original": "from Oct 1, 2013, to Oct 1, 2014",
        "asca-statute": "2003 Aug 15 Electronic Submission",
        "section-claims": r"162\.1802 Standards for coordination",
        "section-referral": r"162\.1102 Standards for health care",
        "section-cob": r"162\.1302 Standards for referral",
        "modification-process": r"162\.923\(a\) require",
        "exception-section": r"codified at § 162\.910",
        "ncpdp-letter": "July 2017 letter",
        "dea-letter-month": "May 31, 2017",
        "small-chain-saving": r"\$10,800 to \$54,000",
        "bulletin-partial-fill": "less than the full amount prescribed is dispensed, or a refill",
        "summary-partial-fill": "less than the full amount prescribed is dispensed under the CARA",
        "d0-first-adopted": "November 2012 publication of Version D.0",
    },
}


def test_the_neighbour_of_a_near_duplicate_does_not_answer(corpus: str, pages: dict[tuple[str, int], Page]) -> None:
    near = [question for question in golden(corpus) if question.kind == "near-duplicate"]
    assert {question.id for question in near} == set(NEIGHBOURS[corpus])
    everything = [found for page in pages.values() for found in passages(chunk_page(page, size=300, overlap=60))]
    for question in near:
        alike = [
            each for each in everything if re.search(NEIGHBOURS[corpus][question.id], " ".join(each.text.split()), re.I)
        ]
        assert alike, f"{question.id}: the neighbour is not in the corpus"
        assert any(rank_of_answer(question, [each]) is None for each in alike), question.id


def test_an_expected_date_is_asked_apart_from_the_one_that_came(
    corpus: str, pages: dict[tuple[str, int], Page]
) -> None:
    """Such a question names the page of the expectation or of the fact, and a passage with the other one does not answer it."""
    traps = [question for question in golden(corpus) if question.kind == "expected-date"]
    everything = [found for page in pages.values() for found in passages(chunk_page(page))]
    expectation = [each for each in everything if re.search("February 2020", each.text)]
    fact = [each for each in everything if re.search("March 24, 2020|September 21, 2020", each.text)]
    assert len(traps) >= 2 and expectation and fact
    for question in traps:
        real = any("24" in pattern or "21" in pattern for pattern in question.patterns)
        assert not any(rank_of_answer(question, [each]) for each in (expectation if real else fact)), question.id


def passages(chunks: tuple[Chunk, ...]) -> Iterator[Passage]:
    return (Passage(chunk, "", 0.0, 1) for chunk in chunks)


def test_no_question_shares_five_words_in_a_row_with_a_page_that_answers_it(
    corpus: str, pages: dict[tuple[str, int], Page]
) -> None:
    for question in filter(is_answerable, golden(corpus)):
        for number in question.pages:
            assert not runs(question.question) & runs(pages[question.document or "", number].text), question.id


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
                assert re.search(SPELLINGS[value], pages[source["document"], number].text), (key, source, number)


def test_no_other_page_carries_a_date_that_only_the_named_ones_may_prove(
    corpus: str, pages: dict[tuple[str, int], Page]
) -> None:
    for rule in (expected(corpus)["effective_date"], expected(corpus)["compliance_date"]):
        named = {(source["document"], number) for source in rule["sources"] for number in source["pages"]}  # type: ignore[attr-defined]
        carrying = {place for place, page in pages.items() if SPELLINGS[rule["value"]] in page.text}
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
