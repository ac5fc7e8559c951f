"""Real documents, and files that are bad in known ways."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fpdf import FPDF
from fpdf.enums import EncryptionMethod
from PIL import Image

from tasks.documents import Manifest, load_manifest, locate
from tasks.domain.errors import PermanentError

REPOSITORY = Path(__file__).resolve().parents[2]
CORPORA = REPOSITORY / "corpus"


@pytest.fixture(scope="session")
def federal_pdfs() -> dict[str, Path]:
    """The three federal PDFs by name: from the mirror, from beside the repository, or from what a download left."""
    manifest = load_manifest(CORPORA / "hipaa")
    home = Path(os.environ.get("FILEWRIGHT_HOME", REPOSITORY / ".filewright"))
    named = os.environ.get("FILEWRIGHT_CORPUS_MIRROR")
    mirrors = [Path(named)] if named else []
    for mirror in [*mirrors, REPOSITORY.parent / "shared" / "corpus", None]:
        if mirror is not None and not mirror.is_dir():
            continue
        try:
            return _located(manifest, mirror, home / "downloads")
        except PermanentError:
            continue
    pytest.skip(
        "the federal PDFs are not here: not in FILEWRIGHT_CORPUS_MIRROR, not in ../shared/corpus, not in the download cache; "
        "they are not part of the repository"
    )


def _located(manifest: Manifest, mirror: Path | None, cache: Path) -> dict[str, Path]:
    folder = CORPORA / "hipaa"
    return {
        entry.name: locate(entry, folder=folder, mirror=mirror, cache=cache, download=False)
        for entry in manifest.documents
    }


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
