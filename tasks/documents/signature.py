"""What a file is by its first and last bytes, and whether that is what its name says.

It decides before any parser runs: empty, too large, mislabelled, cut off, an encrypted office file. It never parses a
document, and what it lets through may still be broken.

Rules, first that applies
    no bytes                                                             empty
    more bytes than MOST_BYTES of its kind; a DOCX that unpacks to more  too_large
    the first bytes are those of another kind                            mislabelled  (a picture, a PDF, a zip, a web page, plain text)
    an OLE file named .docx with an EncryptedPackage                     encrypted
    a PDF whose last bytes are not the end of a PDF                      truncated
    a zip without its directory (which stands at the end)                truncated

The end of a PDF is there when, after the last `%%EOF`, no further object follows, the `startxref` before it points into the
file and not to 0 (as in the first part of a linearised file), and a linearised file is as long as it says.
Sources: ISO 32000-1, 7.5.5 and annex F; APPNOTE.TXT 4.3.16 (zip); [MS-CFB] 2.2.
"""

from __future__ import annotations

import mmap
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path

MIB = 2**20
MOST_BYTES = {
    ".pdf": 2048 * MIB,
    ".docx": 256 * MIB,
    ".txt": 32 * MIB,
    ".md": 32 * MIB,
    ".html": 32 * MIB,
    ".htm": 32 * MIB,
}
"""5,000 scanned pages are about 1 GiB; the partitioners of the other kinds hold a file in memory some twenty times over."""

MOST_UNPACKED = 256 * MIB
"""Bytes to which a DOCX may unpack: python-docx holds all of its parts in memory."""

_HEAD = 4096
_DIRECTORY_END = 22
_KINDS: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF87a", "a GIF picture"),
    (b"GIF89a", "a GIF picture"),
    (b"II*\x00", "a TIFF picture"),
    (b"MM\x00*", "a TIFF picture"),
    (b"PK\x03\x04", "a zip archive"),
    (b"PK\x05\x06", "a zip archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old office file (OLE)"),
    (b"{\\rtf", "a rich text file"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\x7fELF", "a program"),
    (b"%!PS", "a PostScript file"),
)
_PAGE = re.compile(
    rb"\A(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)
_LINEARISED = re.compile(rb"/Linearized\b")
_LENGTH = re.compile(rb"/L\s+(\d{1,15})(?!\d)")
_OBJECT = re.compile(rb"\d+\s+\d+\s+obj\b")
_START = re.compile(rb"startxref\s+(\d{1,15})\s*\Z")
_SECTION = re.compile(rb"\s*(?:xref\b|\d+\s+\d+\s+obj\b)")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a file is not read: `status` is a document status, `reason` a sentence for a person."""

    status: str
    reason: str


def inspect(path: Path, suffix: str) -> Refusal | None:
    """Why the file at `path`, called `suffix` (lower case, with its dot), is not what it should be; None when nothing speaks
    against it.

    Raises OSError when it cannot be read. Costs a look at both ends, and of a PDF a search for its last marks.
    """
    size = path.stat().st_size
    if size == 0:
        return Refusal("empty", "The file is empty (0 bytes).")
    most = MOST_BYTES.get(suffix)
    if most is not None and size > most:
        return Refusal(
            "too_large",
            f"The file has {size // MIB} MiB; at most {most // MIB} MiB of a {suffix} file are read. Split it.",
        )
    with path.open("rb") as file:
        head = file.read(_HEAD)
    kind = kind_of(head)
    if suffix == ".pdf":
        if kind != "a PDF":
            return _mislabelled(suffix, kind) if kind else None
        return _pdf_end(path, size)
    if suffix == ".docx":
        if kind == "a zip archive":
            return _docx(path)
        if kind == "an old office file (OLE)":
            with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                if content.find("EncryptedPackage".encode("utf-16-le")) >= 0:
                    return Refusal("encrypted", "The file cannot be read: it is protected by a password.")
        return _mislabelled(suffix, kind) if kind else None
    foreign = kind not in (None, "plain text", "a web page") or (suffix == ".txt" and kind == "a web page")
    return _mislabelled(suffix, kind) if foreign and kind and suffix in MOST_BYTES else None


def kind_of(head: bytes) -> str | None:
    """What a file that begins with `head` is, in words; None when no rule says so."""
    for mark, kind in _KINDS:
        if head.startswith(mark):
            return kind
    # Readers look for the header in the first 1,024 bytes (ISO 32000-1, annex H); text before it may only be junk.
    if b"%PDF-" in head[:1024]:
        return "a PDF"
    if _PAGE.match(head):
        return "a web page"
    return "plain text" if _is_text(head) else None


def _is_text(head: bytes) -> bool:
    if any(byte < 9 or (13 < byte < 32 and byte != 27) for byte in head):
        return False
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        # The head may end in the middle of a character.
        return error.start >= len(head) - 3
    return True


def _mislabelled(suffix: str, kind: str | None) -> Refusal:
    return Refusal(
        "mislabelled",
        f"The file is called {suffix}, but its content is {kind}. Give it its right name, or put the right file here.",
    )


def _truncated(why: str) -> Refusal:
    return Refusal("truncated", f"The file is cut off: {why}. Copy or download it again.")


def _pdf_end(path: Path, size: int) -> Refusal | None:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if _LINEARISED.search(content[:_HEAD]):
            said = _LENGTH.search(content[:_HEAD])
            if said is not None and int(said.group(1)) > size:
                return _truncated(f"it says that it has {int(said.group(1))} bytes, and has {size}")
        end = content.rfind(b"%%EOF")
        if end < 0:
            return _truncated("the mark at the end of a PDF is missing")
        if _OBJECT.search(content, end):
            return _truncated("it goes on after its last end mark, and has no further one")
        start = _START.search(content[max(0, end - 64) : end])
        if start is None:
            return _truncated("its end does not say where its table of objects is")
        place = int(start.group(1))
        header = max(0, content.find(b"%PDF-", 0, 1024))
        if place == 0 or place + header >= size:
            return _truncated("its table of objects is not in it")
    return None


def table_is_where_it_should_be(path: Path) -> bool:
    """Whether a PDF's `startxref` leads to a table of objects; where it does not, a reader has to rebuild the table by guessing."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        end = content.rfind(b"%%EOF")
        start = _START.search(content[max(0, end - 64) : max(0, end)])
        if start is None:
            return False
        place = int(start.group(1))
        header = max(0, content.find(b"%PDF-", 0, 1024))
        return any(_SECTION.match(content[at : at + 64]) is not None for at in {place, place + header})


def _docx(path: Path) -> Refusal | None:
    try:
        with zipfile.ZipFile(path) as archive:
            names = {info.filename: info for info in archive.infolist()}
            unpacked = sum(info.file_size for info in archive.infolist())
    except zipfile.BadZipFile:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            directory_end = content.rfind(b"PK\x05\x06")
            if directory_end < 0 or len(content) - directory_end < _DIRECTORY_END:
                return _truncated("the directory at the end of a DOCX file is missing")
        return Refusal("broken", "The file is damaged: its directory cannot be read.")
    if unpacked > MOST_UNPACKED:
        return Refusal(
            "too_large", f"The file unpacks to {unpacked // MIB} MiB; at most {MOST_UNPACKED // MIB} MiB are read."
        )
    if "[Content_Types].xml" not in names or not any(name.startswith("word/") for name in names):
        return _mislabelled(".docx", "a zip archive that is no Word file")
    return None
