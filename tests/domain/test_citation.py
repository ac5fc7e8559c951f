"""References to documents and pages, as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.domain.citation import RANGE_LIMIT, Citation, parse_citations
from tests.domain.report import NOTICE, RULE

DOCUMENTS = ["rule.pdf", "final-rule.pdf", RULE, "my notes.txt", "deep/rule-2.pdf"]


def cited(text: str) -> list[tuple[str, int]]:
    """(document, page) of every reference in which nothing is wrong."""
    good = [r for r in parse_citations(text, DOCUMENTS) if r.known and not r.problem]
    return [(c.document, c.page) for r in good for c in r.citations]


@pytest.mark.parametrize(
    "text",
    [
        "rule.pdf, page 1",
        "rule.pdf, p. 1",
        "rule.pdf p1",
        "rule.pdf pg. 1",
        "rule.pdf, Page 1.",
        "rule.pdf, page no. 1",
        "rule.pdf, page #1",
        "rule.pdf, page: 1",
        "rule.pdf, page one",
        "rule.pdf (page 1)",
        "rule.pdf [p. 1]",
        "rule.pdf (1)",
        "rule.pdf, 1",
        "rule.pdf:1",
        "rule.pdf#page=1",
        "rule.pdf, page 1 of 7",
        "page 1 of rule.pdf",
        "page 1 of the document rule.pdf",
        "on page 1 in \u201crule.pdf\u201d",
        "p. 1, rule.pdf",
        "first page of rule.pdf",
        "the 1st page of rule.pdf",
        "RULE.PDF, page 1",
        "`rule.pdf`, page 1",
        "March 24, 2020 (rule.pdf, page 1)",
        "rule.pdf, page 1, 24 March 2020",
        "rule.pdf, page 1 \u2014 24 March 2020",
        "rule.pdf, page 1, 460-ET",
        "rule.pdf, page 1 says so",
        "rule.pdf, page 1, 2020-03-24",
    ],
)
def test_a_page_is_read_in_every_usual_form(text: str) -> None:
    assert cited(text) == [("rule.pdf", 1)]


@pytest.mark.parametrize(
    ("text", "pages"),
    [
        ("rule.pdf, pp. 1-2", [1, 2]),
        ("rule.pdf, pages 1\u20133", [1, 2, 3]),
        ("rule.pdf, pages 1 to 3", [1, 2, 3]),
        ("rule.pdf, pages 1 through 3", [1, 2, 3]),
        ("rule.pdf, pages 1, 3 and 5", [1, 3, 5]),
        ("rule.pdf, page 1 and page 3", [1, 3]),
        ("rule.pdf, page 1 & 3", [1, 3]),
        ("pages 1 and 3 of rule.pdf", [1, 3]),
        ("rule.pdf, pages 1-3, 3", [1, 2, 3]),
    ],
)
def test_lists_and_ranges_are_expanded(text: str, pages: list[int]) -> None:
    assert cited(text) == [("rule.pdf", page) for page in pages]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("rule.pdf, page 1; final-rule.pdf, page 2", [("rule.pdf", 1), ("final-rule.pdf", 2)]),
        ("page 1 of final-rule.pdf; page 2 of rule.pdf", [("final-rule.pdf", 1), ("rule.pdf", 2)]),
        ("p. 1, rule.pdf; p. 2, final-rule.pdf", [("rule.pdf", 1), ("final-rule.pdf", 2)]),
        ("rule.pdf, page 1. See also page 3.", [("rule.pdf", 1), ("rule.pdf", 3)]),
        ("my notes.txt, page 2", [("my notes.txt", 2)]),
        ("deep/rule-2.pdf, page 2", [("deep/rule-2.pdf", 2)]),
        (f"{RULE.removesuffix('.pdf')}, page 1", [(RULE, 1)]),
    ],
)
def test_pages_bind_to_their_own_document(text: str, found: list[tuple[str, int]]) -> None:
    assert cited(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "other-rule.pdf, page 1",
        "xrule.pdf, page 1",
        "old/rule.pdf, page 1",
        "rule.pdf.txt, page 1",
        "rule.pdfx, page 1",
        "rule-2.pdf, page 1",
        "rule, page 1",
        NOTICE + ", page 1",
    ],
)
def test_a_name_that_ends_like_a_document_is_another_document(text: str) -> None:
    assert not any(r.known for r in parse_citations(text, DOCUMENTS))


@pytest.mark.parametrize(
    "text",
    [
        "page 1",
        "rule.pdf",
        "rule.pdf, page 0",
        "rule.pdf, page iv",
        "rule.pdf, page 1.5",
        "rule.pdf, page 1a",
        "rule.pdf, page ?",
        "rule.pdf, page 1-",
        "rule.pdf, pages 5-2",
        "rule.pdf, page 1 ff.",
        "rule.pdf, page 1+",
        "rule.pdf, page 1 et seq.",
        "rule.pdf, page 1 or 2",
        "rule.pdf, all pages",
        "every page of rule.pdf",
        "rule.pdf, passim",
        "the whole document rule.pdf",
        f"rule.pdf, pages 1-{RANGE_LIMIT + 1}",
        "rule.pdf, pages 1-999999999",
    ],
)
def test_what_names_no_page_has_a_problem(text: str) -> None:
    references = parse_citations(text, DOCUMENTS)
    assert references and all(reference.problem for reference in references)


def test_a_range_is_never_longer_than_its_cap() -> None:
    (reference,) = parse_citations("rule.pdf, pages 1-999999999", DOCUMENTS)
    assert len(reference.pages) <= RANGE_LIMIT


def test_names_that_differ_only_by_case_are_told_apart_or_left_open() -> None:
    names = ["Rule.pdf", "rule.pdf"]
    assert parse_citations("Rule.pdf, page 1", names)[0].citations == (Citation("Rule.pdf", 1),)
    (reference,) = parse_citations("RULE.pdf, page 1", names)
    assert reference.problem and not reference.known


@given(st.integers(1, 40), st.integers(0, 20))
def test_a_range_names_every_page_between_its_ends(first: int, more: int) -> None:
    text = f"rule.pdf, pages {first}-{first + more}" if more else f"rule.pdf, page {first}"
    assert cited(text) == [("rule.pdf", page) for page in range(first, first + more + 1)]


@given(st.text(), st.lists(st.text(max_size=12), max_size=4))
def test_arbitrary_text_and_names_never_crash(text: str, names: list[str]) -> None:
    parse_citations(text, names)


@given(st.text(alphabet="rule.pdf,page 123-;of()#=:andto/", max_size=80))
def test_texts_made_of_a_citation_s_own_signs_never_crash_and_count_from_one(text: str) -> None:
    for reference in parse_citations(text, DOCUMENTS):
        assert all(page >= 1 for page in reference.pages)
        assert len(reference.pages) <= RANGE_LIMIT * RANGE_LIMIT
        assert list(reference.parts) == sorted(reference.parts, key=lambda part: part.start)
