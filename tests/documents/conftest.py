"""Files that are bad in known ways, long ones, and scans."""

from __future__ import annotations

from pathlib import Path

import pypdfium2
import pytest
from fpdf import FPDF
from fpdf.enums import EncryptionMethod
from PIL import Image, ImageDraw, ImageFont

from tests.conftest import CORPORA

SAMPLE_RULE = CORPORA / "sample" / "documents" / "sample-rule-partial-fills.pdf"


class Bench:
    """Makes small files in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def pdf(self, name: str, *pages: str, password: str | None = None) -> Path:
        """A PDF with one page per text, one line per line end; an empty text makes a page with a picture only."""
        pdf = FPDF(unit="pt", format=(400, 500))
        pdf.set_font("helvetica", size=11)
        if password is not None:
            pdf.set_encryption(owner_password="owner", user_password=password, encryption_method=EncryptionMethod.RC4)
        for text in pages:
            pdf.add_page()
            for number, line in enumerate(text.splitlines()):
                pdf.text(60, 100 + 14 * number, line)
            if not text:
                pdf.image(Image.new("RGB", (40, 40), "navy"), x=60, y=60, w=200)
        path = self.folder / name
        pdf.output(str(path))
        return path

    def long(self, name: str, pages: int) -> Path:
        """A PDF of that many dense three-column pages: the sample rule's, over and over; 5,000 take a second and 700 kB."""
        path = self.folder / name
        with pypdfium2.PdfDocument(SAMPLE_RULE) as source, pypdfium2.PdfDocument.new() as made:
            made.import_pages(source, [number % len(source) for number in range(pages)])
            made.save(path)
        return path

    def scan(self, name: str, *pictures: Image.Image, text: dict[int, str] | None = None) -> Path:
        """A PDF of pictures that fill their pages; `text` gives a page (from 1) a line in its bottom margin, as a stamp."""
        pdf = FPDF(unit="pt", format=(612, 792))
        pdf.set_font("helvetica", size=9)
        for number, picture in enumerate(pictures, start=1):
            pdf.add_page()
            pdf.image(picture, x=0, y=0, w=612, h=792)
            if text and number in text:
                pdf.text(60, 780, text[number])
        path = self.folder / name
        pdf.output(str(path))
        return path

    def raw(self, name: str, *objects: bytes, root: int = 1) -> Path:
        """A PDF of the given objects, numbered from 1, with a sound table of objects."""
        content = bytearray(b"%PDF-1.4\n")
        places = []
        for number, body in enumerate(objects, start=1):
            places.append(len(content))
            content += b"%d 0 obj\n%b\nendobj\n" % (number, body)
        table = len(content)
        content += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
        content += b"".join(b"%010d 00000 n \n" % place for place in places)
        content += b"trailer\n<< /Size %d /Root %d 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, root, table)
        return self.file(name, bytes(content))

    def file(self, name: str, content: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(content)
        return path


def printed(*columns: str, size: int = 42) -> Image.Image:
    """A page of 8.5 by 11 inches at 300 dots an inch, printed in as many columns as there are texts."""
    page = Image.new("L", (2550, 3300), 255)
    pen = ImageDraw.Draw(page)
    font = ImageFont.load_default(size)
    width = 2300 // len(columns)
    for column, text in enumerate(columns):
        for number, line in enumerate(text.splitlines()):
            pen.text((150 + column * width, 400 + number * size * 1.4), line, font=font, fill=0)
    return page


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)
