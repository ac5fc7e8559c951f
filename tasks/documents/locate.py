"""Where a document's file is: in the corpus, in a mirror, in the cache, or at its address.

It returns a path only when the bytes have the entry's sha256. It never writes into the corpus or the mirror.

Order
    1. `<corpus>/documents/<name>`   the corpus's own; other bytes there are an error, not a reason to look further
    2. `<mirror>`                    a local folder; the file may have another name, its sha256 counts
    3. `<cache>/<sha256>/<name>`     what an earlier download left
    4. the entry's url               only where downloading is allowed; written to the cache after the check, in one rename

A document that is not pinned counts as it is in the corpus, so only the first place counts. Names may have folders in every place.
"""

from __future__ import annotations

import hashlib
import http.client
import io
import os
import shutil
import stat
import tempfile
import unicodedata
import urllib.error
import urllib.request
from functools import lru_cache
from pathlib import Path

from tasks.documents.manifest import DOCUMENTS_FOLDER, FILE_NAME, Entry
from tasks.domain.errors import PermanentError, TemporaryError

TIMEOUT_SECONDS = 60.0
LARGEST_FILE_BYTES = 200_000_000
"""A document larger than this is not fetched: federal publications have a few megabytes at most."""

_USER_AGENT = "filewright-ingest/1"


def sha256_of(path: Path) -> str:
    """The file's sha256 in lower-case hex, read in blocks.

    Raises OSError, also for what is no regular file: opening a pipe would wait for somebody to write into it.
    """
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def open_regular(path: Path) -> io.BufferedReader:
    """Open a regular file for reading without ever waiting. Raises OSError for anything else."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path} is no regular file")
    return os.fdopen(descriptor, "rb")


def locate(entry: Entry, *, folder: Path, mirror: Path | None, cache: Path, download: bool) -> Path:
    """The path of a file with exactly the entry's bytes, by the order above.

    `folder` is the corpus folder. Without a sha256 the corpus's own file is returned as it is. Raises PermanentError when no place has the
    bytes (the message names the places and what to do) and TemporaryError when the address did not answer properly. The bytes of every
    place that is looked into are read once in a process, those of the file that is returned at each call.
    """
    committed = _own_file(folder / DOCUMENTS_FOLDER, entry.name)
    if committed.is_file():
        if entry.sha256 is not None and (actual := sha256_of(committed)) != entry.sha256:
            raise PermanentError(_other_bytes(entry, committed, actual))
        return committed
    if entry.sha256 is None or not entry.pinned:
        raise PermanentError(
            f"The file of {entry.name} was not found at {committed}. It is not pinned by a sha256, so no other place counts: put it back, "
            f"or remove its entry from {FILE_NAME}."
        )
    looked = [str(committed)]
    if mirror is not None:
        found = _in_mirror(entry.name, entry.sha256, mirror)
        if found is not None:
            return found
        looked.append(f"{mirror} (by sha256)")
    cached = cache / entry.sha256 / entry.name
    if cached.is_file():
        if sha256_of(cached) == entry.sha256:
            return cached
        cached.unlink()
    looked.append(str(cached))
    if download and entry.url is not None:
        return download_file(entry.url, cached, sha256=entry.sha256)
    raise PermanentError(
        f"The file of {entry.name} was not found. Looked in: {'; '.join(looked)}. "
        + ("Downloading is switched off. " if entry.url and not download else "")
        + ("" if entry.url else "Its manifest entry has no address to download from. ")
        + f"Put a copy with sha256 {entry.sha256[:16]}… into a folder and name that folder as the corpus mirror."
    )


def _other_bytes(entry: Entry, path: Path, actual: str) -> str:
    if entry.pinned:
        return (
            f"{path} is not the file that {FILE_NAME} names: its sha256 is {actual}, expected {entry.sha256}. "
            f"Restore the file, or change {FILE_NAME} if the document was replaced on purpose."
        )
    return (
        f"{path} changed while it was being read: its sha256 was {entry.sha256} and is {actual} now. "
        "Run the ingest again once nothing writes to it."
    )


def _own_file(documents: Path, name: str) -> Path:
    """Where the corpus's own file is: under its name, or under one that differs only in Unicode normal form (macOS writes such)."""
    path = documents / name
    if path.exists() or name.isascii():
        return path
    current = documents
    for part in name.split("/"):
        try:
            children = sorted(os.listdir(current))
        except OSError:
            return path
        alike = [child for child in children if unicodedata.normalize("NFC", child) == part]
        if not alike:
            return path
        current /= alike[0]
    return current


def _in_mirror(name: str, sha256: str, mirror: Path) -> Path | None:
    """The mirror's file with the right bytes: the one of that name first, then any of the same kind."""
    if not mirror.is_dir():
        raise PermanentError(f"The corpus mirror {mirror} is not a folder that can be read.")
    named = mirror / name
    suffix = Path(name).suffix.lower()
    others = sorted(path for path in mirror.rglob("*") if path.suffix.lower() == suffix and path != named)
    # The same base name first: most mirrors differ in folders only, and then nothing else is read.
    others.sort(key=lambda path: path.name != named.name)
    for path in [named, *others]:
        try:
            if path.is_file() and _remembered_sha256(path, _state(path)) == sha256 == sha256_of(path):
                return path
        except OSError:
            # One file that cannot be read hides no other; if none has the bytes, the caller says where it looked.
            continue
    return None


def _state(path: Path) -> tuple[int, ...]:
    information = path.stat()
    return (
        information.st_dev,
        information.st_ino,
        information.st_size,
        information.st_mtime_ns,
        information.st_ctime_ns,
    )


@lru_cache(maxsize=100_000)
def _remembered_sha256(path: Path, state: tuple[int, ...]) -> str:
    """A mirror is searched for each document; without this each search would read all of it. `state` makes a changed file a new one."""
    return sha256_of(path)


def download_file(url: str, target: Path, *, sha256: str, timeout: float = TIMEOUT_SECONDS) -> Path:
    """Fetch `url` to `target`; the file appears under its name only complete and checked.

    Raises TemporaryError for a network failure, a 5xx or 429 answer or a body that ends early, PermanentError for any other refusal, a
    file that is too large, or bytes with another sha256 (the publisher replaced the file: a person must look at the new one).
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    request = urllib.request.Request(url, headers={"User-Agent": _USER_AGENT})
    digest, size = hashlib.sha256(), 0
    partial_folder = Path(tempfile.mkdtemp(prefix=".partial-", dir=target.parent))
    try:
        partial = partial_folder / target.name
        with urllib.request.urlopen(request, timeout=timeout) as response, partial.open("wb") as file:
            while block := response.read(1 << 16):
                size += len(block)
                if size > LARGEST_FILE_BYTES:
                    raise PermanentError(f"{url} is larger than {LARGEST_FILE_BYTES} bytes and was not fetched.")
                digest.update(block)
                file.write(block)
            announced = response.headers.get("Content-Length")
        if announced is not None and int(announced) != size:
            raise TemporaryError(f"{url} ended after {size} of {announced} bytes.")
        if digest.hexdigest() != sha256:
            raise PermanentError(
                f"{url} now gives another file: sha256 {digest.hexdigest()}, expected {sha256}. Read the new version before you change "
                "corpus.toml, or use a mirror with the old one."
            )
        partial.replace(target)
        return target
    except urllib.error.HTTPError as error:
        kind = TemporaryError if error.code >= 500 or error.code in (408, 425, 429) else PermanentError
        raise kind(f"{url} answered {error.code} {error.reason}.") from error
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
        raise TemporaryError(f"{url} could not be fetched: {error}") from error
    finally:
        shutil.rmtree(partial_folder, ignore_errors=True)
