"""The directory is the truth: which files count, and what is said of every one that does not."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import tempfile
import unicodedata
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.documents import Entry, catalogue, locate, read_pages
from tasks.documents.catalogue import shown, walk
from tasks.domain.claims import DATE, find_claims
from tasks.domain.errors import PermanentError
from tasks.domain.periods import in_force, quarter
from tests.conftest import CORPORA


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Corpus:
    """A corpus folder whose manifest names what it is told to."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.documents = folder, folder / "documents"
        self.documents.mkdir(parents=True)
        self.names: dict[str, str] = {}
        self.unlisted = "refuse"

    def put(self, name: str, content: bytes = b"words") -> Path:
        path = self.documents / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def entry(self, name: str, pinned: str = "") -> None:
        self.names[name] = pinned

    def read(self) -> tuple[list[Entry], dict[str, str]]:
        """The entries, and the status of each refused name."""
        lines = ['title = "T"', f'unlisted = "{self.unlisted}"']
        for name, pinned in self.names.items():
            lines += ["[[documents]]", f'name = "{name}"', 'title = "A title"']
            lines += [f'sha256 = "{pinned}"'] if pinned else []
        (self.folder / "corpus.toml").write_text("\n".join(lines), encoding="utf-8")
        read = catalogue(self.folder)
        names = [entry.name for entry in read.entries] + [row.name for row in read.refused]
        assert len(names) == len(set(names)), "a name is in the catalogue twice"
        assert all(entry.sha256 for entry in read.entries)
        assert all(row.reason.endswith(".") for row in read.refused)
        # What cannot be written as UTF-8 could not be stored.
        assert all(row.name.encode() and "\0" not in row.name for row in read.refused)
        return list(read.entries), {row.name: row.status for row in read.refused}

    def reason(self, name: str) -> str:
        return next(row.reason for row in catalogue(self.folder).refused if row.name == name)


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return Corpus(tmp_path / "mine")


def test_listed_files_are_entries_with_the_hash_they_have_now(corpus: Corpus) -> None:
    for name in ("b.pdf", "2020/Rule.PDF", "a.md"):
        corpus.put(name, name.encode())
        corpus.entry(name)
    entries, refused = corpus.read()
    assert [(entry.name, entry.sha256, entry.pinned) for entry in entries] == [
        (name, sha256(name.encode()), False) for name in ("b.pdf", "2020/Rule.PDF", "a.md")
    ]
    assert refused == {}
    corpus.put("a.md", b"other words")
    assert corpus.read()[0][2].sha256 == sha256(b"other words")


def test_one_content_under_two_names_is_two_entries_with_one_hash(corpus: Corpus) -> None:
    for name in ("2020/rule.pdf", "2021/rule.pdf"):
        corpus.put(name)
        corpus.entry(name)
    entries, refused = corpus.read()
    assert [entry.name for entry in entries] == ["2020/rule.pdf", "2021/rule.pdf"]
    assert len({entry.sha256 for entry in entries}) == 1
    assert refused == {}


def test_a_file_that_no_entry_names_is_a_row_that_says_what_to_do(corpus: Corpus) -> None:
    corpus.put("a.pdf")
    corpus.entry("a.pdf")
    corpus.put("deep/er/b.pdf")
    entries, refused = corpus.read()
    assert [entry.name for entry in entries] == ["a.pdf"]
    assert refused == {"deep/er/b.pdf": "unlisted"}
    assert "[[documents]]" in corpus.reason("deep/er/b.pdf")


def test_where_unlisted_files_are_indexed_their_path_is_their_name_and_title(corpus: Corpus) -> None:
    corpus.unlisted = "index"
    corpus.put("a.pdf")
    corpus.entry("a.pdf")
    corpus.put("z.txt", b"z")
    corpus.put("m/b.PDF", b"b")
    entries, refused = corpus.read()
    assert [(entry.name, entry.title) for entry in entries] == [
        ("a.pdf", "A title"),
        ("m/b.PDF", "m/b.PDF"),
        ("z.txt", "z.txt"),
    ]
    assert entries[1].sha256 == sha256(b"b")
    assert not entries[1].pinned
    assert refused == {}


def test_a_vanished_file_is_missing_unless_its_bytes_are_pinned(corpus: Corpus) -> None:
    corpus.entry("gone.pdf")
    corpus.entry("elsewhere.pdf", pinned="a" * 64)
    entries, refused = corpus.read()
    assert [(entry.name, entry.pinned) for entry in entries] == [("elsewhere.pdf", True)]
    assert refused == {"gone.pdf": "missing"}


def test_a_pinned_file_with_other_bytes_does_not_count_and_nothing_else_does_instead(corpus: Corpus) -> None:
    corpus.put("a.pdf", b"other edition")
    corpus.entry("a.pdf", pinned=sha256(b"words"))
    assert corpus.read() == ([], {"a.pdf": "mislabelled"})
    assert sha256(b"words") in corpus.reason("a.pdf")
    corpus.put("a.pdf", b"words")
    entries, refused = corpus.read()
    assert (entries[0].pinned, refused) == (True, {})


def test_an_empty_file_is_a_row_whether_it_is_listed_or_indexed_unlisted(corpus: Corpus) -> None:
    corpus.put("a.pdf", b"")
    corpus.entry("a.pdf", pinned="a" * 64)
    corpus.put("b.pdf", b"")
    assert corpus.read() == ([], {"a.pdf": "empty", "b.pdf": "unlisted"})
    corpus.unlisted = "index"
    assert corpus.read() == ([], {"a.pdf": "empty", "b.pdf": "empty"})


def test_leftovers_of_programs_are_ignored_and_half_a_download_is_not(corpus: Corpus) -> None:
    corpus.unlisted = "index"
    for name in (
        ".DS_Store",
        ".git/config",
        "x/.hidden.pdf",
        "~$Rule.docx",
        "Rule.docx~",
        "#a.md#",
        "Thumbs.db",
        "Desktop.ini",
    ):
        corpus.put(name)
    corpus.put("rule.pdf.part")
    entries, refused = corpus.read()
    assert ([entry.name for entry in entries], refused) == (["rule.pdf.part"], {})


def test_a_link_counts_only_if_it_stays_in_the_folder(corpus: Corpus, tmp_path: Path) -> None:
    outside = tmp_path / "secret.txt"
    outside.write_bytes(b"secret")
    inside = corpus.put("a.txt")
    (corpus.documents / "again.txt").symlink_to(inside)
    (corpus.documents / "out.txt").symlink_to(outside)
    (corpus.documents / "listed-out.txt").symlink_to("../../secret.txt")
    corpus.entry("listed-out.txt")
    (corpus.documents / "dangling.txt").symlink_to("nowhere.txt")
    (corpus.documents / "round.txt").symlink_to("round.txt")
    (corpus.documents / "loop").symlink_to(corpus.documents)
    (corpus.documents / "tmp").symlink_to(tmp_path)
    (corpus.documents / "device.txt").symlink_to("/dev/zero")
    corpus.unlisted = "index"
    entries, refused = corpus.read()
    assert {entry.name: entry.sha256 for entry in entries} == {
        "a.txt": sha256(b"words"),
        "again.txt": sha256(b"words"),
    }
    assert refused == {
        "out.txt": "unsupported", "listed-out.txt": "unsupported", "dangling.txt": "missing", "round.txt": "missing",
        "loop": "unsupported", "tmp": "unsupported", "device.txt": "unsupported",
    }  # fmt: skip


def test_a_documents_folder_that_is_itself_a_link_is_walked(corpus: Corpus, tmp_path: Path) -> None:
    corpus.put("a.txt")
    corpus.entry("a.txt")
    corpus.documents.rename(tmp_path / "theirs")
    corpus.documents.symlink_to(tmp_path / "theirs")
    entries, refused = corpus.read()
    assert ([entry.name for entry in entries], refused) == (["a.txt"], {})


@pytest.mark.timeout(20)
def test_pipes_and_sockets_are_never_opened(corpus: Corpus) -> None:
    os.mkfifo(corpus.documents / "pipe.pdf")
    os.mkfifo(corpus.documents / "unlisted.pdf")
    corpus.entry("pipe.pdf")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(corpus.documents / "socket.pdf"))
        assert corpus.read() == ([], dict.fromkeys(("pipe.pdf", "socket.pdf", "unlisted.pdf"), "unsupported"))


def test_a_folder_under_a_listed_name_is_not_that_document(corpus: Corpus) -> None:
    corpus.put("a.pdf/b.pdf")
    corpus.entry("a.pdf")
    assert corpus.read() == ([], {"a.pdf": "missing", "a.pdf/b.pdf": "unlisted"})


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A folder of a user who may not read everything; root may, so root steps down for the test."""
    folder = Path(tempfile.mkdtemp())
    was_root = os.geteuid() == 0
    if was_root:
        folder.chmod(0o755)
        os.chown(folder, 65534, 65534)
        os.seteuid(65534)
    try:
        yield folder
    finally:
        if was_root:
            os.seteuid(0)
        for path in folder.rglob("*"):
            if not path.is_symlink():
                path.chmod(0o700)
        shutil.rmtree(folder)


def test_what_may_not_be_read_is_a_row_and_hides_nothing_else(unprivileged: Path) -> None:
    corpus = Corpus(unprivileged / "mine")
    corpus.unlisted = "index"
    corpus.put("closed/a.txt")
    corpus.put("b.txt").chmod(0)
    corpus.put("c.txt")
    (corpus.documents / "closed").chmod(0)
    try:
        entries, refused = corpus.read()
    finally:
        (corpus.documents / "closed").chmod(0o700)
    assert ([entry.name for entry in entries], refused) == (["c.txt"], {"closed": "broken", "b.txt": "broken"})


def test_a_path_longer_than_the_system_allows_is_a_row_and_hides_nothing_else(corpus: Corpus) -> None:
    corpus.unlisted = "index"
    corpus.put("z.txt")
    here, made = os.getcwd(), []
    try:
        os.chdir(corpus.documents)
        for _ in range(20):
            os.mkdir("d" * 250)
            os.chdir("d" * 250)
            made.append(os.open(".", os.O_RDONLY))
        entries, refused = corpus.read()
    finally:
        os.chdir(here)
        # pytest could not remove it either: from the innermost folder outwards.
        for outer in reversed([None, *made[:-1]]):
            os.rmdir("d" * 250, dir_fd=outer) if outer is not None else os.rmdir(corpus.documents / ("d" * 250))
        for descriptor in made:
            os.close(descriptor)
    assert [entry.name for entry in entries] == ["z.txt"]
    assert list(refused.values()) == ["broken"]


@pytest.mark.parametrize(
    "part", [b"\xff\xfe.pdf", b"a\nb.pdf", b"\x1b[31mred.pdf", b"back\\slash.pdf", b"dot.", b"blank "]
)
def test_a_name_that_no_manifest_can_hold_is_a_row_in_readable_words(corpus: Corpus, part: bytes) -> None:
    Path(os.fsdecode(os.fsencode(corpus.documents) + b"/" + part)).write_bytes(b"words")
    corpus.entry("elsewhere.pdf", pinned="a" * 64)
    for corpus.unlisted in ("refuse", "index"):
        entries, refused = corpus.read()
        assert ([entry.name for entry in entries], list(refused.values())) == (["elsewhere.pdf"], ["unlisted"])
        assert all(name.isprintable() for name in refused)
    assert "rename the file" in corpus.reason(next(iter(refused)))


def test_a_file_whose_name_is_spelled_with_combining_accents_is_found(corpus: Corpus) -> None:
    spelled = unicodedata.normalize("NFD", "Büros/Rüge.txt")
    corpus.put(spelled)
    corpus.entry("Büros/Rüge.txt")
    entries, refused = corpus.read()
    assert (entries[0].sha256, refused) == (sha256(b"words"), {})
    found = locate(entries[0], folder=corpus.folder, mirror=None, cache=corpus.folder / "cache", download=False)
    assert found.read_bytes() == b"words"


def test_two_files_with_one_name_in_two_normal_forms_are_refused_together(corpus: Corpus) -> None:
    name = unicodedata.normalize("NFC", "Rüge.txt")
    for form in ("NFC", "NFD"):
        corpus.put(unicodedata.normalize(form, name), form.encode())
    for listed in (False, True):
        if listed:
            corpus.entry(name)
        for corpus.unlisted in ("index", "refuse") if listed else ("index",):
            assert corpus.read() == ([], {name: "mislabelled"})


def test_of_names_that_differ_in_case_the_listed_one_counts(corpus: Corpus) -> None:
    corpus.unlisted = "index"
    corpus.put("a.pdf", b"1")
    corpus.put("A.pdf", b"2")
    assert corpus.read() == ([], {"a.pdf": "unlisted", "A.pdf": "unlisted"})
    corpus.entry("A.pdf")
    entries, refused = corpus.read()
    assert ([entry.name for entry in entries], refused) == (["A.pdf"], {"a.pdf": "unlisted"})


def test_a_missing_file_whose_name_differs_in_case_is_pointed_out(corpus: Corpus) -> None:
    corpus.put("Rule.PDF")
    corpus.entry("rule.pdf")
    assert corpus.read() == ([], {"rule.pdf": "missing", "Rule.PDF": "unlisted"})
    assert "Rule.PDF is there" in corpus.reason("rule.pdf")


def test_a_documents_folder_that_is_a_file_is_an_error(corpus: Corpus) -> None:
    corpus.entry("a.pdf")
    corpus.documents.rmdir()
    corpus.documents.write_bytes(b"")
    with pytest.raises(PermanentError, match="is not a folder"):
        corpus.read()
    corpus.documents.unlink()
    corpus.documents.symlink_to("nowhere")
    with pytest.raises(PermanentError, match="is not a folder"):
        corpus.read()


def test_a_very_deep_tree_is_walked(corpus: Corpus) -> None:
    folder = corpus.documents
    for _ in range(1_200):
        folder /= "d"
        folder.mkdir()
    (folder / "a.txt").write_bytes(b"words")
    assert [found.name for found in walk(corpus.documents)] == ["d/" * 1_200 + "a.txt"]
    # Whoever clears the temporary folder may descend by recursion.
    (folder / "a.txt").unlink()
    while folder != corpus.documents:
        folder.rmdir()
        folder = folder.parent


def test_a_file_that_changed_after_the_catalogue_is_noticed_before_it_is_read(corpus: Corpus) -> None:
    path = corpus.put("a.txt")
    corpus.entry("a.txt")
    entry = corpus.read()[0][0]
    path.write_bytes(b"changed")
    with pytest.raises(PermanentError, match="changed while it was being read"):
        locate(entry, folder=corpus.folder, mirror=None, cache=corpus.folder / "cache", download=False)


@given(
    st.lists(
        st.binary(min_size=1, max_size=8).filter(lambda name: not {0, 47} & set(name)),
        min_size=2,
        max_size=2,
        unique=True,
    )
)
def test_no_two_file_names_look_alike_once_escaped(names: list[bytes]) -> None:
    first, second = (shown(os.fsdecode(name)) for name in names)
    assert first != second
    assert (first + second).encode("utf-8")


@pytest.mark.parametrize("name", ["sample", "hipaa"])
def test_every_document_of_a_committed_corpus_counts_and_is_in_force_in_the_quarter_of_the_demo(name: str) -> None:
    read = catalogue(CORPORA / name)
    assert read.refused == ()
    assert len(read.entries) == 3 and all(entry.pinned for entry in read.entries)
    period = quarter("Q3 2025")
    assert all(in_force(entry.effective_from, entry.effective_to, period) for entry in read.entries)
    # The rule says itself from when it is in force.
    assert [entry.effective_from for entry in read.entries if "rule" in entry.name] == [date(2020, 3, 24)]


def test_the_days_that_the_sample_corpus_gives_stand_in_its_documents() -> None:
    given = [entry for entry in catalogue(CORPORA / "sample").entries if entry.effective_from is not None]
    assert given
    for entry in given:
        pages = read_pages(CORPORA / "sample" / "documents" / entry.name, entry.name).pages
        stated = {claim.values for each in pages for claim in find_claims(each.text) if claim.kind == DATE}
        assert (str(entry.effective_from),) in stated, entry.name


def test_a_name_that_is_too_long_to_be_stored_is_a_row_that_can_be(corpus: Corpus) -> None:
    """Postgres takes no key beyond 2,704 bytes, and one such name would cost the whole ingest."""
    corpus.unlisted = "index"
    corpus.put("ok.txt")
    corpus.put("/".join([chr(0x4E00 + n) * 80 for n in range(12)]) + "/x.txt")
    before = os.getcwd()
    try:
        os.chdir(corpus.documents)
        for n in range(17):
            os.mkdir(f"{n:02}" + "y" * 238)
            os.chdir(f"{n:02}" + "y" * 238)
            if n in (12, 13):
                Path("x.txt").write_text("words")
    finally:
        os.chdir(before)
    entries, refused = corpus.read()
    assert [entry.name for entry in entries] == ["ok.txt"]
    assert len(refused) == 4 and set(refused.values()) == {"unlisted", "broken"}
    assert all(len(name.encode()) <= 2_000 for name in refused)


def test_a_documents_folder_that_went_away_withdraws_nothing_in_silence(corpus: Corpus) -> None:
    corpus.put("a.txt")
    corpus.unlisted = "index"
    assert [entry.name for entry in corpus.read()[0]] == ["a.txt"]
    corpus.documents.rename(corpus.folder / "away")
    with pytest.raises(PermanentError, match="is missing, and with it every document"):
        corpus.read()
    corpus.documents.mkdir()
    assert corpus.read() == ([], {})
