"""A file becomes pages of text, or a reason why not.

    reader_of(name) -> str                                            which reader, of which version, a file of that name gets
    extract(path, name, spool, *, progress=None) -> Extract           reads the file in batches of 50 pages into the folder `spool`
    dehyphenated(extract) -> Iterator[Page]                           the pages of text from the spool, in order
    Counts().add(page); summary(extract, counts) -> (Status, str)     status and reason of the document, once its pages are known
    furniture(extract) -> tuple[str, ...]                             what was dropped, once `dehyphenated` has ended
    read_pages(path, name) -> ReadResult                              all of it, in memory, over a spool that is thrown away

`spool` is a folder of that document's own: a killed run goes on in it after its last whole batch, and a changed file or
reader begins it anew. It may be removed once the pages are stored. `progress(done, pages)` is called after each batch and
after each recognised page.

It decides by the file's kind which reader is used and turns every way in which a file can be bad into a status and a sentence for a
person. It never raises for a bad file, so that one bad file stops no other; it raises TemporaryError and PermanentError for
a bad machine (a full disk, a folder that is not to be written to, a reader that was killed from outside).

    ok            at least one page has text; `reason` names damaged, silent and recognised pages
    missing       there is no such file
    empty         the file has no bytes
    encrypted     a password is needed
    truncated     the end is missing
    mislabelled   the bytes are those of another kind of file than the name says
    broken        damaged, or every page is
    no_text       readable, but without a word, also after recognition
    unsupported   no reader for this kind of file is installed
    too_large     more pages than MOST_PAGES, or more bytes than `signature.MOST_BYTES`

Memory is one batch while reading, one batch and the document's vocabulary while joining; time is linear in characters, and 1
to 4 seconds for each recognised page.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import groupby
from pathlib import Path

from tasks.documents import worker
from tasks.documents.elements import text_of
from tasks.documents.layout import Line, footnotes_last, group_lines, stands_in_margin
from tasks.documents.ocr import recogniser
from tasks.documents.pdf import DAMAGED, NO_RECOGNISER, PdfPage, as_record, from_record, lost_page
from tasks.documents.signature import MOST_BYTES, inspect, table_is_where_it_should_be
from tasks.documents.spool import BATCH, Record, Spool, batch_count
from tasks.domain.errors import TemporaryError
from tasks.domain.passages import Page
from tasks.domain.text import (
    LINE_BREAK_HYPHEN,
    Furniture,
    Margins,
    closes_register_document,
    foreign_lines,
    is_furniture,
    is_page_mark,
    is_register_page,
    normalise,
    vocabulary,
)

MOST_PAGES = 5_000
"""Beyond this a file is more likely a mistake than a regulation; a year's Code of Federal Regulations volume has about 1,000."""

MOST_ENDED = 10
"""Pages of one file that may end the reader; then the rest is given up, so that a hostile file cannot hold a run for hours."""

MOST_FURNITURE = 500
"""Distinct dropped lines that are kept for a person to look at."""

READER = "pdfium-unstructured/5"
"""Raised with every change that alters stored page text: documents are then read again, although their bytes did not change."""

_SILENT = "no word is on it"
_FURNITURE = frozenset({"Header", "Footer", "PageNumber", "PageBreak"})
_LOST, _TOUCHED = "its content is damaged in the file", "a font or picture that it uses is damaged in the file"


class Status(StrEnum):
    OK = "ok"
    MISSING = "missing"
    EMPTY = "empty"
    ENCRYPTED = "encrypted"
    TRUNCATED = "truncated"
    MISLABELLED = "mislabelled"
    BROKEN = "broken"
    NO_TEXT = "no_text"
    UNSUPPORTED = "unsupported"
    TOO_LARGE = "too_large"


@dataclass(frozen=True, slots=True)
class Extract:
    """What `extract` found out about a file: small, and safe to pass on.

    `status` is ok when `spool` holds its pages; whether they have a word is only known when they are joined (`summary`).
    """

    name: str
    status: Status
    reason: str
    page_count: int
    spool: Path


@dataclass(frozen=True, slots=True)
class ReadResult:
    """What reading a file gave. `pages` has every page in order, also those without text (their text is empty), and is empty unless
    `status` is ok. `furniture` holds the distinct lines that were dropped as page furniture, for a person to check."""

    status: Status
    reason: str
    pages: tuple[Page, ...] = ()
    furniture: tuple[str, ...] = ()


@dataclass(slots=True)
class Counts:
    """What a document's reason is made of: page numbers by what became of the page. Memory grows by a number a page that has
    something."""

    pages: int = 0
    worded: int = 0
    damaged: list[int] = field(default_factory=list)
    silent: list[int] = field(default_factory=list)
    unrecognised: list[int] = field(default_factory=list)
    recognised: list[int] = field(default_factory=list)
    confidence: float = 0.0

    def add(self, page: Page) -> None:
        """Count one page."""
        self.pages += 1
        self.worded += bool(page.text)
        if page.problem.startswith(DAMAGED):
            self.damaged.append(page.number)
        elif page.problem == NO_RECOGNISER:
            self.unrecognised.append(page.number)
        elif not page.text:
            self.silent.append(page.number)
        if page.origin == "ocr":
            self.recognised.append(page.number)
            self.confidence += page.confidence or 0.0


def reader_of(name: str) -> str:
    """The reader that a file of this name gets: the same bytes read differently as .txt and as .md.

    Where tesseract is missing a PDF's reader says so, because its scans are to be read again once it is there.
    """
    suffix = Path(name).suffix.lower()
    return f"{READER}:{suffix}" + (":unrecognised" if suffix == ".pdf" and not recogniser() else "")


def read_pages(path: Path, name: str) -> ReadResult:
    """Read one document; `name` is what its pages carry (the name in the corpus, not the file's own). Holds all pages in memory."""
    with tempfile.TemporaryDirectory(prefix="filewright-") as spool:
        raw = extract(path, name, Path(spool))
        if raw.status is not Status.OK:
            return ReadResult(raw.status, raw.reason)
        counts = Counts()
        pages = []
        for page in dehyphenated(raw):
            counts.add(page)
            pages.append(page)
        status, reason = summary(raw, counts)
        return ReadResult(status, reason, tuple(pages) if status is Status.OK else (), furniture(raw))


def extract(path: Path, name: str, spool: Path, *, progress: Callable[[int, int], None] | None = None) -> Extract:
    """Read one file into `spool`, by the reader of its kind; called again after it was killed, it goes on after the last
    whole batch."""

    def refuse(status: str, reason: str) -> Extract:
        return Extract(name, Status(status), reason, 0, spool)

    suffix = Path(name).suffix.lower()
    try:
        if not path.is_file():
            return refuse("missing", f"There is no file at {path}.")
        refused = inspect(path, suffix)
        if refused is not None:
            return refuse(refused.status, refused.reason)
        if suffix not in MOST_BYTES:
            kind = suffix or "a file without an extension"
            return refuse("unsupported", f"There is no reader for {kind}: PDF, TXT, MD, HTML and DOCX files are read.")
        digest = _sha256(path)
    except (OSError, ValueError) as error:
        # A name with a NUL is a ValueError to the system's calls.
        return refuse("missing", f"The file cannot be opened ({type(error).__name__}).")
    store = Spool(spool)
    with store.locked():
        store.belong_to({"sha256": digest, "reader": reader_of(name), "recogniser": recogniser()})
        read = _extract_pdf if suffix == ".pdf" else _extract_other
        return read(path.resolve(), name, suffix, store, progress or (lambda done, pages: None))


def dehyphenated(extract: Extract) -> Iterator[Page]:
    """Pages of an extract in order: page furniture dropped, broken lines and words joined, cleaned; none for an unreadable one.

    Goes through the spool twice: first it learns what returns on every page and which words the document writes, then it
    joins. Raises TemporaryError when the spool is not whole.
    """
    if extract.status is not Status.OK:
        return
    store = Spool(extract.spool)
    if _is_elements(extract.name):
        yield from _pages_of_elements(extract, store)
        return
    margins = Margins()
    closings: set[int] = set()
    register = False

    def lines() -> Iterator[str]:
        nonlocal register
        for page in _printed(extract, store):
            margins.add(line.text for line in page.lines if _in_margin(line, page))
            register = register or is_register_page(line.text for line in page.lines)
            if any(closes_register_document(line.text) for line in page.lines):
                closings.add(page.number)
            yield from (line.text for line in page.lines)

    known = vocabulary(lines())
    learned = margins.furniture()
    # A compilation of several documents has ends on pages between its first and last; there nothing is foreign.
    one_document = register and closings <= {1, extract.page_count}
    dropped: dict[str, None] = {}
    foreign: list[int] = []
    for page in _printed(extract, store):
        kept = _without_furniture(page, learned, dropped)
        if one_document:
            start, stop = foreign_lines(
                [line.text for line in kept], first=page.number == 1, last=page.number == extract.page_count
            )
            if (start, stop) != (0, len(kept)):
                foreign.append(page.number)
                _drop([*kept[:start], *kept[stop:]], dropped)
                kept = kept[start:stop]
        texts = (text_of(block.lines, known) for block in group_lines(footnotes_last(kept)))
        yield _page(extract.name, page, "\n\n".join(filter(None, texts)))
    store.write_notes({"furniture": list(dropped), "foreign": foreign})


def summary(extract: Extract, counts: Counts) -> tuple[Status, str]:
    """Status and reason of a document from the counts of all its pages; an unreadable one keeps its own."""
    if extract.status is not Status.OK:
        return extract.status, extract.reason
    notes = [
        f"{what}: {_numbers(numbers)}"
        for what, numbers in (
            ("damaged pages", counts.damaged),
            ("pages without text", counts.silent),
            ("pages that need tesseract, which is not installed", counts.unrecognised),
            ("text of another document cut off from pages", Spool(extract.spool).notes().get("foreign", [])),
        )
        if numbers
    ]
    if counts.recognised:
        mean = counts.confidence / len(counts.recognised)
        notes.append(f"pages read by character recognition, mean confidence {mean:.2f}: {_numbers(counts.recognised)}")
    if extract.reason:
        notes.append(extract.reason)
    if counts.worded:
        note = f" ({'; '.join(notes)})" if notes else ""
        return Status.OK, f"{counts.pages} page{'s' if counts.pages != 1 else ''} read{note}."
    if counts.damaged and not counts.silent and not counts.unrecognised:
        return Status.BROKEN, f"No page can be read ({'; '.join(notes)})."
    if counts.unrecognised:
        return (
            Status.NO_TEXT,
            "No page has a text layer: it is probably a scan. Install tesseract (package tesseract-ocr), which reads scans, and run again.",
        )
    if _is_elements(extract.name):
        return Status.NO_TEXT, f"The file has no word in it{f' ({extract.reason})' if extract.reason else ''}."
    return Status.NO_TEXT, f"No page has a text layer, and no word was recognised in a picture ({'; '.join(notes)})."


def furniture(extract: Extract) -> tuple[str, ...]:
    """The distinct lines that `dehyphenated` dropped, in order, at most MOST_FURNITURE; known once it has ended."""
    return tuple(Spool(extract.spool).notes().get("furniture", ()))


def _extract_pdf(path: Path, name: str, suffix: str, store: Spool, progress: Callable[[int, int], None]) -> Extract:
    def refuse(status: str, reason: str) -> Extract:
        return Extract(name, Status(status), reason, 0, store.folder)

    try:
        opened, *_ = worker.ask("pdf", {"path": str(path), "first": 1, "last": 0})
    except worker.Ended as error:
        return refuse("broken", f"The PDF cannot be read: {error}.")
    if "refused" in opened:
        return refuse(opened["refused"], opened["reason"])
    count = int(opened["pages"])
    if count > MOST_PAGES:
        return refuse("too_large", f"The PDF has {count} pages; at most {MOST_PAGES} are read. Split it.")
    damaged = _damaged(path)
    limits = {"seconds": worker.TEXT_SECONDS, "recognition_seconds": worker.RECOGNITION_SECONDS}
    ended = 0
    for number in range(batch_count(count)):
        first, last = number * BATCH + 1, min(count, (number + 1) * BATCH)
        if _is_whole(store.read_batch(number), first, last):
            progress(last, count)
            continue
        records: list[Record] = []
        while len(records) < last - first + 1:
            at = first + len(records)
            if ended >= MOST_ENDED:
                records.append(
                    as_record(lost_page(at, f"not read, because {MOST_ENDED} pages before it ended the reader"))
                )
                continue
            try:
                for answer in worker.ask("pdf", {**limits, "path": str(path), "first": at, "last": last}):
                    if "refused" in answer:
                        return refuse(answer["refused"], answer["reason"])
                    if "number" in answer:
                        records.append(_with_damage(answer, damaged))
                        if answer["origin"] == "ocr":
                            progress(first + len(records) - 1, count)
            except worker.Ended as error:
                ended += 1
                records.append(as_record(lost_page(first + len(records), str(error))))
        store.write_batch(number, records)
        progress(last, count)
    reason = (
        ""
        if table_is_where_it_should_be(path)
        else "its table of objects was wrong and had to be rebuilt, pages may be missing"
    )
    return Extract(name, Status.OK, reason, count, store.folder)


def _damaged(path: Path) -> dict[int, str]:
    """What is wrong with pages by their number; nothing is known when the search itself ends the worker."""
    try:
        *_, found = worker.ask("pdf", {"path": str(path), "first": 1, "last": 0, "damage": True})
    except worker.Ended:
        return {}
    if "refused" in found:
        return {}
    return dict.fromkeys(found["touched"], _TOUCHED) | dict.fromkeys(found["lost"], _LOST)


def _with_damage(record: Record, damaged: dict[int, str]) -> Record:
    """The page's record with its damage; the words of a page whose content is lost are not believed."""
    problem = damaged.get(record["number"])
    if problem is None or record["problem"].startswith(DAMAGED):
        return record
    return (
        as_record(lost_page(record["number"], problem))
        if problem == _LOST
        else {**record, "problem": DAMAGED + problem}
    )


def _is_whole(records: Sequence[Record] | None, first: int, last: int) -> bool:
    return records is not None and [record.get("number") for record in records] == list(range(first, last + 1))


def _extract_other(path: Path, name: str, suffix: str, store: Spool, progress: Callable[[int, int], None]) -> Extract:
    """Batches of elements; the page of the last one is the number of pages. Parsed as a whole, so a killed run parses it again."""
    batch: list[Record] = []
    written = pages = 0
    reason = ""
    refused: Extract | None = None
    try:
        for answer in worker.ask("elements", {"path": str(path), "suffix": suffix}):
            if "refused" in answer:
                refused = Extract(name, Status(answer["refused"]), answer["reason"], 0, store.folder)
                continue
            if "left_out" in answer:
                reason = answer["left_out"]
                continue
            pages = max(pages, int(answer["page"]))
            batch.append(answer)
            if len(batch) == BATCH:
                store.write_batch(written, batch)
                written += 1
                batch = []
    except worker.Ended as error:
        return Extract(name, Status.BROKEN, f"The file cannot be read: {error}.", 0, store.folder)
    if refused is not None:
        return refused
    if batch:
        store.write_batch(written, batch)
        written += 1
    store.write_notes({"batches": written})
    pages = max(1, pages)
    progress(pages, pages)
    return Extract(name, Status.OK, reason, pages, store.folder)


def _pages_of_elements(extract: Extract, store: Spool) -> Iterator[Page]:
    count = int(store.notes().get("batches", 0))

    def elements() -> Iterator[Record]:
        return (record for records in store.batches(count) for record in records)

    known = vocabulary(line for record in elements() for line in record["text"].split("\n"))
    dropped: dict[str, None] = {}

    def kept(record: Record) -> bool:
        if record["category"] not in _FURNITURE:
            return True
        if len(dropped) < MOST_FURNITURE:
            dropped.setdefault(normalise(record["text"]))
        return False

    number = 0
    for page, group in groupby(elements(), key=lambda record: int(record["page"])):
        while number < page - 1:
            number += 1
            yield Page(extract.name, number, "", "none", None, _SILENT)
        number = page
        text = "\n\n".join(
            filter(None, (text_of(record["text"].split("\n"), known) for record in group if kept(record)))
        )
        yield Page(extract.name, page, text) if text else Page(extract.name, page, "", "none", None, _SILENT)
    if number == 0:
        yield Page(extract.name, 1, "", "none", None, _SILENT)
    store.write_notes({"batches": count, "furniture": list(dropped)})


def _is_elements(name: str) -> bool:
    return Path(name).suffix.lower() != ".pdf"


def _printed(extract: Extract, store: Spool) -> Iterator[PdfPage]:
    count = 0
    for records in store.batches(batch_count(extract.page_count)):
        for record in records:
            count += 1
            yield from_record(record)
    if count != extract.page_count:
        raise TemporaryError(f"{extract.spool} holds {count} of {extract.page_count} pages; read the document again.")


def _without_furniture(page: PdfPage, learned: Furniture, dropped: dict[str, None]) -> list[Line]:
    kept, furniture = [], []
    for line in page.lines:
        in_margin = _in_margin(line, page)
        if not line.upright or is_furniture(line.text, page=page.number, in_margin=in_margin, furniture=learned):
            furniture.append(line)
        else:
            kept.append(line)
    if not kept:
        # A page is never emptied: where its pages are alike, a document's own first lines look like running heads.
        kept = [line for line in furniture if line.upright and not is_page_mark(line.text)]
        furniture = [line for line in furniture if line not in kept]
    _drop(furniture, dropped)
    return kept


def _drop(lines: Sequence[Line], dropped: dict[str, None]) -> None:
    for line in lines:
        if len(dropped) < MOST_FURNITURE:
            dropped.setdefault(normalise(line.text.replace(LINE_BREAK_HYPHEN, "-")))


def _page(name: str, page: PdfPage, text: str) -> Page:
    if text:
        return Page(name, page.number, text, "ocr" if page.origin == "ocr" else "text", page.confidence, page.problem)
    return Page(name, page.number, "", "none", None, page.problem or _SILENT)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _numbers(numbers: Sequence[int]) -> str:
    shown = ", ".join(str(number) for number in numbers[:10])
    return shown + (f" and {len(numbers) - 10} more" if len(numbers) > 10 else "")


def _in_margin(line: Line, page: PdfPage) -> bool:
    return stands_in_margin(line, top=page.top, bottom=page.bottom)
