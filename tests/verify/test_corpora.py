"""The expectation files are held against the documents themselves, as ingest reads them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tasks.documents import load_manifest
from tasks.documents.read import read_pages
from tasks.domain.expectations import Expectation, validate
from tasks.domain.verdict import Asked, Outcome, Submission, grade
from tasks.verify import read_expectation
from tests.conftest import CORPORA
from tests.domain.phrasings import DIFFICULT_PHRASINGS, RIGHT_PHRASINGS, WRONG_PHRASINGS

Pages = dict[tuple[str, int], str]

FACTS = {
    "ncpdp_field": "460-ET Quantity Prescribed",
    "effective_date": "March 24, 2020",
    "compliance_date": "September 21, 2020",
}


@pytest.fixture(scope="module", params=["sample", "hipaa"])
def corpus(request: pytest.FixtureRequest) -> tuple[Expectation, Pages]:
    folder = CORPORA / request.param
    if request.param == "hipaa":
        files: dict[str, Path] = request.getfixturevalue("federal_pdfs")
    else:
        files = {entry.name: folder / "documents" / entry.name for entry in load_manifest(folder).documents}
    pages = {
        (page.document, page.number): page.text for name, path in files.items() for page in read_pages(path, name).pages
    }
    return read_expectation(folder, "qi-report"), pages


def counts(pages: Pages) -> dict[str, int]:
    found: dict[str, int] = {}
    for document, _ in pages:
        found[document] = found.get(document, 0) + 1
    return found


def record(expectation: Expectation) -> Submission:
    """A right report: each fact with the first of its sources."""
    answers = {}
    for key, question in expectation.questions.items():
        place = f"{question.sources[0].document}, page {question.sources[0].pages[0]}"
        answers[key] = f"{FACTS[key]} ({place})" if key in FACTS else place
    return Submission("QI-2025-014", "Q3 2025", "Pharmacy", answers, "R-1", datetime(2025, 10, 1, tzinfo=UTC))


ASKED = Asked("QI-2025-014", "Q3 2025", "Pharmacy")


def test_every_value_stands_on_every_page_that_is_named_as_its_source(corpus: tuple[Expectation, Pages]) -> None:
    assert validate(*corpus) == ()


def test_the_right_report_is_confirmed_on_the_real_pages(corpus: tuple[Expectation, Pages]) -> None:
    expectation, pages = corpus
    verdict = grade([record(expectation)], expectation, pages, counts(pages), ASKED)
    assert verdict.outcome is Outcome.CONFIRMED, [f for f in verdict.findings if f.outcome is not Outcome.CONFIRMED]


@pytest.mark.parametrize("key", FACTS)
def test_a_fact_on_a_page_that_does_not_carry_it_is_refuted_on_the_real_pages(
    corpus: tuple[Expectation, Pages], key: str
) -> None:
    expectation, pages = corpus
    elsewhere = sorted(place for place in pages if place not in expectation.questions[key].places)
    for document, page in elsewhere:
        right = record(expectation)
        wrong = replace(right, answers={**right.answers, key: f"{FACTS[key]} ({document}, page {page})"})
        assert grade([wrong], expectation, pages, counts(pages), ASKED).outcome is Outcome.REFUTED, (document, page)


def test_the_months_that_a_rule_only_expected_are_no_answer(corpus: tuple[Expectation, Pages]) -> None:
    expectation, pages = corpus
    right = record(expectation)
    source = expectation.questions["effective_date"].sources[0]
    for answer in ("February 2020", "October 2019", "March 2020", "January 24, 2020"):
        wrong = replace(
            right, answers={**right.answers, "effective_date": f"{answer} ({source.document}, page {source.pages[0]})"}
        )
        assert grade([wrong], expectation, pages, counts(pages), ASKED).outcome is Outcome.REFUTED


TITLES = {entry.name: entry.title for name in ("sample", "hipaa") for entry in load_manifest(CORPORA / name).documents}


def outcomes(corpus: tuple[Expectation, Pages], phrasings: dict[str, list[str]]) -> list[tuple[Outcome, str]]:
    """How each phrasing is graded in an otherwise right report."""
    expectation, pages = corpus
    right, found = record(expectation), []
    for key, texts in phrasings.items():
        source = expectation.questions[key].sources[0]
        for text in texts:
            answer = text.replace("SOURCE", f"{source.document}, page {source.pages[0]}")
            report = replace(right, answers={**right.answers, key: answer})
            found.append((grade([report], expectation, pages, counts(pages), ASKED, TITLES).outcome, answer))
    return found


def test_no_wrong_phrasing_is_confirmed_on_the_real_pages(corpus: tuple[Expectation, Pages]) -> None:
    found = outcomes(corpus, WRONG_PHRASINGS)
    assert len(found) > 200
    assert [answer for outcome, answer in found if outcome is Outcome.CONFIRMED] == []


def test_the_usual_right_phrasings_are_confirmed_on_the_real_pages(corpus: tuple[Expectation, Pages]) -> None:
    found = outcomes(corpus, RIGHT_PHRASINGS)
    assert len(found) > 100
    assert [answer for outcome, answer in found if outcome is not Outcome.CONFIRMED] == []


def test_right_phrasings_in_unknown_words_are_left_to_a_person(corpus: tuple[Expectation, Pages]) -> None:
    found = outcomes(corpus, DIFFICULT_PHRASINGS)
    assert found and [answer for outcome, answer in found if outcome is not Outcome.INDETERMINATE] == []


def test_a_remark_of_the_expectation_file_needs_its_figures_on_the_cited_page(
    corpus: tuple[Expectation, Pages],
) -> None:
    """The sample's page counts the 60 days from publication; the federal page does not."""
    remark = {"effective_date": ["The rule takes effect on March 24, 2020, 60 days after publication (SOURCE)"]}
    sample = corpus[0].questions["effective_date"].sources[0].document.startswith("sample")
    ((outcome, _),) = outcomes(corpus, remark)
    assert outcome is (Outcome.CONFIRMED if sample else Outcome.INDETERMINATE)
