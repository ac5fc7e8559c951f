"""What a corpus consists of at this moment: `corpus.toml` held against the files that are there.

The directory is the truth. It decides which files count as documents and which do not, and says why for each that does not. It reads no
text, never touches the network and changes nothing.

Rules
- Subfolders count, and so does `.PDF`; a name is the whole path, so one base name in two folders is two documents. Two files with the same
  bytes are two entries with one sha256.
- A listed file that is not there stays an entry where it is pinned: another place may have it (`locate` looks). Unpinned, it is missing.
- A listed file with other bytes than it is pinned to does not count, and nothing else counts in its place.
- A file that no entry names is `unlisted`, or a document titled by its path where the manifest says `unlisted = "index"`.
- Ignored without a word: what `is_leftover` says (hidden files and folders, `~$report.docx`, `report.docx~`, `Thumbs.db`).
- Never opened: what is no regular file (pipes, sockets, devices), and links that lead out of the documents folder. A link to a file inside
  is that file under a second name. A linked folder is not walked: its files count where they are, and a loop has no end.
- Names that differ only in case are two files here and one elsewhere: both are refused unless one of them is listed, which then counts.
"""

from __future__ import annotations

import hashlib
import os
import stat
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tasks.documents.locate import sha256_of
from tasks.documents.manifest import (
    DOCUMENTS_FOLDER,
    LONGEST_NAME_BYTES,
    Entry,
    Manifest,
    is_leftover,
    is_unsafe,
    load_manifest,
    name_problem,
    same_name_key,
)
from tasks.domain.errors import PermanentError


@dataclass(frozen=True, slots=True)
class Refused:
    """A file or entry that is not indexed: `status` is one of missing, empty, mislabelled, broken, unsupported, unlisted.

    `name` is fit for storing and showing: what no text can hold is escaped, and what is too long to store is cut and ends in its hash.
    """

    name: str
    status: str
    reason: str


@dataclass(frozen=True, slots=True)
class Catalogue:
    """`entries`: the manifest's in its order, then unlisted files by name where they are indexed. Every entry has a sha256.

    No name is in both `entries` and `refused`, and none is twice in either.
    """

    manifest: Manifest
    entries: tuple[Entry, ...]
    refused: tuple[Refused, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """Something in a folder: `name` is its path below it in NFC, `problem` (status, reason) says why it cannot be read."""

    name: str
    path: Path
    problem: tuple[str, str] | None = None


def catalogue(folder: Path) -> Catalogue:
    """The documents of the corpus at `folder` as they are now.

    Reads every file that counts once, in blocks: cost grows with their bytes. A file that is written to meanwhile gets the sha256 of what
    was read; `locate` compares it again before anything is done with the file. Raises PermanentError for a manifest that is unsound or a
    documents folder that is none; a bad file is a row in `refused`.
    """
    manifest = load_manifest(folder)
    documents = folder / DOCUMENTS_FOLDER
    # Where a file's being there is what makes it a document, a folder that is away would withdraw them all.
    unpinned = any(not entry.pinned for entry in manifest.documents)
    if (manifest.unlisted == "index" or unpinned) and not os.path.lexists(documents):
        raise PermanentError(
            f"{documents} is missing, and with it every document that no sha256 pins. Put it back (is a drive not mounted?); "
            "if they are all to go, leave it empty."
        )
    found, refused = _by_name(documents)
    entries: list[Entry] = []
    for entry in manifest.documents:
        outcome = _listed(entry, found.pop(entry.name, None), refused.pop(entry.name, None), found)
        if isinstance(outcome, Entry):
            entries.append(outcome)
        else:
            refused[outcome.name] = outcome
    listed = {same_name_key(entry.name): entry.name for entry in manifest.documents}
    unlisted = _unlisted(manifest, list(found.values()), listed)
    entries += [row for row in unlisted if isinstance(row, Entry)]
    refused |= {row.name: row for row in unlisted if isinstance(row, Refused)}
    refused = {name: replace(row, name=name) for name, row in ((_cut(row.name), row) for row in refused.values())}
    return Catalogue(manifest, tuple(entries), tuple(refused[name] for name in sorted(refused)))


def walk(folder: Path) -> Iterator[Found]:
    """Everything below `folder` that is not a leftover: files, and what cannot be read. Callers sort; nothing where there is no folder.

    Raises PermanentError where `folder` is something else than a folder.
    """
    if not folder.exists() and not folder.is_symlink():
        return
    if not folder.is_dir():
        raise PermanentError(f"{folder} is not a folder. Put the documents into a folder of that name.")
    root = os.path.realpath(folder)
    pending = [(folder, "")]
    while pending:
        current, prefix = pending.pop()
        try:
            with os.scandir(current) as scanned:
                children = sorted(scanned, key=lambda child: os.fsencode(child.name))
        except OSError as error:
            yield Found(prefix.rstrip("/") or ".", current, ("broken", f"The folder cannot be read ({_words(error)})."))
            continue
        for child in children:
            name = unicodedata.normalize("NFC", prefix + child.name)
            if is_leftover(child.name):
                continue
            try:
                if child.is_dir(follow_symlinks=False):
                    pending.append((Path(child.path), name + "/"))
                    continue
            except OSError as error:
                yield Found(name, Path(child.path), ("broken", f"It cannot be looked at ({_words(error)})."))
                continue
            yield Found(name, Path(child.path), _file_problem(Path(child.path), root))


def shown(name: str) -> str:
    """`name` with everything escaped that a database or a terminal would choke on."""
    return "".join(_escaped(character) for character in name)


def _escaped(character: str) -> str:
    if character == "\\":
        # Doubled, so that no two names look the same once they are escaped.
        return "\\\\"
    if "\udc80" <= character <= "\udcff":
        return f"\\x{ord(character) - 0xDC00:02x}"  # a byte that is no UTF-8, as Python keeps it
    return character.encode("unicode_escape").decode("ascii") if is_unsafe(character) else character


def _cut(name: str) -> str:
    if len(name.encode()) <= LONGEST_NAME_BYTES:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return f"{name.encode()[: LONGEST_NAME_BYTES - 32].decode('utf-8', 'ignore')}… ({digest})"


def _file_problem(path: Path, root: str) -> tuple[str, str] | None:
    """Why a file is not to be opened; None for a regular file inside `root` that has bytes."""
    try:
        information = os.stat(path)
    except OSError as error:
        if path.is_symlink():
            return "missing", f"It is a link that leads nowhere ({_words(error)})."
        return "broken", f"It cannot be looked at ({_words(error)})."
    if path.is_symlink():
        target = os.path.realpath(path)
        if os.path.commonpath((root, target)) != root:
            return "unsupported", "It is a link that leads out of the folder. Put the file itself there."
        if stat.S_ISDIR(information.st_mode):
            return (
                "unsupported",
                "It is a link to another folder; the files count where they are. Remove it.",
            )
    if not stat.S_ISREG(information.st_mode):
        return "unsupported", "It is no regular file, but a pipe, socket or device. Remove it."
    if information.st_size == 0:
        return "empty", "The file is empty (0 bytes)."
    return None


def _by_name(documents: Path) -> tuple[dict[str, Found], dict[str, Refused]]:
    """Files by name; and, refused, those names that two files share because they differ only in normal form."""
    found: dict[str, Found] = {}
    refused: dict[str, Refused] = {}
    for item in walk(documents):
        if item.name in found or item.name in refused:
            found.pop(item.name, None)
            reason = (
                "Two files have this name and differ only in its Unicode normal form. Remove or rename one of them."
            )
            refused[item.name] = Refused(item.name, "mislabelled", reason)
        else:
            found[item.name] = item
    # Nothing under a name that no text can hold may travel on.
    return found, {shown(name): replace(row, name=shown(name)) for name, row in refused.items()}


def _listed(entry: Entry, item: Found | None, clash: Refused | None, others: dict[str, Found]) -> Entry | Refused:
    if clash is not None:
        return clash
    if item is None:
        if entry.pinned:
            return entry
        key = same_name_key(entry.name)
        alike = next((other for other in others if same_name_key(other) == key), None)
        hint = f" {shown(alike)} is there, whose name differs in case." if alike else ""
        reason = f"There is no file of this name in {DOCUMENTS_FOLDER}/.{hint} Put it back, or remove the entry from corpus.toml."
        return Refused(entry.name, "missing", reason)
    if item.problem is not None:
        return Refused(entry.name, *item.problem)
    sha256 = _hash(item)
    if isinstance(sha256, Refused):
        return sha256
    if entry.pinned and sha256 != entry.sha256:
        reason = (
            f"The file is not the one that corpus.toml names: its sha256 is {sha256}, expected {entry.sha256}. "
            "Restore the file, or change corpus.toml if the document was replaced on purpose."
        )
        return Refused(entry.name, "mislabelled", reason)
    return replace(entry, sha256=sha256)


def _unlisted(manifest: Manifest, items: list[Found], listed: dict[str, str]) -> list[Entry | Refused]:
    count: dict[str, int] = {}
    for item in items:
        key = same_name_key(item.name)
        count[key] = count.get(key, 0) + 1
    rows: list[Entry | Refused] = []
    for item in sorted(items, key=lambda item: shown(item.name)):
        key, name = same_name_key(item.name), shown(item.name)
        problem = "has characters that no name can hold: rename the file" if name != item.name else name_problem(name)
        if item.problem is not None and item.problem[0] != "empty":
            rows.append(Refused(name, *item.problem))
        elif key in listed:
            reason = f"Its name differs only in case from the document {listed[key]}; rename or remove it."
            rows.append(Refused(name, "unlisted", reason))
        elif manifest.unlisted == "refuse":
            reason = (
                "No entry of corpus.toml names this file. Add a [[documents]] table for it, remove it, or write "
                'unlisted = "index" at the top.'
            )
            rows.append(Refused(name, "unlisted", reason))
        elif problem:
            rows.append(Refused(name, "unlisted", f"Its name {problem}."))
        elif count[key] > 1:
            reason = (
                "Another file has a name that differs only in case, and on some systems they are one file. Rename one."
            )
            rows.append(Refused(name, "unlisted", reason))
        elif item.problem is not None:
            rows.append(Refused(name, *item.problem))
        else:
            sha256 = _hash(item)
            rows.append(sha256 if isinstance(sha256, Refused) else Entry(name, name, sha256, pinned=False))
    return rows


def _hash(item: Found) -> str | Refused:
    try:
        return sha256_of(item.path)
    except OSError as error:
        return Refused(item.name, "broken", f"The file cannot be read ({_words(error)}).")


def _words(error: OSError) -> str:
    return error.strerror or type(error).__name__
