"""A file becomes pages of text, or a reason why not.

It decides by the file's kind which reader is used and turns every way in which a file can be bad into a status and a sentence for a
person. It never raises for a bad file, so that one bad file stops no other.

    ok            at least one page has text; `reason` names pages without any
    missing       there is no such file
    empty         the file has no bytes
    encrypted     a password is needed
    broken        damaged, cut off, or not what its name says
    no_text       readable, but without a word; a PDF of this kind is a scan
    unsupported   no reader for this kind of file is installed
    too_large     more pages than MOST_PAGES
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.documents.elements import PARTITIONED_SUFFIXES, elements_from_blocks, elements_from_file, pages_from_elements
from tasks.documents.layout import Line, group_lines, stands_in_margin
from tasks.documents.pdf import PdfFile, PdfPage, UnreadablePdf
from tasks.domain.passages import Page
from tasks.domain.text import is_furniture, learn_furniture, vocabulary

if TYPE_CHECKING:
    from unstructured.documents.elements import Element

MOST_PAGES = 5_000
"""Beyond this a file is more likely a mistake than a regulation; a year's Code of Federal Regulations volume has about 1,000."""

READER = "pdfium-unstructured/3"
"""Raised with every change that alters stored page text: documents are then read again, although their bytes did not change."""

# PDFium keeps global state and must not be entered by two threads at once.
_PDFIUM = threading.Lock()


class Status(StrEnum):
    OK = "ok"
    MISSING = "missing"
    EMPTY = "empty"
    ENCRYPTED = "encrypted"
    BROKEN = "broken"
    NO_TEXT = "no_text"
    UNSUPPORTED = "unsupported"
    TOO_LARGE = "too_large"


@dataclass(frozen=True, slots=True)
class ReadResult:
    """What reading a file gave. `pages` has every page in order, also those without text (their text is empty), and is empty unless
    `status` is ok. `furniture` holds the distinct lines that were dropped as page furniture, for a person to check."""

    status: Status
    reason: str
    pages: tuple[Page, ...] = ()
    furniture: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Extract:
    """A file's text as its reader gave it, not yet joined or cleaned: printed lines of a PDF, or elements of any other kind.

    `status` and `reason` say why there is neither.
    """

    name: str
    status: Status
    reason: str
    printed: tuple[PdfPage, ...] = ()
    elements: tuple[Element, ...] = ()


def read_pages(path: Path, name: str) -> ReadResult:
    """Read one document; `name` is what its pages carry (the name in the corpus, not the file's own)."""
    return dehyphenate(extract(path, name))


def extract(path: Path, name: str) -> Extract:
    """The text layer of one file, by the reader of its kind."""
    if not path.is_file():
        return Extract(name, Status.MISSING, f"There is no file at {path}.")
    if path.stat().st_size == 0:
        return Extract(name, Status.EMPTY, "The file is empty (0 bytes).")
    suffix = Path(name).suffix.lower()
    if suffix == ".pdf":
        return _extract_pdf(path, name)
    if suffix in PARTITIONED_SUFFIXES:
        return _extract_other(path, name)
    kind = suffix or "a file without an extension"
    return Extract(
        name, Status.UNSUPPORTED, f"There is no reader for {kind}: PDF, TXT, MD, HTML and DOCX files are read."
    )


def dehyphenate(raw: Extract) -> ReadResult:
    """Pages of an extract: page furniture dropped, broken lines and words joined, cleaned. An unreadable one keeps its reason."""
    if raw.status is not Status.OK:
        return ReadResult(raw.status, raw.reason)
    if not raw.printed:
        last = max((element.metadata.page_number or 1 for element in raw.elements), default=1)
        return _result(pages_from_elements(raw.elements, name=raw.name, count=last), (), printed=False)
    learned = learn_furniture([[line.text for line in page.lines if _in_margin(line, page)] for page in raw.printed])
    known = vocabulary(line.text for page in raw.printed for line in page.lines)
    furniture: dict[str, None] = {}
    elements: list[Element] = []
    for page in raw.printed:
        kept = []
        for line in page.lines:
            in_margin = _in_margin(line, page)
            if not line.upright or is_furniture(line.text, page=page.number, in_margin=in_margin, furniture=learned):
                furniture[line.text] = None
            else:
                kept.append(line)
        elements += elements_from_blocks(group_lines(kept), name=raw.name, page=page.number, known=known)
    pages = pages_from_elements(elements, name=raw.name, count=len(raw.printed))
    damaged = tuple(page.number for page in raw.printed if page.problem)
    return _result(pages, tuple(furniture), printed=True, damaged=damaged)


def _extract_pdf(path: Path, name: str) -> Extract:
    try:
        with _PDFIUM, PdfFile(path) as pdf:
            if pdf.page_count > MOST_PAGES:
                return Extract(
                    name,
                    Status.TOO_LARGE,
                    f"The PDF has {pdf.page_count} pages; at most {MOST_PAGES} are read. Split it.",
                )
            return Extract(name, Status.OK, "", printed=tuple(pdf.pages()))
    except UnreadablePdf as error:
        return Extract(name, Status(error.kind), f"The PDF cannot be read: {error}.")


def _extract_other(path: Path, name: str) -> Extract:
    try:
        return Extract(name, Status.OK, "", elements=tuple(elements_from_file(path, name=name)))
    except ImportError as error:
        reason = f"The reader for {path.suffix} files is not installed ({error.name} is missing)."
        return Extract(name, Status.UNSUPPORTED, reason)
    except Exception as error:
        # Other people's parsers raise whatever a damaged file leads them to; a bad file must stop no other, and the type is told.
        reason = f"The file is damaged or is not what its name says ({type(error).__name__})."
        return Extract(name, Status.BROKEN, reason)


def _result(
    pages: tuple[Page, ...], furniture: tuple[str, ...], *, printed: bool, damaged: tuple[int, ...] = ()
) -> ReadResult:
    silent = [page.number for page in pages if not page.text and page.number not in damaged]
    notes = []
    if damaged:
        notes.append(f"damaged pages: {_numbers(damaged)}")
    if silent:
        notes.append(f"pages without text: {_numbers(silent)}")
    if any(page.text for page in pages):
        note = f" ({'; '.join(notes)})" if notes else ""
        return ReadResult(Status.OK, f"{len(pages)} page{'s' if len(pages) != 1 else ''} read{note}.", pages, furniture)
    if damaged and not silent:
        return ReadResult(Status.BROKEN, f"No page can be read ({'; '.join(notes)}).", (), furniture)
    scan = "No page has a text layer: it is probably a scan, and needs OCR before it can be indexed."
    return ReadResult(Status.NO_TEXT, scan if printed else "The file has no word in it.", (), furniture)


def _numbers(numbers: Sequence[int]) -> str:
    shown = ", ".join(str(number) for number in numbers[:10])
    return shown + (f" and {len(numbers) - 10} more" if len(numbers) > 10 else "")


def _in_margin(line: Line, page: PdfPage) -> bool:
    return stands_in_margin(line, top=page.top, bottom=page.bottom)
