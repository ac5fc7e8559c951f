"""Which documents a corpus has: `corpus.toml` as values.

It checks the file's shape and decides nothing about the documents themselves. It never touches the network and opens no document.

Rules
- Names are relative paths below the documents folder, in the citation's spelling: forward slashes, Unicode NFC, case kept. No two entries
  have one name, also not names that differ only in case or in normal form: on another machine they would be one file.
- What no folder walk takes for a document (hidden files, editors' leftovers: `is_leftover`) no entry may name either.
- A pinned document (`sha256`) is what it says, byte for byte, wherever the file came from. Without one the file counts as it is now, and
  only the file in the documents folder does; an address therefore needs a sha256.
- An address, where there is one, is https.
- `effective_from` and `effective_to` are whole days, both inclusive; a missing one is an open end.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Literal

from tasks.domain.errors import PermanentError

FILE_NAME = "corpus.toml"
DOCUMENTS_FOLDER = "documents"
LONGEST_NAME = 1_000
LONGEST_NAME_BYTES = 2_000
"""In UTF-8; a key of Postgres' index has room for 2,704 bytes."""
LONGEST_PART_BYTES = 255
"""What file systems allow for one part of a path."""

Unlisted = Literal["refuse", "index"]

_TOP_KEYS = ("title", "unlisted", "documents")
_ENTRY_KEYS = ("name", "title", "sha256", "url", "effective_from", "effective_to")
# Windows and macOS put these beside files; a dot file is hidden everywhere else.
_SYSTEM_FILES = frozenset({"thumbs.db", "desktop.ini"})
# Turning text around hides what a name is.
_BIDIRECTIONAL = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u2028\u2029\ufeff")


@dataclass(frozen=True, slots=True)
class Entry:
    """One document: `name` as the index and citations write it, `title` for people, `url` None where only a local copy counts.

    `pinned`: the sha256 stands in corpus.toml, and no other bytes will do. Otherwise it is None as the manifest is read, and what the file
    has now once a catalogue has looked.
    """

    name: str
    title: str
    sha256: str | None
    url: str | None = None
    effective_from: date | None = None
    effective_to: date | None = None
    pinned: bool = True


@dataclass(frozen=True, slots=True)
class Manifest:
    """A corpus: `name` is its folder's name. `unlisted` says what becomes of a file that no entry names."""

    name: str
    title: str
    documents: tuple[Entry, ...]
    unlisted: Unlisted = "refuse"


def load_manifest(folder: Path) -> Manifest:
    """Read `corpus.toml` of a corpus folder.

    Raises PermanentError, with the file, the entry and what to change, when it is missing, is no TOML or breaks a rule above.
    """
    path = folder / FILE_NAME
    data = _read(folder, path)
    _refuse_unknown(f"{path}:", data, _TOP_KEYS)
    unlisted = data.get("unlisted", "refuse")
    if unlisted != "refuse" and unlisted != "index":
        raise PermanentError(f'{path}: unlisted must be "refuse" or "index", not {unlisted!r}.')
    tables = data.get("documents", [])
    if not isinstance(tables, list) or not (tables or unlisted == "index"):
        raise PermanentError(
            f'{path}: at least one [[documents]] table is needed; or write unlisted = "index" above, and every file counts.'
        )
    entries = tuple(_entry(path, number, table) for number, table in enumerate(tables, start=1))
    _refuse_doubles(path, entries)
    title = _text(f"{path}: the corpus", data, "title")
    return Manifest(folder.resolve().name, title, entries, unlisted)


def name_problem(name: str) -> str:
    """Why `name` cannot be a document's name, in words that follow "the name X"; empty where it can. Normal form is not judged."""
    parts = name.split("/")
    if "\\" in name or any(part in ("", ".", "..") for part in parts):
        return "must be a plain relative path below documents/, with forward slashes and without empty, . or .. parts"
    if any(is_unsafe(character) for character in name):
        return "has control characters, or characters that turn text around: rename the file"
    if any(part != part.strip() or part.endswith(".") for part in parts):
        return (
            "has a part that begins or ends with a blank or ends with a dot, which other systems drop: rename the file"
        )
    if any(is_leftover(part) for part in parts):
        return "is that of a hidden file or an editor's leftover, which is never a document: rename the file"
    if (
        len(name) > LONGEST_NAME
        or len(name.encode()) > LONGEST_NAME_BYTES
        or any(len(part.encode()) > LONGEST_PART_BYTES for part in parts)
    ):
        return f"is too long: at most {LONGEST_NAME} characters, {LONGEST_NAME_BYTES} bytes, and {LONGEST_PART_BYTES} bytes in a part"
    return ""


def is_unsafe(character: str) -> bool:
    """Whether a character has no place in a name or title: control characters, halves of characters, and what turns text around."""
    return unicodedata.category(character) in ("Cc", "Cs") or character in _BIDIRECTIONAL


def is_leftover(part: str) -> bool:
    """Whether a file or folder of this name is none of the user's: hidden, an office program's lock file, a backup, a system's own."""
    return (
        part.startswith((".", "~$"))
        or part.endswith("~")
        or (part.startswith("#") and part.endswith("#"))
        or part.casefold() in _SYSTEM_FILES
    )


def same_name_key(name: str) -> str:
    """Equal for two names that differ only in case or in Unicode normal form."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


def _read(folder: Path, path: Path) -> dict[str, object]:
    try:
        # Some editors put a byte order mark in front, which TOML does not know.
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError):
        raise PermanentError(
            f"There is no corpus at {folder}: {FILE_NAME} is missing. `python3 -m infra new corpus DIR` writes one for a folder of files."
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise PermanentError(f"{path} cannot be read: {error}. Correct it and try again.") from error


def _refuse_unknown(where: str, table: Mapping[str, object], known: tuple[str, ...]) -> None:
    unknown = sorted(set(table) - set(known))
    if unknown:
        shown = ", ".join(key if key.isprintable() else repr(key) for key in unknown)
        raise PermanentError(f"{where} has unknown keys {shown}. Remove or correct them; known are {', '.join(known)}.")


def _refuse_doubles(path: Path, entries: tuple[Entry, ...]) -> None:
    seen: dict[str, Entry] = {}
    for entry in entries:
        first = seen.setdefault(same_name_key(entry.name), entry)
        if first is entry:
            continue
        if first.name == entry.name:
            raise PermanentError(f"{path}: the document {entry.name} is named more than once. Keep one of the entries.")
        raise PermanentError(
            f"{path}: the documents {first.name} and {entry.name} have names that differ only in case, and on some systems are one file. "
            "Rename one of them."
        )


def _entry(path: Path, number: int, table: object) -> Entry:
    where = f"{path}: document {number}"
    if not isinstance(table, dict):
        raise PermanentError(f"{where} is not a table. Begin each document with a line [[documents]].")
    name = unicodedata.normalize("NFC", _text(where, table, "name", blanks=True))
    problem = name_problem(name)
    if problem:
        raise PermanentError(f"{where}: the name {name!r} {problem}.")
    where = f"{where} ({name})"
    _refuse_unknown(where, table, _ENTRY_KEYS)
    sha256 = _sha256(where, table)
    url = _url(where, table)
    if url is not None and sha256 is None:
        raise PermanentError(f"{where}: an address needs a sha256, so that what it serves can be checked. Add one.")
    first, last = _day(where, table, "effective_from"), _day(where, table, "effective_to")
    if first is not None and last is not None and last < first:
        raise PermanentError(f"{where}: effective_to ({last}) is before effective_from ({first}). Correct one of them.")
    return Entry(name, _text(where, table, "title"), sha256, url, first, last, pinned=sha256 is not None)


def _sha256(where: str, table: Mapping[str, object]) -> str | None:
    if "sha256" not in table:
        return None
    value = table["sha256"]
    if not isinstance(value, str) or not re.fullmatch(r"[0-9a-f]{64}", value):
        raise PermanentError(
            f"{where}: sha256 must be 64 hexadecimal digits in lower case. Write what `sha256sum` prints for the file, or leave it out: "
            "then the file counts as it is."
        )
    return value


def _url(where: str, table: Mapping[str, object]) -> str | None:
    if "url" not in table:
        return None
    url = _text(where, table, "url")
    try:
        host = urllib.parse.urlsplit(url).hostname
    except ValueError:
        host = None
    if not url.startswith("https://") or not host or not url.isascii() or any(c.isspace() for c in url):
        raise PermanentError(
            f"{where}: the url must begin with https://, name a host, and be plain ASCII without blanks."
        )
    return url


def _day(where: str, table: Mapping[str, object], key: str) -> date | None:
    value = table.get(key)
    if value is None:
        return None
    # A datetime is a date for isinstance, and an hour of the day decides nothing here.
    if type(value) is not date:
        raise PermanentError(f"{where}: {key} must be a day, without quotes and without a time: {key} = 2020-03-24.")
    return value


def _text(where: str, table: Mapping[str, object], key: str, *, blanks: bool = False) -> str:
    """`blanks`: leave blanks around it for somebody else to judge."""
    value = table.get(key)
    if not isinstance(value, str) or not value.strip():
        raise PermanentError(f'{where} needs a {key}. Add a line {key} = "…".')
    if not blanks and any(is_unsafe(character) for character in value):
        raise PermanentError(f"{where}: the {key} has control characters or line breaks. Write it in one plain line.")
    return value if blanks else value.strip()
