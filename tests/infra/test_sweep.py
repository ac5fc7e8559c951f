"""`python3 -m infra sweep`: what it measures, prints and draws, on the sample corpus."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from infra import sweep
from infra.environment import Environment
from infra.sweep import CUTS, Row, available, measure, plot, run, table
from tasks.domain.evaluation import Score
from tasks.domain.passages import GoldenQuestion, Page
from tasks.retrieval.embedding import MODELS
from tasks.settings import settings
from tests.conftest import CORPORA

PAGES = [Page("a.pdf", 1, "The rule takes effect on March 24, 2020. " * 20), Page("a.pdf", 2, "Nothing else is said.")]
QUESTIONS = [GoldenQuestion("q", "When does the rule take effect?", "date", "a.pdf", (1,), ("March 24",))]


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Namespace]:
    """The sample corpus, one cut, JSON and a plot."""
    monkeypatch.setenv("FILEWRIGHT_CORPUS_FOLDER", str(CORPORA))
    monkeypatch.setenv("FILEWRIGHT_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(sweep, "CUTS", ((500, 90),))
    settings.cache_clear()
    yield Namespace(corpus="sample", json=True, plot=tmp_path / "plot.png")
    settings.cache_clear()


def row(leg: str, recall: float, size: int = 500) -> Row:
    score = Score(recall / 2, recall, recall, 4)
    return Row(size, 90, 7, "-" if leg == "bm25" else "minilm", leg, score, score)


def test_the_cuts_of_the_question_are_measured() -> None:
    assert {(300, 60), (500, 90), (800, 120), (1100, 150)} <= set(CUTS)


def test_the_packaged_model_is_always_there_and_nothing_is_downloaded() -> None:
    assert "minilm" in available()


def test_every_cut_and_ranking_has_a_row_and_bm25_one_for_all_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODELS, "twin", replace(MODELS["minilm"], name="twin"))
    said: list[str] = []
    rows = measure(PAGES, {}, QUESTIONS, models=["minilm", "twin"], cuts=((120, 20), (300, 60)), say=said.append)
    assert [(each.size, each.leg) for each in rows if each.leg == "bm25"] == [(120, "bm25"), (300, "bm25")]
    assert {(each.size, each.leg, each.model) for each in rows if each.leg != "bm25"} == {
        (size, leg, model) for size in (120, 300) for leg in ("vectors", "fused") for model in ("minilm", "twin")
    }
    assert len(rows) == 10
    assert rows[0].chunks > rows[-1].chunks and all(each.as_shown.recall_at_4 == 1 for each in rows)
    assert len(said) == 4, "one line of progress for each model and cut"


def test_it_prints_one_json_value_and_draws_a_plot(options: Namespace, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(options, Environment(Path())) == 0
    shown = capsys.readouterr()
    value = json.loads(shown.out)
    assert value["corpus"] == "sample" and {each["leg"] for each in value["rows"]} == {"vectors", "bm25", "fused"}
    assert all(0.5 < each["as_shown"]["recall_at_4"] <= 1 and each["chunks"] > 10 for each in value["rows"])
    assert options.plot.read_bytes().startswith(b"\x89PNG") and "reading sample-rule" in shown.err


@pytest.mark.parametrize(("corpus", "complaint"), [("nowhere", "is missing"), ("sample", "not a folder")])
def test_what_cannot_be_measured_is_bad_input(
    options: Namespace, capsys: pytest.CaptureFixture[str], corpus: str, complaint: str
) -> None:
    """A corpus without golden questions, a plot without a place: told before anything is embedded."""
    options.corpus = corpus
    options.plot = Path("/nowhere/at/all/plot.png") if corpus == "sample" else options.plot
    assert run(options, Environment(Path())) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and complaint in shown.err


def test_the_table_has_a_line_for_each_row() -> None:
    lines = table("sample", [row("vectors", 0.5), row("bm25", 0.25)])
    assert [line.split() for line in lines[-2:]] == [
        ["500/90", "7", "minilm", "vectors", *["0.25", "0.50", "0.50"] * 2],
        ["500/90", "7", "-", "bm25", *["0.12", "0.25", "0.25"] * 2],
    ]


def test_a_plot_has_a_line_for_each_model_and_ranking(tmp_path: Path) -> None:
    rows = [row(leg, recall, size) for leg, recall in (("bm25", 0.5), ("fused", 0.75)) for size in (300, 500)]
    plot("sample", rows, tmp_path / "a.png")
    plot("sample", rows[:2], tmp_path / "b.png")
    assert (tmp_path / "a.png").stat().st_size > (tmp_path / "b.png").stat().st_size > 1_000
