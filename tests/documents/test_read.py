"""Files become pages, and bad files become reasons."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from docx import Document
from fpdf import FPDF

from tasks.documents import Status, read_pages
from tasks.documents.pdf import PdfFile
from tests.conftest import REPOSITORY
from tests.documents.conftest import Bench

LONG = "\n".join(f"Line {number} of the page says something about the rule." for number in range(20))


def test_pages_are_numbered_from_one_and_carry_the_name_given(bench: Bench) -> None:
    result = read_pages(bench.pdf("x.pdf", "first page", "second page"), "rule.pdf")
    assert result.status is Status.OK and result.reason == "2 pages read."
    assert [(page.document, page.number, page.text) for page in result.pages] == [
        ("rule.pdf", 1, "first page"),
        ("rule.pdf", 2, "second page"),
    ]


def test_a_page_without_text_is_named_and_keeps_its_number(bench: Bench) -> None:
    result = read_pages(bench.pdf("x.pdf", "first", "", "third"), "x.pdf")
    assert [page.text for page in result.pages] == ["first", "", "third"]
    assert result.reason == "3 pages read (pages without text: 2)."


@pytest.mark.parametrize(
    ("make", "status", "words"),
    [
        (lambda bench: bench.folder / "absent.pdf", Status.MISSING, "There is no file"),
        (lambda bench: bench.folder, Status.MISSING, "There is no file"),
        (lambda bench: bench.file("a.pdf", b""), Status.EMPTY, "0 bytes"),
        (lambda bench: bench.pdf("a.pdf", LONG, password="secret"), Status.ENCRYPTED, "password"),
        (lambda bench: bench.file("a.pdf", b"\x00\xff garbage " * 500), Status.BROKEN, "damaged"),
        (lambda bench: bench.file("a.pdf", b"<html><body>Not found</body></html>"), Status.BROKEN, "damaged"),
        (lambda bench: bench.file("a.pdf", b"%PDF-1.7\n%%EOF\n"), Status.BROKEN, "damaged"),
        (lambda bench: bench.pdf("a.pdf", "", ""), Status.NO_TEXT, "scan"),
    ],
    ids=["absent", "a folder", "empty", "encrypted", "garbage", "an error page", "only a header", "pictures only"],
)
def test_a_bad_file_gets_a_status_and_a_sentence(bench: Bench, make: object, status: Status, words: str) -> None:
    path = make(bench)  # type: ignore[operator]
    result = read_pages(path, "a.pdf")
    assert result.status is status and words in result.reason and result.reason.endswith(".")
    assert result.pages == ()


@pytest.mark.parametrize("share", [0.05, 0.3, 0.6, 0.9])
def test_a_truncated_file_is_broken_or_gives_its_text_but_never_a_wrong_success(bench: Bench, share: float) -> None:
    """PDFium repairs some cut files; what it returns then is real text, and what it cannot repair has a reason."""
    whole = bench.pdf("whole.pdf", LONG, LONG).read_bytes()
    result = read_pages(bench.file("cut.pdf", whole[: int(len(whole) * share)]), "cut.pdf")
    if result.status is Status.OK:
        assert any("Line 0 of the page" in page.text for page in result.pages)
    else:
        assert result.status in (Status.BROKEN, Status.NO_TEXT) and result.pages == ()


def test_an_unknown_kind_is_unsupported(bench: Bench) -> None:
    result = read_pages(bench.file("a.xls", b"\xd0\xcf"), "a.xls")
    assert result.status is Status.UNSUPPORTED and ".xls" in result.reason
    assert read_pages(bench.file("README", b"x"), "README").status is Status.UNSUPPORTED


def test_too_many_pages_are_refused_before_any_is_read(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.documents.read.MOST_PAGES", 2)

    def unread(self: PdfFile) -> object:
        raise AssertionError("a page was read")

    monkeypatch.setattr(PdfFile, "pages", unread)
    result = read_pages(bench.pdf("a.pdf", "1", "2", "3"), "a.pdf")
    assert result.status is Status.TOO_LARGE and "3 pages" in result.reason


def test_one_page_is_open_at_a_time(bench: Bench) -> None:
    """Pages come one by one, so that a thousand of them cost the memory of their text."""
    with PdfFile(bench.pdf("a.pdf", *(f"page {number}" for number in range(30)))) as pdf:
        pages = pdf.pages()
        assert next(pages).lines[0].text == "page 0"
        assert not pdf._document._kids, "the first page is still open"
        assert [page.number for page in pages] == list(range(2, 31))


def test_a_page_set_sideways_is_read_and_turned_text_in_a_margin_is_not(tmp_path: Path) -> None:
    pdf = FPDF(unit="pt", format=(500, 700))
    pdf.set_font("helvetica", size=11)
    pdf.add_page()
    for number, text in enumerate(("A table that is set", "sideways fills", "the whole page.")):
        with pdf.rotation(90, 200 + 14 * number, 600):
            pdf.text(200 + 14 * number, 600, text)
    pdf.add_page()
    pdf.text(60, 300, "An upright line of the document.")
    with pdf.rotation(90, 20, 600):
        pdf.text(20, 600, "printer on PRESS1")
    pdf.output(str(tmp_path / "a.pdf"))
    result = read_pages(tmp_path / "a.pdf", "a.pdf")
    assert [page.text for page in result.pages] == [
        "A table that is set sideways fills the whole page.",
        "An upright line of the document.",
    ]
    assert result.furniture == ("printer on PRESS1",)


def test_two_threads_may_read_at_once(bench: Bench) -> None:
    """PDFium itself must not be entered twice; mapped tasks of one process do just that."""
    paths = [bench.pdf(f"{number}.pdf", *[f"document {number}\n{LONG}"] * 5) for number in range(6)]
    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(lambda path: read_pages(path, path.name), paths))
    assert [result.pages[4].text.split("\n")[0][:10] for result in results] == [f"document {n}" for n in range(6)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", "A rule takes effect.\n\nThe \ufb01eld 460–ET is sent.\n"),
        ("a.md", "# A rule takes effect.\n\nThe \ufb01eld 460–ET is sent.\n"),
        (
            "a.html",
            "<html><head><meta charset='utf-8'></head><body><h1>A rule takes effect.</h1>"
            "<p>The \ufb01eld\n 460–ET is sent.</p></body></html>",
        ),
    ],
)
def test_other_kinds_become_the_same_representation(bench: Bench, name: str, content: str) -> None:
    result = read_pages(bench.file(name, content.encode()), name)
    assert result.status is Status.OK
    assert [(page.number, page.text) for page in result.pages] == [
        (1, "A rule takes effect.\n\nThe field 460–ET is sent.")
    ]


SENTENCE = "The field 460–ET is sent in every claim."


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", SENTENCE.encode("utf-8-sig")),
        ("a.txt", SENTENCE.encode("utf-16")),
        ("a.txt", SENTENCE.encode("cp1252")),
        (
            "a.html",
            f"<meta charset=iso-8859-15><p>caf\xe9. {SENTENCE.replace('–', '&ndash;')}</p>".encode("iso-8859-15"),
        ),
    ],
    ids=["utf-8 with a mark", "utf-16", "windows", "declared"],
)
def test_a_text_is_decoded_by_rule_and_not_by_guess(bench: Bench, name: str, content: bytes) -> None:
    text = read_pages(bench.file(name, content), name).pages[0].text
    assert text.removeprefix("café. ") == SENTENCE


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html"])
def test_bytes_that_are_no_text_are_broken(bench: Bench, name: str) -> None:
    result = read_pages(bench.file(name, bytes(range(256)) * 20), name)
    assert result.status is Status.BROKEN and result.reason.endswith("(UnicodeError).")


def test_a_parser_that_fails_in_its_own_way_makes_the_file_broken(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> object:
        raise RuntimeError("something of its own")

    monkeypatch.setattr("tasks.documents.read.elements_from_file", fail)
    result = read_pages(bench.file("a.txt", b"text"), "a.txt")
    assert result.status is Status.BROKEN and "RuntimeError" in result.reason


def test_a_text_file_without_a_word_has_no_text(bench: Bench) -> None:
    result = read_pages(bench.file("a.txt", b"\n \n***\n"), "a.txt")
    assert (result.status, result.reason) == (Status.NO_TEXT, "The file has no word in it.")


def test_a_word_file_is_read(bench: Bench) -> None:
    document = Document()
    document.add_paragraph("The field 460–ET is sent in every claim.")
    document.save(str(bench.folder / "a.docx"))
    assert read_pages(bench.folder / "a.docx", "a.docx").pages[0].text == "The field 460–ET is sent in every claim."
    assert read_pages(bench.file("b.docx", b"not a zip at all"), "b.docx").status is Status.BROKEN


def test_reading_sends_nothing_and_downloads_nothing(tmp_path: Path) -> None:
    """In a process of its own without any opt-out set: no address is looked up and no connection made."""
    (tmp_path / "a.html").write_text("<p>The field is sent. It is required in every claim.</p>", encoding="utf-8")
    script = textwrap.dedent(
        """
        import socket, sys
        from pathlib import Path
        tried = []
        def refuse(*arguments, **_):
            tried.append(arguments)
            raise OSError("no network in this test")
        socket.getaddrinfo = socket.create_connection = socket.socket.connect = refuse
        from tasks.documents import read_pages
        result = read_pages(Path(sys.argv[1]), "a.html")
        print(result.status, [page.text for page in result.pages], tried)
        """
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, str(tmp_path / "a.html")],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=REPOSITORY,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
    )
    assert done.stdout.strip() == "ok ['The field is sent. It is required in every claim.'] []", done.stderr
    assert "Unstructured" not in done.stderr


def test_the_blank_pipeline_is_what_unstructured_uses() -> None:
    """Fails when upstream moves the place where its model is loaded."""
    from tasks.documents.unstructured_setup import use_blank_english

    use_blank_english()
    from unstructured.nlp import tokenize

    assert tokenize._get_nlp().pipe_names == ["sentencizer"]
    assert tokenize.sent_tokenize("One sentence. And another one.") == ["One sentence.", "And another one."]


def test_a_reader_that_is_not_installed_is_named(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "docx", None)
    for name in [module for module in sys.modules if module.startswith("unstructured.partition.docx")]:
        monkeypatch.delitem(sys.modules, name)
    result = read_pages(bench.file("a.docx", b"PK\x03\x04"), "a.docx")
    assert result.status is Status.UNSUPPORTED and "docx is missing" in result.reason
