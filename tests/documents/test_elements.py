"""Text, Markdown, HTML and Word files: rows of tables, raised marks, broken lines."""

from __future__ import annotations

import pytest
from docx import Document
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from hypothesis import given
from hypothesis import strategies as st

from tasks.documents import Status, read_pages
from tasks.documents.elements import rows_of, with_whole_rows
from tests.documents.conftest import Bench

WORD = st.text("abcdXYZ019-", min_size=1, max_size=6)


def paragraphs(bench: Bench, name: str, content: str) -> list[str]:
    result = read_pages(bench.file(name, content.encode()), name)
    assert result.status is Status.OK, result.reason
    return result.pages[0].text.split("\n\n")


TABLE = """<p>Before</p><table><thead><tr><th>Date</th><th>Law</th></tr></thead><tbody>
<tr><td rowspan="2">Mar 24,
 2020</td><td>Rule <b>A</b></td></tr><tr><td>Rule B</td></tr>
<tr><td>May 1, 2021</td><td>Rule C<br>second line</td></tr><tr><td colspan="2">Both</td></tr></tbody></table><p>After</p>"""


def test_a_table_of_a_web_page_is_one_element_a_row_and_a_date_stays_with_each_of_its_laws(bench: Bench) -> None:
    assert paragraphs(bench, "a.html", TABLE) == [
        "Before",
        "Date | Law",
        "Mar 24, 2020 | Rule A",
        "Mar 24, 2020 | Rule B",
        "May 1, 2021 | Rule C second line",
        "Both",
        "After",
    ]


def test_a_table_of_a_word_file_is_one_element_a_row(bench: Bench) -> None:
    document = Document()
    table = document.add_table(3, 2)
    for row, column, text in ((0, 0, "Date"), (0, 1, "Law"), (1, 1, "Rule A\nsecond line"), (2, 1, "Rule B")):
        table.cell(row, column).text = text
    table.cell(1, 0).merge(table.cell(2, 0)).text = "Mar 24, 2020"
    document.save(str(bench.folder / "a.docx"))
    assert read_pages(bench.folder / "a.docx", "a.docx").pages[0].text.split("\n\n") == [
        "Date | Law",
        "Mar 24, 2020 | Rule A second line",
        "Mar 24, 2020 | Rule B",
    ]


def test_a_table_in_markdown_is_one_element_a_row(bench: Bench) -> None:
    table = "| Date | Law |\n|---|---|\n| Mar 24, 2020 | Rule A |\n| May 1, 2021 | Rule B |\n"
    assert paragraphs(bench, "a.md", table) == ["Date | Law", "Mar 24, 2020 | Rule A", "May 1, 2021 | Rule B"]


def test_rows_of_a_plain_text_stay_rows_and_wrapped_prose_becomes_one_paragraph(bench: Bench) -> None:
    text = (
        "The rule reduces the adminis-\ntrative burden of a third-\nparty payer.\n\n"
        "This is a paragraph that an editor wrapped at some\nwidth, so that each of its lines is as long as it could\n"
        "be, and only the last one is not.\n\n"
        "2020 Mar 24   Rule A\n2021 May 1    Rule B\n"
    )
    assert paragraphs(bench, "a.txt", text) == [
        "The rule reduces the administrative burden of a third-party payer.",
        "This is a paragraph that an editor wrapped at some width, so that each of its lines is as long as it could "
        "be, and only the last one is not.",
        "2020 Mar 24 Rule A",
        "2021 May 1 Rule B",
    ]


@pytest.mark.parametrize("name", ["a.html", "a.md", "a.txt"])
def test_a_word_that_an_editor_broke_is_whole(bench: Bench, name: str) -> None:
    assert paragraphs(bench, name, "It lowers the adminis-\ntrative burden of 24-\nhour lines.") == [
        "It lowers the administrative burden of 24-hour lines."
    ]


def test_raised_numbers_are_marks_or_powers(bench: Bench) -> None:
    page = (
        "<p>No refills.<sup>2</sup> The Act<sup><a href='#n1'>1</a></sup> has 10<sup>6</sup> pages, "
        "5 m<sup>2</sup>, the 1<sup>st</sup>.</p>"
    )
    written = "No refills.[2] The Act[1] has 10⁶ pages, 5 m², the 1st."
    assert paragraphs(bench, "a.html", page) == [written]
    document = Document()
    paragraph = document.add_paragraph()
    for text, raised in (
        ("No refills.", False), ("2", True), (" The Act", False), ("1", True), (" has 10", False), ("6", True),
        (" pages, 5 m", False), ("2", True), (", the 1", False), ("st", True), (".", False),
    ):  # fmt: skip
        paragraph.add_run(text).font.superscript = raised
    document.save(str(bench.folder / "a.docx"))
    assert read_pages(bench.folder / "a.docx", "a.docx").pages[0].text == written


def test_the_head_and_foot_of_a_word_file_are_furniture(bench: Bench) -> None:
    document = Document()
    document.sections[0].header.paragraphs[0].text = "Running head"
    document.sections[0].footer.paragraphs[0].text = "Running foot"
    document.add_paragraph("The text of the document.")
    document.save(str(bench.folder / "a.docx"))
    result = read_pages(bench.folder / "a.docx", "a.docx")
    assert result.pages[0].text == "The text of the document."
    assert set(result.furniture) == {"Running head", "Running foot"}


@given(st.lists(st.lists(WORD, min_size=1, max_size=4), min_size=1, max_size=5))
def test_no_cell_is_lost_or_moved(rows: list[list[str]]) -> None:
    table = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    assert rows_of(f"<table>{table}</table>") == [" | ".join(row) for row in rows]


@given(st.integers(1, 5), st.integers(1, 9))
def test_a_cell_that_spans_rows_stands_in_each_of_them_and_in_no_other(before: int, span: int) -> None:
    rows = [f"<tr><td>d{n}</td><td>l{n}</td></tr>" for n in range(before)]
    rows += [f"<tr><td rowspan={span}>long</td><td>s0</td></tr>", *(f"<tr><td>s{n}</td></tr>" for n in range(1, span))]
    found = rows_of("<table>" + "".join(rows) + "<tr><td>z</td><td>z</td></tr></table>")
    assert found[before:-1] == [f"long | s{n}" for n in range(span)] and found[-1] == "z | z"


@pytest.mark.parametrize(
    "page",
    [
        "",
        " ",
        "<",
        "\x00",
        "<table><tr><td rowspan='99999999999'>a</td></tr></table>",
        "<sup>1</sup>",
        "<table><tr><td rowspan=-1>a<table><tr><td rowspan=2>b</td></tr></table>",
    ],
)
def test_an_odd_web_page_is_no_exception(page: str) -> None:
    assert isinstance(with_whole_rows(page), str)


@pytest.mark.parametrize(
    "page",
    [
        "<body><form id='aspnet'><div><p>Rule A applies.</p></div></form>",
        "<body><details><summary>Rule A</summary>applies.</details>",
        "<body><p>Before.</p><main><p>Rule B applies.</p></main><p>Rule A applies.</p>",
        "<body><figure><table><tr><td>Rule A</td><td>applies</td></tr></table><figcaption>Rules</figcaption></figure>",
        "<body><table><caption>Rule A applies to</caption><tr><td>all</td></tr></table>",
        "<body><label>Rule A</label> applies.",
        "<body><p>Rule B.</p></body></html>\n<p>Rule A applies.</p>",
        "<?xml version='1.0' encoding='utf-8'?><html><body><form><p>Rule A applies.</p></form></body></html>",
    ],
)
def test_what_a_browser_shows_of_a_page_is_read_wherever_it_stands(page: str, bench: Bench) -> None:
    text = " ".join(paragraphs(bench, "a.html", page))
    assert "Rule A" in text and "applies" in text


@pytest.mark.parametrize(
    "lost", ["<div>" * 3_000 + "<p>Deepword.</p>", f"<p>{'Longword ' * 1_200_000}</p><p>Deepword.</p>"]
)
def test_what_the_parser_gives_up_on_is_told(lost: str, bench: Bench) -> None:
    page = f"<body><p>Rule A.</p>{lost}"
    result = read_pages(bench.file("a.html", page.encode()), "a.html")
    assert "Deepword" in " ".join(page.text for page in result.pages) or "left out: " in result.reason


@pytest.mark.parametrize(
    ("declared", "content"),
    [("iso-8859-1", b"Form 460\x96ET"), ("us-ascii", b"Form 460\x96ET"), ("utf-16", "Form 460–ET".encode())],
)
def test_an_encoding_is_what_browsers_take_its_declaration_for(declared: str, content: bytes, bench: Bench) -> None:
    page = b"<html><head><meta charset='%s'></head><body><p>%s</p>" % (declared.encode(), content)
    assert read_pages(bench.file("a.html", page), "a.html").pages[0].text == "Form 460–ET"


RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
WORD_FILE = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def word_file(bench: Bench, *blocks: str, footnotes: str = "") -> str:
    """Write a Word file with these blocks of XML; returns the text that is read, or the reason."""
    document = Document()
    for block in blocks:
        document.element.body.insert(len(document.element.body) - 1, parse_xml(block.replace(">", f" {WORD_FILE}>", 1)))
    if footnotes:
        name = PackURI("/word/footnotes.xml")
        kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
        content = f"<w:footnotes {WORD_FILE}>{footnotes}</w:footnotes>".encode()
        document.part.relate_to(Part(name, kind, content, document.part.package), f"{RELATIONS}/footnotes")
    document.save(str(bench.folder / "a.docx"))
    result = read_pages(bench.folder / "a.docx", "a.docx")
    assert "left out" not in result.reason
    return result.pages[0].text if result.pages else result.reason


RUN = "<w:r><w:t>Rule A.</w:t></w:r>"


@pytest.mark.parametrize(
    "block",
    [
        f"<w:p><w:ins w:id='1' w:author='a'>{RUN}</w:ins></w:p>",
        f"<w:p><w:ins w:id='1' w:author='a'><w:smartTag w:element='date'>{RUN}</w:smartTag></w:ins></w:p>",
        f"<w:p><w:moveTo w:id='1' w:author='a'>{RUN}</w:moveTo></w:p>",
        f"<w:sdt><w:sdtPr/><w:sdtContent><w:p>{RUN}</w:p></w:sdtContent></w:sdt>",
        f"<w:p><w:sdt><w:sdtContent>{RUN}</w:sdtContent></w:sdt></w:p>",
        f"<w:p><w:fldSimple w:instr='DATE'>{RUN}</w:fldSimple></w:p>",
        f"<w:tbl><w:tr><w:tc><w:sdt><w:sdtContent><w:p>{RUN}</w:p></w:sdtContent></w:sdt></w:tc></w:tr></w:tbl>",
        f"<w:p><w:r><w:pict><w:txbxContent><w:p>{RUN}</w:p></w:txbxContent></w:pict></w:r></w:p>",
    ],
)
def test_text_of_a_word_file_is_read_whatever_it_is_wrapped_in(block: str, bench: Bench) -> None:
    after = "<w:p><w:r><w:t>After.</w:t></w:r></w:p>"
    assert word_file(bench, block, after) == "Rule A.\n\nAfter."


def test_deleted_text_of_a_word_file_is_none(bench: Bench) -> None:
    gone = "<w:p><w:r><w:t>Rule </w:t></w:r><w:del w:id='1' w:author='a'><w:r><w:delText>B</w:delText></w:r></w:del>"
    moved = f"<w:moveFrom w:id='2' w:author='a'>{RUN}</w:moveFrom><w:r><w:t>C.</w:t></w:r></w:p>"
    assert word_file(bench, gone + moved) == "Rule C."


def test_a_footnote_of_a_word_file_stands_after_what_refers_to_it_with_its_mark(bench: Bench) -> None:
    def mark(number: int) -> str:
        return f"<w:r><w:rPr><w:vertAlign w:val='superscript'/></w:rPr><w:footnoteReference w:id='{number}'/></w:r>"

    notes = "".join(
        f"<w:footnote w:id='{number}'><w:p><w:r><w:footnoteRef/></w:r><w:r><w:t>Note {number}.</w:t></w:r></w:p></w:footnote>"
        for number in (2, 3)
    )
    text = word_file(
        bench,
        f"<w:p>{RUN}{mark(2)}<w:r><w:t> More.</w:t></w:r>{mark(3)}</w:p>",
        "<w:p><w:r><w:t>After.</w:t></w:r></w:p>",
        footnotes=f"<w:footnote w:type='separator' w:id='0'><w:p/></w:footnote>{notes}",
    )
    assert text == "Rule A.[1] More.[2]\n\n[1] Note 2.\n\n[2] Note 3.\n\nAfter."


def test_html_within_markdown_is_read_like_a_web_page(bench: Bench) -> None:
    text = "# Rules\n\n<details><summary>Rule A</summary>\n\napplies to all.\n\n</details>\n\nAfter.\n"
    assert " ".join(paragraphs(bench, "a.md", text)) == "Rules Rule A applies to all. After."
