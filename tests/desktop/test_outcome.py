"""A portal's receipt and list are read at the places that the brief names, and nothing is taken for proof that is none."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tasks.desktop.outcome import listed_reference, receipt_reference
from tasks.desktop.tables import rows
from tasks.desktop.tree import EMBEDDED, Node, Tree
from tasks.domain.actions import Box, Element
from tasks.domain.briefs import Brief, parse_brief
from tasks.domain.errors import TemporaryError
from tests.conftest import CORPORA

Markup = tuple[str, "str | Sequence[Markup]"]
REPORT = "QI-2025-014"
PORTAL = "http://127.0.0.1"
HEADERS = ["Report ID", "Quarter", "Department", "Receipt reference", "Filed at"]


@pytest.fixture(scope="module")
def brief() -> Brief:
    return parse_brief(tomllib.loads((CORPORA / "sample/filings/qi-report/brief.toml").read_text(encoding="utf-8")))


def tree(url: str, *content: Markup) -> Tree:
    """A reading of a page with this markup, as (tag, text or children)."""
    nodes = [Node(Element("document web", "", Box(0, 0, 1024, 768)), "body", -1, EMBEDDED * len(content))]

    def add(markup: Markup, parent: int) -> None:
        tag, inner = markup
        text = inner if isinstance(inner, str) else EMBEDDED * len(inner)
        nodes.append(Node(Element("section", "", Box(0, 0, 10, 10)), tag, parent, text))
        if not isinstance(inner, str):
            place = len(nodes) - 1
            for child in inner:
                add(child, place)

    for markup in content:
        add(markup, 0)
    return Tree(url, "", False, 1, tuple(nodes))


def row(tag: str, *cells: str) -> Markup:
    return ("tr", [(tag, cell) for cell in cells])


def listing(*reports: Sequence[str]) -> Tree:
    table: Markup = ("table", [row("th", *HEADERS), *(row("td", *report) for report in reports)])
    return tree(f"http://127.0.0.1/reports?report_id={REPORT}", ("h1", "Filed reports"), table)


def receipt(url: str = "http://127.0.0.1/receipts/RCT-1", **terms: str) -> Tree:
    shown = {"Receipt reference": "RCT-1", "Report ID": REPORT, **{k.replace("_", " "): v for k, v in terms.items()}}
    return tree(url, ("dl", [("div", [("dt", term), ("dd", text)]) for term, text in shown.items()]))


def test_the_receipt_of_this_report_is_read(brief: Brief) -> None:
    assert receipt_reference(receipt(), brief, REPORT, portal=PORTAL) == "RCT-1"


@pytest.mark.parametrize(
    "page",
    [
        receipt(Report_ID="QI-2025-015"),
        receipt(Report_ID="QI-2025-0140"),
        receipt(url="http://127.0.0.1/drafts/receipts/RCT-1"),
        receipt(url="http://127.0.0.1/reports?next=/receipts/RCT-1"),
        receipt(Receipt_reference=""),
        tree("http://127.0.0.1/receipts/RCT-1", ("p", f"Receipt reference RCT-1 Report ID {REPORT}")),
    ],
)
def test_no_other_page_is_a_receipt(brief: Brief, page: Tree) -> None:
    assert receipt_reference(page, brief, REPORT, portal=PORTAL) is None


def test_a_listed_report_gives_its_reference_among_others(brief: Brief) -> None:
    page = listing(
        ["QI-2025-013", "Q3 2025", "Pharmacy", "RCT-9", "today"], [REPORT, "Q3 2025", "Pharmacy", "RCT-1", "today"]
    )
    assert listed_reference(page, brief, REPORT, portal=PORTAL) == "RCT-1"


def test_only_the_portal_s_own_words_prove_that_a_report_is_missing(brief: Brief) -> None:
    page = tree("http://127.0.0.1/reports", ("p", f"No report with ID {REPORT} has been filed."))
    assert listed_reference(page, brief, REPORT, portal=PORTAL) is None


@pytest.mark.parametrize(
    "page",
    [
        tree("http://127.0.0.1/reports", ("h1", "503 Service Unavailable")),
        tree("http://127.0.0.1/reports"),
        tree("http://127.0.0.1/reports", ("p", "No report with ID QI-2025-015 has been filed.")),
        listing(),
        listing(["QI-2025-015", "Q3 2025", "Pharmacy", "RCT-9", "today"]),
        listing([REPORT, "Q3 2025", "Pharmacy", "", "today"]),
        listing([REPORT, "Q3 2025", "Pharmacy", "RCT-1", "a"], [REPORT, "Q3 2025", "Pharmacy", "RCT-2", "b"]),
        tree("http://127.0.0.1/reports", ("table", [row("td", *HEADERS), row("td", REPORT, "", "", "RCT-1", "")])),
    ],
)
def test_a_page_that_says_neither_proves_nothing(brief: Brief, page: Tree) -> None:
    with pytest.raises(TemporaryError, match="neither"):
        listed_reference(page, brief, REPORT, portal=PORTAL)


def test_rows_with_other_numbers_of_cells_are_left_out() -> None:
    page = tree(
        "http://x/", ("table", [row("th", "a", "b"), row("td", "1"), row("td", "1", "2"), row("td", "1", "2", "3")])
    )
    assert rows(page) == ({"a": "1", "b": "2"},)


@pytest.mark.parametrize(
    "url", ["http://localhost/receipts/RCT-1", "http://127.0.0.1:81/receipts/RCT-1", "about:blank"]
)
def test_a_page_of_another_site_proves_nothing(brief: Brief, url: str) -> None:
    """Neither a receipt nor a list, whatever it shows."""
    assert receipt_reference(receipt(url), brief, REPORT, portal=PORTAL) is None
    page = listing([REPORT, "Q3 2025", "Pharmacy", "RCT-1", "today"])
    with pytest.raises(TemporaryError, match="another site"):
        listed_reference(replace(page, url=url), brief, REPORT, portal=PORTAL)
