"""Which copy of a file counts: only the right bytes, in the order corpus, mirror, cache, download."""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tasks.documents import Entry, locate
from tasks.documents.locate import download_file, sha256_of
from tasks.domain.errors import PermanentError, TemporaryError

CONTENT = b"%PDF-1.7 the right bytes"
SHA256 = hashlib.sha256(CONTENT).hexdigest()
ENTRY = Entry("a.pdf", "A", SHA256)


class Places:
    def __init__(self, folder: Path) -> None:
        self.corpus, self.mirror, self.cache = folder / "corpus", folder / "mirror", folder / "cache"
        for place in (self.corpus / "documents", self.mirror, self.cache / SHA256):
            place.mkdir(parents=True)

    def locate(self, entry: Entry = ENTRY, *, download: bool = False) -> Path:
        return locate(entry, folder=self.corpus, mirror=self.mirror, cache=self.cache, download=download)


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path)


def test_the_committed_file_comes_first(places: Places) -> None:
    for folder in (places.corpus / "documents", places.mirror, places.cache / SHA256):
        (folder / "a.pdf").write_bytes(CONTENT)
    assert places.locate() == places.corpus / "documents" / "a.pdf"


def test_a_committed_file_with_other_bytes_is_an_error_even_if_the_mirror_has_the_right_ones(places: Places) -> None:
    (places.corpus / "documents" / "a.pdf").write_bytes(b"changed")
    (places.mirror / "a.pdf").write_bytes(CONTENT)
    with pytest.raises(PermanentError, match=r"is not the file that corpus\.toml names"):
        places.locate()


def test_the_mirror_is_searched_by_sha256_whatever_the_name(places: Places) -> None:
    (places.mirror / "a.pdf").write_bytes(b"another edition")
    (places.mirror / "deep").mkdir()
    (places.mirror / "deep" / "Rule (final).PDF").write_bytes(CONTENT)
    assert places.locate() == places.mirror / "deep" / "Rule (final).PDF"


def test_the_cache_comes_after_the_mirror_and_a_wrong_file_in_it_is_removed(places: Places) -> None:
    cached = places.cache / SHA256 / "a.pdf"
    cached.write_bytes(CONTENT)
    assert places.locate() == cached
    cached.write_bytes(b"cut off")
    with pytest.raises(PermanentError, match="was not found"):
        places.locate()
    assert not cached.exists()


def test_a_file_that_is_nowhere_is_an_error_that_says_what_to_do(places: Places) -> None:
    with pytest.raises(PermanentError, match=rf"no address to download.*{SHA256[:16]}") as error:
        places.locate()
    assert str(places.mirror) in str(error.value)
    with pytest.raises(PermanentError, match="Downloading is switched off"):
        places.locate(Entry("a.pdf", "A", SHA256, "https://example.org/a.pdf"))


def test_a_mirror_that_is_no_folder_is_an_error(places: Places) -> None:
    places.mirror.rmdir()
    with pytest.raises(PermanentError, match="not a folder"):
        places.locate()


class Publisher(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        status = {"/busy": 503, "/limit": 429, "/gone": 404}.get(self.path, 200)
        body = b"another file" if self.path == "/replaced" else CONTENT
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) + (5 if self.path == "/short" else 0)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep the test's output clean."""


@pytest.fixture
def publisher() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Publisher) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_download_appears_complete_and_checked(publisher: str, tmp_path: Path) -> None:
    target = tmp_path / "cache" / SHA256 / "a.pdf"
    assert download_file(f"{publisher}/a.pdf", target, sha256=SHA256) == target
    assert target.read_bytes() == CONTENT
    assert list(target.parent.iterdir()) == [target]


def test_locate_downloads_where_it_may(publisher: str, places: Places) -> None:
    entry = Entry("a.pdf", "A", SHA256, f"{publisher}/a.pdf")
    assert places.locate(entry, download=True) == places.cache / SHA256 / "a.pdf"
    assert places.locate(entry, download=False).read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("path", "kind", "words"),
    [
        ("/busy", TemporaryError, "503"),
        ("/limit", TemporaryError, "429"),
        ("/short", TemporaryError, "ended after"),
        ("/gone", PermanentError, "404"),
        ("/replaced", PermanentError, "another file"),
    ],
)
def test_a_failed_download_leaves_nothing_and_says_whether_to_try_again(
    publisher: str, tmp_path: Path, path: str, kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        download_file(publisher + path, tmp_path / "cache" / "a.pdf", sha256=SHA256)
    assert list((tmp_path / "cache").iterdir()) == []


def test_an_address_that_does_not_answer_is_tried_again(tmp_path: Path) -> None:
    with pytest.raises(TemporaryError, match="could not be fetched"):
        download_file("http://127.0.0.1:9/a.pdf", tmp_path / "a.pdf", sha256=SHA256, timeout=2)


def test_a_file_beyond_the_limit_is_not_fetched(
    publisher: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["tasks.documents.locate"], "LARGEST_FILE_BYTES", 10)
    with pytest.raises(PermanentError, match="larger than"):
        download_file(f"{publisher}/a.pdf", tmp_path / "cache" / "a.pdf", sha256=SHA256)


def test_a_document_without_a_sha256_is_the_corpus_s_own_file_as_it_is(places: Places) -> None:
    entry = Entry("a.pdf", "A", None, pinned=False)
    for folder in (places.mirror, places.cache / SHA256):
        (folder / "a.pdf").write_bytes(CONTENT)
    with pytest.raises(PermanentError, match="not pinned"):
        places.locate(entry)
    committed = places.corpus / "documents" / "a.pdf"
    for content in (CONTENT, b"changed"):
        committed.write_bytes(content)
        assert places.locate(entry) == committed


def test_a_name_with_folders_is_found_in_the_mirror_and_in_the_cache(places: Places) -> None:
    entry = Entry("2020/january/a.pdf", "A", SHA256)
    (places.mirror / "a.pdf").write_bytes(b"another edition")
    (places.mirror / "2020" / "january").mkdir(parents=True)
    mirrored = places.mirror / "2020" / "january" / "a.pdf"
    mirrored.write_bytes(CONTENT)
    assert places.locate(entry) == mirrored
    mirrored.unlink()
    cached = places.cache / SHA256 / "2020" / "january" / "a.pdf"
    cached.parent.mkdir(parents=True)
    cached.write_bytes(CONTENT)
    assert places.locate(entry) == cached


def test_a_name_with_folders_is_downloaded_into_folders(publisher: str, places: Places) -> None:
    entry = Entry("2020/a.pdf", "A", SHA256, f"{publisher}/a.pdf")
    assert places.locate(entry, download=True) == places.cache / SHA256 / "2020" / "a.pdf"
    assert [path.name for path in (places.cache / SHA256 / "2020").iterdir()] == ["a.pdf"]


@pytest.mark.timeout(20)
def test_a_mirror_with_pipes_and_broken_links_is_searched_all_the_same(places: Places) -> None:
    os.mkfifo(places.mirror / "a.pdf")
    (places.mirror / "b.pdf").symlink_to("nowhere")
    (places.mirror / "c.pdf").mkdir()
    (places.mirror / "round").symlink_to(places.mirror)
    (places.mirror / "z.PDF").write_bytes(CONTENT)
    assert places.locate() == places.mirror / "z.PDF"


def test_a_mirror_file_that_changed_is_hashed_again(places: Places) -> None:
    found = places.mirror / "other name.pdf"
    found.write_bytes(CONTENT)
    assert places.locate() == found
    found.write_bytes(CONTENT[::-1])  # as long as before
    with pytest.raises(PermanentError, match="was not found"):
        places.locate()


def test_a_mirror_is_read_once_however_many_documents_are_looked_for(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules["tasks.documents.locate"]
    read: list[Path] = []
    hashed = module.sha256_of
    monkeypatch.setattr(module, "sha256_of", lambda path: read.append(path) or hashed(path))
    contents = [b"%d" % number for number in range(30)]
    for number, content in enumerate(contents):
        (places.mirror / f"{number:02}.pdf").write_bytes(content)
    for number, content in reversed(list(enumerate(contents))):
        entry = Entry(f"named {number}.pdf", "A", hashlib.sha256(content).hexdigest())
        assert places.locate(entry) == places.mirror / f"{number:02}.pdf"
    # Every file once to know it, and once more before it is returned.
    assert len(read) == 2 * len(contents)


@pytest.mark.timeout(20)
def test_what_is_no_regular_file_is_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        with pytest.raises(OSError):
            sha256_of(path)
