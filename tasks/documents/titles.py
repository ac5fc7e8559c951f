"""A title for a document that nobody has named yet: from its metadata, its first heading, or its file's name.

It proposes; a person corrects it in `corpus.toml`. It never raises for a bad file, reads the beginning of each file only, and recognises no
characters of a scan.

Rules, first that gives something
    PDF     the Title of its metadata, unless a program wrote it there; the largest type of the first page where it is clearly larger
    DOCX    the title of its properties; the first paragraph with a title's or heading's style
    HTML    the first h1; the title of its head
    MD      the first heading
    TXT     the first line, where it stands by itself and is no sentence
    any     the file's name without folders and suffix, in words

Files are looked at in a process of their own with limited time and memory, because PDFium may crash on a hostile file: then that file has
its name for a title, and the next is looked at in a new process.
"""

from __future__ import annotations

import html
import json
import re
import resource
import signal
import subprocess
import sys
import unicodedata
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

from tasks.documents.manifest import is_unsafe

LONGEST_TITLE = 200
SECONDS_PER_FILE = 20
MOST_MEMORY = 4 * 2**30
"""Address space of the process in bytes."""
CLEARLY_LARGER = 1.2
"""How much larger than the page's usual type a heading is that counts as its title."""

_HEAD_BYTES = 64 * 2**10
_BODY_BYTES = 256 * 2**10
# What word processors and scanners put where a title should be.
_MEANINGLESS = re.compile(
    r"untitled.*|no ?title|title|(?:microsoft|libreoffice|openoffice)\b.*|(?:document|slide|presentation|scan|doc)[\s_-]*\d*"
    r"|.*\.(?:docx?|rtf|pdf|txt|wpd|odt|indd|qxd|p65|pptx?|xlsx?|dvi|tex|html?)",
    re.IGNORECASE,
)


def titles(paths: Sequence[tuple[Path, str]]) -> list[str]:
    """A title for each (path, name in the corpus), in their order; never empty.

    Starts one process, and one more for each file that ends it.
    """
    found: list[str] = []
    while len(found) < len(paths):
        rest = paths[len(found) :]
        lines = json.dumps([[str(path), name] for path, name in rest]).encode()
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", "tasks.documents.titles"],
            input=lines,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=Path(__file__).resolve().parents[2],
            check=False,
        )
        proposed = [json.loads(line) for line in done.stdout.splitlines(keepends=True) if line.endswith(b"\n")]
        found += [tidy(text) or from_name(name) for text, (_, name) in zip(proposed, rest, strict=False)]
        if len(proposed) < len(rest):
            # The file that ended the process, or kept it from starting.
            found.append(from_name(rest[len(proposed)][1]))
    return found


def tidy(text: str) -> str:
    """`text` as one line of at most LONGEST_TITLE characters that a manifest can hold; empty where it names nothing."""
    plain = "".join(" " if character.isspace() else "" if is_unsafe(character) else character for character in text)
    line = " ".join(unicodedata.normalize("NFC", plain).split())
    if len(line) > LONGEST_TITLE:
        line = line[: LONGEST_TITLE - 1].rsplit(" ", 1)[0] + "…"
    return line if sum(character.isalpha() for character in line) >= 2 else ""


def from_name(name: str) -> str:
    """The name's last part without its suffix, in words; the name itself where that leaves nothing."""
    stem = PurePosixPath(name).stem
    # A hyphen between digits may be a date's or a number's.
    words = " ".join(re.sub(r"[\s_]+|(?<!\d)-|-(?!\d)", " ", stem).split())
    return words[:1].upper() + words[1:] if words else name


def main() -> None:
    """Answer with a title, or an empty text, for each file of the JSON list on standard input: a line of JSON each, in order."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for path, name in json.loads(sys.stdin.buffer.read()):
        signal.alarm(SECONDS_PER_FILE)
        try:
            title = _title(Path(path), PurePosixPath(name).suffix.lower())
        except Exception:  # a title is a proposal: whatever is wrong with the file, the ingest says it
            title = ""
        print(json.dumps(title), flush=True)


def _title(path: Path, suffix: str) -> str:
    read: Callable[[Path], str] | None = {
        ".pdf": _of_pdf,
        ".docx": _of_docx,
        ".html": _of_html,
        ".htm": _of_html,
        ".md": _of_markdown,
        ".txt": _of_text,
    }.get(suffix)
    return read(path) if read else ""


def _of_pdf(path: Path) -> str:
    import pypdfium2

    from tasks.documents.pdf import PdfFile

    document = pypdfium2.PdfDocument(path)
    try:
        named = document.get_metadata_dict().get("Title", "")
    finally:
        document.close()
    if _means_something(named):
        return named
    with PdfFile(path) as pdf:
        lines = [line for line in next(pdf.pages(1, 1)).lines if line.upright and line.text.strip()]
    if not lines:
        return ""
    sizes = sorted(line.size for line in lines)
    largest, usual = sizes[-1], sizes[len(sizes) // 2]
    if largest < usual * CLEARLY_LARGER:
        return ""
    # Measured heights differ a little with the letters of a line.
    first = next(number for number, line in enumerate(lines) if line.size > largest * 0.93)
    heading = [lines[first].text]
    for line in lines[first + 1 : first + 3]:
        if line.size <= largest * 0.93:
            break
        heading.append(line.text)
    return " ".join(heading)


def _of_docx(path: Path) -> str:
    with zipfile.ZipFile(path) as archive:
        for part, pattern in (
            ("docProps/core.xml", r"<dc:title[^>]*>([^<]*)</dc:title>"),
            (
                "word/document.xml",
                r'<w:pStyle w:val="(?:Title|Heading\d?|berschrift\d?|Titel)"[^>]*>(.{1,8000}?)</w:p>',
            ),
        ):
            if part not in archive.namelist():
                continue
            with archive.open(part) as file:
                text = file.read(_BODY_BYTES).decode("utf-8", "replace")
            match = re.search(pattern, text, re.DOTALL)
            if match is None:
                continue
            words = re.findall(r"<w:t(?: [^>]*)?>([^<]*)</w:t>", match[1]) if part.startswith("word") else [match[1]]
            title = html.unescape("".join(words))
            if _means_something(title):
                return title
    return ""


def _of_html(path: Path) -> str:
    text = _head(path)
    for pattern in (r"<h1\b[^>]{0,500}>(.{1,2000}?)</h1>", r"<title\b[^>]{0,500}>([^<]{1,2000})</title>"):
        match = re.search(pattern, text, re.DOTALL | re.IGNORECASE)
        if match:
            title = html.unescape(re.sub(r"<[^>]*>", " ", match[1]))
            if _means_something(title):
                return title
    return ""


def _of_markdown(path: Path) -> str:
    text = _head(path)
    # Lines in a code block may begin with # and are no headings.
    text = re.sub(r"^(```|~~~).*?(?:^\1|\Z)", "", text, flags=re.DOTALL | re.MULTILINE)
    match = re.search(r"^ {0,3}#{1,6}[ \t]+(\S[^\n]*)$|^(\S[^\n]*)\n(?:=+|-+)[ \t]*$", text, re.MULTILINE)
    return re.sub(r"[*_`]|\s#+\s*$", "", match[1] or match[2]) if match else _first_line(text)


def _of_text(path: Path) -> str:
    return _first_line(_head(path))


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    if not lines or (len(lines) > 1 and lines[1].strip()):
        return ""
    line = lines[0].strip()
    return line if len(line) <= 120 and not line.endswith((".", ",", ";", ":")) else ""


def _head(path: Path) -> str:
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    for encoding in ("utf-16",) if head.startswith((b"\xff\xfe", b"\xfe\xff")) else ("utf-8-sig",):
        return head.decode(encoding, "replace")
    return ""


def _means_something(text: str) -> bool:
    line = tidy(text)
    # A file code or a lone word of a program is no title: `E9-741`, `Layout1`.
    return bool(line) and not _MEANINGLESS.fullmatch(line) and not (" " not in line and any(c.isdigit() for c in line))


if __name__ == "__main__":
    main()
