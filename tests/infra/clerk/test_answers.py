"""What the clerk takes out of passages, without any screen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.offline_model.clerk.passages import Answer, Passage, agree, find_answers, parse_passage
from infra.offline_model.clerk.questions import Kind, Question, queries, read_question, rules_named
from infra.offline_model.clerk.task import read_task

EFFECT = read_question("On what date does the rule take effect?")
COMPLY = read_question("By what date must covered entities comply?")
FIELD = read_question(
    "Which NCPDP field (number and name) identifies a partial fill of a Schedule II drug under rule HHS-7781-F?"
)
assert EFFECT and COMPLY and FIELD
MONTHS = "January February March April May June July August September October November December".split()


def one(question: Question, *texts: str, document: str = "rule.pdf") -> str | None:
    """The value found in passages from pages 1, 2, … of one document."""
    found = find_answers(question, [Passage(document, page, "A rule", text) for page, text in enumerate(texts, 1)])
    return found[0].value if found else None


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        ("Which NCPDP field (number and name) identifies a partial fill of a Schedule II drug?", Kind.IDENTIFIER),
        ("When only part is dispensed, in which data element, by number and name, is it told?", Kind.IDENTIFIER),
        ("How is a partial fill marked? Give the field's number and name.", Kind.IDENTIFIER),
        ("On what date does the rule take effect?", Kind.EFFECT),
        ("Since when is rule HHS-7781-F in force?", Kind.EFFECT),
        ("On what date does the rule take effect? Give document and page.", Kind.EFFECT),
        ("Effective date", Kind.EFFECT),
        ("By what date must covered entities comply?", Kind.COMPLIANCE),
        ("What is the deadline for compliance?", Kind.COMPLIANCE),
        ("From when is use of the field mandatory?", Kind.COMPLIANCE),
        ("Which document and page is your source?", Kind.SOURCE),
        ("Which source, document and page, supports the compliance date?", Kind.SOURCE),
        ("Cite the publication and the page on which you base these answers.", Kind.SOURCE),
    ],
)
def test_the_kind_of_a_question_is_told_by_its_words(label: str, kind: Kind) -> None:
    """In any wording that a form may choose."""
    question = read_question(label)
    assert question is not None
    assert question.kind is kind


def test_a_label_that_asks_for_nothing_in_the_regulations_is_no_question() -> None:
    """The clerk does not search for names and remarks."""
    assert read_question("Remarks") is None
    assert read_question("Telephone number") is None


def test_queries_are_made_of_the_question_and_name_the_rule() -> None:
    """The first query holds the question's own words; a question that says only "the rule" gets the rule's name."""
    question = read_question("On what date does the rule take effect?", ("HHS-7781-F",))
    assert question is not None
    first, *others = queries(question)
    assert first == "On what date does the rule take effect HHS-7781-F"
    assert len({first, *others}) == 3


def test_rules_are_named_by_letters_and_digits() -> None:
    """A docket number with plain or typographic hyphens."""
    assert rules_named("under rule HHS–7781–F", "and HHS-7781-F") == ("HHS-7781-F",)


@pytest.mark.parametrize(
    ("text", "effect", "comply"),
    [
        (
            "DATES: Effective Date: This final rule is effective on May 9, 2031. Approved as of March 17, 2009. Compliance Date: "
            "Compliance with these regulations is required by November 5, 2031.",
            "May 9, 2031",
            "November 5, 2031",
        ),
        (
            "The rule takes effect on May 9, 2031, and covered entities must comply by November 5, 2031.",
            "May 9, 2031",
            "November 5, 2031",
        ),
        (
            "On May 9, 2031, the rule takes effect; entities comply from November 5, 2031.",
            "May 9, 2031",
            "November 5, 2031",
        ),
        (
            "(d) For the period on and after November 5, 2031, the field is required in each claim.",
            None,
            "November 5, 2031",
        ),
        (
            "We anticipate that the effective date will be in April 2031 and the compliance date in October 2031.",
            None,
            None,
        ),
        ("We proposed that the rule would be effective on May 9, 2031.", None, None),
        ("Dated: May 9, 2031. The Secretary signed on November 5, 2031.", None, None),
    ],
)
def test_a_date_answers_by_the_words_next_to_it(text: str, effect: str | None, comply: str | None) -> None:
    """The nearest cue decides; months without a day and what was only proposed answer nothing."""
    assert one(EFFECT, text) == effect
    assert one(COMPLY, text) == comply


def test_the_date_that_the_rule_fixes_goes_before_an_expected_one() -> None:
    """Also where the expected one is a full date and is found first."""
    expected = "The department expected the rule to be effective on February 3, 2030."
    fixed = "Effective date: The rule takes effect on May 9, 2031."
    assert one(EFFECT, expected, fixed) == "May 9, 2031"


def test_another_rule_s_dates_do_not_answer() -> None:
    """Where one document names the rule asked for, documents that do not are left out."""
    question = read_question("On what date does rule HHS-7781-F take effect?")
    assert question is not None
    passages = [
        Passage("older.pdf", 1, "Older rule", "[HHS-6120-F] This final rule is effective on June 2, 2028."),
        Passage("hhs-7781-f.pdf", 4, "A rule", "Incorporation was approved as of March 17, 2009."),
    ]
    assert find_answers(question, passages) == ()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (
            "Entities must use the Measured Amount (813–QT) field for a partial fill of a Schedule II drug.",
            "813-QT Measured Amount",
        ),
        (
            "Entities must send 813-QT (Measured Amount) for a partial fill of a Schedule II drug.",
            "813-QT Measured Amount",
        ),
        (
            "For a partial fill the Measured Amount field (813- QT) is required for a Schedule II drug.",
            "813-QT Measured Amount",
        ),
        (
            "For a partial fill of a Schedule II drug field 813‑QT, Measured Amount, is required.",
            "813-QT Measured Amount",
        ),
    ],
)
def test_an_identifier_is_copied_with_its_name(text: str, value: str) -> None:
    """However the two are printed together; typographic hyphens and line breaks become plain."""
    assert one(FIELD, text) == value


def test_the_identifier_that_is_required_goes_before_others_in_the_same_text() -> None:
    """Not the one that was misread, and not the one that a commenter wanted."""
    texts = (
        "The audit misread partial fills of Schedule II drugs by the Refill Count (227–B4) field.",
        "A commenter recommended that the Days Intended (391–HK) field tell a partial fill of a Schedule II drug instead.",
        "The rule requires the use of the Measured Amount (813–QT) field for Schedule II drugs.",
    )
    assert one(FIELD, *texts) == "813-QT Measured Amount"


def test_an_identifier_that_is_only_mentioned_is_no_answer() -> None:
    """The passage that lays the field down is missing: the field that was misread is not filed in its place."""
    mention = (
        "The Refill Count (227–B4) field identifies refills. It was not aware of any means by which a pharmacy could tell partial "
        "fills of a Schedule II drug without using the Refill Count (227–B4) field."
    )
    assert one(FIELD, mention) is None


def test_a_name_cut_off_by_the_beginning_of_a_passage_is_not_copied() -> None:
    """The whole name from another passage is taken, and its page cited."""
    cut = "Amount (813–QT) field, as set forth in the guide, is required for a partial fill of a Schedule II drug."
    whole = "Use of the Measured Amount (813–QT) field is required for a partial fill of a Schedule II drug."
    found = find_answers(FIELD, [Passage("rule.pdf", 1, "", cut), Passage("rule.pdf", 2, "", whole)])
    assert [(answer.value, answer.page) for answer in found] == [("813-QT Measured Amount", 2)]


def test_a_docket_number_is_no_field_identifier() -> None:
    """Nor is a telephone number, a year or a document number."""
    text = "Rule HHS-7781-F on partial fills of Schedule II drugs (RIN 0938-AT52, 2031-00551, tel. 786-3178) requires a field."
    assert one(FIELD, text) is None


def test_answers_from_one_page_are_preferred_to_better_worded_ones_elsewhere() -> None:
    """A page that carries both answers is cited for both."""
    chosen = agree(
        {
            "field": (Answer("813-QT", "bulletin.pdf", 1, 9.0, True), Answer("813-QT", "rule.pdf", 3, 8.0, True)),
            "date": (Answer("May 9, 2031", "rule.pdf", 3, 6.0, True),),
        }
    )
    assert {answer.place for answer in chosen.values()} == {("rule.pdf", 3)}


def test_a_passing_mention_is_not_cited_for_the_sake_of_one_page() -> None:
    """Too weak a place loses against the page that lays the value down."""
    chosen = agree(
        {
            "field": (Answer("813-QT", "bulletin.pdf", 1, 9.0, True), Answer("813-QT", "rule.pdf", 3, 4.0, False)),
            "date": (Answer("May 9, 2031", "rule.pdf", 3, 6.0, True),),
        }
    )
    assert chosen["field"].place == ("bulletin.pdf", 1)


@given(
    day=st.integers(1, 28), month=st.sampled_from(MONTHS), year=st.integers(1990, 2090),
    number=st.integers(100, 999), letters=st.from_regex(r"[A-Z][A-Z0-9]", fullmatch=True), page=st.integers(1, 400),
)  # fmt: skip
def test_any_value_in_the_passages_is_the_value_found(
    day: int, month: str, year: int, number: int, letters: str, page: int
) -> None:
    """For any date, identifier and page: what is found is what the passage says, with its place."""
    text = (
        f"This final rule is effective on {month} {day}, {year}. It requires the use of the Measured Amount "
        f"({number}–{letters}) field for a partial fill of a Schedule II drug."
    )
    passage = Passage("rule.pdf", page, "", text)
    dates, fields = find_answers(EFFECT, [passage]), find_answers(FIELD, [passage])
    assert [(answer.value, answer.page) for answer in dates] == [(f"{month} {day}, {year}", page)]
    assert [(answer.value, answer.page) for answer in fields] == [(f"{number}-{letters} Measured Amount", page)]


def test_a_search_result_says_its_document_and_page() -> None:
    """From the source, or else from the title; a block without them is no passage."""
    content = [{"type": "text", "text": "A\nline"}]
    assert parse_passage({"source": "a rule.pdf#page=12", "title": "T", "content": content}) == Passage(
        "a rule.pdf", 12, "T", "A line"
    )
    title = "A rule — rule.pdf, page 7"
    assert parse_passage({"source": "", "title": title, "content": content}) == Passage("rule.pdf", 7, title, "A line")
    assert parse_passage({"source": "somewhere", "title": "", "content": content}) is None


def test_what_is_said_about_a_passage_is_no_part_of_it() -> None:
    """A remark in the title with the score, and parts of the content in square brackets."""
    content = [{"type": "text", "text": "[Quoted, not said, on May 1, 2020.]"}, {"type": "text", "text": "It is [so]."}]
    block = {
        "source": "rule.pdf#page=2",
        "title": "A rule (1999) (in force 2020-01-01 to 2020-02-01; score 0.03) — rule.pdf, page 2",
        "content": content,
    }
    assert parse_passage(block) == Passage("rule.pdf", 2, "A rule (1999) — rule.pdf, page 2", "It is [so].")


def test_the_task_s_facts_are_read_from_lines_and_from_sentences() -> None:
    """As a list, or in running text."""
    listed = read_task("Report ID: QI-2025-014\nQuarter: Q3 2025\nDepartment: Pharmacy\n")
    told = read_task("Please file report QI-2025-014 of the Pharmacy department for Q3 2025.")
    for task in (listed, told):
        assert task.value_for("Report ID") == "QI-2025-014"
        assert task.value_for("Which quarter does the report cover?") == "Q3 2025"
        assert task.value_for("Quarter", ["Year", "Department"]) == "Q3"
        assert task.value_for("Year") == "2025"
        assert task.value_for("Department or unit") == "Pharmacy"
        assert task.value_for("Colour") is None
