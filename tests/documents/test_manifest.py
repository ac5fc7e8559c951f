"""corpus.toml as values, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks.documents import Entry, load_manifest
from tasks.domain.errors import PermanentError

HASH = "a" * 64
GOOD = f'title = "T"\n[[documents]]\nname = "a.pdf"\ntitle = "A"\nsha256 = "{HASH}"\n'


def manifest(folder: Path, text: str) -> Path:
    (folder / "corpus.toml").write_text(text, encoding="utf-8")
    return folder


def test_a_manifest_is_read(tmp_path: Path) -> None:
    read = load_manifest(manifest(tmp_path, GOOD + 'url = "https://example.org/a.pdf"\n'))
    assert (read.name, read.title) == (tmp_path.name, "T")
    assert read.documents == (Entry("a.pdf", "A", HASH, "https://example.org/a.pdf"),)


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
        (GOOD.replace(HASH, "A" * 64), "64 hexadecimal digits"),
        (GOOD.replace(HASH, "abc"), "64 hexadecimal digits"),
        (GOOD + 'url = "http://example.org/a.pdf"\n', "https://"),
        (GOOD + "pages = 3\n", "unknown keys pages"),
        ("mode = 1\n" + GOOD, "unknown keys mode"),
        ('title = "T"\ndocuments = ["a.pdf"]', "not a table"),
    ],
)
def test_a_bad_manifest_is_refused_with_the_reason(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(PermanentError, match=complaint):
        load_manifest(manifest(tmp_path, text))


def test_a_folder_without_a_manifest_is_no_corpus(tmp_path: Path) -> None:
    with pytest.raises(PermanentError, match="no corpus"):
        load_manifest(tmp_path)
