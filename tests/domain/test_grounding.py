"""No fact without a source: what must be refused, what must be let through, and that spelling, order and more sources change neither."""

from __future__ import annotations

import random
import string
import time
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.domain.characters import fold
from tasks.domain.grounding import MOST_NAMED, MOST_REFERENCES, Source, advice, unsourced
from tasks.domain.statements import KINDS, TOKEN, read
from tests.domain.answers import CONFIRMED_ANSWERS
from tests.domain.report import NOTICE as GRADED_NOTICE
from tests.domain.report import PAGES
from tests.domain.report import RULE as GRADED

RULE, NOTICE = "rule-0055-2020.pdf", "bulletin.pdf"
PASSAGES = (
    Source(
        RULE,
        1,
        "CMS–0055–F. Published January 24, 2020 (85 FR 4236). Pharmacies report the Quantity Prescribed (460–ET) field for each "
        "Schedule II drug under Version D.0. Pharmacists follow 21 CFR 1306.13 and 45 CFR 162.1102(b)(2). An audit counted 397,203 "
        "refills, for which the program paid $25 million.1 Three quarters of them came from long-term care homes.",
    ),
    Source(
        RULE,
        2,
        "Effective date: the rule takes effect on March 24,\n2020. That is 60 days after it was published. Compliance date: "
        "September 21, 2020. The Fill Number (403–\nD3) field counts fills. Costs are between $380,000 and $1,900,000, which is "
        "one to five "
        "percent; the share is 12.5%. Fifteen letters arrived within two weeks. See 21 U.S.C. 829(a) and Public Law 114–198.",
    ),
    Source(
        NOTICE,
        1,
        "January 24, 2020. Senders use field 460-ET. Help is there from 9:30 to 17:00, ext. 2019-77, in Room 7B.",
    ),
)
FACTS = ("QI-2025-014", "Q3 2025", "Pharmacy", "Report ID: QI-2025-014. File it for Jane O'Neill, Ward 3B.")


def judge(text: str, *passages: Source, facts: tuple[str, ...] = FACTS, fragment: bool = False) -> tuple[str, ...]:
    return unsourced(text, passages=passages or PASSAGES, facts=facts, fragment=fragment)


ALLOWED: dict[str, list[str]] = {
    "date": [
        "March 24, 2020",
        "24 March 2020",
        "2020-03-24",
        "03/24/2020",
        "3/24/2020",
        "24.03.2020",
        "24-Mar-2020",
        "the 24th of March, 2020",
        "Tuesday, March 24, 2020",
        "MARCH 24, 2020",
        "March\n24,\n2020",
        "March\u00a024, 2020",
        "Sept. 21, 2020",
        "twenty-fourth of March, 2020",
        "20200324",
        "March 24, in the year 2020",
    ],
    "partial date": ["March 2020", "in 2020", "March 24", "in January"],
    "identifier": [
        "460-ET",
        "460–ET",
        "460‑ET",
        "460 ET",
        "460ET",
        "460-et",
        "460-\nET",
        "403-D3",
        "CMS-0055-F",
        "cms–0055–f",
    ],
    "cite": [
        "21 CFR 1306.13",
        "21 C.F.R. § 1306.13",
        "21 CFR section 1306.13",
        "§ 1306.13",
        "45 CFR 162.1102(b)(2)",
        "section 162.1102(b)(2)",
        "21 USC 829(a)",
        "21 U.S.C. § 829(a)",
        "85 FR 4236",
        "85 Fed. Reg. 4,236",
        "Pub. L. 114-198",
        "Public Law No. 114–198",
    ],
    "amount": [
        "$25 million",
        "$25,000,000",
        "25 million dollars",
        "USD 25000000",
        "twenty-five million dollars",
        "25000000",
        "$380,000 to $1,900,000",
        "$380,000.00",
    ],
    "percentage": ["12.5%", "12.5 percent", "12.5 per cent", "five percent", "5%", "5", "1 to 5 percent"],
    "number": [
        "397,203",
        "397203 refills",
        "60 days",
        "sixty days",
        "15 letters",
        "fifteen letters",
        "2 weeks",
        "two weeks",
    ],
    "fraction": ["three quarters of them", "three-quarters"],
    "designation": ["Schedule II", "schedule ii drugs", "Version D.0"],
    "joined": ["9:30 to 17:00", "ext. 2019-77", "Room 7B"],
    "quarter": [
        "Q3 2025",
        "2025 Q3",
        "2025-Q3",
        "third quarter of 2025",
        "3rd quarter 2025",
        "Q3",
        "the third quarter",
        "2025",
    ],
    "fact": ["QI-2025-014", "Pharmacy", "Jane O'Neill", "Ward 3B", "Report QI-2025-014, Q3 2025, Pharmacy"],
    "citation": [
        f"{RULE}, page 1",
        f"page 2 of {RULE}",
        f"{RULE}, pp. 1-2",
        f"{RULE}, pages 1 and 2; {NOTICE}, page 1",
        f"{RULE}#page=1",
        "RULE-0055-2020.PDF, PAGE 1",
        "rule-0055-2020, p. 1",
        f"Document: {RULE}",
        "page 2",
        "pp. 1-2",
    ],
    "answer": [
        f"460-ET Quantity Prescribed ({RULE}, page 1)",
        f"460-ET ({NOTICE}, page 1)",
        f"460-ET ({RULE}, page 1; {NOTICE}, page 1)",
        f"March 24, 2020 ({RULE}, page 2)",
        f"March 24, 2020\n{RULE}\npage 2",
        f"The rule takes effect on 24 March 2020. Source: {RULE}, p. 2.",
        f"According to {RULE}, page 2, compliance is due by September 21, 2020.",
        f"{RULE}, page 2, 2020-03-24",
        f"Effective March 24, 2020 ({RULE}, page 2); the field is 460-ET ({RULE}, page 1).",
        f"Field 460-ET is effective on March 24, 2020 ({RULE}, pages 1 and 2)",
        f"For report QI-2025-014: 403-D3 counts fills ({RULE}, page 2)",
        f"January 24, 2020. We say so in our own words. See {RULE}, page 2.",
    ],
    "prose": [
        "",
        "   \n ",
        "The hospital confirms the change",
        "Both dates are met, and the two teams agree on the first step.",
        "It may be that one of them is late; none is.",
        "The change applies throughout the hospital, on all pages of the manual.",
        "No.",
        "N/A",
        "Yes - confirmed; see above.",
        "naïve café, Ångström, Müller & Søn, “quoted”, it’s – done…",
        "Привет, мир. 日本語",
        "Good 👍🏽 🏳️‍🌈",
        "In part I agree, and type a note.",
        "1. Train the staff\n2. Change the settings\n3. Report",
        "A second opinion was sought.",
        "Someone reads the page I wrote.",
        "Millions of them; hundreds at the least.",
    ],
}

REFUSED: dict[str, list[tuple[str, tuple[str, ...]]]] = {
    "date": [
        ("March 25, 2020", ("March 25, 2020",)),
        ("March 24, 2021", ("March 24, 2021",)),
        ("24 May 2020", ("24 May 2020",)),
        ("2020-03-25", ("2020-03-25",)),
        ("2020-24-03", ("2020-24-03",)),
        ("04/24/2020", ("04/24/2020",)),
        ("3/24/20", ("3/24/20",)),
        ("Monday, March 24, 2020", ("Monday, March 24, 2020",)),
        ("February 30, 2020", ("February 30, 2020",)),
        ("March 24-25, 2020", ("March 24-25, 2020",)),
        ("March\n25,\n2020", ("March 25, 2020",)),
        ("March 24 of the year 2019", ("March 24 of the year 2019",)),
        ("January 21, 2020", ("January 21, 2020",)),
        ("Marsh 24, 2020", ("Marsh 24, 2020",)),
        ("24 Marsh 2020", ("24 Marsh 2020",)),
        ("24 März 2020", ("24 März 2020",)),
        ("24 de marzo 2020", ("24 de marzo 2020",)),
        ("twenty-fifth of March, 2020", ("twenty-fifth of March, 2020",)),
        ("20200325", ("20200325",)),
        ("March twenty-four, two thousand twenty-one", ("twenty-four", "two thousand twenty-one")),
    ],
    "partial date": [
        ("April 2020", ("April 2020",)),
        ("in 2021", ("2021",)),
        ("March 25", ("March 25",)),
        ("in June", ("June",)),
    ],
    "identifier": [
        ("460-ED", ("460-ED",)),
        ("461-ET", ("461-ET",)),
        ("46O-ET", ("46O-ET",)),
        ("460-E7", ("460-E7",)),
        ("4600-ET", ("4600-ET",)),
        ("60-ET", ("60-ET",)),
        ("460-ET-2", ("460-ET-2",)),
        ("460-ETX", ("460-ETX",)),
        ("460", ("460",)),
        ("460_ET", ("460_ET",)),
        ("CMS-0055-P", ("CMS-0055-P",)),
        ("CMS-0056-F", ("CMS-0056-F",)),
        ("QI-2025-015", ("QI-2025-015",)),
        ("four six zero dash E T", ("four six zero",)),
        ("403 D4", ("403 D4",)),
    ],
    "cite": [
        ("21 CFR 1306.14", ("21 CFR 1306.14",)),
        ("21 CFR 1306.130", ("21 CFR 1306.130",)),
        ("45 CFR 1306.13", ("45 CFR 1306.13",)),
        ("21 USC 1306.13", ("21 USC 1306.13",)),
        ("21 CFS 1306.13", ("21 CFS 1306.13",)),
        ("21 U.S.B. 829(a)", ("21 U.S.B. 829(a)",)),
        ("45 CFR 162.1102(b)(3)", ("45 CFR 162.1102(b)(3)",)),
        ("45 CFR 162.1102(c)(2)", ("45 CFR 162.1102(c)(2)",)),
        ("45 CFR 162.1102", ("45 CFR 162.1102",)),
        ("§ 1306.12", ("§ 1306.12",)),
        ("21 USC 829(b)", ("21 USC 829(b)",)),
        ("85 FR 4237", ("85 FR 4237",)),
        ("84 FR 4236", ("84 FR 4236",)),
        ("Public Law 114-199", ("Public Law 114-199",)),
    ],
    "amount": [
        ("$26 million", ("$26 million",)),
        ("$25 billion", ("$25 billion",)),
        ("$25", ("$25",)),
        ("€25 million", ("€25 million",)),
        ("$25,000,001", ("$25,000,001",)),
        ("$38,000", ("$38,000",)),
        ("twenty-six million dollars", ("twenty-six million dollars",)),
        ("25 millian", ("25 millian",)),
        ("$397,203", ("$397,203",)),
    ],
    "percentage": [
        ("12.6%", ("12.6%",)),
        ("125%", ("125%",)),
        ("six percent", ("six percent",)),
        ("60%", ("60%",)),
        ("15 percent", ("15 percent",)),
        ("5-10%", ("5-10%",)),
    ],
    "number": [
        ("397,204", ("397,204",)),
        ("397.203", ("397.203",)),
        ("61 days", ("61",)),
        ("sixty-one days", ("sixty-one",)),
        ("three days", ("three",)),
        ("16 letters", ("16",)),
        ("sixteen letters", ("sixteen",)),
        ("a million letters", ("a million",)),
        ("-60", ("-60",)),
        ("060", ("060",)),
        ("60.0", ("60.0",)),
        ("１２ beds", ("<U+FF11><U+FF12>", "12")),
        ("5mg", ("5mg",)),
        ("3", ("3",)),
        ("7. 42", ("7", "42")),
        ("7. Train the staff\n8. Report", ("7", "8")),
    ],
    "fraction": [("two thirds of them", ("two thirds",)), ("one quarter", ("one quarter",))],
    "designation": [
        ("Schedule III", ("Schedule III",)),
        ("Schedules II to IV", ("IV",)),
        ("Version D.1", ("D.1",)),
        ("Version F2", ("F2",)),
        ("Part D", ("Part D",)),
    ],
    "joined": [
        ("9:31", ("9:31",)),
        ("17:30", ("17:30",)),
        ("ext. 2019-78", ("2019-78",)),
        ("Room 7C", ("7C",)),
        ("1/2", ("1/2",)),
    ],
    "quarter": [
        ("Q4 2025", ("Q4 2025",)),
        ("Q3 2024", ("Q3 2024",)),
        ("third quarter of 2026", ("third quarter of 2026",)),
        ("FY 2025 Q3", ("FY 2025 Q3",)),
        ("Q2", ("Q2",)),
    ],
    "citation": [
        (f"{RULE}, page 3", (f"{RULE}, page 3",)),
        (f"{NOTICE}, page 2", (f"{NOTICE}, page 2",)),
        (f"{RULE}, pages 1-3", (f"{RULE}, page 3",)),
        ("other.pdf, page 1", ("other.pdf, page 1",)),
        ("other.pdf", ("other.pdf",)),
        (f"old-{RULE}, page 1", (f"old-{RULE}, page 1",)),
        (f"{RULE}, page ii", (f"{RULE}, page ii",)),
        (f"{RULE}, all pages", (f"{RULE}, all pages",)),
        (f"{RULE}, page 1 or 2", (f"{RULE}, page 1 or 2",)),
        (f"{RULE}, page 1 of 9", (f"{RULE}, page 1 of 9",)),
        ("page 3", ("page 3",)),
        ("See page 1 of the manual", ("page 1",)),
    ],
    "answer": [
        (f"March 24, 2020 ({RULE}, page 1)", (f"March 24, 2020 ({RULE}, page 1)",)),
        (f"460-ET ({RULE}, page 2)", (f"460-ET ({RULE}, page 2)",)),
        (f"403-D3 ({NOTICE}, page 1)", (f"403-D3 ({NOTICE}, page 1)",)),
        (f"March 25, 2020 ({RULE}, page 2)", ("March 25, 2020",)),
        (f"March 24, 2020 ({RULE}, page 3)", (f"{RULE}, page 3",)),
        (f"The rule takes effect on March 24, 2020. Source: {RULE}, p. 1.", (f"March 24, 2020 ({RULE}, p. 1)",)),
        (
            f"460-ET ({RULE}, page 1), effective March 24, 2020 ({NOTICE}, page 1)",
            (f"March 24, 2020 ({NOTICE}, page 1)",),
        ),
        (f"According to {RULE}, page 1, it is due by September 21, 2020.", (f"September 21, 2020 ({RULE}, page 1)",)),
        (f"460-ET and 403-D4 ({RULE}, pages 1 and 2)", ("403-D4",)),
    ],
    "deceptive": [
        ("46\u200b0-ET", ("46<U+200B>0-ET",)),
        ("460-\u0415T", ("460-<U+0415>T", "460")),
        ("\u041carch 24, 2020", ("<U+041C>arch", "24")),
        ("March\u202824, 2020", ("March<U+2028>24,",)),
        ("4\u0336 60 days", ("4<U+0336>", "4")),
        ("\u202e460-ET", ("<U+202E>460-ET",)),
        ("the hos\u00adpital", ("hos<U+00AD>pital",)),
        ("Schedule \u2161", ("<U+2161>",)),
        ("p\u0430tient", ("p<U+0430>tient",)),
        ("25\u00b2", ("25<U+00B2>", "252")),
        ("٤٦٠-ET", ("<U+0664><U+0666><U+0660>-ET", "٤٦٠-ET")),
    ],
}


@pytest.mark.parametrize("text", [text for texts in ALLOWED.values() for text in texts])
def test_what_stands_in_a_passage_or_in_the_task_is_let_through(text: str) -> None:
    assert judge(text) == ()


@pytest.mark.parametrize(("text", "named"), [case for cases in REFUSED.values() for case in cases])
def test_what_stands_nowhere_is_named_as_it_is_written(text: str, named: tuple[str, ...]) -> None:
    assert judge(text) == named


def test_the_tables_have_both_sides_of_every_kind() -> None:
    """A row of the rule without a case on each side would be a row that nobody tried."""
    allowed = {text for texts in ALLOWED.values() for text in texts}
    refused = {text for cases in REFUSED.values() for text, _ in cases}
    assert len(allowed) + len(refused) >= 150
    for kind in KINDS:
        assert any(list(kind.find(fold(text))) for text in allowed) or kind.name.startswith("almost"), kind.name
        assert any(list(kind.find(fold(text))) for text in refused) or not kind.needs, kind.name
    assert set(ALLOWED) - {"fact", "prose"} <= set(REFUSED)


def test_without_any_source_every_claim_is_unsourced_and_prose_is_not() -> None:
    for kind, texts in ALLOWED.items():
        for text in texts:
            claims_something = kind != "prose" and text not in {"Pharmacy", "Jane O'Neill"}
            assert bool(unsourced(text, passages=(), facts=())) is claims_something, text


GRADER_SOURCES = tuple(Source(document, page, text) for (document, page), text in PAGES.items())
SAYS_MORE = {
    "March 24, 2020 (RULE, page 1, Part IV)": ("Part IV",),
    "September 21, 2020 (not August 2020, which was only expected) (RULE, page 1)": ("August 2020",),
    "March 24, 2020, not March 17, 2020 (RULE, page 1)": ("March 17, 2020",),
    "The effective date is March 24, 2020. Source: RULE, page 1 of 4.": (f"{GRADED}, page 1 of 4",),
    "RULE, page 1 (85 FR 4236)": ("85 FR 4236",),
}
"""Right answers that say more than the pages do."""


@pytest.mark.parametrize("answer", [answer for _, answer in CONFIRMED_ANSWERS])
def test_what_the_grader_confirms_may_be_typed_where_the_pages_say_it(answer: str) -> None:
    text = answer.replace("RULE", GRADED).replace("NOTICE", GRADED_NOTICE)
    assert unsourced(text, passages=GRADER_SOURCES, facts=FACTS) == SAYS_MORE.get(answer, ())


# ------------------------------------------------------------------------------------------------------------ locale


def test_a_numeric_date_is_read_as_the_forms_locale_writes_it() -> None:
    passages = [Source(RULE, 1, "Effective April 3, 2020.")]
    for locale, good, bad in (("en-US", "04/03/2020", "03/04/2020"), ("en-GB", "03/04/2020", "04/03/2020")):
        assert unsourced(good, passages=passages, facts=(), locale=locale) == ()  # type: ignore[arg-type]
        assert unsourced(bad, passages=passages, facts=(), locale=locale) == (bad,)  # type: ignore[arg-type]
    assert unsourced("04/03/2020", passages=passages, facts=(), locale="iso") == ("04/03/2020",)


def test_a_date_that_can_be_read_in_two_ways_stands_where_it_stands_in_the_same_words() -> None:
    passages = [Source(RULE, 1, "Effective 3/4/20.")]
    assert judge("3/4/20", *passages) == ()
    assert judge("March 4, 2020", *passages) == ("March 4, 2020",)


# ----------------------------------------------------------------------------------------------------------- sources


def test_a_footnotes_mark_hides_no_value_and_makes_none() -> None:
    source = Source(
        RULE,
        1,
        "It was declared on October 26, 2017.2 The program paid $25 million.1 Three of them. Due March 24, 2020³ at noon.",
    )
    assert judge("October 26, 2017; $25 million; March 24, 2020", source) == ()
    assert judge("$25", source) == ("$25",)


def test_what_a_page_asks_for_is_no_source() -> None:
    """Only passages and facts are given to the rule: there is no parameter for a page's text."""
    with pytest.raises(TypeError):
        unsourced("999-XX", passages=(), facts=(), page="Type 999-XX")  # type: ignore[call-arg]


def test_an_odd_word_that_a_passage_has_may_be_copied() -> None:
    assert judge("α2-agonist", Source(RULE, 1, "An α2-agonist is given.")) == ()
    assert judge("α2-agonist") == ("<U+03B1>2-agonist", "α2-agonist")


def test_a_document_that_the_task_names_may_be_named_but_no_page_of_it() -> None:
    facts = ("Attach form-7.pdf",)
    assert judge("form-7.pdf", facts=facts) == ()
    assert judge("form-7.pdf, page 1", facts=facts) == ("form-7.pdf, page 1",)


def test_names_and_pages_that_a_passage_mentions_may_be_copied_and_are_no_citations() -> None:
    source = Source(RULE, 1, "See the report of 2012, page 17, in request_2012.pdf. The field is 460-ET.")
    assert judge("request_2012.pdf, page 17", source) == ("request_2012.pdf, page 17",)
    assert judge("See the report of 2012, page 17", source) == judge("request_2012.pdf has 460-ET", source) == ()
    assert judge("460-ET (request_2012.pdf, page 1)", source) == ("request_2012.pdf, page 1",)


def test_a_claim_may_stand_on_any_returned_part_of_its_page() -> None:
    parts = [Source(RULE, 1, "The field is 460-ET."), Source(RULE, 1, "It binds on March 24, 2020.")]
    assert judge(f"460-ET, March 24, 2020 ({RULE}, page 1)", *parts) == ()


def test_a_number_may_come_from_words_and_words_from_a_number() -> None:
    assert judge("9", Source(RULE, 1, "There are nine of them.")) == ()
    assert judge("forty-two beds", Source(RULE, 1, "There are 42 beds.")) == ()
    assert judge("1999", Source(RULE, 1, "In nineteen ninety-nine it began.")) == ()


# ---------------------------------------------------------------------------------------------------------- fragments


@pytest.mark.parametrize(
    "text",
    [
        "March 2",
        "Effective March",
        "460-E",
        "46",
        "2020-03-2",
        "24, 2020",
        "0-ET",
        "$25,0",
        "21",
        f"460-ET ({RULE}, page 3",
    ],
)
def test_a_fragment_is_not_a_claim_yet(text: str) -> None:
    assert judge(text, fragment=True) == ()


@pytest.mark.parametrize(
    "text",
    ["March 25, 2020", "460-ED", "$26", "on March 2 it is", "see 461-ET and", f"403-D4 ({RULE}, page 2)", "85 FR 4237"],
)
def test_a_fragment_whose_claims_are_whole_is_judged(text: str) -> None:
    assert judge(text, fragment=True) != ()


def test_the_whole_of_two_harmless_fragments_is_judged() -> None:
    """Which is why a field's whole content is judged before anything is committed."""
    assert judge("March 2", fragment=True) == judge("5, 2020", fragment=True) == ()
    assert judge("March 2" + "5, 2020") == ("March 25, 2020",)


# ------------------------------------------------------------------------------------------------------------ advice


def test_the_advice_names_the_values_and_says_to_search() -> None:
    said = advice(("March 25, 2020", "460-ED"))
    assert '"March 25, 2020", "460-ED"' in said and "search_regulations" in said
    assert advice(()) == ""


def test_the_advice_stays_short_and_shows_what_deceives() -> None:
    said = advice([f"{n}-ED\u200b" + "x" * 500 for n in range(100)])
    assert len(said) < 1_500 and said.count("<U+200B>") == MOST_NAMED and f"{100 - MOST_NAMED} more" in said


# -------------------------------------------------------------------------------------------------------- properties

DATES = st.dates(date(1950, 1, 1), date(2049, 12, 31))
IDENTIFIERS = st.from_regex(r"[1-9][0-9]{2}-[A-DG-Z][A-Z0-9]", fullmatch=True)
CITES = st.builds("{} CFR {}.{}".format, st.integers(1, 50), st.integers(1, 1999), st.integers(1, 999))
REGISTER = st.builds("{} FR {}".format, st.integers(1, 99), st.integers(100, 99999))
AMOUNTS = st.builds("${:,}".format, st.integers(10, 10**9))
SHARES = st.builds("{}.{}%".format, st.integers(1, 99), st.integers(1, 9))


def _written(day: date) -> str:
    return f"{day:%B} {day.day}, {day.year}"


CLAIMS = st.one_of(DATES.map(_written), DATES.map(date.isoformat), IDENTIFIERS, CITES, REGISTER, AMOUNTS, SHARES)
PROSE = st.sampled_from(["The rule says", "It is known that", "Pharmacies report", "Whoever files it states"])


@given(st.lists(CLAIMS, min_size=1, max_size=6), PROSE, st.randoms(use_true_random=False))
def test_a_text_made_only_of_claims_copied_from_passages_is_grounded(
    claims: list[str], prose: str, chance: random.Random
) -> None:
    passages = [Source(f"doc{n}.pdf", n + 1, f"{prose} {claim} and so on.") for n, claim in enumerate(claims)]
    copied = [chance.choice(claims) for _ in range(5)]
    assert judge(f"{prose}: {'; '.join(copied)}.", *passages, facts=()) == ()
    cited = "; ".join(f"{claim} (doc{claims.index(claim)}.pdf, page {claims.index(claim) + 1})" for claim in copied)
    assert judge(cited, *passages, facts=()) == ()


NOISE = " ".join(f"({number})" for number in range(100)) + " In 2019; in 2020."
"""Loose figures, of which a changed date or cite must not be put together."""


@given(CLAIMS, st.data())
def test_a_changed_digit_or_letter_is_another_claim(claim: str, data: st.DataObject) -> None:
    places = [i for i, character in enumerate(claim) if character in string.digits + string.ascii_letters]
    at = data.draw(st.sampled_from(places))
    alphabet = (
        string.digits
        if claim[at].isdigit()
        else string.ascii_uppercase
        if claim[at].isupper()
        else string.ascii_lowercase
    )
    other = data.draw(st.sampled_from([character for character in alphabet if character != claim[at]]))
    changed = claim[:at] + other + claim[at + 1 :]
    passage = Source(RULE, 1, f"It says {claim} here. {NOISE}")
    assert judge(claim, passage, facts=()) == ()
    if fold(changed).casefold().replace("0", "") != fold(claim).casefold().replace("0", ""):
        assert judge(changed, passage, facts=()) != ()
    both = Source(NOTICE, 1, f"It says {changed} here.")
    assert judge(changed, passage, both, facts=()) == ()


@given(DATES)
def test_every_spelling_of_a_date_is_the_date_and_no_other(day: date) -> None:
    passage = Source(RULE, 1, f"It binds from {_written(day)} on.")
    spellings = [
        f"{day.day} {day:%B} {day.year}",
        day.isoformat(),
        f"{day.month:02}/{day.day:02}/{day.year}",
        f"{day:%b}. {day.day}, {day.year}",
        f"{day.day}-{day:%b}-{day.year}",
    ]
    for spelling in spellings:
        assert judge(spelling, passage, facts=()) == ()
        assert judge(spelling.replace(str(day.year), str(day.year + 1)), passage, facts=()) != ()


@given(
    st.permutations(PASSAGES),
    st.permutations(FACTS),
    st.sampled_from([t for ts in ALLOWED.values() for t in ts] + [t for cs in REFUSED.values() for t, _ in cs]),
)
def test_the_order_of_passages_and_facts_changes_nothing(passages: list[Source], facts: list[str], text: str) -> None:
    assert unsourced(text, passages=passages, facts=facts) == judge(text)
    assert unsourced(text, passages=[*passages, *passages], facts=[*facts, *facts]) == judge(text)


@given(
    st.sampled_from([text for texts in ALLOWED.values() for text in texts]),
    st.lists(
        st.builds(
            Source,
            st.from_regex(r"[a-z]{2,8}-?[0-9]{0,4}\.pdf", fullmatch=True),
            st.integers(1, 4),
            st.text(max_size=80),
        ),
        max_size=3,
    ),
    st.lists(st.text(max_size=40), max_size=2),
)
def test_more_sources_never_make_a_grounded_text_unsourced(text: str, more: list[Source], facts: list[str]) -> None:
    assert unsourced(text, passages=[*more, *PASSAGES], facts=[*facts, *FACTS]) == ()


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=200), st.booleans())
def test_any_text_gets_an_answer_and_stands_in_itself(text: str, fragment: bool) -> None:
    judge(text, fragment=fragment)
    assert unsourced(text, passages=(), facts=(text.strip(),)) == ()


@given(st.text(alphabet="0123456789abETX -/.,:()$%§\n", max_size=60))
def test_every_digit_belongs_to_a_claim(text: str) -> None:
    folded = fold(text)
    said = read(folded)
    covered = {i for claim in (*said.claims, *said.prose) for i in range(claim.start, claim.end)}
    assert [i for i, character in enumerate(folded) if character.isdigit() and i not in covered] == []
    assert all(claim.text for claim in said.claims if claim.kind == TOKEN)


@given(
    st.sampled_from([text for texts in ALLOWED.values() for text in texts if text.strip()]),
    st.sampled_from(["999-ZZ", "May 5, 1999", "$7", "99 FR 9"]),
)
def test_one_unsourced_claim_is_named_in_any_company(text: str, claim: str) -> None:
    assert claim in judge(f"{text}\n\nIt is also known: {claim}.")


HOSTILE = {
    "one word": "a",
    "digits": "1",
    "brackets": "(",
    "blanks": " \u00a0",
    "file names": "a.pdf ",
    "pages": "p. 1 ",
    "page lists": "pages 1, 2, ",
    "ranges": "1-2:",
    "dots": "1.",
    "hyphens": "a1-",
    "number words": "two hundred and ",
    "ones": "one ",
    "dates": "March 24, 2020 ",
    "half dates": "March 2 ",
    "open": "(March 24, 2020 ",
    "schedules": "II, III, ",
    "sections": "§ 1(a)",
    "paragraphs": "(a)",
    "dashes": "- ",
    "invisible": "a\u200b",
    "look-alikes": "Щ1",
    "sentences": "a. ",
    "capitals": "1 A B C ",
    "amounts": "$1 ",
    "cited": f"March 24, 2020 ({RULE}, page 2). ",
}


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("end", ["", " x"])
def test_twenty_thousand_characters_of_anything_are_judged_in_time(unit: str, end: str) -> None:
    """Twice the text takes about twice the time: measured in processor time, with room for a busy machine."""

    def seconds(length: int) -> float:
        text = (unit * length)[:length] + end
        started = time.process_time()
        judge(text)
        return time.process_time() - started

    small, large = seconds(10_000), seconds(20_000)
    assert large < max(4.5 * small, 1.0) and large < 6.0


def test_too_many_citations_are_refused_and_not_compared_with_each_other() -> None:
    assert judge(f"{RULE}, page 1. " * MOST_REFERENCES) == (f"more than {MOST_REFERENCES} documents and pages",)
