"""What was read of one file, on disk, in batches of pages: so that memory stays small and a killed run goes on where it stopped.

It decides how a batch is written, when a spool belongs to a file, and what happens to a damaged one. It never reads a document.

Rules
- A spool is a folder of one document's own. `header.json` names the file's sha256 and the reader; a spool with another
  header is emptied and begun anew, whatever is in it.
- A batch is a gzipped JSON file, written under another name, flushed to the disk and renamed: it is there whole or not at all.
- A batch that cannot be read back is thrown away and read again. JSON can only hold values, so that a spool is safe to load.
- One writer at a time: a second one is told to try again later.

Memory is one batch; disk is about 5 kB a dense page.
"""

from __future__ import annotations

import errno
import fcntl
import gzip
import json
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tasks.domain.errors import PermanentError, TemporaryError

BATCH = 50
"""Pages in a batch: what a killed run reads again at most."""

FORMAT = 1
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}

Record = dict[str, Any]


class Spool:
    """One document's folder of batches. Every method that writes raises TemporaryError when the disk is full and
    PermanentError when the folder cannot be written to; neither leaves half a batch."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other writers out, over processes too. Raises TemporaryError when one is in."""
        with _told(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = (self.folder / "lock").open("a")
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise TemporaryError(f"Another run is reading the same document into {self.folder}.") from error
            yield

    def header(self) -> Record:
        """What the spool belongs to; empty when there is none or it cannot be read."""
        try:
            found = json.loads((self.folder / "header.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def belong_to(self, header: Record) -> None:
        """Make the spool that of `header`: kept when it already is, emptied when it is not."""
        wanted = {"format": FORMAT, **header}
        if self.header() != wanted:
            self.empty()
            self._write("header.json", json.dumps(wanted, sort_keys=True).encode())

    def empty(self) -> None:
        """Remove everything that a spool writes, and nothing else."""
        with _told(self.folder):
            for pattern in ("header.json", "batch-*.json.gz", "notes.json", "*.part"):
                for path in self.folder.glob(pattern):
                    path.unlink(missing_ok=True)

    def write_batch(self, number: int, records: Sequence[Record]) -> None:
        """Store the batch `number` (from 0), all of it or nothing."""
        content = json.dumps(list(records), ensure_ascii=True, separators=(",", ":")).encode("ascii")
        self._write(_name(number), gzip.compress(content, compresslevel=3, mtime=0))

    def read_batch(self, number: int) -> list[Record] | None:
        """The batch `number`, or None when it was not written or cannot be read back."""
        try:
            found = json.loads(gzip.decompress((self.folder / _name(number)).read_bytes()))
        except (OSError, EOFError, ValueError, zlib.error):
            return None
        return found if isinstance(found, list) else None

    def batches(self, count: int) -> Iterator[list[Record]]:
        """Batches 0 to `count` - 1 in order, one in memory at a time. Raises TemporaryError when one is not there: read the
        file again."""
        for number in range(count):
            records = self.read_batch(number)
            if records is None:
                raise TemporaryError(f"Batch {number} of {self.folder} is missing or damaged; read the document again.")
            yield records

    def write_notes(self, notes: Record) -> None:
        """Store what a later step found out about the whole document."""
        self._write("notes.json", json.dumps(notes).encode())

    def notes(self) -> Record:
        """What `write_notes` stored last; empty when nothing was."""
        try:
            found = json.loads((self.folder / "notes.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _write(self, name: str, content: bytes) -> None:
        part = self.folder / f"{name}.part"
        with _told(self.folder):
            try:
                with part.open("wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                part.replace(self.folder / name)
            except OSError:
                part.unlink(missing_ok=True)
                raise


def batch_count(records: int) -> int:
    """How many batches that many records fill."""
    return -(-records // BATCH)


def _name(number: int) -> str:
    return f"batch-{number:05}.json.gz"


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            message = f"The disk is full: pages could not be written below {folder}. Make room; the run goes on after the last whole batch."
            raise TemporaryError(message) from error
        raise PermanentError(f"Pages cannot be written below {folder}: {error.strerror or error}.") from error
