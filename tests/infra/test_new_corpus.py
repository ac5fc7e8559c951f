"""`new corpus`: what is taken and what is not, and that nothing is left behind where it fails."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import tomllib
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.commands import parser
from infra.new_corpus import Taken, manifest_text, run, slug
from infra.places import ROOT
from tasks.documents import catalogue, load_manifest
from tasks.documents.titles import tidy
from tests.documents.test_titles import pdf

TEXT = "A house rule\n\nNobody smokes here. Fines are $50."


class Place:
    def __init__(self, folder: Path) -> None:
        self.source, self.into = folder / "My Rules (2025)", folder / "corpora"
        self.source.mkdir()
        self.into.mkdir()

    def put(self, name: str, content: str | bytes = TEXT) -> Path:
        path = self.source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def run(self, *more: str) -> int:
        line = ["new", "corpus", str(self.source), "--into", str(self.into), *more]
        return run(parser().parse_args(line), None)

    @property
    def made(self) -> Path:
        return self.into / "my-rules-2025"

    def left(self) -> list[str]:
        return sorted(os.listdir(self.into))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_folder_of_files_becomes_a_corpus_that_an_ingest_can_read(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.put("house.txt")
    pdf(place.put("2020/Travel.PDF"), metadata="Travel Policy")
    place.put("2021/Travel.PDF", (place.source / "2020/Travel.PDF").read_bytes())
    before = snapshot(place.source)
    assert place.run() == 0
    read = catalogue(place.made)
    assert [(entry.name, entry.title) for entry in read.entries] == [
        ("2020/Travel.PDF", "Travel Policy"),
        ("2021/Travel.PDF", "Travel Policy"),
        ("house.txt", "A house rule"),
    ]
    assert read.refused == ()
    assert (read.manifest.title, read.manifest.name) == ("My Rules (2025)", "my-rules-2025")
    assert {name: content for name, (content, _) in snapshot(place.made / "documents").items()} == {
        name: content for name, (content, _) in before.items()
    }
    assert snapshot(place.source) == before, "the user's folder was changed"
    assert place.left() == ["my-rules-2025"]
    shown = capsys.readouterr().out
    for word in ("ingest/ingest --param corpus=my-rules-2025", "infra search", "infra suggest-golden", "Travel Policy"):
        assert word in shown
    assert (place.made.stat().st_mode & 0o777) == 0o777 & ~current_umask()


def current_umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask


def test_the_comments_become_a_sound_manifest_when_their_marks_are_removed(place: Place) -> None:
    content = place.put("house.txt").read_bytes()
    assert place.run() == 0
    path = place.made / "corpus.toml"
    text = path.read_text()
    for word in ("golden.jsonl", "unevaluated", "suggest-golden --corpus my-rules-2025", "unlisted", "effective_from"):
        assert word in text
    for key in ("sha256", "effective_from", "effective_to"):
        text = text.replace(f"\n# {key} =", f"\n{key} =")
    path.write_text(text)
    (entry,) = load_manifest(place.made).documents
    assert entry.sha256 == hashlib.sha256(content).hexdigest()
    assert entry.pinned and entry.effective_from and entry.effective_to


def test_every_file_that_is_not_taken_is_named_with_its_reason(
    place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place.put("good.txt")
    place.put("sub/Good.TXT", "Other words here\n\nYes.")
    (place.source / "again.txt").symlink_to("good.txt")
    outside = tmp_path / "secret.txt"
    outside.write_text("secret")
    (place.source / "out.txt").symlink_to(outside)
    (place.source / "round.txt").symlink_to("round.txt")
    (place.source / "up").symlink_to(tmp_path)
    os.mkfifo(place.source / "pipe.txt")
    place.put("GOOD.txt", "differs in case only")
    place.put("picture.png", b"\x89PNG\r\n\x1a\n")
    place.put("noextension")
    place.put("empty.pdf", b"")
    place.put("page.pdf", "<!doctype html><html><body>not found</body></html>")
    place.put("cut.pdf", b"%PDF-1.7\n1 0 obj\n<<>>\nendobj\n")
    place.put("dot./a.txt")
    place.put("line\nbreak.txt")
    Path(os.fsdecode(os.fsencode(place.source) + b"/\xff.txt")).write_bytes(b"words")
    place.put(".hidden.txt")
    place.put("~$good.docx")
    assert place.run("--json") == 0
    out = capsys.readouterr()
    told = json.loads(out.out)
    assert sorted(row["name"] for row in told["documents"]) == ["GOOD.txt", "again.txt", "sub/Good.TXT"]
    assert {row["name"]: row["status"] for row in told["not_taken"]} == {
        "good.txt": "unlisted", "out.txt": "unsupported", "round.txt": "missing", "up": "unsupported", "pipe.txt": "unsupported",
        "picture.png": "unsupported", "noextension": "unsupported", "empty.pdf": "empty", "page.pdf": "mislabelled",
        "cut.pdf": "truncated", "dot./a.txt": "unlisted", "line\\nbreak.txt": "unlisted", "\\xff.txt": "unlisted",
    }  # fmt: skip
    assert all(row["reason"].endswith(".") for row in told["not_taken"])
    assert told["folder"] == str(place.made) and told["corpus"] == "my-rules-2025" and told["next"]
    assert "secret" not in "".join(path.read_text() for path in place.made.rglob("*") if path.is_file())
    assert not any(path.is_symlink() for path in place.made.rglob("*"))
    assert catalogue(place.made).refused == ()


def test_the_json_of_a_document_is_what_the_file_is(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.put("house.txt")
    assert place.run("--json", "--name", "rules") == 0
    assert json.loads(capsys.readouterr().out)["documents"] == [
        {
            "name": "house.txt",
            "title": "A house rule",
            "bytes": len(TEXT),
            "sha256": hashlib.sha256(TEXT.encode()).hexdigest(),
        }
    ]
    assert place.left() == ["rules"]


@pytest.mark.parametrize("name", ["", "Rules", "a--b", "-a", "a/b", "../a", ".", "a b", "ü", "a" * 61, "a\n"])
def test_a_name_that_is_no_plain_word_is_a_bad_request(
    place: Place, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    place.put("house.txt")
    assert place.run(f"--name={name}") == 2
    assert "lower-case" in capsys.readouterr().err
    assert place.left() == []


def test_a_folder_whose_name_gives_no_corpus_name_needs_one(place: Place, tmp_path: Path) -> None:
    place.put("house.txt")
    place.source = place.source.rename(tmp_path / "規則")
    assert place.run() == 2
    assert place.run("--name", "kisoku") == 0
    assert load_manifest(place.into / "kisoku").title == "規則"


def test_nothing_is_ever_overwritten(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.put("house.txt")
    for make in (
        lambda: place.made.mkdir(),
        lambda: place.made.write_text("a file"),
        lambda: place.made.symlink_to("nowhere"),
    ):
        make()
        assert place.run() == 2
        assert "not overwritten" in capsys.readouterr().err
        assert place.left() == ["my-rules-2025"]
        place.made.rmdir() if place.made.is_dir() else place.made.unlink()
    assert place.run() == 0
    before = snapshot(place.made)
    assert place.run() == 2
    assert snapshot(place.made) == before


def test_a_place_that_is_no_folder_is_a_bad_request(place: Place) -> None:
    file = place.put("house.txt")
    for line in (
        ["new", "corpus", str(file), "--into", str(place.into)],
        ["new", "corpus", str(place.source / "nowhere"), "--into", str(place.into)],
        ["new", "corpus", str(place.source), "--into", str(file)],
        ["new", "corpus", str(place.source), "--into", str(place.into / "nowhere")],
    ):
        assert run(parser().parse_args(line), None) == 2
    assert place.left() == []


def test_a_folder_without_a_file_that_can_be_read_makes_no_corpus(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    assert place.run() == 1
    place.put("picture.png")
    assert place.run("--json") == 1
    out = capsys.readouterr()
    assert out.out == "" and "picture.png: unsupported" in out.err
    assert place.left() == []


def test_a_full_disk_leaves_nothing_behind(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """A limit on the size of files fails the same write, with what was copied before lying there already."""
    place.put("a.txt")
    place.put("b.txt", "x" * 200_000)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        assert place.run() == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "could not be made" in capsys.readouterr().err
    assert place.left() == []


@pytest.mark.timeout(120)
@pytest.mark.parametrize("step", ["_copy", "_put_in_place"])
def test_an_interrupt_leaves_nothing_behind(place: Place, step: str) -> None:
    """A real Ctrl-C, when the first file is copied and when only the renaming is left."""
    place.put("house.txt")
    code = (
        "import sys, time; from infra import new_corpus; from infra.commands import parser;"
        f"new_corpus.{step} = lambda *_: (print('here', flush=True), time.sleep(100));"
        "sys.exit(new_corpus.run(parser().parse_args(sys.argv[1:]), None))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "new", "corpus", str(place.source), "--into", str(place.into)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None and process.stdout.readline() == b"here\n"
    assert [name[:5] for name in place.left()] == [".new-"]
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert b"KeyboardInterrupt" in told
    assert place.left() == []


def test_a_corpus_that_appears_meanwhile_wins_whole(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.put("house.txt")
    module = sys.modules["infra.new_corpus"]
    put = module._put_in_place

    def late(made: Path, target: Path) -> None:
        target.mkdir()
        (target / "corpus.toml").write_text("theirs")
        put(made, target)

    monkeypatch.setattr(module, "_put_in_place", late)
    assert place.run() == 1
    assert place.left() == ["my-rules-2025"]
    assert (place.made / "corpus.toml").read_text() == "theirs"


def test_a_source_file_that_cannot_be_read_is_left_out_and_the_others_are_taken(
    place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place.put("a.txt")
    place.put("b.txt")
    module = sys.modules["infra.new_corpus"]
    refusal = module._refusal

    def vanishing(path: Path, suffix: str) -> object:
        found = refusal(path, suffix)
        if path.name == "a.txt":
            path.unlink()
        return found

    monkeypatch.setattr(module, "_refusal", vanishing)
    assert place.run() == 0
    assert "a.txt: broken" in capsys.readouterr().out
    assert [entry.name for entry in load_manifest(place.made).documents] == ["b.txt"]


def test_a_corpus_made_into_its_own_source_does_not_swallow_itself(place: Place) -> None:
    place.put("house.txt")
    place.into = place.source
    assert place.run() == 0
    assert [entry.name for entry in load_manifest(place.source / "my-rules-2025").documents] == ["house.txt"]


def test_names_in_another_normal_form_are_taken_in_nfc(place: Place) -> None:
    place.put(unicodedata.normalize("NFD", "Büro/Rüge.txt"))
    assert place.run() == 0
    assert [entry.name for entry in catalogue(place.made).entries] == ["Büro/Rüge.txt"]


@given(st.text(max_size=80))
def test_a_slug_is_a_corpus_name_or_nothing(text: str) -> None:
    name = slug(text)
    assert name == "" or (len(name) <= 60 and slug(name) == name and name.replace("-", "").isalnum() and name.isascii())


@given(st.text(max_size=60), st.text(max_size=60))
def test_whatever_a_title_holds_the_manifest_is_toml_with_that_title(title: str, corpus: str) -> None:
    title = tidy(title) or "none"
    text = manifest_text("n", corpus, [Taken("a.txt", title, 1, "0" * 64)])
    read = tomllib.loads(text)
    assert read["documents"] == [{"name": "a.txt", "title": title}]
    assert read["title"] == (tidy(corpus) or "n")
