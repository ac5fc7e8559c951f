"""What a file is by its bytes, whatever its name says."""

from __future__ import annotations

import re
import zipfile
import zlib
from io import BytesIO
from pathlib import Path

import pytest
from docx import Document
from fpdf import FPDF
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tasks.documents.signature import inspect, kind_of, table_is_where_it_should_be
from tests.documents.conftest import Bench


def picture(kind: str) -> bytes:
    content = BytesIO()
    Image.new("RGB", (8, 8), "navy").save(content, kind)
    return content.getvalue()


def pdf() -> bytes:
    made = FPDF()
    made.set_font("helvetica", size=11)
    made.add_page()
    made.text(20, 20, "Words")
    return bytes(made.output())


def word() -> bytes:
    content = BytesIO()
    document = Document()
    document.add_paragraph("Words. " * 200)
    document.save(content)
    return content.getvalue()


def archive(*names: str) -> bytes:
    content = BytesIO()
    with zipfile.ZipFile(content, "w") as made:
        for name in names:
            made.writestr(name, "content")
    return content.getvalue()


WEB = b"\xef\xbb\xbf<!-- served -->\n<!DOCTYPE html><html><body>Not found</body></html>"
OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)


def status(bench: Bench, name: str, content: bytes) -> str:
    found = inspect(bench.file("x", content), Path(name).suffix)
    assert found is None or found.reason.endswith(".")
    return found.status if found else "ok"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.pdf", picture("png"), "a PNG picture"),
        ("a.pdf", picture("jpeg"), "a JPEG picture"),
        ("a.pdf", picture("tiff"), "a TIFF picture"),
        ("a.pdf", WEB, "a web page"),
        ("a.pdf", word(), "a zip archive"),
        ("a.pdf", b"404 page not found\n", "plain text"),
        ("a.pdf", b"{\\rtf1 words}", "a rich text file"),
        ("a.docx", pdf(), "a PDF"),
        ("a.docx", WEB, "a web page"),
        ("a.docx", OLD_OFFICE, "an old office file"),
        ("a.docx", archive("[Content_Types].xml", "xl/workbook.xml"), "no Word file"),
        ("a.docx", archive("notes.txt"), "no Word file"),
        ("a.html", pdf(), "a PDF"),
        ("a.html", word(), "a zip archive"),
        ("a.txt", picture("gif"), "a GIF picture"),
        ("a.txt", WEB, "a web page"),
        ("a.md", pdf(), "a PDF"),
    ],
)
def test_a_file_that_is_not_what_its_name_says_is_mislabelled(
    bench: Bench, name: str, content: bytes, words: str
) -> None:
    found = inspect(bench.file("x", content), Path(name).suffix)
    assert found is not None and found.status == "mislabelled" and words in found.reason


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.pdf", pdf()),
        ("a.pdf", b"junk before it\n" + pdf()),
        ("a.pdf", pdf() + b"\n" * 3000),
        ("a.docx", word()),
        ("a.html", WEB),
        ("a.html", b"<p>A fragment"),
        ("a.md", b"<div>HTML in Markdown</div>"),
        ("a.txt", "naïve – text".encode()),
    ],
)
def test_nothing_speaks_against_a_sound_file(bench: Bench, name: str, content: bytes) -> None:
    assert status(bench, name, content) == "ok"


@given(st.binary(max_size=300))
def test_any_first_bytes_have_an_answer(head: bytes) -> None:
    assert kind_of(head) is None or kind_of(head) == kind_of(head)
    assert kind_of(b"%PDF-1.7\n" + head) == "a PDF"


@pytest.mark.parametrize("at", range(0, 4000, 250))
def test_a_text_in_utf_8_is_text_wherever_the_head_ends(at: int) -> None:
    assert kind_of(("–" * 4000).encode()[: 4000 - at // 100]) == "plain text"


@pytest.mark.parametrize("share", [0.1, 0.5, 0.95, 1.0])
def test_a_cut_off_pdf_or_word_file_is_truncated(bench: Bench, share: float) -> None:
    for name, whole in (("a.pdf", pdf()), ("a.docx", word())):
        assert status(bench, name, whole[: min(int(len(whole) * share), len(whole) - 8)]) == "truncated", name


def test_a_pdf_that_was_cut_off_in_its_last_revision_is_truncated(bench: Bench) -> None:
    """An update is appended after the first end mark; cut off, PDFium would read the superseded revision."""
    assert status(bench, "a.pdf", pdf() + b"9 0 obj\n<< /Type /Page") == "truncated"


def test_a_linearised_pdf_that_was_cut_off_is_truncated(bench: Bench) -> None:
    """Its first part ends like a whole file: with a table, an end mark and a `startxref` of 0."""
    head = b"%%PDF-1.5\n1 0 obj\n<< /Linearized 1 /L %d /N 3 >>\nendobj\nxref\n0 1\ntrailer\n<<>>\nstartxref\n%d\n%%%%EOF\n"
    assert status(bench, "a.pdf", head % (90_000, 60)) == "truncated"
    assert status(bench, "a.pdf", head % (100, 0)) == "truncated"


def test_a_table_outside_the_file_is_a_cut_and_one_elsewhere_is_not(bench: Bench) -> None:
    for offset, expected in ((b"99999999", "truncated"), (b"12", "ok")):
        content = re.sub(rb"startxref\n\d+", b"startxref\n" + offset, pdf())
        assert status(bench, "a.pdf", content) == expected
        assert not table_is_where_it_should_be(bench.folder / "x")
    assert table_is_where_it_should_be(bench.file("x", pdf()))


def test_a_word_file_with_a_password_is_encrypted(bench: Bench) -> None:
    """It is an OLE file with a stream of that name ([MS-OFFCRYPTO] 2.3.4.4)."""
    assert status(bench, "a.docx", OLD_OFFICE + "EncryptedPackage".encode("utf-16-le")) == "encrypted"


def test_a_zip_bomb_is_too_large_and_is_not_unpacked(bench: Bench) -> None:
    with zipfile.ZipFile(bench.folder / "a.docx", "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("[Content_Types].xml", "x")
        with made.open("word/document.xml", "w") as part:
            for _ in range(300):
                part.write(bytes(2**20))
    path = bench.folder / "a.docx"
    assert path.stat().st_size < 2**20
    found = inspect(path, ".docx")
    assert found is not None and found.status == "too_large" and "300 MiB" in found.reason


@pytest.mark.parametrize("suffix", [".pdf", ".docx", ".txt", ".md", ".html"])
def test_a_file_of_too_many_bytes_is_too_large(bench: Bench, suffix: str) -> None:
    path = bench.folder / "x"
    with path.open("wb") as file:
        file.truncate(2**31 + 1)  # a hole: it takes no place on the disk
    found = inspect(path, suffix)
    assert found is not None and found.status == "too_large" and "MiB" in found.reason


def test_a_compressed_stream_is_not_searched_for_end_marks_that_are_none(bench: Bench) -> None:
    """Bytes of a picture that read as an object after an earlier end mark do not matter: the last mark counts."""
    content = pdf()
    inside = b"5 0 obj\n<< /Length 30 >>\nstream\n%%EOF 7 0 obj " + zlib.compress(b"x") + b"\nendstream\nendobj\n"
    assert status(bench, "a.pdf", content[:20] + inside + content[20:]) == "ok"
