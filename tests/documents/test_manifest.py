"""corpus.toml as values, and what is refused."""

from __future__ import annotations

import unicodedata
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.documents import Entry, load_manifest
from tasks.documents.manifest import is_leftover, name_problem, same_name_key
from tasks.domain.errors import PermanentError

HASH = "a" * 64
GOOD = f'title = "T"\n[[documents]]\nname = "a.pdf"\ntitle = "A"\nsha256 = "{HASH}"\n'
PLAIN = 'title = "T"\n[[documents]]\nname = "a.pdf"\ntitle = "A"\n'


def manifest(folder: Path, text: str) -> Path:
    (folder / "corpus.toml").write_text(text, encoding="utf-8")
    return folder


def named(*names: str) -> str:
    return 'title = "T"\n' + "".join(f'[[documents]]\nname = "{name}"\ntitle = "A"\n' for name in names)


def test_a_manifest_is_read(tmp_path: Path) -> None:
    read = load_manifest(manifest(tmp_path, GOOD + 'url = "https://example.org/a.pdf"\n'))
    assert (read.name, read.title, read.unlisted) == (tmp_path.name, "T", "refuse")
    assert read.documents == (Entry("a.pdf", "A", HASH, "https://example.org/a.pdf"),)


def test_a_document_may_go_without_a_sha256_and_says_when_it_is_in_force(tmp_path: Path) -> None:
    read = load_manifest(manifest(tmp_path, PLAIN + "effective_from = 2020-03-24\neffective_to = 2020-03-24\n"))
    day = date(2020, 3, 24)
    assert read.documents == (Entry("a.pdf", "A", None, None, day, day, pinned=False),)


def test_where_unlisted_files_are_indexed_no_entry_is_needed(tmp_path: Path) -> None:
    read = load_manifest(manifest(tmp_path, 'title = "T"\nunlisted = "index"\n'))
    assert (read.unlisted, read.documents) == ("index", ())


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "corpus.toml").write_bytes(b"\xef\xbb\xbf" + PLAIN.replace("\n", "\r\n").encode())
    assert [entry.name for entry in load_manifest(tmp_path).documents] == ["a.pdf"]


def test_a_name_keeps_its_case_and_is_normalised_to_nfc(tmp_path: Path) -> None:
    read = load_manifest(manifest(tmp_path, named("Teil 1/Rüge.PDF")))
    assert [entry.name for entry in read.documents] == ["Teil 1/Rüge.PDF"]
    assert unicodedata.is_normalized("NFC", read.documents[0].name)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("title = ", "cannot be read"),
        ('title = "T"', r"at least one \[\[documents\]\]"),
        (GOOD.replace('title = "T"\n', ""), "the corpus needs a title"),
        (GOOD + GOOD.split("\n", 1)[1], "named more than once"),
        (GOOD.replace("a.pdf", "../a.pdf"), "plain relative path"),
        (GOOD.replace("a.pdf", "/a.pdf"), "plain relative path"),
        (GOOD.replace("a.pdf", "x//a.pdf"), "plain relative path"),
        (GOOD.replace("a.pdf", "./a.pdf"), "plain relative path"),
        (GOOD.replace("a.pdf", "x/"), "plain relative path"),
        (GOOD.replace("a.pdf", "x\\\\a.pdf"), "plain relative path"),
        (GOOD.replace(HASH, "A" * 64), "64 hexadecimal digits"),
        (GOOD.replace(HASH, "abc"), "64 hexadecimal digits"),
        (GOOD.replace(f'"{HASH}"', "7"), "64 hexadecimal digits"),
        (GOOD + 'url = "http://example.org/a.pdf"\n', "https://"),
        (GOOD + 'url = "https://"\n', "https://"),
        (GOOD + 'url = "https://[x/a.pdf"\n', "https://"),
        (GOOD + 'url = "https://example.org/a b.pdf"\n', "without blanks"),
        (GOOD + "pages = 3\n", "unknown keys pages"),
        ("mode = 1\n" + GOOD, "unknown keys mode"),
        ('title = "T"\ndocuments = ["a.pdf"]', "not a table"),
        ('title = "T"\ndocuments = "a.pdf"', r"at least one \[\[documents\]\]"),
        ('unlisted = "ignore"\n' + GOOD, 'must be "refuse" or "index"'),
        ("unlisted = []\n" + GOOD, 'must be "refuse" or "index"'),
        ("x = " + "[" * 100_000, "cannot be read"),
        ("x = " + "1" * 5_000, "cannot be read"),
    ],
)
def test_a_bad_manifest_is_refused_with_the_reason(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(PermanentError, match=complaint) as error:
        load_manifest(manifest(tmp_path, text))
    assert str(tmp_path / "corpus.toml") in str(error.value)


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ("effective_from = 2020-03-24T00:00:00\n", "a day, without quotes and without a time"),
        ("effective_from = 2020-03-24 00:00:00Z\n", "a day, without quotes"),
        ("effective_to = 07:30:00\n", "a day, without quotes"),
        ('effective_to = "2020-03-24"\n', "a day, without quotes"),
        ("effective_from = 2020\n", "a day, without quotes"),
        ("effective_from = 2020-03-24\neffective_to = 2020-03-23\n", "before effective_from"),
        ('url = "https://example.org/a.pdf"\n', "needs a sha256"),
        ('title = "twice"\n', "cannot be read"),
        ('"bad\\nkey" = 1\n', "unknown keys"),
    ],
)
def test_what_an_entry_says_wrongly_is_refused_by_name_and_with_a_remedy(
    tmp_path: Path, lines: str, complaint: str
) -> None:
    with pytest.raises(PermanentError, match=complaint) as error:
        load_manifest(manifest(tmp_path, PLAIN + lines))
    message = str(error.value)
    assert "document 1 (a.pdf)" in message or "cannot be read" in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        (("a.pdf", "A.PDF"), "differ only in case"),
        (("Straße.pdf", "STRASSE.pdf"), "differ only in case"),
        (("x/é.pdf", "X/É.pdf"), "differ only in case"),
        # Written with a combining accent in one place: after normalisation it is one name.
        (("é.pdf", "e\u0301.pdf"), "named more than once"),
    ],
)
def test_two_names_that_another_system_takes_for_one_are_refused(
    tmp_path: Path, names: tuple[str, str], complaint: str
) -> None:
    with pytest.raises(PermanentError, match=complaint):
        load_manifest(manifest(tmp_path, named(*names)))


def test_one_base_name_in_two_folders_is_two_documents(tmp_path: Path) -> None:
    assert len(load_manifest(manifest(tmp_path, named("2020/rule.pdf", "2021/rule.pdf"))).documents) == 2


@pytest.mark.parametrize(
    "name",
    [
        "a.pdf.", "a.pdf ", " a.pdf", "x /a.pdf", "x./a.pdf", "a\\u0000.pdf", "a\\n.pdf", "a\\u007f.pdf", "a\\u202efdp.exe",
        "\\ufeffa.pdf", ".hidden.pdf", "x/.git/a.pdf", "~$a.docx", "a.docx~", "#a.md#", "Thumbs.db", "..", ".", "a/../b.pdf",
        "ü" * 128, "x/" * 600 + "a.pdf",
    ],
)  # fmt: skip
def test_a_name_that_some_system_cannot_keep_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(PermanentError, match=r"document 1: the name .* (must be|has|is)"):
        load_manifest(manifest(tmp_path, named(name)))


@pytest.mark.parametrize("title", ["", "   ", "two\\nlines", "nul\\u0000"])
def test_a_title_that_cannot_be_shown_is_refused(tmp_path: Path, title: str) -> None:
    with pytest.raises(PermanentError, match="title"):
        load_manifest(manifest(tmp_path, PLAIN.replace('"A"', f'"{title}"')))


def test_a_folder_without_a_manifest_is_no_corpus(tmp_path: Path) -> None:
    with pytest.raises(PermanentError, match="no corpus"):
        load_manifest(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(PermanentError, match="no corpus"):
        load_manifest(tmp_path / "file")


def test_a_manifest_that_is_a_folder_or_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "corpus.toml").mkdir()
    with pytest.raises(PermanentError, match="cannot be read"):
        load_manifest(tmp_path)
    (tmp_path / "corpus.toml").rmdir()
    (tmp_path / "corpus.toml").write_bytes(b"title = '\xff'")
    with pytest.raises(PermanentError, match="cannot be read"):
        load_manifest(tmp_path)


@given(st.text(min_size=1, max_size=40))
def test_an_accepted_name_is_a_path_below_its_folder_on_every_system(name: str) -> None:
    if name_problem(name):
        return
    joined = Path("/corpus/documents") / name
    assert joined.relative_to("/corpus/documents").as_posix() == name
    assert ".." not in joined.parts
    assert not any(is_leftover(part) for part in name.split("/"))
    assert name.encode("utf-8").decode("utf-8") == name


@given(st.text(max_size=40))
def test_the_key_of_a_name_knows_neither_case_nor_normal_form(name: str) -> None:
    for other in (unicodedata.normalize("NFD", name), unicodedata.normalize("NFC", name), name.casefold()):
        assert same_name_key(other) == same_name_key(name)
    assert same_name_key(same_name_key(name)) == same_name_key(name)
