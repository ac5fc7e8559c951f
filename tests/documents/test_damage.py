"""Damage in a PDF is found by its checksums and laid to the pages that it concerns."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.documents.damage import Damage, damage
from tests.conftest import CORPORA
from tests.documents.conftest import Bench


def stream(content: bytes, *, extra: bytes = b"") -> bytes:
    return b"<< /Filter /FlateDecode %b /Length %d >>\nstream\n%b\nendstream" % (extra, len(content), content)


def page(contents: bytes, *, resources: bytes = b"") -> bytes:
    return b"<< /Type /Page /Parent 2 0 R /Resources << %b >> /Contents %b >>" % (resources, contents)


CATALOGUE = b"<< /Type /Catalog /Pages 2 0 R >>"
GOOD = zlib.compress(b"BT (words of a page) Tj ET " * 20)
FLIPPED = GOOD[:20] + bytes([GOOD[20] ^ 1]) + GOOD[21:]


def three_pages(bench: Bench, second: bytes, *, shared: bytes = GOOD) -> Path:
    return bench.raw(
        "a.pdf",
        CATALOGUE,
        b"<< /Type /Pages /Kids [3 0 R 9 0 R] /Count 3 >>",
        page(b"6 0 R"),
        page(b"[6 0 R 7 0 R]"),
        page(b"6 0 R", resources=b"/Font << /F1 8 0 R >>"),
        stream(GOOD),
        second,
        stream(shared),
        b"<< /Type /Pages /Parent 2 0 R /Kids [4 0 R 5 0 R] /Count 2 >>",
    )


@pytest.mark.parametrize(
    ("second", "found"),
    [
        (stream(GOOD), Damage()),
        (stream(FLIPPED), Damage(lost=(2,))),
        (stream(GOOD[:-6]), Damage(lost=(2,))),
        (stream(GOOD[:30] + bytes(10) + GOOD[40:]), Damage(lost=(2,))),
        (b"<< /Length 5 >>\nstream\nwords\nendstream", Damage()),
        (b"<< /Filter /DCTDecode /Length 5 >>\nstream\nwords\nendstream", Damage()),
    ],
    ids=["sound", "a bit", "cut off", "zeros", "not packed", "a picture's own format"],
)
def test_a_broken_content_stream_is_laid_to_its_page(bench: Bench, second: bytes, found: Damage) -> None:
    assert damage(three_pages(bench, second), 3) == found


def test_a_broken_font_touches_the_page_that_uses_it(bench: Bench) -> None:
    assert damage(three_pages(bench, stream(GOOD), shared=FLIPPED), 3) == Damage(touched=(3,))


def test_nothing_is_said_where_the_pages_do_not_add_up_or_the_file_is_encrypted(bench: Bench) -> None:
    path = three_pages(bench, stream(FLIPPED))
    assert damage(path, 4) == Damage()
    path.write_bytes(path.read_bytes().replace(b"/Root", b"/Encrypt 5 0 R /Root"))
    assert damage(path, 3) == Damage()


def test_pages_in_an_object_stream_are_found(bench: Bench) -> None:
    """As PDF 1.5 writes them: catalogue, tree and pages packed together."""
    bodies = [
        (1, CATALOGUE),
        (2, b"<< /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 >>"),
        (3, page(b"11 0 R")),
        (4, page(b"12 0 R")),
    ]
    heads, offset = [], 0
    for number, body in bodies:
        heads.append(b"%d %d" % (number, offset))
        offset += len(body) + 1
    head = b" ".join(heads) + b" "
    packed = zlib.compress(head + b" ".join(body for _, body in bodies))
    content = b"%PDF-1.5\n"
    for number, body in (
        (10, stream(packed, extra=b"/Type /ObjStm /N 4 /First %d" % len(head))),
        (11, stream(GOOD)),
        (12, stream(FLIPPED)),
        (13, b"<< /Type /XRef /Root 1 0 R >>"),
    ):
        content += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    assert damage(bench.file("a.pdf", content), 2) == Damage(lost=(2,))


def test_a_later_revision_of_a_stream_counts(bench: Bench) -> None:
    path = three_pages(bench, stream(FLIPPED))
    path.write_bytes(path.read_bytes() + b"7 0 obj\n%b\nendobj\n" % stream(GOOD))
    assert damage(path, 3) == Damage()


@given(
    st.lists(
        st.sampled_from(
            [
                b"1 0 obj",
                b"stream\n",
                b"endstream",
                b"endobj",
                b"/Kids [1 0 R 2 0 R]",
                b"/Root 1 0 R",
                b"/Pages 1 0 R",
                b" ",
                b"/Filter /FlateDecode",
                b"/Type /ObjStm /N 3 /First 9",
                b"\x78\x9c",
            ]
        ),
        min_size=1,
        max_size=30,
    )
)
def test_any_bytes_have_an_answer(tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes]) -> None:
    path = tmp_path_factory.getbasetemp() / "any.pdf"
    path.write_bytes(b"".join(pieces))
    assert isinstance(damage(path, 1), Damage)


def test_sound_documents_have_no_damage(bench: Bench, root: Path) -> None:
    for path in sorted((CORPORA / "sample" / "documents").glob("*.pdf")):
        pages = len(re.findall(rb"/Type /Page\b(?!s)", path.read_bytes()))
        assert pages and damage(path, pages) == Damage()
    assert damage(bench.long("a.pdf", 20), 20) == Damage()


def test_the_federal_pdfs_have_no_damage(federal_pdfs: dict[str, Path]) -> None:
    for name, path in federal_pdfs.items():
        assert damage(path, 7 if "rule" in name else 2) == Damage()
