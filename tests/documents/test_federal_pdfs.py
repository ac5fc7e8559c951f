"""The three federal PDFs as they come: order, paragraphs, rows, furniture. Holds figures and short patterns, never their sentences."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tasks.documents import ReadResult, read_pages
from tasks.domain.chunking import chunk_page

RULE = "cms-0055-f-ncpdp-d0-final-rule-2020.pdf"
BULLETIN = "cms-hipaa-d0-information-bulletin-2020.pdf"
TIMELINE = "cms-hipaa-statutes-timeline-2021.pdf"


@pytest.fixture(scope="module")
def read(federal_pdfs: dict[str, Path]) -> dict[str, ReadResult]:
    return {name: read_pages(path, name) for name, path in federal_pdfs.items()}


def paragraphs(result: ReadResult, page: int) -> list[str]:
    return result.pages[page - 1].text.split("\n\n")


def test_every_page_is_there(read: dict[str, ReadResult]) -> None:
    assert {name: len(result.pages) for name, result in read.items()} == {RULE: 7, BULLETIN: 2, TIMELINE: 2}


def test_the_dates_stand_in_paragraphs_of_their_own(read: dict[str, ReadResult]) -> None:
    first = paragraphs(read[RULE], 1)
    dates = [text for text in first if "March 24, 2020" in text or "September 21, 2020" in text]
    assert len(dates) == 2 and all(len(text) < 100 for text in dates)
    order = [
        next(n for n, text in enumerate(first) if text.startswith(head))
        for head in ("AGENCY:", "ACTION:", "SUMMARY:", "DATES:")
    ]
    assert order == sorted(order)


def test_one_chunk_holds_both_dates_and_little_else(read: dict[str, ReadResult]) -> None:
    chunks = [
        chunk
        for chunk in chunk_page(read[RULE].pages[0])
        if "March 24, 2020" in chunk.text and "September 21" in chunk.text
    ]
    assert chunks and min(len(chunk.text) for chunk in chunks) < 400


def test_dashes_are_kept_as_each_document_writes_them(read: dict[str, ReadResult]) -> None:
    for page in read[RULE].pages:
        assert "460–ET" in page.text and "460-ET" not in page.text and not re.search(r"460–\s", page.text)
    assert "(460-ET)" in read[BULLETIN].pages[0].text and "460–ET" not in read[BULLETIN].pages[0].text


def test_the_timeline_is_read_row_by_row(read: dict[str, ReadResult]) -> None:
    """Each row begins with its date and holds its own last cell; no date opens a second row."""
    rows = [
        row
        for page in (1, 2)
        for row in paragraphs(read[TIMELINE], page)
        if re.match(r"(19|20)\d\d [A-Z][a-z]{2} \d", row)
    ]
    assert len(rows) == 27
    by_date = {re.match(r"\S+ \S+ \S+", row).group(): row for row in rows}  # type: ignore[union-attr]
    assert "May 23, 2008" in by_date["2004 Jan 23"]
    assert by_date["2002 May 31"].endswith("July 30, 2002.")
    assert "Nov 5, 2014" in by_date["2012 Sep 5"] and by_date["2012 Sep 5"].endswith("Oct 1, 2014.")
    assert by_date["2012 Aug 10"].endswith("Jan 1, 2014.")


def test_the_end_of_another_agencys_document_is_cut_off_and_told(read: dict[str, ReadResult]) -> None:
    """Page 1 begins with the document itself, page 7 ends with its own end; what was cut can be looked at."""
    first, last = paragraphs(read[RULE], 1), paragraphs(read[RULE], 7)
    assert first[0].startswith("DEPARTMENT OF HEALTH") and "45 CFR Part 162" in first[:4]
    assert last[-1] == "BILLING CODE 4120–01–P" and last[-2].startswith("[FR Doc. 2020–00551")
    joined = " ".join(page.text for page in read[RULE].pages)
    assert "EFSEC" not in joined and "BILLING CODE 6560" not in joined and joined.count("BILLING CODE") == 1
    assert read[RULE].reason == "7 pages read (text of another document cut off from pages: 1)."
    assert any("EFSEC" in line for line in read[RULE].furniture)
    assert "BILLING CODE 6560–50–P" in read[RULE].furniture


def test_footnote_marks_are_no_part_of_a_word_and_footnotes_stand_at_the_end(read: dict[str, ReadResult]) -> None:
    joined = "\n\n".join(page.text for page in read[RULE].pages)
    marks = [int(number) for number in re.findall(r"(?<!\n)\S ?\[(\d{1,2})\]", joined)]
    assert sorted(marks) == list(range(1, 13))
    notes = {n: [p for p in paragraphs(read[RULE], n) if re.match(r"\[\d+\] ", p)] for n in range(1, 8)}
    assert {number: len(found) for number, found in notes.items() if found} == {2: 9, 3: 1, 5: 2}
    for number, found in notes.items():
        assert not found or paragraphs(read[RULE], number)[-len(found) :] == found
    # Facts with digits and points are no marks.
    assert "D.0" in joined and "1306.13" in joined and "(403–D3)" in joined and "#1182 [7]" in joined
    assert not re.search(r"[a-z][.,]?\d{1,2}(?= [A-Z])", " ".join(page.text for page in read[RULE].pages))


def test_headings_and_footnotes_stand_apart(read: dict[str, ReadResult]) -> None:
    second, fifth = paragraphs(read[RULE], 2), paragraphs(read[RULE], 5)
    assert any(re.fullmatch(r"B\. National Committee .{20,60}Recommendation", text) for text in second)
    assert any(text.endswith("opioids/.") and len(text) < 60 for text in fifth)
    assert any(text.startswith("Response:") for text in fifth)


def test_addresses_broken_over_lines_are_whole(read: dict[str, ReadResult]) -> None:
    assert "https://oig.hhs.gov/oei/reports/oei-02-09-00605.asp" in read[RULE].pages[1].text
    assert "http://www.ncvhs.hhs.gov/wp-content/uploads/2014/05/130621lt1.pdf" in read[RULE].pages[1].text


def test_what_was_dropped_is_furniture_and_can_be_looked_at(read: dict[str, ReadResult]) -> None:
    """Seven running heads, seven imprints, one turned line in the rule; page numbers and a running foot in the timeline."""
    kinds = [("head", "Federal Register / Vol"), ("imprint", "VerDate"), ("turned", "with RULES")]
    dropped = read[RULE].furniture
    assert {kind: sum(mark in line for line in dropped) for kind, mark in kinds} == {
        "head": 7,
        "imprint": 7,
        "turned": 1,
    }
    assert len(dropped) == 48, "the 15, and the 33 distinct lines of the other document at the head of page 1"
    assert set(read[TIMELINE].furniture) == {"1", "2", "Updated October 2021"}
    assert read[BULLETIN].furniture == ()


def test_the_corpus_gives_about_as_many_chunks_as_a_plain_splitter(read: dict[str, ReadResult]) -> None:
    """A plain 500/90 splitter makes 165 to 173; far more would mean slivers, far fewer lost text."""
    chunks = [chunk for result in read.values() for page in result.pages for chunk in chunk_page(page)]
    assert 155 <= len(chunks) <= 195
    assert sum(len(chunk.text) < 200 for chunk in chunks) <= 5
