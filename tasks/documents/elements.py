"""One representation for every kind of file: unstructured's elements with page numbers, cleaned, and the page text made of them.

It decides an element's category and what the cleaners do to its words. It never decides where a chunk ends.

Rules
- A page's text is its elements' text, one empty line between two elements; an element's text has no line end.
- The cleaners are unstructured's for ligatures, byte-mangled quotes and blanks, after and before our own normalisation, which keeps
  dashes. `clean_dashes` and `clean_non_ascii_chars` would destroy `460–ET` and are not used.
- Elements without a letter or digit are dropped (rows of asterisks and dot leaders).
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.documents.layout import Block
from tasks.documents.unstructured_setup import prepare, use_blank_english
from tasks.domain.passages import Page
from tasks.domain.text import join_lines, normalise

if TYPE_CHECKING:
    from unstructured.documents.elements import Element

_LEADERS = re.compile(r"(?:\s*\.){4,}\s*|(?:\s*\*){3,}\s*|_{4,}")
_CHARSET = re.compile(rb"charset\s*=\s*[\"']?([A-Za-z0-9_.:-]+)", re.IGNORECASE)
PARTITIONED_SUFFIXES = frozenset({".txt", ".md", ".html", ".htm", ".docx"})


def elements_from_blocks(blocks: Iterable[Block], *, name: str, page: int, known: frozenset[str]) -> list[Element]:
    """Elements of one printed page: broken lines joined with the document's own vocabulary, cleaned, numbered."""
    prepare()
    from unstructured.documents.elements import ElementMetadata, ListItem, NarrativeText, Text, Title

    categories: dict[str, type[Text]] = {"heading": Title, "item": ListItem, "row": Text, "paragraph": NarrativeText}
    elements: list[Element] = []
    for block in blocks:
        text = clean(join_lines(block.lines, known))
        if _says_something(text):
            metadata = ElementMetadata(filename=name, page_number=page)
            elements.append(categories[block.kind](text=text, metadata=metadata))
    return elements


def elements_from_file(path: Path, *, name: str) -> list[Element]:
    """Elements of a text, Markdown, HTML or Word file by unstructured's partitioner, cleaned; page 1 where the kind has no pages.

    Raises ImportError when the optional reader of that kind is not installed, UnicodeError for bytes that are no text, and whatever
    the partitioner raises for a bad file.
    """
    use_blank_english()
    suffix = path.suffix.lower()
    if suffix == ".docx":
        from unstructured.partition.docx import partition_docx

        found = partition_docx(filename=str(path))
    else:
        if suffix == ".txt":
            from unstructured.partition.text import partition_text as partition
        elif suffix == ".md":
            from unstructured.partition.md import partition_md as partition
        elif suffix in (".html", ".htm"):
            from unstructured.partition.html import partition_html as partition
        else:
            raise ValueError(f"no partitioner for {suffix!r}")
        text = decode(path.read_bytes(), declared=suffix in (".html", ".htm"))
        found = partition(text=text) if text.strip() else []
    elements = []
    for element in found:
        element.text = clean(element.text)
        element.metadata.filename = name
        element.metadata.page_number = element.metadata.page_number or 1
        if _says_something(element.text):
            elements.append(element)
    return elements


def decode(content: bytes, *, declared: bool) -> str:
    """The text of a file: by its byte order mark, by its own declaration (HTML), as UTF-8, else as Windows-1252.

    unstructured guesses encodings by statistics, which takes a dash of a short file for a letter. Raises UnicodeError for bytes that are
    no text: a NUL without a byte order mark, or an encoding that does not fit.
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
            return content.decode(named.group(1).decode("ascii"))
        except LookupError as error:
            raise UnicodeError(f"an unknown encoding: {error}") from error
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("cp1252")


def clean(text: str) -> str:
    """unstructured's cleaners between two normalisations; one line, no leaders of dots."""
    prepare()
    from unstructured.cleaners.core import clean_extra_whitespace, clean_ligatures, replace_unicode_quotes

    text = _LEADERS.sub(" ", normalise(text))
    return normalise(clean_extra_whitespace(clean_ligatures(replace_unicode_quotes(text))))


def pages_from_elements(elements: Sequence[Element], *, name: str, count: int) -> tuple[Page, ...]:
    """Pages 1 to `count` with their stored text; a page without elements has an empty text."""
    texts: dict[int, list[str]] = {number: [] for number in range(1, count + 1)}
    for element in elements:
        texts.setdefault(element.metadata.page_number or 1, []).append(element.text)
    return tuple(Page(name, number, "\n\n".join(texts[number])) for number in sorted(texts))


def _says_something(text: str) -> bool:
    return any(character.isalnum() for character in text)
