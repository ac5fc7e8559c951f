"""What a document is called before anybody has named it, also where the file is hostile."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest
from fpdf import FPDF
from hypothesis import given
from hypothesis import strategies as st

from tasks.documents.titles import LONGEST_TITLE, from_name, tidy, titles


def title(path: Path) -> str:
    return titles([(path, path.name)])[0]


def pdf(path: Path, *, metadata: str = "", heading: str = "", size: float = 20) -> Path:
    made = FPDF()
    if metadata:
        made.set_title(metadata)
    made.add_page()
    made.set_font("helvetica", size=size)
    if heading:
        made.multi_cell(0, 10, heading, new_x="LMARGIN", new_y="NEXT")
    made.set_font("helvetica", size=10)
    made.multi_cell(0, 6, "Plain words that fill a few lines of the page and are no title. " * 12)
    made.output(str(path))
    return path


def docx(path: Path, *, core: str = "", body: str = "") -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("docProps/core.xml", f"<x><dc:title>{core}</dc:title></x>")
        archive.writestr("word/document.xml", f"<w:document>{body}</w:document>")
    return path


@pytest.mark.parametrize(
    ("metadata", "heading", "size", "expected"),
    [
        ("Travel Policy of the Clinic", "Another heading", 20, "Travel Policy of the Clinic"),
        ("Microsoft Word - travel_v3.doc", "Travel Policy", 20, "Travel Policy"),
        ("untitled", "Travel Policy\nSecond line", 20, "Travel Policy Second line"),
        ("travel_v3.indd", "Travel Policy", 20, "Travel Policy"),
        ("E9-741", "Travel Policy", 20, "Travel Policy"),
        ("", "Travel Policy", 20, "Travel Policy"),
        # Not larger than the rest: any line could be the first.
        ("", "Page one of five", 10, "My file 2020-01-24"),
    ],
)
def test_a_pdf_is_called_by_its_metadata_or_its_largest_type(
    tmp_path: Path, metadata: str, heading: str, size: float, expected: str
) -> None:
    assert title(pdf(tmp_path / "my_file-2020-01-24.PDF", metadata=metadata, heading=heading, size=size)) == expected


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.md", "words first\nmore\n\n## The *second* `level` ##\n", "The second level"),
        ("a.md", "```\n# a comment in code\n```\n# Real heading\n", "Real heading"),
        ("a.md", "Underlined heading\n======\n", "Underlined heading"),
        ("a.md", "```\n# never closed", "A"),
        ("a.html", "<title>Head</title><h1 class='x'>Body &amp; <b>soul</b></h1>", "Body & soul"),
        ("a.htm", "<TITLE>Only the head</TITLE><p>x", "Only the head"),
        ("a.html", "<h1></h1><title>Untitled</title>", "A"),
        ("a.txt", "A line by itself\n\nText.", "A line by itself"),
        ("a.txt", "This is a sentence that ends.\n\nText.", "A"),
        ("a.txt", "Two lines\nof running text", "A"),
        ("a.txt", "", "A"),
        ("a.txt", "\ufeffMarked as UTF-8\n\nText", "Marked as UTF-8"),
        ("travel-policy_v2.txt", "x" * 70_000, "Travel policy v2"),
        ("x/2020-01/rule.xyz", "anything", "Rule"),
    ],
)
def test_a_text_is_called_by_its_first_heading(tmp_path: Path, name: str, content: str, expected: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    assert titles([(path, name)]) == [expected]


def test_a_word_file_is_called_by_its_properties_or_its_first_heading(tmp_path: Path) -> None:
    heading = (
        '<w:p><w:r><w:t>before</w:t></w:r></w:p><w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr>'
        '<w:r><w:t xml:space="preserve">Fire </w:t></w:r><w:r><w:t>&amp; smoke</w:t></w:r></w:p>'
    )
    assert title(docx(tmp_path / "a.docx", core="House rules", body=heading)) == "House rules"
    assert title(docx(tmp_path / "a.docx", core="Document1", body=heading)) == "Fire & smoke"
    assert title(docx(tmp_path / "a.docx")) == "A"


@pytest.mark.timeout(60)
def test_a_hostile_file_has_its_name_and_costs_the_others_nothing(tmp_path: Path) -> None:
    files = {
        "junk.pdf": b"%PDF-1.7" + bytes(range(256)) * 50,
        "cut.docx": b"PK\x03\x04" + b"\0" * 200,
        "tags.html": b"<h1>" + b"<" * 60_000,
        "hashes.md": b"#" * 60_000,
        "blanks.txt": b" " * 60_000,
        "surrogates.txt": b"\xff\xfe\x00\xd8\x00\xd8",
        "last.txt": b"Still read\n\nText",
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    found = titles([(tmp_path / name, name) for name in files] + [(tmp_path / "gone.txt", "gone.txt")])
    assert found == ["Junk", "Cut", "Tags", "Hashes", "Blanks", "Surrogates", "Still read", "Gone"]


@pytest.mark.timeout(120)
def test_a_file_that_ends_the_process_has_its_name_and_the_next_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe that nobody writes to holds the process until its alarm; so does a parser that hangs."""
    (tmp_path / "sitecustomize.py").write_text(
        "import signal\nold = signal.alarm\nsignal.alarm = lambda seconds: old(min(seconds, 5))\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    os.mkfifo(tmp_path / "stuck.txt")
    (tmp_path / "a.txt").write_text("Before\n\nText")
    (tmp_path / "b.txt").write_text("After\n\nText")
    names = ("a.txt", "stuck.txt", "b.txt", "stuck.txt")
    assert titles([(tmp_path / name, name) for name in names]) == ["Before", "Stuck", "After", "Stuck"]


@given(st.text(max_size=300))
def test_a_tidy_title_is_one_plain_line_that_a_manifest_can_hold(text: str) -> None:
    line = tidy(text)
    assert len(line) <= LONGEST_TITLE
    assert line == line.strip() and "\n" not in line and "\0" not in line
    assert line.encode("utf-8") is not None
    assert tidy(line) == line


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40).filter(str.strip))
def test_a_name_always_gives_a_title(name: str) -> None:
    assert from_name(name.replace("/", "_")).strip()
