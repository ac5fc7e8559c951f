"""A small corpus, an expectation file and a right report, in our own words, that the grader's tests vary."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tasks.domain.expectations import parse_expectation
from tasks.domain.verdict import Asked, Outcome, Submission, Verdict, grade

RULE = "cms-0055-f-final-rule-2020.pdf"
NOTICE = "notice-0055-2020.pdf"
TIMELINE = "timeline.pdf"

PAGES = {
    (RULE, 1): (
        "CMS\u20130055\u2013F. Published January 24, 2020. Pharmacies report the Quantity Prescribed (460\u2013ET) field for each "
        "Schedule II drug, so that a partial fill is told from a refill. Effective date: the rule is effective on March 24,\n2020. "
        "Compliance date: covered entities must comply by September 21, 2020. Version D.0, August 2007, stays the standard. "
        "The program paid $25 million."
    ),
    (RULE, 2): (
        "The Fill Number (403\u2013D3) field counts fills. The Quantity Prescribed (460\u2013\nET) field was not used before. "
        "Quantity Dispensed is another field, 442\u2013E7."
    ),
    (RULE, 3): (
        "Effective date and compliance date. We expected that the rule would take effect in October 2019 and bind in April 2020."
    ),
    (RULE, 4): (
        "Amendments to 45 CFR 162.1102: from September 21, 2020, the Quantity Prescribed (460\u2013ET) field is required."
    ),
    (NOTICE, 1): (
        "The notice of January 24, 2020 names the Quantity Prescribed (460-ET) field for partial fills of Schedule II drugs."
    ),
    (NOTICE, 2): "Questions go to the help desk.",
    (TIMELINE, 1): "2020 Jan 24 modification published. 2003 Feb 20 transactions, effective Mar 24, 2003.",
}
COUNTS = {RULE: 4, NOTICE: 2, TIMELINE: 1}
TITLES = {RULE: "Final rule CMS-0055-F, 85 FR 4236, January 24, 2020"}

CORPUS = Path(__file__).resolve().parents[2] / "corpus" / "sample"
SOURCES = {
    "ncpdp_field": [{"document": RULE, "pages": [1, 2, 4]}, {"document": NOTICE, "pages": [1]}],
    "effective_date": [{"document": RULE, "pages": [1]}],
    "compliance_date": [{"document": RULE, "pages": [1, 4]}],
    "citation": [{"document": RULE, "pages": [1, 2, 4]}, {"document": NOTICE, "pages": [1]}],
}


def _expected() -> dict[str, Any]:
    """The sample corpus' own expectation file, so that its templates are what is tested, with the sources of the pages above."""
    document = tomllib.loads((CORPUS / "filings" / "qi-report" / "expected.toml").read_text(encoding="utf-8"))
    for key, sources in SOURCES.items():
        document["questions"][key]["sources"] = sources
    return document


EXPECTED = _expected()
EXPECTATION = parse_expectation(EXPECTED)
ASKED = Asked("QI-2025-014", "Q3 2025", "Pharmacy")

RIGHT = {
    "ncpdp_field": f"460-ET Quantity Prescribed ({RULE}, page 1)",
    "effective_date": f"March 24, 2020 ({RULE}, page 1)",
    "compliance_date": f"September 21, 2020 ({RULE}, page 1)",
    "citation": f"{RULE}, page 1",
}


def submission(**answers: str) -> Submission:
    return Submission(
        ASKED.report_id,
        ASKED.quarter,
        ASKED.department,
        {**RIGHT, **answers},
        "R-1",
        datetime(2025, 10, 1, 9, tzinfo=UTC),
    )


def verdict(**answers: str) -> Verdict:
    """The verdict on a report that is right but for the answers given; RULE and NOTICE in them stand for the documents' names."""
    written = {key: text.replace("RULE", RULE).replace("NOTICE", NOTICE) for key, text in answers.items()}
    return grade([submission(**written)], EXPECTATION, PAGES, COUNTS, ASKED, TITLES)


def outcome(key: str, text: str) -> Outcome:
    return verdict(**{key: text}).outcome


def reasons(key: str, text: str) -> str:
    """All reasons against the answer, for a failing test's message."""
    against = [f for f in verdict(**{key: text}).findings if f.outcome is not Outcome.CONFIRMED]
    return " | ".join(f"{f.check}: {f.reason}" for f in against)
