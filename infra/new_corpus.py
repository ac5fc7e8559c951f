"""`python3 -m infra new corpus DIR`: a corpus folder from a folder of files.

It decides which files are taken and what the new `corpus.toml` says, and says of every other file why not. It never changes, moves or
deletes anything in DIR, never overwrites a corpus, and leaves nothing behind where it does not come to its end: the folder is made under
a hidden name beside its place, read again as an ingest would read it, and only then renamed. (Killed outright it leaves that hidden
folder, `.new-NAME-…`, which may be deleted.)

Rules
- Taken: regular files that have bytes and a kind that can be read, with their folders. A link inside DIR becomes the file it leads to.
- Not taken, each with its reason: other kinds, files that are empty, cut off, too large or not what their name says, that cannot be read,
  names that some system cannot keep or that differ only in case, links that lead out of DIR, pipes and devices. Passed over without a
  word: hidden files and editors' leftovers.
- The entries are not pinned. Whoever brings documents of their own replaces them by putting a new file in the old one's place, and an index
  records each file's sha256 anyway; the line that pins stands in each entry as a comment, with the value of today.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
import unicodedata
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

from infra.environment import Environment

DONE, COULD_NOT, BAD_REQUEST = 0, 1, 2
LONGEST_NAME = 60

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Taken:
    """A document of the new corpus."""

    name: str
    title: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class NotTaken:
    """A file that the new corpus does not have; `status` is one of the statuses of an ingest."""

    name: str
    status: str
    reason: str


class _Refused(Exception):
    """A bad request; the message is for a person."""


def run(options: argparse.Namespace, environment: Environment | None) -> int:
    """Make the corpus that the command line asks for; 0 made, 1 it could not be made, 2 a bad request."""
    from tasks.settings import settings

    usual = settings().corpus.corpus_folder
    into = options.into or usual
    try:
        name = _name(options.folder, options.name)
        _refuse_bad_places(options.folder, into, name)
    except _Refused as error:
        print(error, file=sys.stderr)
        return BAD_REQUEST
    try:
        with _hidden_folder(into, name) as made:
            taken, left = _fill(made, options.folder, name)
            _put_in_place(made, into / name)
    except _NothingToTake as error:
        for line in _lines(error.left):
            print(line, file=sys.stderr)
        print(f"No file of {options.folder} can be taken, so no corpus was made.", file=sys.stderr)
        return COULD_NOT
    except OSError as error:
        print(f"The corpus could not be made, and nothing was left behind: {error}", file=sys.stderr)
        return COULD_NOT
    steps = _next_steps(name, into, usual)
    if options.json:
        print(
            json.dumps(
                {
                    "corpus": name,
                    "folder": str((into / name).absolute()),
                    "documents": [asdict(row) for row in taken],
                    "not_taken": [asdict(row) for row in left],
                    "next": steps,
                },
                ensure_ascii=False,
            )
        )
        return DONE
    print(f"{into / name}: {len(taken)} document{'s' if len(taken) != 1 else ''}")
    for row in taken:
        print(f"  {row.name}: {row.title}")
    for line in _lines(left):
        print(f"  {line}")
    print("Next:")
    for step in steps:
        print(f"  {step}")
    return DONE


def _lines(left: list[NotTaken]) -> list[str]:
    return [f"not taken: {row.name}: {row.status}: {row.reason}" for row in left]


def slug(text: str) -> str:
    """`text` as a corpus name: letters without accents in lower case, digits, single hyphens; empty where nothing is left."""
    ascii_only = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", ascii_only.lower()).strip("-")[:LONGEST_NAME].strip("-")


class _NothingToTake(Exception):
    def __init__(self, left: list[NotTaken]) -> None:
        super().__init__("nothing to take")
        self.left = left


def _name(folder: Path, wanted: str | None) -> str:
    if wanted is None:
        name = slug(folder.resolve().name)
        if not name:
            raise _Refused(f"No corpus name can be made of {folder}. Give one: --name my-documents")
        return name
    if not _NAME.fullmatch(wanted) or len(wanted) > LONGEST_NAME:
        better = slug(wanted)
        raise _Refused(
            f"A corpus name has lower-case letters, digits and single hyphens, at most {LONGEST_NAME}, not {wanted!r}."
            + (f" Perhaps --name {better}" if better else "")
        )
    return wanted


def _refuse_bad_places(folder: Path, into: Path, name: str) -> None:
    if not folder.is_dir():
        raise _Refused(f"{folder} is not a folder. Name the folder that holds your files.")
    if not into.is_dir():
        raise _Refused(f"{into} is not a folder. Make it first, or leave --into out.")
    if os.path.lexists(into / name):
        raise _Refused(f"{into / name} exists and is not overwritten. Choose another --name, or remove it yourself.")


@contextlib.contextmanager
def _hidden_folder(into: Path, name: str) -> Iterator[Path]:
    """A folder beside the corpus' place that is gone afterwards unless it was renamed, whatever happens."""
    made = Path(tempfile.mkdtemp(prefix=f".new-{name}-", dir=into))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _fill(made: Path, source: Path, name: str) -> tuple[list[Taken], list[NotTaken]]:
    """Copy, describe and check. Raises OSError where the disk does not play along, _NothingToTake where nothing would be in it."""
    from tasks.documents.catalogue import catalogue
    from tasks.documents.manifest import DOCUMENTS_FOLDER, FILE_NAME
    from tasks.documents.titles import titles

    documents = made / DOCUMENTS_FOLDER
    documents.mkdir()
    chosen, left = _choose(source)
    copied: list[tuple[str, int, str]] = []
    for wanted, path in chosen:
        try:
            size, sha256 = _copy(path, documents / wanted)
        except _Unreadable as error:
            left.append(NotTaken(wanted, "broken", str(error)))
            continue
        copied.append((wanted, size, sha256))
    left.sort(key=lambda row: row.name)
    if not copied:
        raise _NothingToTake(left)
    proposed = titles([(documents / wanted, wanted) for wanted, _, _ in copied])
    taken = [Taken(wanted, title, size, sha256) for (wanted, size, sha256), title in zip(copied, proposed, strict=True)]
    (made / FILE_NAME).write_text(manifest_text(name, source.resolve().name, taken), encoding="utf-8")
    read = catalogue(made)
    if read.refused or [(e.name, e.title, e.sha256) for e in read.entries] != [
        (t.name, t.title, t.sha256) for t in taken
    ]:
        problems = (
            "; ".join(f"{row.name}: {row.reason}" for row in read.refused) or "its entries are not those of its files"
        )
        raise OSError(f"what was written does not read back as it should ({problems})")
    return taken, left


def _choose(source: Path) -> tuple[list[tuple[str, Path]], list[NotTaken]]:
    from tasks.documents.catalogue import shown, walk
    from tasks.documents.elements import PARTITIONED_SUFFIXES
    from tasks.documents.manifest import name_problem, same_name_key

    kinds = {".pdf", *PARTITIONED_SUFFIXES}
    chosen: list[tuple[str, Path]] = []
    left: list[NotTaken] = []
    seen: dict[str, str] = {}
    for item in sorted(walk(source), key=lambda item: os.fsencode(item.name)):
        name = shown(item.name)
        suffix = PurePosixPath(item.name).suffix.lower()
        problem = "has characters that no name can hold: rename the file" if name != item.name else name_problem(name)
        if item.problem is not None:
            left.append(NotTaken(name, *item.problem))
        elif suffix not in kinds:
            what = suffix or "a file without a suffix"
            reason = f"There is no reader for {what}; read are {', '.join(sorted(kinds))}."
            left.append(NotTaken(name, "unsupported", reason))
        elif problem:
            left.append(NotTaken(name, "unlisted", f"Its name {problem}."))
        elif same_name_key(name) in seen:
            other = seen[same_name_key(name)]
            reason = f"Its name differs from {other} only in case or normal form, and on some systems they are one file. Rename one."
            left.append(NotTaken(name, "unlisted", reason))
        else:
            refusal = _refusal(item.path, suffix)
            if refusal is None:
                seen[same_name_key(name)] = name
                chosen.append((name, item.path))
            else:
                left.append(NotTaken(name, *refusal))
    return chosen, left


def _refusal(path: Path, suffix: str) -> tuple[str, str] | None:
    """Status and reason of a file whose first and last bytes already say that it cannot be read."""
    from tasks.documents.signature import inspect

    try:
        refusal = inspect(path, suffix)
    except OSError as error:
        return "broken", f"The file cannot be read ({error.strerror or error})."
    return (str(refusal.status), refusal.reason) if refusal else None


class _Unreadable(Exception):
    """The source could not be read; what could not be written is an OSError."""


def _copy(source: Path, target: Path) -> tuple[int, str]:
    """Copy in blocks; returns the bytes that were copied and their sha256."""
    from tasks.documents.locate import open_regular

    target.parent.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    try:
        reading = open_regular(source)
    except OSError as error:
        raise _Unreadable(f"The file cannot be read ({error.strerror or error}).") from error
    with reading, target.open("xb") as writing:
        while True:
            try:
                block = reading.read(1 << 20)
            except OSError as error:
                target.unlink()
                raise _Unreadable(f"The file cannot be read ({error.strerror or error}).") from error
            if not block:
                break
            digest.update(block)
            size += len(block)
            writing.write(block)
    if size == 0:
        target.unlink()
        raise _Unreadable("The file was emptied while it was being copied.")
    return size, digest.hexdigest()


def _put_in_place(made: Path, target: Path) -> None:
    umask = os.umask(0)
    os.umask(umask)
    made.chmod(0o777 & ~umask)
    # Onto a folder that has something in it this fails, so of two commands at once one wins whole.
    made.rename(target)


def manifest_text(name: str, title: str, documents: list[Taken]) -> str:
    """The `corpus.toml` of a new corpus, with what a person may want to change as comments."""
    tables = [_table(document) for document in documents]
    return _HEAD.format(name=name, title=_quoted(_plain(title) or name)) + "\n".join(tables)


def _table(document: Taken) -> str:
    return (
        "[[documents]]\n"
        f"name = {_quoted(document.name)}\n"
        f"title = {_quoted(document.title)}\n"
        f'# sha256 = "{document.sha256}"\n'
        "# effective_from = 2020-01-31\n"
        "# effective_to = 2020-12-31\n"
    )


def _quoted(text: str) -> str:
    # A JSON string without control characters is a TOML string; neither names nor titles have any.
    return json.dumps(text, ensure_ascii=False)


def _plain(title: str) -> str:
    from tasks.documents.titles import tidy

    return tidy(title)


def _next_steps(name: str, into: Path, usual: Path) -> list[str]:
    steps = [f"read {into / name / 'corpus.toml'}: correct the titles, and say from when documents are in force"]
    if into.resolve() != usual.resolve():
        steps.append(
            f"export FILEWRIGHT_CORPUS_FOLDER={into.absolute()}   # before python3 -m infra up; the services need it too"
        )
    return [
        *steps,
        'eval "$(python3 -m infra env)"   # once the services run: python3 -m infra up',
        f"prefect deployment run ingest/ingest --param corpus={name} --watch",
        f'python3 -m infra search --corpus {name} "a question in your own words"',
        f"python3 -m infra suggest-golden --corpus {name}   # drafts of questions; accept some, then ingest again",
    ]


_HEAD = """\
# The documents of this corpus. Made by `python3 -m infra new corpus`; yours to edit from now on.
#
#   corpus.toml      this file: which documents there are
#   documents/       the files. They are copies; the folder that they come from was not changed
#   golden.jsonl     not there yet: questions with the place of their answer. Without them an index of this corpus opens for
#                    `search` only, marked unevaluated, and nothing is ever filed from it.
#                    `python3 -m infra suggest-golden --corpus {name}` drafts some for you to accept or drop
#   filings/         not there yet: one folder for each form that is filed from this corpus; see corpus/README.md
#
# Each [[documents]] table is one document:
#   name             its path below documents/
#   title            what people and the model see; it was taken from the file and may need a correction
#   sha256           optional. Remove the # before it to pin the document: a file with other bytes is then refused. Without it the
#                    file counts as it is at each ingest, so a new edition only has to be put in the old one's place
#   effective_from   optional, the first and
#   effective_to     the last day on which the document is in force. A search for a period leaves out what was not in force in it
#                    and says so. Remove the # and write the day without quotes; a missing one is an open end
#
# A new file in documents/ needs a table here, or it is reported as unlisted and not searched. With unlisted = "index" every file
# counts, with its path for a title.
title = {title}
unlisted = "refuse"

"""
