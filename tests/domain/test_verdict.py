"""The grader: which reports it confirms, which it refutes, and that it says why."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.domain.expectations import parse_expectation
from tasks.domain.verdict import (
    ANSWER_LIMIT,
    Asked,
    Finding,
    Outcome,
    Verdict,
    grade,
    grader_version,
    records_digest,
    submission_digest,
)
from tests.domain.answers import CONFIRMED_ANSWERS, OPEN_ANSWERS, REFUTED_ANSWERS
from tests.domain.report import (
    ASKED,
    COUNTS,
    EXPECTATION,
    EXPECTED,
    NOTICE,
    PAGES,
    RIGHT,
    RULE,
    outcome,
    reasons,
    submission,
    verdict,
)
from tests.domain.test_claims import SPELLINGS


@pytest.mark.parametrize(("key", "text"), CONFIRMED_ANSWERS)
def test_a_right_answer_is_confirmed(key: str, text: str) -> None:
    assert outcome(key, text) is Outcome.CONFIRMED, reasons(key, text)


@pytest.mark.parametrize(("key", "text"), REFUTED_ANSWERS)
def test_a_wrong_answer_is_refuted(key: str, text: str) -> None:
    assert outcome(key, text) is Outcome.REFUTED, reasons(key, text)


@pytest.mark.parametrize(("key", "text"), OPEN_ANSWERS)
def test_an_answer_that_nobody_here_understands_is_left_to_a_person(key: str, text: str) -> None:
    assert outcome(key, text) is Outcome.INDETERMINATE, reasons(key, text)


# -- the record ---------------------------------------------------------------------------------------------------------------------------


def test_the_right_report_is_confirmed_with_a_finding_for_every_check() -> None:
    decided = verdict()
    assert decided.outcome is Outcome.CONFIRMED
    checks = {(finding.check, finding.key) for finding in decided.findings}
    assert {("record", ""), ("report ID", ""), ("quarter", ""), ("department", "")} <= checks
    assert {("value", key) for key in RIGHT if key != "citation"} | {("citation", key) for key in RIGHT} <= checks
    assert all(finding.reason for finding in decided.findings)


def test_a_citation_finding_shows_the_page_and_the_words_relied_on() -> None:
    (found,) = [f for f in verdict().findings if f.check == "citation" and f.key == "effective_date"]
    assert (found.document, found.page) == (RULE, 1)
    assert "effective on March 24, 2020" in found.sentence and "Compliance" not in found.sentence


def test_no_record_is_refuted() -> None:
    assert grade([], EXPECTATION, PAGES, COUNTS, ASKED).outcome is Outcome.REFUTED


def test_two_records_are_refuted_even_if_both_are_right() -> None:
    decided = grade([submission(), submission()], EXPECTATION, PAGES, COUNTS, ASKED)
    assert decided.outcome is Outcome.REFUTED
    assert "2 records" in decided.findings[0].reason


@pytest.mark.parametrize(
    ("field", "value"),
    [("report_id", "QI-2025-015"), ("quarter", "Q2 2025"), ("department", "Oncology"), ("department", "")],
)
def test_a_record_of_something_else_is_refuted(field: str, value: str) -> None:
    record = replace(submission(), **{field: value})
    assert grade([record], EXPECTATION, PAGES, COUNTS, ASKED).outcome is Outcome.REFUTED


def test_a_record_with_another_receipt_than_the_page_showed_is_refuted() -> None:
    for reference, decided in (("R-1", Outcome.CONFIRMED), ("R-2", Outcome.REFUTED)):
        assert grade([submission()], EXPECTATION, PAGES, COUNTS, replace(ASKED, reference=reference)).outcome is decided


@pytest.mark.parametrize("key", RIGHT)
@pytest.mark.parametrize("answer", [None, "", "  \n", 7, ["March 24, 2020"], {"text": "x"}])
def test_a_missing_answer_or_one_that_is_no_text_is_refuted(key: str, answer: Any) -> None:
    record = submission()
    answers: dict[str, Any] = {**record.answers, key: answer}
    if answer is None:
        del answers[key]
    assert grade([replace(record, answers=answers)], EXPECTATION, PAGES, COUNTS, ASKED).outcome is Outcome.REFUTED


def test_a_question_without_an_expectation_is_left_to_a_person() -> None:
    decided = verdict(remarks="All well.")
    assert decided.outcome is Outcome.INDETERMINATE
    assert [f.key for f in decided.findings if f.outcome is Outcome.INDETERMINATE] == ["remarks"]


def test_two_answers_swapped_between_their_fields_are_both_refuted_by_name() -> None:
    decided = verdict(effective_date=RIGHT["compliance_date"], compliance_date=RIGHT["effective_date"])
    against = [f.reason for f in decided.findings if f.check == "value" and f.outcome is Outcome.REFUTED]
    assert any("value of compliance_date" in reason for reason in against)
    assert any("value of effective_date" in reason for reason in against)


def test_a_very_long_answer_is_not_read() -> None:
    text = f"March 24, 2020 ({RULE}, page 1)" + " " * ANSWER_LIMIT
    assert outcome("effective_date", text) is Outcome.INDETERMINATE


def test_a_cited_page_without_stored_text_is_left_open() -> None:
    pages = {place: text for place, text in PAGES.items() if place != (RULE, 1)}
    assert grade([submission()], EXPECTATION, pages, COUNTS, ASKED).outcome is Outcome.INDETERMINATE


def test_a_page_that_carries_the_value_and_is_no_named_source_is_left_open() -> None:
    pages = {**PAGES, (RULE, 3): "The rule takes effect on March 24, 2020."}
    record = submission(effective_date=f"March 24, 2020 ({RULE}, page 3)")
    assert grade([record], EXPECTATION, pages, COUNTS, ASKED).outcome is Outcome.INDETERMINATE


def test_a_value_whose_parts_stand_on_two_pages_is_on_neither() -> None:
    pages = {**PAGES, (RULE, 1): "The field 460-ET.", (RULE, 2): "It is called Quantity Prescribed."}
    record = submission(ncpdp_field=f"460-ET Quantity Prescribed ({RULE}, pages 1 and 2)")
    decided = grade([record], EXPECTATION, pages, COUNTS, ASKED)
    assert sum("does not carry" in f.reason for f in decided.findings if f.key == "ncpdp_field") == 2


# -- other kinds --------------------------------------------------------------------------------------------------------------------------

OTHER_KINDS = parse_expectation(
    {
        "form": "other",
        "questions": {
            "amended": {"kind": "cite", "value": "45 CFR 162.1102", "sources": [{"document": RULE, "pages": [4]}]},
            "paid": {"kind": "amount", "value": "$25 million", "sources": [{"document": RULE, "pages": [1]}]},
            "certified": {"kind": "choice", "value": "Yes", "choices": ["Yes", "No"]},
            "purpose": {
                "kind": "text",
                "terms": ["partial fill", "Schedule II"],
                "statements": ["it tells a partial fill of a schedule ii drug from a refill"],
                "sources": [{"document": RULE, "pages": [1]}],
            },
        },
    }
)
OTHER_RIGHT = {
    "amended": f"45 C.F.R. § 162.1102 ({RULE}, page 4)",
    "paid": f"$25,000,000 ({RULE}, page 1)",
    "certified": "Yes",
    "purpose": f"It tells a partial fill of a Schedule II drug from a refill ({RULE}, page 1)",
}


@pytest.mark.parametrize(
    ("key", "text", "decided"),
    [
        ("amended", OTHER_RIGHT["amended"], Outcome.CONFIRMED),
        ("amended", f"45 CFR 162.1103 ({RULE}, page 4)", Outcome.REFUTED),
        ("amended", f"not 45 CFR 162.1102 ({RULE}, page 4)", Outcome.REFUTED),
        ("amended", f"45 CFR 162.1102 and 45 CFR 162.1103 ({RULE}, page 4)", Outcome.REFUTED),
        ("paid", f"25 million dollars ({RULE}, page 1)", Outcome.CONFIRMED),
        ("paid", f"$2.5 million ({RULE}, page 1)", Outcome.REFUTED),
        ("paid", f"about $25 million ({RULE}, page 1)", Outcome.REFUTED),
        ("certified", "yes.", Outcome.CONFIRMED),
        ("certified", "No", Outcome.REFUTED),
        ("certified", "Yes and No", Outcome.REFUTED),
        ("certified", "not Yes", Outcome.REFUTED),
        ("certified", "Yes, perhaps", Outcome.REFUTED),
        ("purpose", f"It does not tell a partial fill of a Schedule II drug ({RULE}, page 1)", Outcome.REFUTED),
        ("purpose", f"It tells a partial fill from a refill ({RULE}, page 1)", Outcome.REFUTED),
        ("purpose", f"Partial fill, Schedule II ({NOTICE}, page 2)", Outcome.REFUTED),
    ],
)
def test_every_kind_of_question_is_graded(key: str, text: str, decided: Outcome) -> None:
    record = replace(submission(), answers={**OTHER_RIGHT, key: text})
    found = grade([record], OTHER_KINDS, PAGES, COUNTS, ASKED)
    assert found.outcome is decided, [f.reason for f in found.findings if f.key == key]


# -- properties ---------------------------------------------------------------------------------------------------------------------------

FINDINGS = st.lists(st.builds(Finding, st.just("c"), st.just("k"), st.sampled_from(Outcome), st.just("r")), max_size=6)


@given(FINDINGS, st.randoms(use_true_random=False))
def test_the_order_of_findings_does_not_matter(findings: list[Finding], chance: random.Random) -> None:
    shuffled = findings[:]
    chance.shuffle(shuffled)
    assert Verdict(tuple(shuffled)).outcome is Verdict(tuple(findings)).outcome


@given(FINDINGS)
def test_a_verdict_is_confirmed_only_if_every_finding_is(findings: list[Finding]) -> None:
    every = bool(findings) and all(f.outcome is Outcome.CONFIRMED for f in findings)
    assert (Verdict(tuple(findings)).outcome is Outcome.CONFIRMED) == every


@given(st.sampled_from(list(RIGHT)), st.permutations(list(RIGHT)))
@settings(max_examples=25, deadline=None)
def test_the_order_of_answers_and_questions_does_not_matter(key: str, order: list[str]) -> None:
    wrong = replace(submission(), answers={k: submission(**{key: "unknown"}).answers[k] for k in order})
    mixed = parse_expectation({**EXPECTED, "questions": {k: EXPECTED["questions"][k] for k in order}})
    one, other = (grade([wrong], e, PAGES, COUNTS, ASKED) for e in (EXPECTATION, mixed))
    assert one.outcome is other.outcome and set(one.findings) == set(other.findings)


WRONG_STATEMENTS = [
    "It is June 1, 2021.",
    "Also 403-D3.",
    "This is not so.",
    "Perhaps.",
    "Penalties are $500.",
    f"See {RULE}, page 99.",
    "See missing.pdf, page 1.",
    f"See {RULE}, page 3.",
    "That is wrong.",
    "Or something else.",
    "???",
    "No.",
    "\u200b",
    "Frobnicate the widget.",
]


@given(
    st.sampled_from([(k, t) for k, t in CONFIRMED_ANSWERS + REFUTED_ANSWERS + OPEN_ANSWERS]),
    st.sampled_from(WRONG_STATEMENTS),
    st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_a_wrong_statement_beside_any_answer_is_never_confirmed(
    answer: tuple[str, str], statement: str, first: bool
) -> None:
    key, text = answer
    joined = f"{statement} {text}" if first else f"{text}. {statement}"
    assert outcome(key, joined) is not Outcome.CONFIRMED, joined


@given(
    st.sampled_from(REFUTED_ANSWERS), st.sampled_from(REFUTED_ANSWERS), st.sampled_from([". ", "; ", ", ", " ", " - "])
)
@settings(max_examples=150, deadline=None)
def test_two_wrong_answers_together_are_never_confirmed(
    one: tuple[str, str], other: tuple[str, str], joint: str
) -> None:
    assert outcome(one[0], one[1] + joint + other[1]) is not Outcome.CONFIRMED


@pytest.mark.parametrize("spelling", [spelling for spelling in SPELLINGS if "\n" not in spelling])
@pytest.mark.parametrize(
    "frame",
    [
        "{} (RULE, page 1)",
        "not {} (RULE, page 1)",
        "{} (RULE, page 3)",
        "The effective date is {}; RULE, p. 1",
        "probably {}; RULE, p. 1",
    ],
)
def test_equivalent_spellings_never_change_the_verdict(spelling: str, frame: str) -> None:
    plain = outcome("effective_date", frame.format("March 24, 2020"))
    assert outcome("effective_date", frame.format(spelling)) is plain


@given(st.sampled_from(list(RIGHT)), st.text(max_size=200))
@settings(max_examples=150, deadline=None)
def test_arbitrary_text_never_crashes_the_grader_and_is_never_confirmed(key: str, text: str) -> None:
    assert outcome(key, text) is not Outcome.CONFIRMED


@given(
    st.sampled_from(list(RIGHT)),
    st.lists(
        st.sampled_from(
            [
                "March 24, 2020",
                "460-ET",
                "Quantity Prescribed",
                RULE,
                "page 1",
                "page 9",
                "not",
                "or",
                ",",
                ".",
                "(",
                ")",
                "?",
                "-",
                "is",
                "wrong",
                "but",
                "the effective date",
                "403-D3",
            ]
        ),
        max_size=14,
    ),
)
@settings(max_examples=250, deadline=None)
def test_a_confirmed_answer_holds_its_value_and_a_page_and_no_denial_before_it(key: str, words: list[str]) -> None:
    text = " ".join(words)
    if outcome(key, text) is Outcome.CONFIRMED:
        assert (
            RULE in words and "page 1" in words and "page 9" not in words and "?" not in words and "wrong" not in words
        )
        assert {"effective_date": "March 24, 2020", "ncpdp_field": "460-ET", "citation": RULE}[key] in words
        assert "or" not in words


# -- digests ------------------------------------------------------------------------------------------------------------------------------


def test_equal_records_have_one_digest_whatever_the_order_of_answers_or_the_time_zone() -> None:
    record = submission()
    turned = replace(
        record,
        answers=dict(reversed(list(record.answers.items()))),
        submitted_at=record.submitted_at.astimezone(timezone(timedelta(hours=5))),
    )
    assert submission_digest(turned) == submission_digest(record)
    assert len(submission_digest(record)) == 64


@pytest.mark.parametrize(
    "change",
    [
        {"report_id": "QI-2025-015"},
        {"quarter": "Q4 2025"},
        {"department": "Oncology"},
        {"reference": "R-2"},
        {"answers": {**RIGHT, "citation": f"{RULE}, page 2"}},
        {"submitted_at": datetime(2025, 10, 1, 9, 0, 1, tzinfo=UTC)},
    ],
)
def test_every_change_of_a_record_changes_its_digest(change: dict[str, Any]) -> None:
    assert submission_digest(replace(submission(), **change)) != submission_digest(submission())


def test_nothing_one_and_several_records_have_digests_of_their_own() -> None:
    one, two = submission(), replace(submission(), reference="R-2")
    assert records_digest([]) == ""
    assert records_digest([one]) == submission_digest(one)
    assert records_digest([one, two]) == records_digest([two, one]) != records_digest([one])


def test_the_grader_s_version_changes_with_what_was_expected_and_asked() -> None:
    other = parse_expectation(
        {
            **EXPECTED,
            "questions": {
                "citation": EXPECTED["questions"]["citation"],
                "ncpdp_field": EXPECTED["questions"]["ncpdp_field"],
            },
        }
    )
    versions = {
        grader_version(EXPECTATION, ASKED),
        grader_version(other, ASKED),
        grader_version(EXPECTATION, Asked("x", "y", "z")),
    }
    assert len(versions) == 3
    assert grader_version(EXPECTATION, ASKED) == grader_version(parse_expectation(EXPECTED), ASKED)
