"""The expectation file: what it may say, and that it is held against the corpus."""

from __future__ import annotations

import copy
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tasks.domain.errors import PermanentError
from tasks.domain.expectations import Kind, missing_on_page, parse_expectation, validate
from tests.domain.report import EXPECTATION, EXPECTED, NOTICE, PAGES, RULE


def changed(key: str, **fields: Any) -> dict[str, Any]:
    """The right file with fields of one question replaced; None takes a field away."""
    document = copy.deepcopy(EXPECTED)
    table = document["questions"].setdefault(key, {})
    for name, value in fields.items():
        if value is None:
            table.pop(name, None)
        else:
            table[name] = value
    return document


def test_the_file_is_read_into_canonical_values() -> None:
    questions = EXPECTATION.questions
    assert questions["effective_date"].values == ("2020-03-24",)
    assert questions["ncpdp_field"].values == ("460-ET",)
    assert questions["citation"].kind is Kind.CITATION
    assert (RULE, 4) in questions["compliance_date"].places


@pytest.mark.parametrize("name", ["sample", "hipaa"])
def test_the_expectation_files_of_the_corpora_are_well_formed(root: Path, name: str) -> None:
    path = root / "corpus" / name / "filings" / "qi-report" / "expected.toml"
    expectation = parse_expectation(tomllib.loads(path.read_text(encoding="utf-8")))
    assert set(expectation.questions) == {"ncpdp_field", "effective_date", "compliance_date", "citation"}


def test_a_date_may_be_a_text_with_one_reading() -> None:
    assert parse_expectation(changed("effective_date", value="March 24, 2020")).questions["effective_date"].values == (
        "2020-03-24",
    )


def test_other_kinds_are_read() -> None:
    source = [{"document": RULE, "pages": [1]}]
    document = {
        "form": "f",
        "questions": {
            "rule": {"kind": "cite", "value": "45 C.F.R. 162.1102", "also": ["85 FR 4236"], "sources": source},
            "cost": {"kind": "amount", "value": "$25 million", "sources": source},
            "vote": {"kind": "choice", "value": "Yes", "choices": ["Yes", "No"]},
            "why": {"kind": "text", "terms": ["partial fill"], "sources": source},
        },
    }
    questions = parse_expectation(document).questions
    assert questions["rule"].values == ("45 CFR 162.1102", "85 FR 4236")
    assert questions["cost"].values == ("USD 25000000",)
    assert missing_on_page(questions["cost"], PAGES[(RULE, 1)]) == ()
    assert missing_on_page(questions["why"], PAGES[(NOTICE, 2)]) == ("“partial fill”",)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({}, "names no form"),
        ({"form": "f"}, "no [questions"),
        ({"form": "f", "questions": {}}, "no [questions"),
        ({**EXPECTED, "extra": 1}, "unknown entries: extra"),
        ({"form": "f", "questions": {"a": 3}}, "[questions.a] is not a table"),
        (changed("effective_date", kind="dates"), "must be one of date"),
        (changed("effective_date", kind=None), "must be one of date"),
        (changed("effective_date", valeu=1), "unknown fields: valeu"),
        (changed("effective_date", value=None), "has no value"),
        (changed("effective_date", value=5), "is not a date"),
        (changed("effective_date", value="March 2020"), "not exactly one date"),
        (changed("effective_date", value="03/04/2020"), "not exactly one date"),
        (changed("effective_date", value="March 24, 2020 or March 25, 2020"), "not exactly one date"),
        (changed("effective_date", sources=None), "has no sources"),
        (changed("effective_date", sources=[]), "has no sources"),
        (changed("effective_date", sources="rule.pdf"), "sources must be a list"),
        (changed("effective_date", sources=[{"document": RULE}]), "exactly a document and its pages"),
        (changed("effective_date", sources=[{"document": RULE, "pages": []}]), "whole numbers from 1"),
        (changed("effective_date", sources=[{"document": RULE, "pages": [0]}]), "whole numbers from 1"),
        (changed("effective_date", sources=[{"document": RULE, "pages": [True]}]), "whole numbers from 1"),
        (changed("effective_date", sources=[{"document": "", "pages": [1]}]), "file name"),
        (changed("effective_date", terms="effective"), "terms must be a list"),
        (changed("effective_date", terms=[" "]), "not empty"),
        (changed("effective_date", carries=["ncpdp_field"]), "only kind citation"),
        (changed("citation", value="x"), "has no value"),
        (changed("citation", carries=None), "needs carries"),
        (changed("citation", carries=["nobody"]), "'nobody'"),
        (changed("citation", carries=["citation"]), "'citation'"),
        (changed("why", kind="text", sources=[{"document": RULE, "pages": [1]}]), "needs terms"),
        (changed("vote", kind="choice", value="Yes", choices=["No"]), "needs choices"),
        (changed("ncpdp_field", value=""), "is not a text"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place_and_the_reason(document: dict[str, Any], said: str) -> None:
    with pytest.raises(PermanentError) as raised:
        parse_expectation(document)
    assert said in str(raised.value)


def test_the_right_file_agrees_with_its_corpus() -> None:
    assert validate(EXPECTATION, PAGES) == ()


@pytest.mark.parametrize(
    ("key", "fields", "said"),
    [
        (
            "effective_date",
            {"sources": [{"document": RULE, "pages": [1, 2]}]},
            f"{RULE}, page 2 does not carry 2020-03-24",
        ),
        ("effective_date", {"sources": [{"document": RULE, "pages": [9]}]}, "no page 9"),
        ("effective_date", {"sources": [{"document": "gone.pdf", "pages": [1]}]}, "gone.pdf is not in the corpus"),
        ("effective_date", {"value": "March 25, 2020"}, "does not carry 2020-03-25"),
        ("ncpdp_field", {"terms": ["Quantity Dispensed"]}, "“Quantity Dispensed”"),
        (
            "citation",
            {"sources": [{"document": NOTICE, "pages": [2]}]},
            "page 2 does not carry 460-ET and “Quantity Prescribed”",
        ),
    ],
)
def test_a_value_that_is_not_on_its_page_is_told(key: str, fields: dict[str, Any], said: str) -> None:
    problems = validate(parse_expectation(changed(key, **fields)), PAGES)
    assert any(said in problem for problem in problems), problems
