"""Characters, hyphens at line ends and page furniture."""

from __future__ import annotations

import textwrap
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.domain.text import (
    LINE_BREAK_HYPHEN,
    Furniture,
    Margins,
    closes_register_document,
    dehyphenate,
    foreign_lines,
    furniture_key,
    garbled,
    is_furniture,
    is_register_page,
    join_lines,
    joins_words,
    learn_furniture,
    leftover_hyphens,
    mark_hyphens,
    normalise,
    unwrap,
    vocabulary,
    write_raised,
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


def raised(marked: str) -> tuple[str, list[bool]]:
    """Text and mask of a line in which braces stand around what is raised."""
    text, mask, high = "", [], False
    for character in marked:
        if character in "{}":
            high = character == "{"
        else:
            text += character
            mask.append(high)
    return text, mask


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("no refills.{2} The next", "no refills.[2] The next"),
        ("of the Act{1} says", "of the Act[1] says"),
        ("on October 26, 2017.{9} The", "on October 26, 2017.[9] The"),
        ("the “street.” {4}", "the “street.” [4]"),
        ("request #1182 {7} to", "request #1182 [7] to"),
        ("as said,{1,2} and", "as said,[1,2] and"),
        ("as said,{10–12} and", "as said,[10–12] and"),
        ("{10}https://example.org", "[10] https://example.org"),
        ("{2} A note", "[2]  A note"),
        ("about 10{6} claims", "about 10⁶ claims"),
        ("about 10{-6} parts", "about 10⁻⁶ parts"),
        ("an area of 5 m{2} or 3 km{2}", "an area of 5 m² or 3 km²"),
        ("let x{2} be", "let x² be"),
        ("a 3{1}/2 inch", "a 3 1/2 inch"),
        ("a 3{1}⁄2 inch", "a 3 1⁄2 inch"),
        ("the 1{st} of May", "the 1st of May"),
        ("Filewright{TM} is", "FilewrightTM is"),
        ("Total{a} of", "Total[a] of"),
        ("see Note{*} below", "see Note* below"),
        ("Version D.0 of", "Version D.0 of"),
        ("{2}", "2"),
        ("", ""),
    ],
)
def test_raised_characters_are_written(line: str, written: str) -> None:
    text, mask = raised(line)
    assert write_raised(text, mask) == written


def test_a_number_after_a_year_is_a_mark_where_the_page_has_that_footnote() -> None:
    text, mask = raised("since 2017{3} the")
    assert write_raised(text, mask, frozenset({"3"})) == "since 2017[3] the"
    assert write_raised(text, mask, frozenset({"4"})) == "since 2017³ the"


PLAIN_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")


@given(
    st.lists(st.tuples(st.sampled_from("abmkT.,)”/ 0123456789-–*"), st.booleans()), max_size=40),
    st.frozensets(st.sampled_from("0123456789")),
)
def test_no_character_of_a_line_is_lost_or_moved_and_no_number_changes(
    characters: list[tuple[str, bool]], notes: frozenset[str]
) -> None:
    """Only blanks and brackets are added, and what follows a digit directly is never a digit of another size."""
    text, mask = "".join(character for character, _ in characters), [high for _, high in characters]
    written = write_raised(text, mask, notes)

    def told(value: str) -> str:
        return "".join(c for c in value.translate(PLAIN_DIGITS).replace("–", "-") if c not in " []")

    assert told(written) == told(text)
    if not any(mask):
        assert written == text
    for run in ("1", "23"):
        assert write_raised("word" + run, [False] * 4 + [True] * len(run)) == f"word[{run}]"


@pytest.mark.parametrize(
    ("text", "is_garbled"),
    [
        ("\ufffd" * 30, True),
        ("\ue012\ue013 \ue014" * 10 + "ab", True),
        ("\x01\x02\x03" * 10, True),
        ("A sentence with a bullet \uf0b7 and a box \ufffd in it, otherwise readable.", False),
        ("\ufffd\ufffd", False),
        ("Ein Satz mit Umlauten: äöü ß – und so weiter und so fort.", False),
        ("法規の本文はここにあります。これは文章です。とても長いです。", False),
        ("", False),
    ],
)
def test_a_text_layer_without_meaning_is_garbled(text: str, is_garbled: bool) -> None:
    assert garbled(text) is is_garbled


END = ["[FR Doc. 2020–00549 Filed 1–23–20; 8:45 am]", "BILLING CODE 6560–50–P"]
BROKEN_END = ["[FR Doc. 2020–00549 Filed 1–23–20;", "8:45 am]", "BILLING CODE 6560–50–P"]
OWN = ["DEPARTMENT OF SOMETHING", "AGENCY: Somebody.", "ACTION: Final rule.", "text", "text"]


@pytest.mark.parametrize("end", [END, BROKEN_END, END[:1], END[1:]])
def test_text_before_the_documents_own_beginning_is_foreign(end: list[str]) -> None:
    page = ["a table's end", "more", *end, *OWN]
    assert page[slice(*foreign_lines(page, first=True, last=False))] == OWN


def test_text_after_the_documents_own_end_is_foreign() -> None:
    page = ["last words", *BROKEN_END, "DEPARTMENT OF ANOTHER", "AGENCY: Another.", *END, "and a third"]
    assert page[slice(*foreign_lines(page, first=False, last=True))] == ["last words", *BROKEN_END]


def test_a_document_of_one_page_is_cut_at_both_ends_if_only_one_begins_there() -> None:
    page = ["foreign", *END, *OWN, *END, "foreign again"]
    assert page[slice(*foreign_lines(page, first=True, last=True))] == [*OWN, *END]
    two = [*page, "AGENCY: Another."]
    assert foreign_lines(two, first=True, last=True) == (0, len(two))


@pytest.mark.parametrize(
    ("page", "first", "last"),
    [
        (["text", *END, "text"], False, False),  # a page between the first and the last
        (OWN, True, False),  # nothing foreign
        ([*OWN, *END], False, True),
        ([*OWN, *END], True, False),  # all would go
        ([*OWN, *END, "text without a beginning"], True, False),  # the beginning would go
        ([], True, True),
    ],
)
def test_nothing_is_cut_where_nothing_is_foreign(page: list[str], first: bool, last: bool) -> None:
    assert foreign_lines(page, first=first, last=last) == (0, len(page))


LINES = st.lists(st.sampled_from([*END, *BROKEN_END, *OWN, "text"]), max_size=14)


@given(LINES, st.booleans(), st.booleans())
def test_the_own_part_is_one_piece_and_cutting_it_again_keeps_the_beginning(
    page: list[str], first: bool, last: bool
) -> None:
    start, stop = foreign_lines(page, first=first, last=last)
    assert 0 <= start <= stop <= len(page)
    assert start == 0 or closes_register_document(page[start - 1]) or "]" in page[start - 1]
    if first and not last:
        again = page[start:stop]
        assert foreign_lines(again, first=True, last=False)[1] == len(again)


def test_only_the_registers_own_lines_close_a_document() -> None:
    assert all(closes_register_document(line) for line in (END[0], END[1], " BILLING CODE 4120–01–P"))
    assert not any(
        closes_register_document(line)
        for line in ("see [FR Doc. 2020]", "the BILLING CODE", "Billing code 41", "8:45 am]")
    )
    assert is_register_page(["x", "4236 Federal Register / Vol. 85, No. 16"]) and not is_register_page(
        ["the Federal Register"]
    )


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=12), min_size=1, max_size=60), st.integers(40, 100))
def test_what_was_wrapped_is_unwrapped(words: list[str], width: int) -> None:
    wrapped = textwrap.fill(" ".join(words), width)
    wide = max(map(len, wrapped.split("\n"))) >= 40
    assert unwrap(wrapped) == (" ".join(words) if wide else wrapped)
    assert unwrap(unwrap(wrapped)) == unwrap(wrapped)


@pytest.mark.parametrize(
    "block",
    [
        "2020 Mar 24   Rule A is adopted by the Secretary\n2021 May 1    Rule B",
        "first line of an address that is long\nsecond\nthird",
        "- an item that is as long as any line here\n- another item of the list",
        "short\nlines",
    ],
)
def test_rows_lists_and_short_lines_stay_lines(block: str) -> None:
    assert unwrap(block) == block


@given(st.text("ab1-– \n", max_size=60))
def test_marking_hyphens_loses_no_letter_and_leaves_none_at_a_line_end(text: str) -> None:
    marked = mark_hyphens(text)
    assert [c for c in marked if c.isalnum()] == [c for c in text if c.isalnum()]
    assert mark_hyphens(marked) == marked


def test_the_head_of_a_long_chapter_runs_though_it_is_on_few_of_all_pages() -> None:
    learned = Margins()
    for page in range(1, 301):
        learned.add(
            [f"{page} Chapter {'ABCDEFGHIJ'[page // 30 % 10]}" if page % 2 else f"Title {page}", f"unique {'x' * page}"]
        )
    found = learned.furniture()
    assert is_furniture("77 Chapter C", page=77, in_margin=True, furniture=found)
    assert not is_furniture("unique xxx", page=3, in_margin=True, furniture=found)


def test_a_numbering_that_begins_anew_in_each_chapter_is_page_numbers() -> None:
    learned = learn_furniture([[str((page - 1) % 25 + 1)] for page in range(1, 101)])
    assert is_furniture("3", page=78, in_margin=True, furniture=learned)


@given(st.lists(st.lists(st.sampled_from(["Head 1", "Head 2", "12", "13", "body"]), max_size=3), max_size=12))
def test_a_line_of_one_page_alone_never_runs(pages: list[list[str]]) -> None:
    learned = learn_furniture(pages)
    for key in learned.running:
        assert sum(any(furniture_key(line) == key for line in page) for page in pages) >= 2


@pytest.mark.parametrize(
    ("before", "after", "joins"),
    [
        ("a third", "party payer", False),
        ("the self", "insured plan", False),
        ("of two", "thirds", False),
        ("the four", "teen states", True),
        ("his self", "less work", True),
        ("a third", "ly", True),
    ],
)
def test_numerals_and_self_keep_their_hyphen_without_a_witness(before: str, after: str, joins: bool) -> None:
    assert joins_words(before, after, frozenset()) is joins
