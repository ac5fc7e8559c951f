"""Files become pages, and bad files become reasons."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from docx import Document
from fpdf import FPDF
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.documents import Status, read_pages, worker
from tasks.documents.pdf import PdfFile
from tasks.documents.read import READER, reader_of
from tests.conftest import REPOSITORY
from tests.documents.conftest import Bench

CATALOGUE = b"<< /Type /Catalog /Pages 2 0 R >>"
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
        (lambda bench: bench.file("a.pdf", b"<html><body>Not found</body></html>"), Status.MISLABELLED, "a web page"),
        (lambda bench: bench.file("a.pdf", b"%PDF-1.7\n%%EOF\n"), Status.TRUNCATED, "cut off"),
        (lambda bench: bench.pdf("a.pdf", "", ""), Status.NO_TEXT, "no word was recognised"),
        (
            lambda bench: bench.raw("a.pdf", CATALOGUE, b"<< /Type /Pages /Kids [] /Count 0 >>"),
            Status.BROKEN,
            "cannot be read",
        ),
    ],
    ids=["absent", "a folder", "empty", "encrypted", "garbage", "error page", "header only", "pictures", "no pages"],
)
def test_a_bad_file_gets_a_status_and_a_sentence(bench: Bench, make: object, status: Status, words: str) -> None:
    path = make(bench)  # type: ignore[operator]
    result = read_pages(path, "a.pdf")
    assert result.status is status and words in result.reason and result.reason.endswith(".")
    assert result.pages == ()


@pytest.mark.parametrize("share", [0.05, 0.3, 0.6, 0.9, 0.999])
def test_a_file_that_was_cut_off_is_truncated_wherever_it_was_cut(bench: Bench, share: float) -> None:
    """PDFium repairs some cut files, and would give a part of the document for the whole."""
    whole = bench.pdf("whole.pdf", LONG, LONG).read_bytes()
    result = read_pages(bench.file("cut.pdf", whole[: int(len(whole) * share)]), "cut.pdf")
    assert result.status is Status.TRUNCATED and result.pages == ()


def test_an_unknown_kind_is_unsupported(bench: Bench) -> None:
    result = read_pages(bench.file("a.xls", b"\xd0\xcf"), "a.xls")
    assert result.status is Status.UNSUPPORTED and ".xls" in result.reason
    assert read_pages(bench.file("README", b"x"), "README").status is Status.UNSUPPORTED


def test_too_many_pages_are_refused_before_any_is_read(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.documents.read.MOST_PAGES", 2)
    monkeypatch.setattr("tasks.documents.spool.Spool.write_batch", None)
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


def test_a_parser_that_fails_in_its_own_way_makes_the_file_broken(bench: Bench) -> None:
    """A zip with all the names of a Word file, and nothing that python-docx expects in them."""
    with zipfile.ZipFile(bench.folder / "a.docx", "w") as archive:
        archive.writestr("[Content_Types].xml", "no XML at all")
        archive.writestr("word/document.xml", "nor here")
    result = read_pages(bench.folder / "a.docx", "a.docx")
    assert result.status is Status.BROKEN and "XMLSyntaxError" in result.reason


def test_a_text_file_without_a_word_has_no_text(bench: Bench) -> None:
    result = read_pages(bench.file("a.txt", b"\n \n***\n"), "a.txt")
    assert (result.status, result.reason) == (Status.NO_TEXT, "The file has no word in it.")


def test_a_word_file_is_read(bench: Bench) -> None:
    document = Document()
    document.add_paragraph("The field 460–ET is sent in every claim.")
    document.save(str(bench.folder / "a.docx"))
    assert read_pages(bench.folder / "a.docx", "a.docx").pages[0].text == "The field 460–ET is sent in every claim."
    assert read_pages(bench.file("b.docx", b"not a zip at all"), "b.docx").status is Status.MISLABELLED


def test_reading_sends_nothing_and_downloads_nothing(tmp_path: Path) -> None:
    """In a process of its own without any opt-out set: no address is looked up and no connection made, in the worker neither."""
    (tmp_path / "a.html").write_text("<p>The field is sent. It is required in every claim.</p>", encoding="utf-8")
    (tmp_path / "sitecustomize.py").write_text(
        textwrap.dedent(
            f"""
            import socket
            def refuse(*arguments, **_):
                with open({str(tmp_path / "tried")!r}, "a") as log:
                    log.write(repr(arguments))
                raise OSError("no network in this test")
            socket.getaddrinfo = socket.create_connection = socket.socket.connect = refuse
            with open({str(tmp_path / "processes")!r}, "a") as log:
                log.write("x")
            """
        )
    )
    script = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from tasks.documents import read_pages
        result = read_pages(Path(sys.argv[1]), "a.html")
        print(result.status, [page.text for page in result.pages])
        """
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, str(tmp_path / "a.html")],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=REPOSITORY,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": str(tmp_path)},
    )
    assert done.stdout.strip() == "ok ['The field is sent. It is required in every claim.']", done.stderr
    assert "Unstructured" not in done.stderr
    assert len((tmp_path / "processes").read_text()) >= 2 and not (tmp_path / "tried").exists()


def test_the_blank_pipeline_is_what_unstructured_uses() -> None:
    """Fails when upstream moves the place where its model is loaded."""
    from tasks.documents.unstructured_setup import use_blank_english

    use_blank_english()
    from unstructured.nlp import tokenize

    assert tokenize._get_nlp().pipe_names == ["sentencizer"]
    assert tokenize.sent_tokenize("One sentence. And another one.") == ["One sentence.", "And another one."]


def test_a_reader_that_is_not_installed_is_named(bench: Bench) -> None:
    """In a process of its own, whose worker finds no python-docx."""
    Document().save(str(bench.folder / "a.docx"))
    bench.file("docx.py", b"raise ImportError('No module named docx', name='docx')")
    status, reason, _ = told(bench.folder / "a.docx", PYTHONPATH=str(bench.folder))
    assert status == "unsupported" and "docx is missing" in reason


def told(path: Path, **environment: str) -> tuple[str, str, str]:
    """Status, reason and reader of a file, read in a process with that environment."""
    script = (
        "import sys; from pathlib import Path; from tasks.documents.read import read_pages, reader_of; path = Path(sys.argv[1]);"
        "result = read_pages(path, path.name); print(result.status, result.reason, reader_of(path.name), sep='|')"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, str(path)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=REPOSITORY,
        env={"PATH": "/usr/bin:/bin", "HOME": str(path.parent)} | environment,
    )
    status, reason, reader = done.stdout.strip().split("|")
    return status, reason, reader


def test_without_tesseract_a_scan_says_what_to_install_and_is_read_again_once_it_is_there(bench: Bench) -> None:
    status, reason, reader = told(bench.pdf("a.pdf", ""), PATH="/nowhere")
    assert status == "no_text" and "Install tesseract" in reason and reader == f"{READER}:.pdf:unrecognised"
    status, reason, _ = told(bench.pdf("b.pdf", "A page with words", ""), PATH="/nowhere")
    assert status == "ok" and "tesseract, which is not installed: 2" in reason


def test_the_same_bytes_have_another_reader_under_another_name() -> None:
    assert reader_of("folder/RULE.PDF") == f"{READER}:.pdf" != reader_of("rule.txt")
    assert reader_of("rule.txt") != reader_of("rule.md")


@pytest.mark.parametrize(
    "name", ["RULE.PDF", "a b'c\"d;$(x).pdf", "règle — é.pdf", "-rf.pdf", "new\nline.pdf", "b\udcffd.pdf"]
)
def test_a_name_may_be_odd(bench: Bench, name: str) -> None:
    """Upper case, quotes, dashes, a line end, bytes that are no UTF-8: a name is only a name."""
    made = bench.pdf("x.pdf", "A page of words")
    path = made.rename(bench.folder / name)
    assert [page.text for page in read_pages(path, name).pages] == ["A page of words"]


def test_a_name_with_a_nul_is_missing(bench: Bench) -> None:
    assert read_pages(bench.folder / "a\0b.pdf", "a.pdf").status is Status.MISSING


def test_one_damaged_page_costs_itself_and_is_named(bench: Bench) -> None:
    """Zeros over the middle of one page's compressed content: PDFium would show a part of it and say nothing."""
    path = bench.pdf("a.pdf", *(f"{LONG}\nThis is page number {number}." for number in range(1, 6)))
    content = path.read_bytes()
    starts = [match.end() for match in re.finditer(rb"stream\n", content)]
    hit = starts[2 * 2]  # `endstream` ends with the same word, so every other one begins a stream
    path.write_bytes(content[: hit + 40] + bytes(60) + content[hit + 100 :])
    result = read_pages(path, "a.pdf")
    assert result.status is Status.OK and "damaged pages: 3" in result.reason
    third = result.pages[2]
    assert (third.text, third.origin) == ("", "none") and third.problem.startswith("damaged: ")
    assert all(
        f"page number {page.number}." in page.text and not page.problem for page in result.pages if page is not third
    )


def test_a_document_of_which_every_page_is_damaged_is_broken(bench: Bench) -> None:
    path = bench.pdf("a.pdf", LONG, LONG)
    path.write_bytes(re.sub(rb"(?<!end)stream\n.{20}", b"stream\n" + bytes(20), path.read_bytes(), flags=re.DOTALL))
    result = read_pages(path, "a.pdf")
    assert result.status is Status.BROKEN and "damaged pages: 1, 2" in result.reason and result.pages == ()


def test_a_missing_content_stream_is_damage_and_an_empty_page_is_none(bench: Bench) -> None:
    words = b"BT /F1 12 Tf 50 500 Td (Words of the first page) Tj ET"
    resources = b"/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> /MediaBox [0 0 600 700]"
    path = bench.raw(
        "a.pdf",
        CATALOGUE,
        b"<< /Type /Pages /Kids [3 0 R 4 0 R 5 0 R] /Count 3 >>",
        b"<< /Type /Page /Parent 2 0 R %b /Contents 6 0 R >>" % resources,
        b"<< /Type /Page /Parent 2 0 R %b /Contents 77 0 R >>" % resources,
        b"<< /Type /Page /Parent 2 0 R %b >>" % resources,
        b"<< /Length %d >>\nstream\n%b\nendstream" % (len(words), words),
    )
    result = read_pages(path, "a.pdf")
    assert [page.origin for page in result.pages] == ["text", "none", "none"]
    assert result.reason == "3 pages read (damaged pages: 2; pages without text: 3)."


def test_a_wrong_table_of_objects_is_repaired_and_told(bench: Bench) -> None:
    path = bench.pdf("a.pdf", LONG)
    path.write_bytes(re.sub(rb"startxref\n(\d+)", b"startxref\n10", path.read_bytes()))
    result = read_pages(path, "a.pdf")
    assert result.status is Status.OK and "rebuilt" in result.reason


FONT = b"/Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>"
PAGE = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 700] /Resources << %b >> /Contents 4 0 R >>" % FONT
TEXT = b"<< /Length 54 >>\nstream\nBT /F1 12 Tf 50 500 Td (Words of the one page) Tj ET   \nendstream"


def test_a_cyclic_page_tree_ends(bench: Bench) -> None:
    for kids in (b"[2 0 R]", b"[3 0 R 2 0 R]", b"[3 0 R 3 0 R 1 0 R]"):
        tree = b"<< /Type /Pages /Kids %b /Count 3 /Parent 2 0 R >>" % kids
        result = read_pages(bench.raw("a.pdf", CATALOGUE, tree, PAGE, TEXT), "a.pdf")
        assert result.status in {Status.OK, Status.BROKEN} and result.reason


def test_a_script_in_a_pdf_does_not_run(bench: Bench) -> None:
    catalogue = b"<< /Type /Catalog /Pages 2 0 R /OpenAction << /S /JavaScript /JS (while (true) {}) >> >>"
    path = bench.raw("a.pdf", catalogue, b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>", PAGE, TEXT)
    assert [page.text for page in read_pages(path, "a.pdf").pages] == ["Words of the one page"]


def test_a_page_that_never_ends_is_given_up_and_the_next_one_read(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forms that draw each other ten times at each of many levels: more text than a lifetime can draw."""
    monkeypatch.setattr("tasks.documents.worker.TEXT_SECONDS", 2)
    forms = [
        b"<< /Type /XObject /Subtype /Form /BBox [0 0 600 700] /Resources << /XObject << /X %d 0 R >> >> /Length 60 >>\n"
        b"stream\n%b\nendstream" % (number + 1, b"/X Do " * 10)
        for number in range(6, 18)
    ]
    path = bench.raw(
        "a.pdf",
        CATALOGUE,
        b"<< /Type /Pages /Kids [5 0 R 3 0 R] /Count 2 >>",
        PAGE,
        TEXT,
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 700] /Resources << /XObject << /X 6 0 R >> >> /Contents 19 0 R >>",
        *forms,
        TEXT,
        b"<< /Length 5 >>\nstream\n/X Do\nendstream",
    )
    result = read_pages(path, "a.pdf")
    assert [page.text for page in result.pages] == ["", "Words of the one page"]
    assert result.pages[0].problem == "damaged: it took too long" and "damaged pages: 1" in result.reason


def test_pages_that_end_the_reader_are_given_up_after_a_few(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.documents.read.MOST_ENDED", 2)

    def end(kind: str, request: dict[str, object]) -> Iterator[dict[str, object]]:
        if request["last"]:
            raise worker.Ended("it crashed the reader")
        yield from ask(kind, request)

    ask = worker.ask
    monkeypatch.setattr(worker, "ask", end)
    result = read_pages(bench.pdf("a.pdf", "1", "2", "3", "4"), "a.pdf")
    assert result.status is Status.BROKEN and "damaged pages: 1, 2, 3, 4" in result.reason


@given(
    st.sampled_from([".pdf", ".docx", ".html"]),
    st.lists(st.tuples(st.floats(0, 1), st.binary(min_size=1, max_size=40)), min_size=1, max_size=6),
)
@settings(max_examples=40)
def test_whatever_happened_to_a_files_bytes_there_is_a_status_and_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, damages: list[tuple[float, bytes]]
) -> None:
    """Random bytes over random places of a sound file: no exception comes out, and an `ok` has pages with a word."""
    bench = Bench(tmp_path_factory.mktemp("any"))
    if suffix == ".pdf":
        path = bench.pdf("a.pdf", LONG, LONG)
    elif suffix == ".docx":
        path = bench.folder / "a.docx"
        document = Document()
        document.add_paragraph(LONG)
        document.save(str(path))
    else:
        path = bench.file(
            "a.html", f"<html><body><table><tr><td rowspan=2>{LONG}</td></tr></table></body></html>".encode()
        )
    content = bytearray(path.read_bytes())
    for place, noise in damages:
        at = int(place * (len(content) - 1))
        content[at : at + len(noise)] = noise
    path.write_bytes(bytes(content))
    result = read_pages(path, path.name)
    assert result.reason.endswith(".") and (result.status is Status.OK) == any(page.text for page in result.pages)
    assert all(page.problem for page in result.pages if not page.text)


def test_numbers_of_thousands_of_digits_are_no_exception(bench: Bench) -> None:
    digits = b"9" * 9000
    catalogue = b"<< /Type /Catalog /Pages 2 0 R /L %b /Root %b 0 R >>" % (digits, digits)
    tree = b"<< /Type /Pages /Kids [3 0 R %b 0 R] /Count %b /Length %b >>" % (digits, digits, digits)
    result = read_pages(bench.raw("a.pdf", catalogue, tree, PAGE, TEXT), "a.pdf")
    assert result.status in {Status.OK, Status.BROKEN} and result.reason.endswith(".")
    content = re.sub(rb"startxref\n\d+", b"startxref\n" + digits, (bench.folder / "a.pdf").read_bytes())
    assert read_pages(bench.file("b.pdf", content), "b.pdf").status is Status.TRUNCATED


def heads_only(path: Path, *lines: str) -> Path:
    """A page for each line, which stands in the page's top margin."""
    pdf = FPDF(unit="pt", format=(400, 500))
    pdf.set_font("helvetica", size=11)
    for line in lines:
        pdf.add_page()
        pdf.text(60, 30, line)
    pdf.output(str(path))
    return path


def test_a_page_is_never_emptied_as_furniture(tmp_path: Path) -> None:
    """Pages that are alike but for a number look like nothing but running heads; what they say is what the document says."""
    lines = [f"Rule {number} of the policy is in force from May {number}, 2024." for number in range(1, 6)]
    result = read_pages(heads_only(tmp_path / "alike.pdf", *lines), "alike.pdf")
    assert result.status == Status.OK
    assert [page.text for page in result.pages] == lines


def test_a_page_with_only_its_number_on_it_stays_without_text(tmp_path: Path) -> None:
    """Blank pages of a printed volume: a number is no word of the document."""
    lines = ["The policy is in force.", "Page 2 of 4", "3", "It ends here."]
    result = read_pages(heads_only(tmp_path / "blank.pdf", *lines), "blank.pdf")
    assert [page.text for page in result.pages] == [lines[0], "", "", lines[3]]
