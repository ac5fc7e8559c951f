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
