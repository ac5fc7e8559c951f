"""Characters, hyphens at line ends and page furniture."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.domain.text import (
    LINE_BREAK_HYPHEN,
    Furniture,
    dehyphenate,
    is_furniture,
    join_lines,
    joins_words,
    learn_furniture,
    leftover_hyphens,
    normalise,
    vocabulary,
)

ANY_TEXT = st.text(st.characters(exclude_categories=[]), max_size=300)
SHARP = st.text(st.sampled_from("ab Z9-–—\u00ad\ufffe\n\r\t\u00a0\u2028\ufb01\u200b\x00‘’.:/@•\ud800"), max_size=120)
WORDS = st.text(st.sampled_from("abcdeXY 59-–.\n" + LINE_BREAK_HYPHEN), max_size=80)


@given(ANY_TEXT | SHARP)
def test_normalising_twice_changes_nothing_more(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once


@given(ANY_TEXT | SHARP)
def test_stored_text_can_be_stored(text: str) -> None:
    """No NUL, no lone surrogate, no control but the line end: Postgres and JSON take what is left."""
    stored = normalise(text)
    stored.encode("utf-8")
    assert not [
        character for character in stored if unicodedata.category(character) in ("Cc", "Cs") and character != "\n"
    ]


@given(ANY_TEXT | SHARP)
def test_no_line_begins_or_ends_with_a_blank_and_at_most_one_empty_line_stands_between_two(text: str) -> None:
    stored = normalise(text)
    assert "\n\n\n" not in stored and stored == stored.strip()
    assert all(line == line.strip(" ") and "  " not in line for line in stored.split("\n"))


@given(st.text(st.sampled_from("ab9 –—-\n"), max_size=100))
def test_no_dash_is_lost_or_made(text: str) -> None:
    stored = normalise(text)
    assert [stored.count(dash) for dash in "-–—"] == [text.count(dash) for dash in "-–—"]


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("e\ufb03cient o\ufb03ce \ufb01ll", "efficient office fill"),
        ("460–ET and 460-ET", "460–ET and 460-ET"),
        ("adminis\u00adtrative", "administrative"),
        ("adminis\u00ad\ntrative", "administrative"),
        ("a ‘‘partial fill,’’ or", "a “partial fill,” or"),
        ("no\u00a0break\u2009thin\u3000wide", "no break thin wide"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("a\x00b\ud800c", "abc"),
        ("\uf0b7 item", "• item"),
        ("one\r\ntwo\rthree\u2028four", "one\ntwo\nthree\nfour"),
        ("cafe\u0301", "café"),
        ("x² § 5 ½", "x² § 5 ½"),
    ],
)
def test_characters_become(written: str, stored: str) -> None:
    assert normalise(written) == stored


KNOWN = frozenset(
    vocabulary(["The party told a third person to require over-the-counter administrative re-entry of work around"])
)


@pytest.mark.parametrize(
    ("before", "after", "joins"),
    [
        ("its adminis", "trative burden", True),
        ("adminis", "trative", True),  # the document writes the word elsewhere
        ("Permitting Require", "ments.", True),  # the second part is no word
        ("a third", "party disclosure", False),  # both are words of the document
        ("over-the", "counter drugs", False),  # written with its hyphens elsewhere
        ("re", "entry", False),  # the hyphenated word is known
        ("a 24", "hour line", False),
        ("460", "ET field", False),
        ("non", "Federal entities", False),
        ("https://example.org/about-the", "epidemic/index.html", False),
        ("mail@some", "where.org", False),
        ("in", "volvement", True),
        ("", "trative", False),
        ("adminis", "", False),
    ],
)
def test_a_hyphen_at_a_line_end_joins_or_stays(before: str, after: str, joins: bool) -> None:
    assert joins_words(before, after, KNOWN) is joins


def test_the_vocabulary_leaves_out_what_it_is_asked_about() -> None:
    """Neither half of a broken word counts as a word that the document writes."""
    known = vocabulary(
        ["to require adminis-", "trative work", f"and Permit{LINE_BREAK_HYPHEN}ting rules", "third-party"]
    )
    assert {"require", "work", "rules", "third-party", "third", "party"} <= known
    assert not {"adminis", "trative", "permit", "ting"} & known


@given(WORDS, st.frozensets(st.text("abcde", min_size=1, max_size=4)))
def test_no_line_break_mark_is_left_and_no_letter_is_lost(text: str, known: frozenset[str]) -> None:
    joined = dehyphenate(text, known)
    assert LINE_BREAK_HYPHEN not in joined

    def letters(value: str) -> str:
        return "".join(character for character in value if character.isalnum())

    assert letters(joined) == letters(text)


@pytest.mark.parametrize(
    ("lines", "paragraph"),
    [
        (["one", "two "], "one two"),
        (["the adminis-", "trative part"], "the administrative part"),
        ([f"the adminis{LINE_BREAK_HYPHEN}", "trative part"], "the administrative part"),
        ([f"the adminis{LINE_BREAK_HYPHEN}trative part"], "the administrative part"),
        (["(460–", "ET) field"], "(460–ET) field"),
        (["quantities—", "Dispensing Status"], "quantities—Dispensing Status"),
        (["a new Part C –", "Administrative"], "a new Part C – Administrative"),
        (["see https://", "oig.example/oei/ ", "report.asp."], "see https://oig.example/oei/report.asp."),
        (["either/", "or"], "either/ or"),
        (["", "  ", "text"], "text"),
        ([], ""),
    ],
)
def test_lines_become_one_paragraph(lines: list[str], paragraph: str) -> None:
    assert join_lines(lines, frozenset()) == paragraph


@pytest.mark.parametrize(
    "text", ["adminis\ufffetrative", "adminis\u00adtrative", "adminis-\ntrative", "adminis- trative"]
)
def test_a_leftover_line_break_hyphen_is_found(text: str) -> None:
    assert leftover_hyphens(f"before {text} after")


@pytest.mark.parametrize(
    "text",
    ["third-party", "460-ET", "over- or inappropriate", "short- and long-term", "Part C - old", "- item", "June 1-\n3"],
)
def test_a_hyphen_of_the_writer_is_no_leftover(text: str) -> None:
    assert leftover_hyphens(text) == ()


HEADS = [
    ["4236 Federal Register / Vol. 85", "Rules"],
    ["Federal Register / Vol. 85 4237"],
    ["4238 Federal Register / Vol. 85"],
]


def test_running_heads_are_what_returns_in_the_margins_whatever_their_numbers() -> None:
    learned = learn_furniture(HEADS)
    assert is_furniture("4238 Federal Register / Vol. 85", page=3, in_margin=True, furniture=learned)
    assert not is_furniture("4238 Federal Register / Vol. 85", page=3, in_margin=False, furniture=learned)
    assert not is_furniture("Rules", page=1, in_margin=True, furniture=learned)


def test_one_page_alone_has_no_running_head() -> None:
    assert not is_furniture(
        "A title at the top", page=1, in_margin=True, furniture=learn_furniture([["A title at the top"]])
    )


def test_a_bare_number_is_furniture_only_if_it_counts_along_with_the_pages() -> None:
    learned = learn_furniture([["101"], ["102", "812"], ["103"]])
    assert is_furniture("102", page=2, in_margin=True, furniture=learned)
    assert not is_furniture("812", page=2, in_margin=True, furniture=learned)
    assert is_furniture("1", page=1, in_margin=True, furniture=Furniture())
    assert not is_furniture("2020", page=1, in_margin=True, furniture=Furniture())


@pytest.mark.parametrize("line", ["Page 3", "- 3 -", "3 of 12", "page 3/12"])
def test_a_page_number_in_words_is_furniture(line: str) -> None:
    assert is_furniture(line, page=9, in_margin=True, furniture=Furniture())


def test_the_imprint_is_furniture_wherever_it_stands() -> None:
    imprint = "VerDate Sep<11>2014 15:58 Jan 23, 2020 Jkt 250001 PO 00000 Frm 00046 Fmt 4700 Sfmt 4700"
    assert is_furniture(imprint, page=1, in_margin=False, furniture=Furniture())
