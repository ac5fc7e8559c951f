"""Where a document's file is: in the corpus, in a mirror, in the cache, or at its address.

It returns a path only when the bytes have the manifest's sha256. It never writes into the corpus or the mirror.

Order
    1. `<corpus>/documents/<name>`   committed with the corpus; other bytes there are an error, not a reason to look further
    2. `<mirror>`                    a local folder; the file may have another name, its sha256 counts
    3. `<cache>/<sha256>/<name>`     what an earlier download left
    4. the entry's url               only where downloading is allowed; written to the cache after the check, in one rename
"""

from __future__ import annotations

import hashlib
import http.client
import shutil
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

from tasks.documents.manifest import DOCUMENTS_FOLDER, Entry
from tasks.domain.errors import PermanentError, TemporaryError

TIMEOUT_SECONDS = 60.0
LARGEST_FILE_BYTES = 200_000_000
"""A document larger than this is not fetched: federal publications have a few megabytes at most."""

_USER_AGENT = "filewright-ingest/1"


def sha256_of(path: Path) -> str:
    """The file's sha256 in lower-case hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def locate(entry: Entry, *, folder: Path, mirror: Path | None, cache: Path, download: bool) -> Path:
    """The path of a file with exactly the entry's bytes, by the order above.

    `folder` is the corpus folder. Raises PermanentError when no place has the bytes (the message names the places and what to do) and
    TemporaryError when the address did not answer properly.
    """
    looked: list[str] = []
    committed = folder / DOCUMENTS_FOLDER / entry.name
    if committed.is_file():
        if sha256_of(committed) != entry.sha256:
            raise PermanentError(
                f"{committed} is not the file that corpus.toml names: its sha256 is {sha256_of(committed)}, expected {entry.sha256}. "
                "Restore the file, or change corpus.toml if the document was replaced on purpose."
            )
        return committed
    looked.append(str(committed))
    if mirror is not None:
        found = _in_mirror(entry, mirror)
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


def _in_mirror(entry: Entry, mirror: Path) -> Path | None:
    """The mirror's file with the right bytes: the one of that name first, then any of the same kind."""
    if not mirror.is_dir():
        raise PermanentError(f"The corpus mirror {mirror} is not a folder that can be read.")
    named = mirror / entry.name
    suffix = Path(entry.name).suffix.lower()
    others = sorted(path for path in mirror.rglob("*") if path.suffix.lower() == suffix and path != named)
    for path in [named, *others]:
        if path.is_file() and sha256_of(path) == entry.sha256:
            return path
    return None


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
