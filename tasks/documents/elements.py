"""Text, Markdown, HTML and Word files as unstructured's elements with page numbers, and what its cleaners do to every kind's words.

It decides how a table's rows are written and what the cleaners change. It never decides where a chunk ends.

Rules
- A table's row is one element, its cells with ` | ` between them; a cell that spans several rows stands in each of them, so
  that a date stays with its law.
- A page's text is its elements' text, one empty line between two elements; an element's text has no line end.
- The cleaners are unstructured's for ligatures, byte-mangled quotes and blanks, after and before our own normalisation, which keeps
  dashes. `clean_dashes` and `clean_non_ascii_chars` would destroy `460–ET` and are not used.
- Elements without a letter or digit are dropped (rows of asterisks and dot leaders).
"""

from __future__ import annotations

import codecs
import copy
import re
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasks.documents.leftover import left_out, texts_of_page
from tasks.documents.unstructured_setup import prepare, use_blank_english
from tasks.domain.text import LINE_BREAK_HYPHEN, join_lines, mark_hyphens, normalise, unwrap, write_raised

if TYPE_CHECKING:
    from lxml.html import HtmlElement
    from unstructured.documents.elements import Element

_LEADERS = re.compile(r"(?:\s*\.){4,}\s*|(?:\s*\*){3,}\s*|_{4,}")
_UNUSED = bytes(0x7F if byte in (0x81, 0x8D, 0x8F, 0x90, 0x9D) else byte for byte in range(256))
_CHARSET = re.compile(rb"charset\s*=\s*[\"']?([A-Za-z0-9_.:-]+)", re.IGNORECASE)
PARTITIONED_SUFFIXES = frozenset({".txt", ".md", ".html", ".htm", ".docx"})


def elements_from_file(path: Path, *, suffix: str) -> Iterator[Element]:
    """Elements of a text, Markdown, HTML or Word file (`suffix`) by unstructured's partitioner, a table's rows each by itself.

    Their texts still have their lines. Page 1 where the kind has no pages. Raises ImportError when the optional reader of
    that kind is not installed, UnicodeError for bytes that are no text, and whatever the partitioner raises for a bad file.
    Memory grows with the file, some twenty times its size.
    """
    use_blank_english()
    from unstructured.documents.elements import Text

    if suffix == ".docx":
        from unstructured.partition.docx import partition_docx

        found = partition_docx(file=with_marks(path))
    else:
        if suffix == ".txt":
            from unstructured.partition.text import partition_text as partition
        elif suffix in (".md", ".html", ".htm"):
            from unstructured.partition.html import partition_html as partition
        else:
            raise ValueError(f"no partitioner for {suffix!r}")
        text = decode(path.read_bytes(), declared=suffix in (".html", ".htm"))
        text = mark_hyphens(text.replace("\r\n", "\n")).replace(LINE_BREAK_HYPHEN, _MARK_IN_SOURCE)
        if suffix == ".txt":
            # The lines that `unwrap` leaves are rows, items and addresses; the partitioner would run them together.
            text = unwrap(text).replace("\n", "\n\n")
        else:
            text = with_whole_rows(_page_of_markdown(text) if suffix == ".md" else text)
        found = partition(text=text) if text.strip() else []
    for element in found:
        element.text = element.text.replace(_MARK_IN_SOURCE, LINE_BREAK_HYPHEN)
        if element.category == "Table" and element.metadata.text_as_html:
            for row in rows_of(element.metadata.text_as_html):
                yield Text(text=row.replace(_MARK_IN_SOURCE, LINE_BREAK_HYPHEN), metadata=element.metadata)
        else:
            yield element


# Parsers of XML refuse the mark itself, a non-character; this one is a private character that no public text uses.
_MARK_IN_SOURCE = "\uf8fe"
CELL_BORDER = " | "
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*>")
_ENDS = re.compile(r"</(?:body|html)\s*>", re.IGNORECASE)
_LEFT_OUT = {
    # A page may be one form, have its rules in boxes that open and close, or its tables in figures; with a `main` only that is read.
    **dict.fromkeys(("form", "details", "figure", "main"), "div"),
    "summary": "p",
    "label": "span",
}
_MOST_SPANNED = 1_000


def _page_of_markdown(text: str) -> str:
    """The web page that unstructured's own partitioner of Markdown makes; here, because Markdown may hold any HTML."""
    from markdown import markdown

    return markdown(text, extensions=["tables", "fenced_code"])


def words_left_out(path: Path, suffix: str, texts: Sequence[str]) -> str:
    """A clause about the words of the file that are not in `texts`, those of its elements; empty where none is missing or for a kind
    that is not looked at."""
    if suffix in (".html", ".htm"):
        return left_out(texts_of_page(decode(path.read_bytes(), declared=True)), texts)
    if suffix == ".md":
        return left_out(texts_of_page(_page_of_markdown(decode(path.read_bytes(), declared=False))), texts)
    if suffix == ".docx":
        from tasks.documents.word import texts_of_word

        return left_out(texts_of_word(path), texts)
    return ""


def rows_of(table: str) -> list[str]:
    """The rows of a table in HTML, each as its cells' text in order with a stroke between them; a cell that spans rows
    stands in each."""
    from lxml import html

    rows = []
    for row in _grid(html.fromstring(table)):
        cells = [" ".join(cell.text_content().split()) for cell in row]
        rows.append(CELL_BORDER.join(cell for cell in cells if cell))
    return [row for row in rows if row]


def _grid(table: HtmlElement) -> list[list[HtmlElement]]:
    """Cells row by row, with those of earlier rows that span into a row at their place."""
    hanging: dict[int, tuple[HtmlElement, int]] = {}
    grid = []
    for row in table.iter("tr"):
        if next(row.iterancestors("table"), table) is not table:
            continue
        cells: dict[int, HtmlElement] = {}
        for at, (cell, left) in list(hanging.items()):
            cells[at] = cell
            hanging[at] = (cell, left - 1)
            if left == 1:
                del hanging[at]
        at = 0
        for cell in row:
            if cell.tag not in ("td", "th"):
                continue
            while at in cells:
                at += 1
            cells[at] = cell
            if _span(cell, "rowspan") > 1:
                hanging[at] = (cell, _span(cell, "rowspan") - 1)
            at += _span(cell, "colspan")
        grid.append([cells[at] for at in sorted(cells)])
    return grid


def _span(cell: HtmlElement, name: str) -> int:
    value = cell.get(name, "1").strip()
    return min(int(value), _MOST_SPANNED) if value.isascii() and value.isdigit() and int(value[:6]) > 0 else 1


def with_whole_rows(page: str) -> str:
    """A web page whose spanning cells are repeated in each row and whose raised numbers are marked: unstructured drops both
    attributes.

    The rule for raised characters is `write_raised`. A page that lxml cannot parse stays as it is. What
    unstructured leaves out though a browser shows it (`_LEFT_OUT`, captions) gets a name that it reads.
    """
    from lxml import etree, html

    if not page.strip():
        return page
    try:
        # Both may be left out of a page, and what sloppy pages have after them would be lost.
        whole = _ENDS.sub("", _DECLARATION.sub("", page))
        root = html.document_fromstring(whole, parser=html.HTMLParser(huge_tree=True))
    except (etree.LxmlError, ValueError):
        return page
    _show(root)
    for table in root.iter("table"):
        rows = [row for row in table.iter("tr") if next(row.iterancestors("table"), None) is table]
        if not any(cell.get("rowspan") for row in rows for cell in row if isinstance(cell.tag, str)):
            continue
        for row, cells in zip(rows, _grid(table), strict=True):
            own = set(row)
            row[:] = [cell if cell in own else copy.deepcopy(cell) for cell in cells]
            for cell in row:
                cell.attrib.pop("rowspan", None)
    for mark in list(root.iter("sup")):
        if len(mark) <= 1 and mark.text_content().strip():
            _write_mark(mark)
    return str(html.tostring(root, encoding="unicode"))


def _show(root: HtmlElement) -> None:
    """Give what unstructured leaves out a name that it reads: a browser shows all of it."""
    for caption in list(root.iter("caption")):
        table = next(caption.iterancestors("table"), None)
        if table is not None:
            tail, caption.tail = caption.tail, None
            table.addprevious(caption)
            caption.tag, caption.tail = "p", tail
    for element in list(root.iter(*_LEFT_OUT)):
        element.tag = _LEFT_OUT[element.tag]


def _write_mark(mark: HtmlElement) -> None:
    raised = mark.text_content().strip()
    previous = mark.getprevious()
    parent = mark.getparent()
    if parent is None:
        return
    before = (previous.tail or previous.text_content()) if previous is not None else (parent.text or "")
    before = before[-8:] or " "
    text = before + raised + (mark.tail or "")[:1]
    mask = [len(before) <= at < len(before) + len(raised) for at in range(len(text))]
    written = write_raised(text, mask)[len(before) :]
    for child in list(mark):
        mark.remove(child)
    mark.text = written.removesuffix((mark.tail or "")[:1]) if mark.tail else written
    mark.tag = "span"


def with_marks(path: Path) -> BytesIO:
    """A Word file, in memory, whose raised runs are written by `write_raised` (unstructured reads only their characters), and in which
    all of its text stands where unstructured reads it (see word.py)."""
    from docx import Document

    from tasks.documents.word import show_all

    document = Document(str(path))
    show_all(document)
    for paragraph in _paragraphs(document.element.body):
        before = ""
        runs = list(paragraph.iter(f"{_W}r"))
        for at, run in enumerate(runs):
            texts = list(run.iter(f"{_W}t"))
            text = "".join(each.text or "" for each in texts)
            raised = run.find(f"{_W}rPr/{_W}vertAlign")
            if text and raised is not None and raised.get(f"{_W}val") == "superscript":
                after = (
                    "".join(each.text or "" for each in runs[at + 1].iter(f"{_W}t"))[:1] if at + 1 < len(runs) else ""
                )
                mask = [False] * len(before) + [True] * len(text) + [False] * len(after)
                text = write_raised(before + text + after, mask)[len(before) :].removesuffix(after)
                texts[0].text = text
                for each in texts[1:]:
                    each.text = ""
            before = (before + text)[-8:]
    content = BytesIO()
    document.save(content)
    content.seek(0)
    return content


_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


def _paragraphs(body: Any) -> Iterator[Any]:
    yield from body.iter(f"{_W}p")


def decode(content: bytes, *, declared: bool) -> str:
    """The text of a file: by its byte order mark, by its own declaration (HTML), as UTF-8, else as Windows-1252.

    unstructured guesses encodings by statistics, which takes a dash of a short file for a letter. Raises UnicodeError for
    bytes that are no text: a NUL without a byte order mark, or an encoding that does not fit.
    """
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if content.startswith(mark):
            return content.decode(encoding)
    if b"\0" in content:
        raise UnicodeError("a NUL byte: this is no text file")
    named = _CHARSET.search(content[:2048]) if declared else None
    if named is not None:
        try:
            meant = _meant(named.group(1).decode("ascii"))
            # The five bytes that Windows-1252 does not use are control characters, which normalisation drops.
            return content.translate(_UNUSED if meant == "cp1252" else None).decode(meant)
        except LookupError as error:
            raise UnicodeError(f"an unknown encoding: {error}") from error
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("cp1252")


def _meant(declared: str) -> str:
    """What browsers take a declaration for (WHATWG, Encoding, 4.2): Latin-1 has a dash and quotation marks in the place of control
    characters, and a declaration that could be read in bytes is none of two-byte characters."""
    name = codecs.lookup(declared).name
    if name in ("iso8859-1", "ascii"):
        return "cp1252"
    return "utf-8" if name.startswith(("utf-16", "utf-32")) else declared


def clean(text: str) -> str:
    """unstructured's cleaners between two normalisations; one line, no leaders of dots."""
    prepare()
    from unstructured.cleaners.core import clean_extra_whitespace, clean_ligatures, replace_unicode_quotes

    text = _LEADERS.sub(" ", normalise(text))
    return normalise(clean_extra_whitespace(clean_ligatures(replace_unicode_quotes(text))))


def text_of(lines: Sequence[str], known: frozenset[str]) -> str:
    """One element's stored text from its lines; empty when it has no letter or digit."""
    text = clean(join_lines(lines, known))
    return text if any(character.isalnum() for character in text) else ""
