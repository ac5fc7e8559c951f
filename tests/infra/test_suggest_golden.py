"""`suggest-golden`: what is written, what is kept, and that an accepted draft has its answer."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.commands import parser
from infra.places import ROOT
from infra.suggest_golden import run
from tasks.domain.evaluation import accepted, parse_golden
from tasks.settings import settings
from tests.domain.test_drafts import TOPICS, statements

MANIFEST = 'title = "T"\nunlisted = "index"\n'


class Corpus:
    def __init__(self, root: Path) -> None:
        self.root, self.folder = root, root / "mine"
        (self.folder / "documents").mkdir(parents=True)
        (self.folder / "corpus.toml").write_text(MANIFEST)
        for number, topic in enumerate(TOPICS[:3], start=1):
            self.put(f"{topic}.txt", statements(topic, number))

    def put(self, name: str, text: str) -> None:
        (self.folder / "documents" / name).write_text(text, encoding="utf-8")

    def run(self, *more: str, corpus: str = "mine") -> int:
        return run(parser().parse_args(["suggest-golden", "--corpus", corpus, *more]), None)

    @property
    def golden(self) -> Path:
        return self.folder / "golden.jsonl"

    def ids(self) -> list[str]:
        return [question.id for question in parse_golden(self.golden.read_text(encoding="utf-8"))]


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Corpus]:
    monkeypatch.setenv("FILEWRIGHT_CORPUS_FOLDER", str(tmp_path / "corpora"))
    monkeypatch.setenv("FILEWRIGHT_HOME", str(tmp_path / "home"))
    settings.cache_clear()
    yield Corpus(tmp_path / "corpora")
    settings.cache_clear()


def told(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    value = json.loads(capsys.readouterr().out)
    assert isinstance(value, dict)
    return value


def test_drafts_are_added_and_count_for_nothing_until_they_are_accepted(
    corpus: Corpus, capsys: pytest.CaptureFixture[str]
) -> None:
    assert corpus.run("--count", "5") == 0
    shown = capsys.readouterr().out
    assert "--accept mine-draft-1" in shown and "count for nothing" in shown
    questions = parse_golden(corpus.golden.read_text())
    assert [question.id for question in questions] == [f"mine-draft-{number}" for number in range(1, 6)]
    assert accepted(questions) == ()
    assert corpus.run("--accept", "mine-draft-2", "mine-draft-4") == 0
    questions = parse_golden(corpus.golden.read_text())
    assert [question.id for question in accepted(questions)] == ["mine-draft-2", "mine-draft-4"]
    assert "status" not in corpus.golden.read_text().splitlines()[1]
    assert not list(corpus.folder.glob(".golden*"))


def test_no_network_is_asked_and_no_database(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    (corpus.folder / "corpus.toml").write_text(
        MANIFEST
        + f'[[documents]]\nname = "far.pdf"\ntitle = "F"\nsha256 = "{"a" * 64}"\nurl = "https://example.org/far.pdf"\n'
    )

    def refused(*_: object) -> None:
        raise AssertionError("a connection was made")

    monkeypatch.setattr(socket.socket, "connect", refused)
    assert corpus.run("--count", "2") == 0
    assert len(corpus.ids()) == 2


def test_the_json_says_what_was_added_from_what_statement_and_what_was_not_read(
    corpus: Corpus, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus.put("empty.txt", "")
    corpus.put("picture.png", "not one")
    assert corpus.run("--count", "3", "--json") == 0
    value = told(capsys)
    added = value["added"]
    assert isinstance(added, list) and len(added) == 3
    assert all(row["status"] == "draft" and row["statement"] and row["answer_patterns"] for row in added)
    not_read = value["not_read"]
    assert isinstance(not_read, list)
    assert {row["name"]: row["reason"].split(":")[0] for row in not_read} == {
        "empty.txt": "empty",
        "picture.png": "unsupported",
    }


def test_what_was_there_is_kept_byte_for_byte(corpus: Corpus) -> None:
    before = (
        '\ufeff{"answerable": false, "id": "mine-draft-7", "question": "Why \\u00e9?", '
        '"document": null, "pages": [],   "answer_patterns": []}\r\n'
        "\n"
        '{"id":"x","question":"é\u2028?","document":"catering.txt","pages":[1],"answer_patterns":["June 1, 2021"],"answerable":true}'
    )
    corpus.golden.write_bytes(before.encode())
    corpus.golden.chmod(0o640)
    assert corpus.run("--count", "2") == 0
    after = corpus.golden.read_bytes().decode()
    assert after.startswith(before + "\n")
    assert corpus.ids() == ["mine-draft-7", "x", "mine-draft-8", "mine-draft-9"]
    assert corpus.golden.stat().st_mode & 0o777 == 0o640
    assert corpus.run("--accept", "mine-draft-8", "--drop", "mine-draft-9") == 0
    assert corpus.golden.read_bytes().decode().startswith(before + "\n")
    assert corpus.ids() == ["mine-draft-7", "x", "mine-draft-8"]


def test_what_was_dropped_is_never_suggested_again_and_its_id_is_not_used_again(corpus: Corpus) -> None:
    assert corpus.run("--count", "100") == 0
    everything = corpus.ids()
    questions = {question.question for question in parse_golden(corpus.golden.read_text())}
    assert corpus.run("--drop", *everything[-3:]) == 0
    assert corpus.run("--count", "100") == 0
    assert corpus.ids() == everything[:-3]
    corpus.put("radiology.txt", statements("radiology", 17))
    assert corpus.run("--count", "1") == 0
    assert corpus.ids()[-1] == f"mine-draft-{len(everything) + 1}"
    assert parse_golden(corpus.golden.read_text())[-1].question not in questions


def test_a_second_call_adds_others_and_a_third_finds_none(corpus: Corpus, capsys: pytest.CaptureFixture[str]) -> None:
    assert corpus.run("--count", "4") == 0
    assert corpus.run("--count", "100") == 0
    questions = parse_golden(corpus.golden.read_text())
    assert len({question.question for question in questions}) == len(questions) > 8
    before = corpus.golden.stat()
    capsys.readouterr()
    assert corpus.run() == 0
    assert "no further question" in capsys.readouterr().out
    assert corpus.golden.stat() == before, "nothing to add, and yet the file was written"


def test_the_same_content_under_two_names_is_asked_about_once(corpus: Corpus) -> None:
    corpus.put("zz-copy.txt", statements(TOPICS[0], 1))
    assert corpus.run("--count", "100") == 0
    documents = {question.document for question in parse_golden(corpus.golden.read_text())}
    assert documents == {f"{topic}.txt" for topic in TOPICS[:3]}


def test_the_list_shows_the_drafts_that_wait(corpus: Corpus, capsys: pytest.CaptureFixture[str]) -> None:
    assert corpus.run("--list", "--json") == 0
    assert told(capsys)["drafts"] == []
    assert not corpus.golden.exists()
    assert corpus.run("--count", "3") == 0
    assert corpus.run("--accept", "mine-draft-1") == 0
    capsys.readouterr()
    assert corpus.run("--list", "--json") == 0
    drafts = told(capsys)["drafts"]
    assert isinstance(drafts, list) and [row["id"] for row in drafts] == ["mine-draft-2", "mine-draft-3"]
    assert corpus.run("--list") == 0
    assert "2 drafts wait" in capsys.readouterr().out


def test_a_draft_whose_page_no_longer_has_the_answer_is_not_accepted_nor_is_any_other_with_it(
    corpus: Corpus, capsys: pytest.CaptureFixture[str]
) -> None:
    assert corpus.run("--count", "3") == 0
    first = parse_golden(corpus.golden.read_text())[0]
    others = [q.id for q in parse_golden(corpus.golden.read_text()) if q.document != first.document]
    assert others
    corpus.put(str(first.document), "Everything was repealed.")
    before = corpus.golden.read_bytes()
    assert corpus.run("--accept", others[0], first.id, "--drop", *others[1:]) == 1
    shown = capsys.readouterr().err
    assert first.id in shown and "no passage of page 1" in shown and "Nothing was changed" in shown
    assert corpus.golden.read_bytes() == before
    (corpus.folder / "documents" / str(first.document)).unlink()
    assert corpus.run("--accept", first.id) == 1
    assert "no such document" in capsys.readouterr().err
    assert corpus.golden.read_bytes() == before
    assert corpus.run("--accept", others[0]) == 0


def test_a_draft_that_a_person_rewrote_is_accepted_as_it_is_now(corpus: Corpus) -> None:
    assert corpus.run("--count", "1") == 0
    line = json.loads(corpus.golden.read_text())
    line |= {"question": "In my own words?", "answer_patterns": ["treasurer", r"June \d"], "document": "catering.txt"}
    nowhere = {"document": None, "pages": [], "answer_patterns": [], "answerable": False}
    unanswerable = {"id": "u", "question": "Why?", **nowhere, "status": "draft"}
    corpus.golden.write_text(json.dumps(line) + "\n" + json.dumps(unanswerable))
    assert corpus.run("--accept", line["id"], "u") == 0
    questions = parse_golden(corpus.golden.read_text())
    assert [(question.question, question.draft) for question in questions] == [
        ("In my own words?", False),
        ("Why?", False),
    ]


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (["--accept", "nobody"], "no question nobody"),
        (["--drop", "mine-draft-2", "nobody"], "no question nobody"),
        (["--accept", "mine-draft-1"], "is no draft"),
        (["--drop", "mine-draft-1"], "is no draft"),
        (["--accept", "mine-draft-2", "--drop", "mine-draft-2"], "at once"),
        (["--list", "--accept", "mine-draft-2"], "--list goes with neither"),
    ],
)
def test_a_bad_request_changes_nothing(
    corpus: Corpus, more: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert corpus.run("--count", "2") == 0
    assert corpus.run("--accept", "mine-draft-1") == 0
    before = corpus.golden.read_bytes()
    capsys.readouterr()
    assert corpus.run(*more) == 2
    assert complaint in capsys.readouterr().err
    assert corpus.golden.read_bytes() == before
    assert not (corpus.folder / "golden-dropped.jsonl").exists()


@pytest.mark.parametrize("name", ["", ".", "..", "../mine", "mine/", "nobody", "/etc", "a\0b"])
def test_a_corpus_that_is_not_there_is_a_bad_request(
    corpus: Corpus, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert corpus.run(corpus=name) == 2
    assert "There: mine." in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"{", b'{"id": 1}', b"\xff\xfe", b"[" * 100_000])
def test_a_golden_file_that_is_unsound_is_left_as_it_is(
    corpus: Corpus, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus.golden.write_bytes(content)
    for more in ([], ["--list"], ["--accept", "x"], ["--drop", "x"]):
        assert corpus.run(*more) == 1
        assert "golden" in capsys.readouterr().err
        assert corpus.golden.read_bytes() == content


def test_an_unsound_manifest_is_named(corpus: Corpus, capsys: pytest.CaptureFixture[str]) -> None:
    (corpus.folder / "corpus.toml").write_text("title = 1")
    assert corpus.run() == 1
    assert "corpus.toml" in capsys.readouterr().err


def test_a_golden_file_that_is_a_link_stays_one(corpus: Corpus, tmp_path: Path) -> None:
    (tmp_path / "shared.jsonl").write_text("")
    corpus.golden.symlink_to(tmp_path / "shared.jsonl")
    assert corpus.run("--count", "1") == 0
    assert corpus.golden.is_symlink()
    assert "mine-draft-1" in (tmp_path / "shared.jsonl").read_text()


@pytest.mark.timeout(120)
def test_two_commands_at_once_lose_nothing(corpus: Corpus) -> None:
    code = (
        "import sys; from infra.commands import parser; from infra.suggest_golden import run;"
        "sys.exit(run(parser().parse_args(sys.argv[1:]), None))"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, "suggest-golden", "--corpus", "mine", "--count", "3"],
            cwd=ROOT,
            env=dict(os.environ),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(2)
    ]
    assert [process.wait(100) for process in processes] == [0, 0]
    questions = parse_golden(corpus.golden.read_text())
    assert [question.id for question in questions] == [f"mine-draft-{number}" for number in range(1, 7)]
    assert len({question.question for question in questions}) == 6
