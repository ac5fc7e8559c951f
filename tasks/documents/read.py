"""A file becomes pages of text, or a reason why not.

It decides by the file's kind which reader is used and turns every way in which a file can be bad into a status and a sentence for a
person. It never raises for a bad file, so that one bad file stops no other; a missing reader or a bug still raises.

    ok            at least one page has text; `reason` names pages without any
    missing       there is no such file
    empty         the file has no bytes
    encrypted     a password is needed
    broken        damaged, cut off, or not what its name says
    no_text       readable, but no page has a text layer: a scan
    unsupported   no reader for this kind of file
    too_large     more pages than MOST_PAGES
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.documents.elements import PARTITIONED_SUFFIXES, elements_from_blocks, elements_from_file, pages_from_elements
from tasks.documents.layout import Line, group_lines, in_margin
from tasks.documents.pdf import PdfFile, PdfPage, UnreadablePdf
from tasks.domain.passages import Page
from tasks.domain.text import is_furniture, running_lines, vocabulary

if TYPE_CHECKING:
    from unstructured.documents.elements import Element

MOST_PAGES = 5_000
"""Beyond this a file is more likely a mistake than a regulation; a year's Code of Federal Regulations volume has about 1,000."""


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


def read_pages(path: Path, name: str) -> ReadResult:
    """Read one document; `name` is what its pages carry (the name in the corpus, not the file's own)."""
    if not path.is_file():
        return ReadResult(Status.MISSING, f"There is no file at {path}.")
    if path.stat().st_size == 0:
        return ReadResult(Status.EMPTY, "The file is empty (0 bytes).")
    suffix = Path(name).suffix.lower()
    if suffix == ".pdf":
        return _read_pdf(path, name)
    if suffix in PARTITIONED_SUFFIXES:
        return _read_other(path, name)
    kind = suffix or "a file without an extension"
    return ReadResult(Status.UNSUPPORTED, f"There is no reader for {kind}: PDF, TXT, MD, HTML and DOCX files are read.")


def _read_pdf(path: Path, name: str) -> ReadResult:
    try:
        with PdfFile(path) as pdf:
            if pdf.page_count > MOST_PAGES:
                return ReadResult(
                    Status.TOO_LARGE, f"The PDF has {pdf.page_count} pages; at most {MOST_PAGES} are read. Split it."
                )
            printed = list(pdf.pages())
    except UnreadablePdf as error:
        return ReadResult(Status(error.kind), f"The PDF cannot be read: {error}.")
    running = running_lines([[line.text for line in page.lines if _in_margin(line, page)] for page in printed])
    known = vocabulary(line.text for page in printed for line in page.lines)
    furniture: dict[str, None] = {}
    elements: list[Element] = []
    for page in printed:
        kept = []
        for line in page.lines:
            if not line.upright or is_furniture(line.text, in_margin=_in_margin(line, page), running=running):
                furniture[line.text] = None
            else:
                kept.append(line)
        elements += elements_from_blocks(group_lines(kept), name=name, page=page.number, known=known)
    pages = pages_from_elements(elements, name=name, count=len(printed))
    return _result(pages, tuple(furniture), damaged=tuple(page.number for page in printed if page.problem))


def _read_other(path: Path, name: str) -> ReadResult:
    from lxml.etree import LxmlError

    try:
        elements = elements_from_file(path, name=name)
    except ImportError as error:
        return ReadResult(Status.UNSUPPORTED, f"The reader for {path.suffix} files is not installed ({error.name} is missing).")
    except (UnicodeError, ValueError, KeyError, OSError, zipfile.BadZipFile, LxmlError) as error:
        return ReadResult(Status.BROKEN, f"The file is damaged or is not what its name says ({type(error).__name__}).")
    last = max((element.metadata.page_number or 1 for element in elements), default=1)
    return _result(pages_from_elements(elements, name=name, count=last), ())


def _result(pages: tuple[Page, ...], furniture: tuple[str, ...], *, damaged: tuple[int, ...] = ()) -> ReadResult:
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
    return ReadResult(
        Status.NO_TEXT, "No page has a text layer: it is probably a scan, and needs OCR before it can be indexed.", (), furniture
    )


def _numbers(numbers: Sequence[int]) -> str:
    shown = ", ".join(str(number) for number in numbers[:10])
    return shown + (f" and {len(numbers) - 10} more" if len(numbers) > 10 else "")


def _in_margin(line: Line, page: PdfPage) -> bool:
    return in_margin(line, top=page.top, bottom=page.bottom)
