"""Which documents a corpus has: `corpus.toml` as values.

It checks the file's shape and decides nothing about the documents themselves. It never touches the network and opens no document.

Rules
- Names are relative paths below the documents folder, in the citation's spelling; two entries never share a name.
- A sha256 is required: a document is what it says, byte for byte, wherever the file came from.
- An address, where there is one, is https.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tasks.domain.errors import PermanentError

FILE_NAME = "corpus.toml"
DOCUMENTS_FOLDER = "documents"


@dataclass(frozen=True, slots=True)
class Entry:
    """One document: `name` as the index and citations write it, `title` for people, `url` None where only a local copy counts."""

    name: str
    title: str
    sha256: str
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Manifest:
    """A corpus: `name` is its folder's name."""

    name: str
    title: str
    documents: tuple[Entry, ...]


def load_manifest(folder: Path) -> Manifest:
    """Read `corpus.toml` of a corpus folder.

    Raises PermanentError, with the file and what to change, when it is missing, is no TOML or breaks a rule above.
    """
    path = folder / FILE_NAME
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PermanentError(f"There is no corpus at {folder}: {FILE_NAME} is missing.") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise PermanentError(f"{path} cannot be read: {error}") from error
    unknown = set(data) - {"title", "documents"}
    if unknown:
        raise PermanentError(f"{path}: unknown keys {', '.join(sorted(unknown))}; known are title and documents.")
    tables = data.get("documents")
    if not isinstance(tables, list) or not tables:
        raise PermanentError(f"{path}: at least one [[documents]] table is needed.")
    entries = tuple(_entry(path, number, table) for number, table in enumerate(tables, start=1))
    names = [entry.name for entry in entries]
    for name in names:
        if names.count(name) > 1:
            raise PermanentError(f"{path}: the document {name} is named more than once.")
    return Manifest(folder.resolve().name, _text(path, "the corpus", data, "title"), entries)


def _entry(path: Path, number: int, table: object) -> Entry:
    where = f"document {number}"
    if not isinstance(table, dict):
        raise PermanentError(f"{path}: {where} is not a table.")
    unknown = set(table) - {"name", "title", "sha256", "url"}
    if unknown:
        raise PermanentError(f"{path}: {where} has unknown keys {', '.join(sorted(unknown))}.")
    name = _text(path, where, table, "name")
    parts = PurePosixPath(name)
    if parts.is_absolute() or ".." in parts.parts or "\\" in name or str(parts) != name:
        raise PermanentError(f"{path}: {where}: the name {name!r} must be a plain relative path.")
    sha256 = _text(path, where, table, "sha256")
    if not re.fullmatch(r"[0-9a-f]{64}", sha256):
        raise PermanentError(f"{path}: {where}: sha256 must be 64 hexadecimal digits in lower case.")
    url = None
    if "url" in table:
        url = _text(path, where, table, "url")
        if not url.startswith("https://"):
            raise PermanentError(f"{path}: {where}: the url must begin with https://.")
    return Entry(name, _text(path, where, table, "title"), sha256, url)


def _text(path: Path, where: str, table: dict[str, object], key: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value.strip():
        raise PermanentError(f"{path}: {where} needs a {key}.")
    return value
