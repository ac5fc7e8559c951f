"""Files that are bad in known ways."""

from __future__ import annotations

from pathlib import Path

import pytest
from fpdf import FPDF
from fpdf.enums import EncryptionMethod
from PIL import Image


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

    def file(self, name: str, content: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(content)
        return path


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)
