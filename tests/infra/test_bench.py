"""The benches run to the end at small sizes, and their tables say what was measured. No time is judged here."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from infra import bench_ingest, bench_retrieval, synthetic
from infra.bench_ingest import Compared, Long, Spread
from infra.bench_retrieval import Building, Measured, OneMore, SqlLeg
from infra.environment import expected
from infra.measuring import Peaks, memory, peaks, processor_ms, table, times
from tasks.retrieval.embedding import load_embedder
from tasks.retrieval.vectors import exact_is_cheaper
from tasks.settings import ROOT, settings

SMALL, INDEXED = 300, 2_400  # the larger one is more than an exact scan is ever preferred for


def quiet(line: str) -> None:
    assert line


@pytest.fixture(scope="module")
def shape() -> synthetic.VectorShape:
    _, chunks = bench_retrieval.sample_corpus()
    return synthetic.VectorShape.fit(load_embedder("minilm").passages([chunk.text for chunk in chunks]))


@pytest.fixture(scope="module")
def retrieval() -> tuple[dict[str, object], list[Measured]]:
    return bench_retrieval.measure((SMALL, INDEXED), report=quiet, questions=12, compared=6)


@pytest.fixture(scope="module")
def ingest() -> Compared:
    return bench_ingest.compare(report=quiet, repeats=1, again=2, federal=False)


@pytest.fixture(scope="module")
def long() -> list[Long]:
    return bench_ingest.read_long(24, embed=True, report=quiet, short=2)


@pytest.fixture
def fresh_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("FILEWRIGHT_HOME", str(tmp_path))
    monkeypatch.delenv("FILEWRIGHT_CORPUS_MIRROR", raising=False)
    settings.cache_clear()
    yield
    settings.cache_clear()


# ------------------------------------------------------------------------------------------------------------ what figures are made of
def test_a_quantile_is_the_least_value_that_enough_calls_did_not_exceed() -> None:
    found = times([number / 1000 for number in range(200, 0, -1)])
    assert (found.least, found.p50, found.p95, found.count) == pytest.approx((1, 100, 190, 200))
    assert times([0.003]).p95 == pytest.approx(3)


def test_recall_counts_the_ten_nearest_whatever_their_order() -> None:
    truth = [str(number) for number in range(50)]
    assert bench_retrieval.recall([*truth[:10][::-1], "x"], truth) == 1
    assert bench_retrieval.recall([*truth[:7], "x", "y", "z", *truth[7:10]], truth) == pytest.approx(0.7)
    assert bench_retrieval.recall([], truth) == 0
    assert bench_retrieval.recall(["a"], ["a"]) == 1


def test_memory_and_processor_time_are_those_of_the_process_asked_about() -> None:
    mine = memory()
    assert 0 < mine["own"] <= mine["now"] <= mine["peak"]
    assert memory(2**22 + 1) == {"now": 0, "peak": 0, "own": 0}
    assert processor_ms(2**22 + 1) == 0
    before = processor_ms(os.getpid())
    sum(number * number for number in range(500_000))
    assert processor_ms(os.getpid()) > before


def test_a_peak_is_seen_after_the_memory_was_given_back() -> None:
    before = memory()["now"]
    with peaks(every=0.005) as found:
        block = np.ones(20_000_000)  # 160 MB
        for _ in range(5):
            block += 1
        del block
    assert found.own > before + 100


def test_peaks_count_children_and_leave_out_those_named() -> None:
    command = [sys.executable, "-c", "held = bytearray(80_000_000); print('held', flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdout.readline() == b"held\n"
        with peaks(every=0.005) as all_of_them:
            pass
        with peaks(every=0.005, leave_out=[child.pid]) as others:
            pass
        child.communicate(b"\n")
    assert all_of_them.below > others.below + 70


def test_a_bench_that_is_terminated_leaves_no_server_and_no_folder(tmp_path: Path) -> None:
    program = (
        "import time\n"
        "from infra.measuring import own_postgres\n"
        "with own_postgres() as postgres:\n"
        "    print(postgres.process, postgres.server.folder, flush=True)\n"
        "    time.sleep(600)\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environment) as bench:
        assert bench.stdout is not None
        server, folder = bench.stdout.readline().split()
        assert Path(folder).is_dir() and Path(f"/proc/{server}").is_dir()
        bench.terminate()
        assert bench.wait(60) == 128 + signal.SIGTERM
    assert not Path(folder).exists() and not Path(f"/proc/{server}").exists()
    assert list(tmp_path.iterdir()) == []


def test_a_table_has_a_column_as_wide_as_its_widest_cell() -> None:
    assert table(["leg", "ms"], [["a longer name", "1.0"], ["b", "100.25"]]).splitlines() == [
        "leg                ms",
        "-------------  ------",
        "a longer name     1.0",
        "b              100.25",
    ]


# -------------------------------------------------------------------------------------------------------------------- synthetic vectors
def distance_to_real(found: synthetic.Neighbourhood) -> float:
    """The largest difference of a cosine; 1 where the dimension is off by more than 2."""
    if abs(found.dimension - synthetic.REAL.dimension) > 2:
        return 1.0
    mine, real = (*found.nearest, found.tenth), (*synthetic.REAL.nearest, synthetic.REAL.tenth)
    return max(abs(one - other) for one, other in zip(mine, real, strict=True))


def documents(shape: synthetic.VectorShape, seed: int) -> synthetic.Floats:
    rng = np.random.default_rng(seed)
    count, each = synthetic.REAL_SHAPE
    return np.concatenate([shape.document(rng, each) for _ in range(count)])


@pytest.mark.parametrize("seed", [0, 1])
def test_synthetic_vectors_have_neighbours_as_near_as_real_ones(shape: synthetic.VectorShape, seed: int) -> None:
    made = documents(shape, seed)
    assert np.allclose(np.linalg.norm(made, axis=1), 1, atol=1e-5)
    assert distance_to_real(synthetic.neighbourhood(made)) < 0.05


def test_vectors_without_documents_and_sections_do_not_pass_for_real(
    shape: synthetic.VectorShape, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(synthetic, "LEVELS", ())
    assert distance_to_real(synthetic.neighbourhood(documents(shape, 0))) > 0.1


def test_the_sample_corpus_is_not_far_from_what_is_called_real() -> None:
    _, chunks = bench_retrieval.sample_corpus()
    vectors = load_embedder("minilm").passages([chunk.text for chunk in chunks])
    nearest = synthetic.neighbourhood(vectors, neighbours=10).nearest
    assert nearest == pytest.approx(synthetic.REAL.nearest, abs=0.1)


def test_questions_are_as_near_to_their_passage_as_real_ones(shape: synthetic.VectorShape) -> None:
    made = documents(shape, 2)
    asked = shape.questions(np.random.default_rng(3), made[:1000])
    own = np.sum(asked * made[:1000], axis=1)
    assert (own.mean(), own.std()) == pytest.approx(synthetic.QUESTION_COSINE, abs=0.02)
    # Their nearest passage is mostly that one.
    assert np.mean(np.argmax(asked @ made.T, axis=1) == np.arange(1000)) > 0.5


def test_the_axes_are_those_of_the_real_vectors_and_orthogonal(shape: synthetic.VectorShape) -> None:
    lengths = np.linalg.norm(shape.axes, axis=1)
    basis = shape.axes / lengths[:, None]
    assert np.allclose(basis @ basis.T, np.eye(synthetic.DIMENSION), atol=1e-4)
    assert (np.diff(lengths) < 1e-7).all()
    assert np.linalg.norm(shape.mean) == pytest.approx(synthetic.MEAN_LENGTH, abs=1e-4)
    _, chunks = bench_retrieval.sample_corpus()
    real = load_embedder("minilm").passages([chunk.text for chunk in chunks])
    centred = real - real.mean(axis=0)
    inside = centred @ basis[: len(real) - 1].T
    assert np.sum(inside**2) == pytest.approx(np.sum(centred**2), rel=1e-3)


# ----------------------------------------------------------------------------------------------------------------------- synthetic text
def test_frequent_words_are_the_real_ones_and_pages_are_as_long_as_real_ones() -> None:
    pages, _ = bench_retrieval.sample_corpus()
    language = synthetic.Language.of([page.text for page in pages])
    assert len(set(language.words)) == len(language.words) == synthetic.VOCABULARY
    assert language.words[0] == "the"
    rng = np.random.default_rng(5)
    made = [language.page(rng) for _ in range(40)]
    assert len(set(made)) == 40
    lengths = [len(page) for page in made]
    assert all(min(language.page_lengths) - 200 < length <= max(language.page_lengths) for length in lengths)
    words = language.draw(rng, 50_000)
    # Mandelbrot's law for ranks 1 and 10.
    ratio = words.count(language.words[0]) / words.count(language.words[9])
    assert ratio == pytest.approx((10 + 2.7) / (1 + 2.7), rel=0.15)


def test_a_made_up_pdf_is_read_page_by_page_with_its_words(tmp_path: Path) -> None:
    from tasks.documents.read import read_pages

    language = bench_ingest.language()
    expected_pages = [language.page(np.random.default_rng(number)) for number in range(5)]
    synthetic.write_pdf(tmp_path / "made.pdf", iter(expected_pages), 5)
    found = read_pages(tmp_path / "made.pdf", "made.pdf")
    assert found.status == "ok"
    assert [page.number for page in found.pages] == [1, 2, 3, 4, 5]
    for page, wanted in zip(found.pages, expected_pages, strict=True):
        assert page.text.split() == wanted.split()


# ------------------------------------------------------------------------------------------------------------------- bench retrieval
def test_an_index_has_exactly_the_chunks_asked_for_and_every_leg_was_asked(
    retrieval: tuple[dict[str, object], list[Measured]],
) -> None:
    _, (small, indexed) = retrieval
    for each, size in ((small, SMALL), (indexed, INDEXED)):
        assert each.chunks == size
        assert [leg.filter for leg in each.sql] == list(bench_retrieval.FILTERS) == list(each.bm25)
        assert each.sql[0].eligible == size
        assert all(leg.times.count == 12 and leg.exact.count == 6 for leg in each.sql)
        assert each.search.count == each.embedding.count == 12
        assert all(0 < leg.times.least <= leg.times.p50 <= leg.times.p95 for leg in each.sql)
        assert each.one_more.chunks > 0 and each.one_more.rows > 0
        assert min(each.building.load, each.building.vector_index, each.building.bm25, each.building.open) > 0
        assert min(each.building.rows_mb, each.building.index_mb, each.building.bm25_mb) > 0
        assert each.building.index_memory > 1 and each.backend["now"] > 1 and each.process["peak"] > 1
    assert small.building.rows_mb < indexed.building.rows_mb


def test_filters_narrow_and_the_way_is_the_products(retrieval: tuple[dict[str, object], list[Measured]]) -> None:
    for each in retrieval[1]:
        everything, tenth, hundredth, one = each.sql
        assert everything.eligible > tenth.eligible > hundredth.eligible >= one.eligible
        for leg in each.sql:
            assert leg.way == ("exact" if exact_is_cheaper(leg.eligible, each.chunks) else "index")
            if leg.way == "exact":
                assert leg.recall_at_10 == leg.least_recall == 1
    assert retrieval[1][1].sql[0].way == "index"
    assert retrieval[1][1].sql[0].recall_at_10 > 0.8


def test_json_of_the_scale_has_ratios_of_the_right_fields(
    retrieval: tuple[dict[str, object], list[Measured]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(bench_retrieval, "measure", lambda sizes, report: retrieval)
    assert bench_retrieval.run(argparse.Namespace(chunks=[SMALL, INDEXED], json=True), expected()) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"began", "vectors", "sizes", "targets"}
    assert set(found["vectors"]) == {"real", "synthetic", "sample_corpus"}
    for size in found["sizes"]:
        assert size["search_to_embedding"] == size["search"]["p50"] / size["embedding"]["p50"]
    assert len(found["targets"]) == 2 * (2 * len(bench_retrieval.FILTERS) + 1)
    for target in found["targets"]:
        reached = target["value"] >= target["limit"] if target["at_least"] else target["value"] <= target["limit"]
        assert target["reached"] == reached


def test_the_scale_table_names_every_leg_of_every_size(
    retrieval: tuple[dict[str, object], list[Measured]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(bench_retrieval, "measure", lambda sizes, report: retrieval)
    assert bench_retrieval.run(argparse.Namespace(chunks=[SMALL, INDEXED], json=False), expected()) == 0
    text = capsys.readouterr().out
    for size in ("300", "2,400"):
        for name in bench_retrieval.FILTERS:
            assert f"{size}: vectors, {name}" in text and f"{size}: BM25, {name}" in text
        assert f"{size}: embedding the query" in text and f"{size}: whole search" in text
    assert "one document more" in text and "synthetic, as many" in text


def made_up(chunks: int, p95: float, recall: float, search: float) -> Measured:
    calls = times([0.001])
    leg = SqlLeg("all documents", chunks, "index", replace(calls, p95=p95), calls, calls, recall, recall)
    return Measured(
        chunks,
        3,
        Building(1, 1, 1, 1, 1, 1, 1, 1),
        (leg,),
        {"all documents": calls},
        replace(calls, p50=10.0),
        replace(calls, p50=search),
        OneMore(1, 1, 1),
        memory(),
        memory(),
    )


@pytest.mark.parametrize(
    ("chunks", "p95", "recall", "search", "reached"),
    [
        (100_000, 20, 0.95, 13, [True, True, True]),
        (100_000, 20.1, 0.949, 13.1, [False, False, False]),
        (100_001, 49, 0.95, 13, [True, True, True]),
        (1_000_000, 50.5, 0.95, 13, [False, True, True]),
        (2_000_000, 50.5, 0.95, 13, [False, True, True]),
        (10_000, 19, 0.5, 2, [True, False, True]),
    ],
)
def test_a_missed_target_is_said_to_be_missed(
    chunks: int, p95: float, recall: float, search: float, reached: list[bool]
) -> None:
    found = [made_up(chunks, p95, recall, search)]
    assert [target.reached for target in bench_retrieval.targets(found)] == reached
    shown = {"nearest": (0.1, 0.2, 0.3), "tenth": 0.1, "dimension": 5.0}
    text = bench_retrieval.as_text({"real": shown, "synthetic": shown, "sample_corpus": shown}, found)
    assert text.count(" missed") == reached.count(False) and text.count(" reached") == reached.count(True)


# ---------------------------------------------------------------------------------------------------------------------- bench ingest
def test_both_ingests_make_the_same_index_and_the_unchanged_one_nothing(ingest: Compared) -> None:
    assert ingest.documents == 3
    assert ingest.chunks == len(bench_retrieval.sample_corpus()[1])
    assert ingest.ours.count == ingest.one_at_a_time.count == ingest.changed.count == 1
    assert ingest.again.count == 2
    assert set(ingest.boxes) == set(ingest.boxes_one_at_a_time)
    assert {"plan", "extract", "dehyphenate", "chunk", "embed", "upsert", "index", "BM25 files"} <= set(ingest.boxes)


def test_embedding_one_at_a_time_gives_the_same_vectors() -> None:
    texts = [chunk.text for chunk in bench_retrieval.sample_corpus()[1]][:5]
    embedder = load_embedder(bench_ingest.MODEL)
    alone = np.stack([embedder.query(text) for text in texts])
    assert np.sum(alone * embedder.passages(texts), axis=1) == pytest.approx(np.ones(5), abs=1e-4)


def test_ratios_of_an_ingest_are_of_the_right_fields(capsys: pytest.CaptureFixture[str]) -> None:
    found = Compared(
        "made up",
        3,
        174,
        Spread(3.0, 4.0, 4),
        Spread(8.0, 10.0, 4),
        {"embed": 2.0, "plan": 0.1},
        {"embed": 9.0, "plan": 0.1},
        Spread(0.1, 0.4, 20),
        Spread(1.0, 1.5, 4),
    )
    assert (found.faster, found.embedding_faster, found.unchanged_share) == (2.5, 4.5, 0.1)
    assert [target["reached"] for target in bench_ingest.targets(found)] == [True, False]
    text = bench_ingest.as_text(found)
    assert "made up" in text and text.count(" missed") == text.count(" reached") == 1
    as_json = json.loads(json.dumps(bench_ingest.as_json("now", found)))
    assert as_json["faster"] == 2.5 and as_json["unchanged_share"] == 0.1 and as_json["embedding_faster"] == 4.5
    assert as_json["ours"] == {"least": 3.0, "median": 4.0, "count": 4}


def test_ingest_prints_json_of_what_it_compared(
    ingest: Compared, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench_ingest, "compare", lambda report: ingest)
    assert bench_ingest.run(argparse.Namespace(pages=None, embed=False, json=True), expected()) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["faster"] == found["one_at_a_time"]["median"] / found["ours"]["median"]
    assert found["unchanged_share"] == found["again"]["median"] / found["ours"]["median"]
    assert len(found["targets"]) == 2


def test_without_the_federal_files_the_sample_corpus_is_taken_and_said_so(fresh_settings: None, tmp_path: Path) -> None:
    label, files = bench_ingest.find_documents(tmp_path / "nowhere")
    assert "sample corpus" in label and "federal PDFs are not here" in label
    assert len(files) == 3 and all(path.is_file() for path in files.values())


def test_settings_and_environment_are_as_before(fresh_settings: None, tmp_path: Path) -> None:
    before = dict(os.environ)
    home = settings().store.home
    with bench_ingest.surroundings("postgresql://nobody@127.0.0.1:1/none", tmp_path / "other", tmp_path):
        assert settings().store.home == tmp_path / "other"
        assert settings().retrieval.embedding_model == bench_ingest.MODEL
    assert dict(os.environ) == before
    assert settings().store.home == home


# --------------------------------------------------------------------------------------------------------------------- a long document
def test_a_long_document_is_read_stored_cut_and_embedded_with_its_memory(long: list[Long]) -> None:
    assert [each.pages for each in long] == [2, 24]
    for each in long:
        assert list(each.seconds) == list(each.memory) == ["extract", "dehyphenate", "chunk", "embed"]
        assert each.chunks > 4 * each.pages
        assert all(peak.own > 10 for peak in each.memory.values())
        assert each.memory["extract"].below > 1  # the process that parses
    assert long[1].chunks > 6 * long[0].chunks


def test_figures_of_a_long_document_are_of_the_right_fields(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def made(pages: int, own: float) -> Long:
        memories = {"extract": Peaks(own, 30), "dehyphenate": Peaks(own + 5, 10)}
        return Long(pages, 1.0, {"extract": 3.0, "dehyphenate": 1.0, "embed": 99.0}, memories, 10)

    measured = [made(50, 70.0), made(5_000, 120.0)]
    assert measured[1].pages_a_second == 1_250
    assert measured[0].most == 100
    monkeypatch.setattr(bench_ingest, "read_long", lambda pages, embed, report: measured)
    assert bench_ingest.run(argparse.Namespace(pages=5_000, embed=False, json=True), expected()) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["memory_ratio"] == 1.5
    assert found["files"][1]["pages_a_second"] == 1_250 and found["files"][1]["most_mb"] == 150


def test_the_table_of_a_long_document_shows_time_and_memory_of_each_box(long: list[Long]) -> None:
    text = bench_ingest.long_text(long)
    assert "24 pages need" in text
    for name in ("extract, s", "dehyphenate, s", "chunk, s", "embed, s", "its readers, peak MB"):
        assert name in text
