"""BM25 over one index generation, in memory-mapped files that can be built again from Postgres at any time.

Decides what counts as the same word, and whether files on disk are whole and of this content. Text is folded for matching only: case, the
kinds of dashes, and compounds, so that `460–ET` in a passage meets `460-ET` in a query, and a word of a compound is found without its
neighbours. The stored passage keeps its own characters.

Files: one folder per generation, named by it and by a digest of its content (which document versions, how cut, how many chunks), written
aside and moved into place whole. `contents.json`, written last, has each file's size and checksum; a folder that does not match it is
built again. Beside the scores lie the chunks' ids and places in reading order, and which types of value each holds, so that a search
needs no list of chunks in memory.

Cost: building reads the chunks once as a stream, about 0.1 ms of one core for 500 characters, and holds about 30 bytes for each distinct
word of each chunk (2 GB for a million chunks of 500 characters) plus the vocabulary. Opening reads every file once for its checksum (about
400 bytes a chunk). A query costs time in the number of chunks that hold its words, and a pass over an array of a number per chunk.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
import unicodedata
import zlib
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
from bm25s.stopwords import STOPWORDS_EN
from numpy.typing import NDArray

from tasks.domain.answer_types import TYPES, AnswerType
from tasks.domain.errors import PermanentError, TemporaryError
from tasks.retrieval.generations import Generation
from tasks.store.connection import Connection

VERSION = 2
"""Raised with every change of `tokens` or of the files: older folders are then not of this content."""

DASHES = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"), "-")
WORD = re.compile(r"[^\W_]+(?:[-.][^\W_]+)*")
STOPWORDS = frozenset(STOPWORDS_EN)
# bm25s refuses a text without a token; a single private-use character is one that no query holds.
NO_WORD = "\ue000"
CONTENTS = "contents.json"
PLACES = ("ids", "documents", "pages", "starts", "ends", "by_id", "document_ids", "values")
ROWS_AT_ONCE = 2_000

Row = tuple[str, int, int, int, int, str]
"""A chunk as it is read: id, document, page, start, end, text; sorted by document, page, start."""


def tokens(text: str) -> list[str]:
    """The words to match: lower case, dashes folded; a compound gives itself and its parts; stop words fall out."""
    folded = unicodedata.normalize("NFKC", text).translate(DASHES).casefold()
    found: list[str] = []
    for word in WORD.findall(folded):
        found.append(word)
        if "-" in word or "." in word:
            found += word.replace(".", "-").split("-")
    return [token for token in found if token not in STOPWORDS]


class KeywordIndex:
    """BM25 ranking, and where each chunk stands. A chunk is named by its position in reading order, from 0.

    `documents[position]` counts into `document_ids`; `pages` count from 1; `starts` and `ends` are offsets into the page's text; bit n of
    `values` is set where the chunk holds a value of type n of tasks/domain/answer_types.py.
    """

    def __init__(self, folder: Path) -> None:
        """Open the files that `write` made. Raises Damaged where they are not whole."""
        _check(folder)
        try:
            arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in PLACES}
            self._bm25: Any = bm25s.BM25.load(str(folder), mmap=True, show_progress=False)
        except (OSError, ValueError, KeyError) as error:
            raise Damaged(f"{folder.name}: {type(error).__name__}") from error
        # Plain views of the mapped pages: a memmap object costs a microsecond at each slice.
        self._ids, self.documents, self.pages, self.starts, self.ends, self._by_id, self.document_ids, self.values = (
            np.asarray(arrays[name]) for name in PLACES
        )
        self._bm25.scores = {
            key: np.asarray(value) if isinstance(value, np.ndarray) else value
            for key, value in self._bm25.scores.items()
        }
        self.folder = folder

    def __len__(self) -> int:
        return len(self._ids)

    @classmethod
    def write(cls, folder: Path, rows: Iterable[Row]) -> KeywordIndex:
        """Write the files for `rows` and open them. Another process that writes the same folder at once does no harm.

        Raises TemporaryError where they cannot be written, ValueError for rows out of order.
        """
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            draft = Path(tempfile.mkdtemp(prefix=f"{folder.name}-", suffix=".draft", dir=folder.parent))
            try:
                _write(draft, rows)
                _move_into_place(draft, folder)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
        except OSError as error:
            raise TemporaryError(f"The BM25 files cannot be written into {folder.parent}: {error.strerror}.") from error
        return cls(folder)

    def ids(self, positions: Sequence[int]) -> list[str]:
        """The chunks' ids."""
        return [bytes(self._ids[position]).decode() for position in positions]

    def positions(self, ids: Sequence[str]) -> list[int]:
        """Where the chunks stand. Raises PermanentError for an id that is not among them."""
        if not ids:
            return []
        wanted = np.array([identity.encode() for identity in ids])
        places = np.searchsorted(self._ids, wanted, sorter=self._by_id)
        found = self._by_id[np.minimum(places, len(self._ids) - 1)]
        if not (self._ids[found] == wanted).all():
            raise PermanentError("The BM25 files do not have every chunk of the index: remove their folder.")
        return [int(position) for position in found]

    def holds(self, position: int, wanted: AnswerType) -> bool:
        """Whether the chunk holds a value of that type."""
        return bool(int(self.values[position]) >> TYPES.index(wanted) & 1)

    def allowed(self, documents: Collection[int]) -> NDArray[np.bool_]:
        """A mask over all chunks: True for those of these documents."""
        mask: NDArray[np.bool_] = np.isin(self.document_ids, np.fromiter(documents, np.int64))[self.documents]
        return mask

    def rank(self, query: str, k: int, allowed: NDArray[np.bool_] | None = None) -> list[int]:
        """At most `k` chunks that share a word with `query`, best first; equal scores in reading order.

        `allowed` keeps what it masks out of the ranking, so that nothing eligible is lost. How rare a word is counts over all chunks.
        """
        known = self._bm25.get_tokens_ids(tokens(query))
        if not known:
            return []
        scores = self._bm25.get_scores_from_ids(known, weight_mask=allowed)
        found = np.flatnonzero(scores > 0)
        if len(found) > k:
            least = np.partition(scores[found], -k)[-k]
            found = found[scores[found] >= least]
        order = np.lexsort((found, -scores[found]))[:k]
        return [int(position) for position in found[order]]


class Damaged(Exception):
    """The files are not whole. They are built again, so no caller of `open_keywords` meets it."""


def open_keywords(connection: Connection, generation: Generation, folder: Path) -> KeywordIndex:
    """The files of what `generation` holds below `folder`: those that lie there if they are whole, else built from Postgres.

    In the caller's transaction. Raises PermanentError where the generation has no chunks.
    """
    target = folder / _name(connection, generation)
    try:
        return KeywordIndex(target)
    except Damaged:
        return KeywordIndex.write(target, _rows(connection, generation))


def build_keywords(connection: Connection, generation: Generation, folder: Path) -> Path:
    """Make sure that the files of what `generation` holds lie below `folder`, whole; returns where. Raises as `open_keywords`."""
    return open_keywords(connection, generation, folder).folder


def remove_keywords(folder: Path, generations: Collection[int]) -> int:
    """Remove the files of these generations, which nothing searches any more; returns how many folders went. A search that has them open
    goes on with what it has mapped."""
    gone = [
        path
        for path in (folder.iterdir() if folder.is_dir() else ())
        if (match := re.match(r"([0-9]+)-[0-9a-f]{16}", path.name)) and int(match[1]) in generations
    ]
    for path in gone:
        shutil.rmtree(path, ignore_errors=True)
    return len(gone)


def _name(connection: Connection, generation: Generation) -> str:
    """The generation and a digest of its content: a database that was made anew counts its generations from 1 again."""
    rows = connection.execute(
        "SELECT d.id, d.sha256, d.reader, "
        "(SELECT count(*) FROM corpus.chunks c WHERE c.set_id = %(set)s AND c.document_id = d.id) FROM corpus.documents d "
        "WHERE d.id IN (SELECT document_id FROM corpus.generation_documents WHERE generation_id = %(generation)s) ORDER BY d.id",
        {"set": generation.set_id, "generation": generation.id},
    ).fetchall()
    if not sum(row[3] for row in rows):
        raise PermanentError(
            f"Index generation {generation.id} of {generation.corpus} has no chunks: no document gave any text, or they were pruned "
            "after a newer generation opened. Run ingest/ingest."
        )
    types = [(each.name, each.value.pattern) for each in TYPES]
    content = json.dumps([VERSION, types, generation.corpus, generation.splitter, rows])
    return f"{generation.id}-{hashlib.sha256(content.encode()).hexdigest()[:16]}"


def _rows(connection: Connection, generation: Generation) -> Iterator[Row]:
    with connection.cursor(name=f"keywords_{generation.id}") as cursor:
        cursor.itersize = ROWS_AT_ONCE
        cursor.execute(
            "SELECT id, document_id, page, start_offset, end_offset, text FROM corpus.chunks WHERE set_id = %s AND document_id IN "
            "(SELECT document_id FROM corpus.generation_documents WHERE generation_id = %s) "
            "ORDER BY document_id, page, start_offset",
            (generation.set_id, generation.id),
        )
        yield from cursor


class _Texts:
    """The token numbers of each text, as a list at a time, out of one flat array: bm25s goes over them three times."""

    def __init__(self) -> None:
        self.flat = array("i")
        self.ends = array("q", [0])

    def add(self, numbers: Iterable[int]) -> None:
        self.flat.extend(numbers)
        self.ends.append(len(self.flat))

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __iter__(self) -> Iterator[list[int]]:
        for number in range(len(self)):
            yield self.flat[self.ends[number] : self.ends[number + 1]].tolist()


def _write(folder: Path, rows: Iterable[Row]) -> None:
    vocabulary: dict[str, int] = {}
    texts = _Texts()
    ids: list[bytes] = []
    documents, pages, starts, ends, values = array("q"), array("i"), array("i"), array("i"), array("B")
    before: tuple[int, int, int] = (0, 0, -1)
    for identity, document, page, start, end, text in rows:
        if (document, page, start) <= before:
            raise ValueError(f"chunk {identity} is out of order")
        before = (document, page, start)
        ids.append(identity.encode())
        documents.append(document)
        pages.append(page)
        starts.append(start)
        ends.append(end)
        values.append(sum(each.in_text(text) << number for number, each in enumerate(TYPES)))
        texts.add(vocabulary.setdefault(word, len(vocabulary)) for word in tokens(text) or [NO_WORD])
    known, counted = np.unique(np.asarray(documents), return_inverse=True)
    all_ids = np.array(ids)
    del ids
    made = {
        "ids": all_ids,
        "documents": counted.astype(np.int32),
        "pages": np.asarray(pages),
        "starts": np.asarray(starts),
        "ends": np.asarray(ends),
        "by_id": np.argsort(all_ids, kind="stable").astype(np.int32),
        "document_ids": known,
        "values": np.asarray(values),
    }
    for name in PLACES:
        np.save(folder / f"{name}.npy", made[name], allow_pickle=False)
    bm25 = bm25s.BM25()
    bm25.scores = bm25.build_index_from_ids(list(vocabulary.values()), texts, show_progress=False)
    bm25.vocab_dict = vocabulary
    bm25.save(str(folder), show_progress=False)
    files = {path.name: [path.stat().st_size, _checksum(path)] for path in sorted(folder.iterdir())}
    (folder / CONTENTS).write_text(json.dumps({"version": VERSION, "files": files}), encoding="utf-8")


def _move_into_place(draft: Path, folder: Path) -> None:
    """Rename `draft` to `folder`; what lies there stays if it is whole, and makes room if it is not."""
    for _ in range(3):
        try:
            draft.rename(folder)
            return
        except OSError:
            if not folder.exists():
                raise
        try:
            _check(folder)
            return
        except Damaged:
            aside = Path(tempfile.mkdtemp(prefix=f"{folder.name}-", suffix=".damaged", dir=folder.parent))
            try:
                with suppress(FileNotFoundError):  # another process was faster
                    folder.rename(aside / folder.name)
            finally:
                shutil.rmtree(aside, ignore_errors=True)
    draft.rename(folder)


def _check(folder: Path) -> None:
    try:
        contents = json.loads((folder / CONTENTS).read_text(encoding="utf-8"))
        listed = {f"{name}.npy" for name in PLACES} <= set(contents["files"])
        whole = (contents["version"] == VERSION and listed) and all(
            (folder / name).stat().st_size == size and _checksum(folder / name) == checksum
            for name, (size, checksum) in contents["files"].items()
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Damaged(f"{folder.name}: {type(error).__name__}") from error
    if not whole:
        raise Damaged(f"{folder.name}: a file is not what was written")


def _checksum(path: Path) -> int:
    value = 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            value = zlib.crc32(block, value)
    return value
