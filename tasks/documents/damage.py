"""Which pages of a PDF are damaged though a reader opens them: PDFium draws what it can of a broken stream and says nothing.

It decides, from the bytes alone, which compressed streams cannot be unpacked to their end or fail their checksum, and which pages use them.
It never reads text, and where it cannot tell it says nothing about a page.

Rules
- A stream is damaged when its Flate data has an error, ends too early, or does not match its own checksum (RFC 1950).
- A page's content is lost when one of its content streams is damaged or is not in the file; its words could be wrong, so none is believed.
- A page is touched when something else that it draws with (a font, a picture) is damaged.
- Nothing is said about an encrypted file, or where the pages found by walking the page tree are not as many as the reader counts.

Costs one unpacking of the file; memory is the page tree and the object streams, at most MOST_KEPT bytes of them.
"""

from __future__ import annotations

import mmap
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

MOST_KEPT = 128 * 2**20
_CHUNK = 2**20
_DEEPEST = 4

_OBJECT = re.compile(rb"(?<![0-9])(\d{1,10})\s+(\d{1,5})\s+obj\b")
_STREAM = re.compile(rb"stream\r?\n")
_LENGTH = re.compile(rb"/Length\s+(\d{1,12})(?!\d|\s+\d+\s+R)")
_FLATE = re.compile(rb"/Filter\s*\[?\s*/(?:FlateDecode|Fl)\b")
_PACKED = re.compile(rb"/Type\s*/ObjStm\b")
_FIRST, _COUNT = re.compile(rb"/First\s+(\d{1,9})"), re.compile(rb"/N\s+(\d{1,9})")
_ROOT = re.compile(rb"/Root\s+(\d{1,10})\s+\d+\s+R")
_PAGES = re.compile(rb"/Pages\s+(\d{1,10})\s+\d+\s+R")
_KIDS = re.compile(rb"/Kids\s*(?:\[([^\]]*)\]|(\d{1,10})\s+\d+\s+R)")
_CONTENTS = re.compile(rb"/Contents\s*(?:\[([^\]]*)\]|(\d{1,10})\s+\d+\s+R)")
_REFERENCE = re.compile(rb"(?<!\d)(\d{1,10})\s+\d+\s+R")
_ELSEWHERE = re.compile(
    rb"/(?:Parent|Annots|B|StructParents|Dests|Metadata|Group|PieceInfo)\s*(?:\[[^\]]*\]|\d+\s+\d+\s+R)"
)


@dataclass(frozen=True, slots=True)
class Damage:
    """Numbers of the pages (from 1) whose content is lost, and of those that only draw with something damaged."""

    lost: tuple[int, ...] = ()
    touched: tuple[int, ...] = ()


@dataclass(slots=True)
class _Objects:
    """Where each object's own part (without a stream's data) stands: in the file or in an unpacked object stream."""

    content: mmap.mmap
    spans: dict[int, tuple[int, int]] = field(default_factory=dict)
    packed: dict[int, bytes] = field(default_factory=dict)
    damaged: set[int] = field(default_factory=set)

    def body(self, number: int) -> bytes:
        if number in self.packed:
            return self.packed[number]
        start, end = self.spans.get(number, (0, 0))
        return self.content[start:end]

    def has(self, number: int) -> bool:
        return number in self.spans or number in self.packed


def damage(path: Path, page_count: int) -> Damage:
    """What is damaged in the PDF at `path`, of which a reader counts `page_count` pages. Raises OSError."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if content.find(b"/Encrypt") >= 0:
            return Damage()
        objects = _scan(content)
        pages = _page_numbers(objects, content)
        if len(pages) != page_count:
            return Damage()
        lost, touched = [], []
        for number, page in enumerate(pages, start=1):
            body = objects.body(page)
            contents = _references(_CONTENTS, body, objects)
            if any(each in objects.damaged or not objects.has(each) for each in contents):
                lost.append(number)
            elif objects.damaged and _reaches_damage(body, objects):
                touched.append(number)
        return Damage(tuple(lost), tuple(touched))


def _scan(content: mmap.mmap) -> _Objects:
    objects = _Objects(content)
    kept = 0
    at = 0
    while (found := _OBJECT.search(content, at)) is not None:
        number, start = int(found.group(1)), found.end()
        end = content.find(b"endobj", start)
        end = len(content) if end < 0 else end
        stream = _STREAM.search(content, start, min(end, start + 65_536))
        if stream is None:
            objects.spans[number] = (start, end)
            at = end
            continue
        objects.spans[number] = (start, stream.start())
        own = content[start : stream.start()]
        data, at = _data(content, own, stream.end())
        objects.damaged.discard(number)
        if not _FLATE.search(own):
            continue
        packed = _PACKED.search(own) is not None
        whole, unpacked = _unpack(content, *data, keep=packed and kept < MOST_KEPT)
        if not whole:
            objects.damaged.add(number)
        kept += len(unpacked)
        for inner, body in _inner(own, unpacked):
            if inner not in objects.spans:
                objects.packed[inner] = body
    return objects


def _data(content: mmap.mmap, own: bytes, start: int) -> tuple[tuple[int, int], int]:
    """Where a stream's data stands, and where the scan goes on: by its length if an `endstream` follows there, else up to the next one."""
    said = _LENGTH.search(own)
    if said is not None:
        end = start + int(said.group(1))
        if b"endstream" in content[end : end + 16]:
            return (start, end), end
    end = content.find(b"endstream", start)
    end = len(content) if end < 0 else end
    return (start, end), end


def _unpack(content: mmap.mmap, start: int, end: int, *, keep: bool) -> tuple[bool, bytes]:
    """Whether the data unpacks to its end, and what of it is kept; holds a piece at a time otherwise."""
    machine = zlib.decompressobj()
    kept = bytearray()
    try:
        for at in range(start, end, _CHUNK):
            piece = content[at : min(end, at + _CHUNK)]
            while piece and not machine.eof:
                out = machine.decompress(piece, _CHUNK)
                piece = machine.unconsumed_tail
                if keep and len(kept) < MOST_KEPT:
                    kept += out
    except zlib.error:
        return False, bytes(kept)
    return machine.eof or start >= end, bytes(kept)


def _inner(own: bytes, unpacked: bytes) -> Iterator[tuple[int, bytes]]:
    """The objects of an object stream (ISO 32000-1, 7.5.7)."""
    first, count = _FIRST.search(own), _COUNT.search(own)
    if not unpacked or first is None or count is None:
        return
    begin = int(first.group(1))
    heads = [int(value) for value in re.findall(rb"(?<!\d)\d{1,10}(?!\d)", unpacked[:begin])[: 2 * int(count.group(1))]]
    places = list(zip(heads[::2], heads[1::2], strict=False))
    for position, (number, offset) in enumerate(places):
        following = places[position + 1][1] if position + 1 < len(places) else len(unpacked)
        yield number, unpacked[begin + offset : begin + following]


def _page_numbers(objects: _Objects, content: mmap.mmap) -> list[int]:
    """Object numbers of the pages in order, by walking the page tree; each node is visited once, so that a cycle ends."""
    roots = list(_ROOT.finditer(content))
    tree = _PAGES.search(objects.body(int(roots[-1].group(1)))) if roots else None
    if tree is None:
        return []
    pages: list[int] = []
    seen: set[int] = set()
    waiting = [int(tree.group(1))]
    while waiting:
        number = waiting.pop()
        if number in seen:
            continue
        seen.add(number)
        body = objects.body(number)
        if _KIDS.search(body):
            waiting.extend(reversed(_references(_KIDS, body, objects)))
        else:
            pages.append(number)
    return pages


def _references(key: re.Pattern[bytes], body: bytes, objects: _Objects) -> list[int]:
    """The objects that an entry names: one, an array, or one that is itself an array."""
    found = key.search(body)
    if found is None:
        return []
    if found.group(1) is not None:
        return [int(value) for value in _REFERENCE.findall(found.group(1))]
    number = int(found.group(2))
    inner = objects.body(number).strip()
    return [int(value) for value in _REFERENCE.findall(inner)] if inner.startswith(b"[") else [number]


def _reaches_damage(body: bytes, objects: _Objects) -> bool:
    seen: set[int] = set()
    level = [body]
    for _ in range(_DEEPEST):
        following = {int(value) for each in level for value in _REFERENCE.findall(_ELSEWHERE.sub(b" ", each))} - seen
        if following & objects.damaged:
            return True
        seen |= following
        level = [objects.body(number) for number in following]
    return False
