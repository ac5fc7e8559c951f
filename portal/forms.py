"""Reads a request's body into a `Form`: text fields, and which names came as a file or twice.

It decides how much of a body is read and in which encodings a form may come. It never decides whether a value is good,
and never keeps an uploaded file.

Rules
    at most `limit` bytes and MAX_FIELDS fields make a form
    a larger body is read to its end and thrown away, up to DRAIN_LIMIT: a browser that is still sending when the
    answer comes shows an error page of its own instead
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator
from urllib.parse import parse_qsl

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from portal.validation import Form

MAX_FIELDS = 100
DRAIN_LIMIT = 16 * 1024 * 1024  # bytes


async def read_form(request: Request, limit: int) -> Form:
    """The form that a POST carries.

    Raises HTTPException: 413 for a body above `limit` bytes, 415 for another content type, 400 for one not well formed.
    """
    body = await _read_body(request, limit)
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type == "application/x-www-form-urlencoded":
        return _from_pairs(_urlencoded(body))
    if content_type == "multipart/form-data":
        return _from_pairs(await _multipart(request, body))
    raise HTTPException(415, "The portal reads only forms that were filled in on its own pages.")


async def _read_body(request: Request, limit: int) -> bytes:
    body = bytearray()
    size = 0
    declared = request.headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and int(declared) > DRAIN_LIMIT:
        raise HTTPException(413)
    async for part in request.stream():
        size += len(part)
        if size > DRAIN_LIMIT:
            raise HTTPException(413)
        if size <= limit:
            body += part
    if size > limit:
        raise HTTPException(413)
    return bytes(body)


def _urlencoded(body: bytes) -> list[tuple[str, str | None]]:
    try:
        pairs = parse_qsl(
            body.decode("ascii", "replace"),
            keep_blank_values=True,
            encoding="utf-8",
            errors="replace",  # becomes U+FFFD, which validation refuses on the page
            max_num_fields=MAX_FIELDS,
        )
    except ValueError as error:
        raise HTTPException(400, "The form could not be read.") from error
    return list(pairs)


async def _multipart(request: Request, body: bytes) -> list[tuple[str, str | None]]:
    async def whole_body() -> AsyncGenerator[bytes, None]:
        yield body

    parser = MultiPartParser(
        request.headers, whole_body(), max_files=MAX_FIELDS, max_fields=MAX_FIELDS, max_part_size=max(len(body), 1)
    )
    try:
        items = (await parser.parse()).multi_items()
    except MultiPartException as error:
        raise HTTPException(400, "The form could not be read.") from error
    pairs: list[tuple[str, str | None]] = []
    for name, value in items:
        if isinstance(value, UploadFile):
            await value.close()
            pairs.append((name, None))
        else:
            pairs.append((name, value))
    return pairs


def _from_pairs(pairs: list[tuple[str, str | None]]) -> Form:
    """`None` stands for an uploaded file."""
    counts = Counter(name for name, _ in pairs)
    values: dict[str, str] = {}
    for name, value in pairs:
        if value is not None:
            values.setdefault(name, value)
    return Form(
        values=values,
        uploads=frozenset(name for name, value in pairs if value is None),
        repeated=frozenset(name for name, count in counts.items() if count > 1),
    )
