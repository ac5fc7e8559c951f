"""Pages without a text layer are recognised, page by page, and say so."""

from __future__ import annotations

import re

import pytest
from fpdf import FPDF
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tasks.documents.ocr import DPI, NoRecognition, lines_of, recognise, recogniser
from tasks.documents.pdf import MOST_PIXELS, PdfFile
from tasks.documents.read import ReadResult, Status, read_pages
from tests.documents.conftest import Bench, printed

pytestmark = pytest.mark.skipif(not recogniser(), reason="tesseract is not installed")

PROSE = """The final rule reduces the adminis-
trative burden of every pharmacy and
adds the field 460-ET to each claim.
It takes effect on March 24, 2020 and
compliance is due by September 21."""
COLUMNS = (
    "The first column tells of\nthe rule and of its adop-\ntion by the Secretary and\nof everything that was said\nabout it before the",
    "second column began with\nthe comments of the public\nand the answers to them,\nwhich fill the page down\nto its foot, before the",
    "third column closes with\nthe dates on which it takes\neffect and those by which\neverybody has to comply\nwith all of it.",
)


@pytest.fixture(scope="module")
def scanned(tmp_path_factory: pytest.TempPathFactory) -> ReadResult:
    """One column, three columns, one column upside down, a picture without a word, a scan with a stamp that is text."""
    bench = Bench(tmp_path_factory.mktemp("scan"))
    path = bench.scan(
        "scan.pdf",
        printed(PROSE),
        printed(*COLUMNS),
        printed(PROSE).rotate(180),
        Image.new("L", (600, 800), 200),
        printed("A page that somebody stamped when\nit was copied from the archive."),
        text={5: "Copy 17"},
    )
    return read_pages(path, "scan.pdf")


def test_a_scan_is_read_and_says_with_what_confidence(scanned: ReadResult) -> None:
    assert scanned.status is Status.OK
    assert [page.origin for page in scanned.pages] == ["ocr", "ocr", "ocr", "none", "ocr"]
    assert all(page.confidence is not None and 0.8 < page.confidence <= 1.0 for page in scanned.pages if page.text)
    assert re.fullmatch(
        r"5 pages read \(pages without text: 4; pages read by character recognition, mean confidence 0\.\d\d: 1, 2, 3, 5\)\.",
        scanned.reason,
    )


def test_recognised_lines_are_joined_like_printed_ones(scanned: ReadResult) -> None:
    text = scanned.pages[0].text
    assert "the administrative burden of every pharmacy and adds the field 460-ET" in text
    assert "March 24, 2020" in text and "\n" not in text


def test_recognised_columns_are_read_one_after_the_other(scanned: ReadResult) -> None:
    text = " ".join(scanned.pages[1].text.split())
    places = [
        text.find(words)
        for words in ("its adoption by the Secretary", "comments of the public", "comply with all of it")
    ]
    assert -1 not in places and places == sorted(places)


def test_a_page_that_was_scanned_upside_down_is_turned(scanned: ReadResult) -> None:
    assert scanned.pages[2].text == scanned.pages[0].text


def test_a_picture_without_a_word_says_so(scanned: ReadResult) -> None:
    page = scanned.pages[3]
    assert (page.text, page.confidence, page.problem) == ("", None, "no word was recognised on it")


def test_a_stamp_on_a_scan_does_not_hide_the_scan(scanned: ReadResult) -> None:
    assert "somebody stamped when it was copied" in scanned.pages[4].text


def test_a_scanned_page_between_pages_of_text_is_recognised_alone(bench: Bench) -> None:
    """A text file of which a page, or all of it, is replaced by a scan does not empty without a word."""
    pdf = FPDF(unit="pt", format=(612, 792))
    pdf.set_font("helvetica", size=11)
    pdf.add_page()
    pdf.text(60, 300, "The first page is text, with 460-ET in it.")
    pdf.add_page()
    pdf.image(printed(PROSE), x=0, y=0, w=612, h=792)
    pdf.output(str(bench.folder / "a.pdf"))
    result = read_pages(bench.folder / "a.pdf", "a.pdf")
    first, second = result.pages
    assert (first.origin, first.confidence) == ("text", None) and "460-ET" in first.text
    assert second.origin == "ocr" and "administrative" in second.text
    assert result.reason.endswith(": 2).")


def test_a_text_with_a_small_picture_is_not_recognised(bench: Bench) -> None:
    pdf = FPDF(unit="pt", format=(612, 792))
    pdf.set_font("helvetica", size=11)
    pdf.add_page()
    pdf.image(printed(PROSE), x=0, y=0, w=60, h=60)
    pdf.text(60, 780, "A short page")
    pdf.output(str(bench.folder / "a.pdf"))
    assert [page.origin for page in read_pages(bench.folder / "a.pdf", "a.pdf").pages] == ["text"]


def test_a_page_that_takes_too_long_has_a_reason(bench: Bench) -> None:
    with pytest.raises(NoRecognition, match=r"more than 0\.01 seconds"):
        recognise(printed(PROSE), scale=DPI / 72, seconds=0.01)


def test_a_huge_page_is_drawn_small_enough(bench: Bench) -> None:
    """14,400 points are the largest page of PDF 1.6 (ISO 32000-1, annex C): at 300 dots an inch 3.6 thousand million pixels."""
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 14400 14400] >>"
    path = bench.raw("a.pdf", b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>", page)
    with PdfFile(path) as pdf:
        picture, scale = pdf.render(1, DPI)
    assert picture.width * picture.height <= MOST_PIXELS * 1.01 and picture.width == pytest.approx(14400 * scale, abs=2)


def table(words: list[tuple[str, float, int, int]]) -> dict[str, list[object]]:
    """tesseract's table of words from (text, confidence, line, left)."""
    return {
        "block_num": [1] * len(words),
        "par_num": [1] * len(words),
        "line_num": [line for _, _, line, _ in words],
        "text": [text for text, _, _, _ in words],
        "conf": [confidence for _, confidence, _, _ in words],
        "left": [left for _, _, _, left in words],
        "top": [100 * line for _, _, line, _ in words],
        "width": [10 * len(text) for text, _, _, _ in words],
        "height": [30] * len(words),
    }


def test_an_unsure_word_is_kept_and_weighs_by_its_letters() -> None:
    found = lines_of(
        table([("regulation", 90.0, 1, 0), ("of", 10.0, 1, 120), ("", -1.0, 2, 0)]), height=1000, scale=2.0
    )
    assert [line.text for line in found.lines] == ["regulation of"]
    assert found.confidence == pytest.approx((90 * 10 + 10 * 2) / 12 / 100, abs=1e-4)
    assert found.lines[0].baseline == (1000 - 100 - 30) / 2 and found.lines[0].left == 0


@given(
    st.lists(
        st.tuples(st.text("abc9-", max_size=6), st.floats(-1, 100), st.integers(1, 4), st.integers(0, 2000)),
        max_size=12,
    )
)
def test_no_word_is_lost_and_a_confidence_lies_between_0_and_1(words: list[tuple[str, float, int, int]]) -> None:
    found = lines_of(table(words), height=3300, scale=DPI / 72)
    kept = [text for text, confidence, _, _ in words if text and confidence >= 0]
    assert " ".join(line.text for line in found.lines).split() == kept
    assert (found.confidence is None) == (not kept)
    assert found.confidence is None or 0.0 <= found.confidence <= 1.0


def test_a_text_layer_of_codes_without_meaning_is_replaced_by_recognition(bench: Bench) -> None:
    """A font whose table gives private characters: it looks right, and copying it gives nonsense."""
    table = b"begincmap 1 begincodespacerange <00> <ff> endcodespacerange 1 beginbfrange <20> <7e> <e020> endbfrange endcmap"
    drawn = b"BT /F1 14 Tf 60 600 Td (The pharmacy sends the quantity prescribed) Tj 0 -20 Td (with every claim for a partial fill) Tj ET"
    path = bench.raw(
        "a.pdf",
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 5 0 R >> >> /Contents 4 0 R >>",
        b"<< /Length %d >>\nstream\n%b\nendstream" % (len(drawn), drawn),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 6 0 R >>",
        b"<< /Length %d >>\nstream\n%b\nendstream" % (len(table), table),
    )
    (page,) = read_pages(path, "a.pdf").pages
    assert page.origin == "ocr"
    assert page.text == "The pharmacy sends the quantity prescribed with every claim for a partial fill"


@pytest.mark.parametrize("place", [(0, 0, 612, 792), (0, 120, 612, 300)])
@pytest.mark.parametrize("at", [30, 400])
def test_a_picture_of_text_is_read_whatever_is_stamped_or_written_beside_it(
    place: tuple[int, int, int, int], at: int, bench: Bench
) -> None:
    left, top, width, height = place
    pdf = FPDF(unit="pt", format=(612, 792))
    pdf.set_font("helvetica", size=9)
    pdf.add_page()
    picture = printed("The rule that stands in\na picture applies to all\nof the pharmacies.", size=60)
    pdf.image(picture.crop((0, 0, picture.width, picture.width * height // width)), x=left, y=top, w=width, h=height)
    pdf.text(250, at, "RECEIVED MAR 3")
    pdf.output(str(bench.folder / "a.pdf"))
    result = read_pages(bench.folder / "a.pdf", "a.pdf")
    assert "applies to all" in result.pages[0].text and "character recognition" in result.reason


def test_the_text_layer_stays_where_the_picture_says_no_more(bench: Bench) -> None:
    pdf = FPDF(unit="pt", format=(612, 792))
    pdf.set_font("helvetica", size=11)
    pdf.add_page()
    pdf.image(printed("Seal"), x=60, y=300, w=400, h=400)
    pdf.text(60, 120, "The rule of this page is short, and its 460-ET stands in the text layer.")
    pdf.output(str(bench.folder / "a.pdf"))
    page = read_pages(bench.folder / "a.pdf", "a.pdf").pages[0]
    assert (
        page.origin == "text"
        and page.text == "The rule of this page is short, and its 460-ET stands in the text layer."
    )
