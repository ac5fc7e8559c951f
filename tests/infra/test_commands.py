"""The command line: what starts with what, and that a key never spends by itself."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from datetime import date
from importlib import import_module
from pathlib import Path

import pytest

from infra.bootstrap import Stopped
from infra.commands import RETRIEVAL, chosen_model, parser, refuse_bad_settings
from infra.places import ROOT
from infra.services import Model

KEY = {"ANTHROPIC_API_KEY": "sk-1"}


def model(command: list[str], environment: dict[str, str]) -> Model:
    return chosen_model(parser().parse_args(command), environment)


def test_a_key_alone_chooses_nothing() -> None:
    """Nor does a model's name in the environment choose for the demo."""
    assert model(["demo"], KEY) == Model()
    assert model(["demo"], {**KEY, "FILEWRIGHT_MODEL": "claude-opus-5-5"}) == Model()
    assert not model(["up"], KEY).real


def test_a_real_model_is_chosen_by_name_with_a_ceiling_of_two_dollars() -> None:
    """Both are in the line that is printed before anything is spent; the key is not."""
    chosen = model(["demo", "--model", "claude-opus-5-5"], KEY)
    assert chosen == Model("claude-opus-5-5", 2.0, "sk-1")
    assert "claude-opus-5-5" in str(chosen) and "2.00 US dollars" in str(chosen)
    assert "sk-1" not in str(chosen) + repr(chosen)
    assert model(["demo", "--model", "claude-opus-5-5", "--max-dollars", "0.5"], KEY).max_dollars == 0.5


def test_up_takes_the_models_name_from_the_environment_too() -> None:
    """A server that is to file with a real model says so in its settings."""
    assert model(["up"], {**KEY, "FILEWRIGHT_MODEL": "claude-opus-5-5"}).name == "claude-opus-5-5"


@pytest.mark.parametrize("line", [["demo", "--model", "claude-opus-5-5"], ["up", "--model", "claude-opus-5-5"]])
def test_a_real_model_without_a_key_ends_before_anything_starts(line: list[str]) -> None:
    """Exit code 2."""
    with pytest.raises(Stopped) as stopped:
        model(line, {})
    assert stopped.value.code == 2


def test_a_ceiling_of_nothing_is_refused() -> None:
    """It would stop nothing or everything."""
    for ceiling in ("0", "-1", "nan", "inf"):
        with pytest.raises(Stopped):
            model(["demo", "--model", "claude-opus-5-5", "--max-dollars", ceiling], KEY)
        with pytest.raises(Stopped):
            model(["up"], {"FILEWRIGHT_MAX_DOLLARS": ceiling})
    with pytest.raises(Stopped):
        model(["up"], {"FILEWRIGHT_MAX_DOLLARS": "two"})


def test_the_ceiling_of_the_environment_counts_where_the_command_line_has_none() -> None:
    """The command line goes first."""
    assert model(["up"], {"FILEWRIGHT_MAX_DOLLARS": "0.7"}).max_dollars == 0.7
    assert model(["up", "--max-dollars", "0.5"], {"FILEWRIGHT_MAX_DOLLARS": "0.7"}).max_dollars == 0.5


def test_the_demo_files_the_pharmacys_third_quarter_from_the_sample_corpus() -> None:
    """With nothing said."""
    options = parser().parse_args(["demo"])
    assert (options.corpus, options.report_id, options.quarter, options.department) == (
        "sample", "QI-2025-014", "Q3 2025", "Pharmacy",
    )  # fmt: skip


def test_arguments_after_two_dashes_go_to_pytest() -> None:
    """`python3 -m infra test -- -k name`."""
    assert parser().parse_args(["test", "--yes", "--", "-k", "name"]).pytest == ["-k", "name"]


def test_without_an_environment_the_standard_library_is_enough(tmp_path: Path) -> None:
    """Every command that can answer without the environment does so in an interpreter that has no package at all."""
    surroundings = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "FILEWRIGHT_HOME": str(tmp_path / "home")}
    for words, code, text in (
        (["--help"], 0, "demo"),
        (["status"], 1, "not running"),
        (["down"], 0, "nothing was running"),
        (["env"], 1, "not been started"),
    ):
        done = subprocess.run(
            [sys.executable, "-S", "-m", "infra", *words], cwd=ROOT, env=surroundings, capture_output=True, text=True
        )
        assert done.returncode == code, done.stderr
        assert text in done.stdout + done.stderr, (words, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    ("variable", "value"),
    [("FILEWRIGHT_MAX_TURNS", "abc"), ("FILEWRIGHT_CHUNK_SIZE", "0"), ("FILEWRIGHT_EMBEDDING_MODEL", "x")],
)
def test_a_wrong_setting_is_named_and_nothing_starts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(Stopped) as stopped:
        refuse_bad_settings()
    assert stopped.value.code == 2
    shown = capsys.readouterr().err
    assert variable in shown and "pydantic" not in shown


@pytest.mark.parametrize("word", ["search", "evaluate", "sweep", "new", "suggest-golden", "bench"])
def test_every_word_about_an_index_shows_an_example_and_speaks_json(
    word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--help` is where a newcomer looks."""
    with pytest.raises(SystemExit) as ended:
        parser().parse_args([word, "--help"])
    shown = capsys.readouterr().out
    assert ended.value.code == 0
    assert f"python3 -m infra {word}" in shown.split("example", 1)[1] and "--json" in shown


@pytest.mark.parametrize("module", sorted(set(RETRIEVAL.values())))
def test_every_word_about_an_index_has_a_module_that_answers(module: str) -> None:
    """`run(options, environment)` gives the exit code."""
    assert list(inspect.signature(import_module(module).run).parameters) == ["options", "environment"]


def test_a_search_takes_a_day_and_documents() -> None:
    """As a date and a list; four passages by default, as the agent gets."""
    line = [
        "search",
        "--corpus",
        "hipaa",
        "--as-of",
        "2025-09-30",
        "--document",
        "a.pdf",
        "--document",
        "b.pdf",
        "When?",
    ]
    options = parser().parse_args(line)
    assert (options.question, options.k, options.as_of) == ("When?", 4, date(2025, 9, 30))
    assert options.document == ["a.pdf", "b.pdf"] and not options.json


@pytest.mark.parametrize(
    "line",
    [
        ["search", "When?"],
        ["search", "--corpus", "hipaa"],
        ["search", "--corpus", "hipaa", "--k", "0", "When?"],
        ["search", "--corpus", "hipaa", "--k", "four", "When?"],
        ["search", "--corpus", "hipaa", "--as-of", "30 September 2025", "When?"],
        ["evaluate"],
        ["new", "index", "folder"],
        ["new", "corpus"],
        ["bench", "filing"],
        ["bench", "retrieval", "--chunks", "many"],
        ["suggest-golden", "--corpus", "hipaa", "--count", "-1"],
    ],
)
def test_a_bad_request_is_exit_code_2(line: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is installed or started, with the usage."""
    with pytest.raises(SystemExit) as ended:
        parser().parse_args(line)
    assert ended.value.code == 2
    assert "usage:" in capsys.readouterr().err
