"""Text of a Word file that python-docx passes over, put where it is read: it looks at runs directly in paragraphs directly in the body.

It decides what counts as text of the document and where notes and text boxes stand. It never decides what an element is.

Rules (ECMA-376, part 1)
- Inserted and moved-in text, content controls, smart tags and fields count like any text; deleted and moved-out text does not.
- A text box stands after the paragraph that it is anchored to; its copy for older programs (`mc:Fallback`) does not count.
- A footnote or endnote stands after the paragraph or table that refers to it, with the number of its mark, `[1]`.
- Comments are nobody's rule, and heads and feet are page furniture: both are left alone.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_FORMULA = "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"
_WRAPPERS = tuple(
    f"{_W}{name}" for name in ("sdt", "ins", "moveTo", "smartTag", "fldSimple", "customXml", "dir", "bdo")
)
_PROPERTIES = tuple(f"{_W}{name}" for name in ("sdtPr", "sdtEndPr", "smartTagPr", "customXmlPr"))
_GONE = tuple(f"{_W}{name}" for name in ("del", "moveFrom"))
_NOTES = {"footnotes": "footnote", "endnotes": "endnote"}


def show_all(document: Any) -> None:
    """Change the opened python-docx document so that all of its text stands in paragraphs and tables of the body."""
    body = document.element.body
    notes = {
        (kind, note.get(f"{_W}id")): note
        for part, kind in _NOTES.items()
        for root in _parts(document, part)
        for note in root.iter(f"{_W}{kind}")
        if note.get(f"{_W}type") in (None, "normal")
    }
    _unwrap(body)
    for box in list(body.iter(f"{_W}txbxContent")):
        anchor = next((each for each in box.iterancestors(f"{_W}p")), None)
        if anchor is not None:
            _put_after(anchor, list(box))
    number = 0
    for mark in list(body.iter(f"{_W}footnoteReference", f"{_W}endnoteReference")):
        kind = mark.tag.removeprefix(_W).removesuffix("Reference")
        note = notes.pop((kind, mark.get(f"{_W}id")), None)
        if note is None:
            continue
        number += 1
        block = mark
        while block.getparent() is not body:
            block = block.getparent()
        _unwrap(note)
        shown = f"[{number}]"
        _become_text(mark, shown)
        paragraphs = list(note)
        first = next(iter(note.iter(f"{_W}p")), None)
        if first is not None:
            run = first.makeelement(f"{_W}r")
            text = run.makeelement(f"{_W}t")
            text.text = f"{shown} "
            run.append(text)
            start = first.find(f"{_W}pPr")
            first.insert(0 if start is None else 1, run)
        while _is_note(following := block.getnext()):
            block = following
        for each in paragraphs:
            each.set("note", "1")
        _put_after(block, paragraphs)
    for block in body:
        block.attrib.pop("note", None)


def texts_of_word(path: Path) -> Iterator[str]:
    """The pieces of text of a Word file's body, footnotes and endnotes, as they stand in its XML; deleted text left out."""
    from lxml import etree

    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        for name in ("document", *_NOTES):
            if f"word/{name}.xml" not in names:
                continue
            root = etree.fromstring(
                archive.read(f"word/{name}.xml"), etree.XMLParser(resolve_entities=False, huge_tree=True)
            )
            for text in root.iter(f"{_W}t", _FORMULA):
                if text.text and not any(each.tag in (*_GONE, _FALLBACK) for each in text.iterancestors()):
                    yield text.text


def _parts(document: Any, name: str) -> Iterator[Any]:
    from docx.oxml import parse_xml

    for relation in document.part.rels.values():
        if not relation.is_external and relation.reltype.endswith(f"/{name}"):
            yield parse_xml(relation.target_part.blob)


def _unwrap(root: Any) -> None:
    for fallback in list(root.iter(_FALLBACK)):
        # Some programs write a text box only there.
        if len(fallback.getparent()) > 1:
            fallback.getparent().remove(fallback)
    for gone in list(root.iter(*_GONE)):
        # A mark in the properties of a paragraph or row says that it is deleted, and holds nothing.
        if gone.getparent() is not None:
            gone.getparent().remove(gone)
    for wrapper in list(root.iter(*_WRAPPERS)):
        parent = wrapper.getparent()
        if parent is None or not len(wrapper):
            continue
        content = wrapper.find(f"{_W}sdtContent") if wrapper.tag == f"{_W}sdt" else wrapper
        at = parent.index(wrapper)
        parent[at : at + 1] = [] if content is None else [each for each in content if each.tag not in _PROPERTIES]


def _put_after(block: Any, others: list[Any]) -> None:
    for each in reversed(others):
        block.addnext(each)


def _become_text(mark: Any, shown: str) -> None:
    text = mark.makeelement(f"{_W}t")
    text.text = shown
    run = mark.getparent()
    properties = run.find(f"{_W}rPr")
    # It is no raised run any more: its brackets say what it is.
    raised = None if properties is None else properties.find(f"{_W}vertAlign")
    if raised is not None:
        properties.remove(raised)
    run.replace(mark, text)


def _is_note(block: Any) -> bool:
    return block is not None and block.get("note") == "1"
