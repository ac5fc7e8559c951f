"""Embedding models: which one a new index gets and why, and that how passages are batched changes nothing but the time."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tasks.domain.errors import PermanentError, TemporaryError
from tasks.retrieval import embedding
from tasks.retrieval.embedding import (
    AUTO,
    BATCH,
    DIMENSION,
    MODELS,
    NEEDED,
    Embedder,
    EmbeddingModel,
    cached_weights,
    choose_model,
    embedding_model,
    load_embedder,
)

BGE = MODELS["bge-small"]
TEXTS = [f"Section {n}. " + "The quantity prescribed must be reported. " * (n % 9) for n in range(3 * BATCH + 2)]


@pytest.fixture(scope="module")
def minilm() -> Embedder:
    return load_embedder("minilm")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty local cache of the hub's files, and a network where nothing answers at once."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(embedding, "_unreachable", lambda model: "the hub is not reachable (Test)")
    return tmp_path


def put_into_cache(cache: Path, model: EmbeddingModel, *names: str) -> Path:
    folder = cache / f"models--{model.weights.replace('/', '--')}" / "snapshots" / model.revision
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}")
    return folder


# ------------------------------------------------------------------------------------------------------------------- the vectors
def test_vectors_are_those_of_the_library_one_by_one(minilm: Embedder) -> None:
    """In the order of the texts, length 1, whatever the batches are."""
    made = minilm.passages(TEXTS)
    alone = minilm._encoder.encode(TEXTS, batch_size=1, normalize_embeddings=True, show_progress_bar=False)
    assert made.shape == (len(TEXTS), DIMENSION) and made.dtype == np.float32
    assert np.abs(made - alone).max() < 1e-5
    assert np.abs(np.linalg.norm(made, axis=1) - 1).max() < 1e-5


def test_no_text_gives_no_vector(minilm: Embedder) -> None:
    assert minilm.passages([]).shape == (0, DIMENSION)


def test_a_text_s_vector_does_not_depend_on_what_stands_beside_it(minilm: Embedder) -> None:
    beside = minilm.passages([TEXTS[3], *TEXTS, TEXTS[3]])
    assert np.abs(beside[0] - beside[-1]).max() < 1e-6
    assert np.abs(beside[0] - minilm.passages([TEXTS[3]])[0]).max() < 1e-5


@pytest.mark.parametrize("text", ["", "\ud800 lone", "x" * 100_000, "\0", "費用"])
def test_any_text_has_a_vector(minilm: Embedder, text: str) -> None:
    assert np.isfinite(minilm.query(text)).all() and np.isfinite(minilm.passages([text])).all()


def test_threads_share_a_model(minilm: Embedder) -> None:
    wanted = minilm.passages(TEXTS)
    with ThreadPoolExecutor(4) as pool:
        for made in pool.map(lambda _: minilm.passages(TEXTS), range(4)):
            assert np.abs(made - wanted).max() < 1e-5
        assert len({id(each) for each in pool.map(lambda _: load_embedder("minilm"), range(8))}) == 1


def test_what_a_batch_raises_is_raised(minilm: Embedder, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(texts: list[str]) -> None:
        raise RuntimeError("no memory")

    monkeypatch.setattr(minilm, "_encode", broken)
    with pytest.raises(RuntimeError, match="no memory"):
        minilm.passages(TEXTS)


def test_the_caller_s_own_threads_of_torch_stay_as_they_are(minilm: Embedder) -> None:
    import torch

    before = torch.get_num_threads()
    minilm.passages(TEXTS)
    assert torch.get_num_threads() == before


def test_each_model_puts_its_own_prefix_before_a_query(minilm: Embedder, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    encode = minilm._encode
    monkeypatch.setattr(minilm, "_encode", lambda texts: seen.extend(texts) or encode(texts))
    monkeypatch.setattr(minilm, "model", EmbeddingModel("other", "w", "r", "query: ", "passage: "))
    minilm.query("fee")
    minilm.passages(["rule"])
    assert seen == ["query: fee", "passage: rule"]


def test_every_model_has_the_dimension_that_the_index_has() -> None:
    assert {model.dimension for model in MODELS.values()} == {DIMENSION}
    assert all(model.revision and len(model.revision) > 8 for model in MODELS.values())


# --------------------------------------------------------------------------------------------------------------------- which model
def chosen(wanted: str, pinned: str | None = None) -> tuple[str, str]:
    said: list[str] = []
    name = choose_model(wanted, pinned, say=said.append)
    (line,) = said
    assert name in line
    return name, line


def test_a_model_that_is_named_is_taken(hub: Path) -> None:
    assert chosen("minilm")[0] == "minilm"
    assert chosen("bge-small")[0] == "bge-small"


def test_naming_another_model_than_the_serving_index_s_says_that_it_is_replaced(hub: Path) -> None:
    name, line = chosen("minilm", "bge-small")
    assert name == "minilm" and "replaces bge-small" in line


@pytest.mark.parametrize("pinned", sorted(MODELS))
@pytest.mark.parametrize("cached", [False, True])
def test_auto_keeps_the_serving_index_s_model_whatever_the_network_does(hub: Path, pinned: str, cached: bool) -> None:
    if cached:
        put_into_cache(hub, BGE, *NEEDED)
    name, line = chosen(AUTO, pinned)
    assert name == pinned and "serving index" in line


def test_auto_takes_bge_small_where_its_weights_are_here(hub: Path) -> None:
    folder = put_into_cache(hub, BGE, *NEEDED)
    assert cached_weights(BGE) == folder
    assert chosen(AUTO)[0] == "bge-small"


@pytest.mark.parametrize("missing", NEEDED)
def test_an_incomplete_copy_is_no_copy(hub: Path, missing: str) -> None:
    put_into_cache(hub, BGE, *(name for name in NEEDED if name != missing))
    assert cached_weights(BGE) is None
    assert chosen(AUTO)[0] == "minilm"


def test_another_revision_is_no_copy(hub: Path) -> None:
    put_into_cache(hub, EmbeddingModel("bge-small", BGE.weights, "0" * 40), *NEEDED)
    assert chosen(AUTO)[0] == "minilm"


def test_auto_takes_minilm_where_nothing_answers_and_says_why(hub: Path) -> None:
    name, line = chosen(AUTO)
    assert name == "minilm" and "not reachable" in line and "bge-small" in line


def test_a_hub_that_never_answers_is_not_waited_for(hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forever = threading.Event()
    monkeypatch.setattr(embedding, "_unreachable", lambda model: forever.wait(60) and None)
    monkeypatch.setattr(embedding, "REACHABLE_SECONDS", 0.2)
    started = time.monotonic()
    name, line = chosen(AUTO)
    forever.set()
    assert name == "minilm" and "no answer within" in line and time.monotonic() - started < 10


def test_auto_downloads_bge_small_where_the_hub_answers(hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    def download(weights: str, *, revision: str, allow_patterns: list[str]) -> None:
        asked.append((weights, revision))
        put_into_cache(hub, BGE, *allow_patterns)

    monkeypatch.setattr(embedding, "_unreachable", lambda model: None)
    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    assert chosen(AUTO)[0] == "bge-small"
    assert asked == [(BGE.weights, BGE.revision)]


@pytest.mark.parametrize("half", [False, True], ids=["broken off", "incomplete"])
def test_a_download_that_fails_leaves_minilm_and_says_why(
    hub: Path, monkeypatch: pytest.MonkeyPatch, half: bool
) -> None:
    def download(weights: str, **options: object) -> None:
        put_into_cache(hub, BGE, NEEDED[0])
        if not half:
            raise ConnectionError("reset")

    monkeypatch.setattr(embedding, "_unreachable", lambda model: None)
    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    name, line = chosen(AUTO)
    assert name == "minilm" and ("incomplete" in line if half else "ConnectionError" in line)


@pytest.mark.parametrize("name", ["gpt", "", "MINILM"])
def test_an_unknown_model_is_refused(name: str) -> None:
    with pytest.raises(PermanentError, match="no embedding model"):
        embedding_model(name)
    with pytest.raises(PermanentError, match="no embedding model"):
        choose_model(name)
    with pytest.raises(PermanentError, match="no embedding model"):
        choose_model(AUTO, name or "unknown")


def test_weights_that_cannot_be_loaded_are_a_temporary_error(hub: Path) -> None:
    put_into_cache(hub, BGE, *NEEDED)
    with pytest.raises(TemporaryError, match="bge-small could not be loaded"):
        Embedder("bge-small")


def test_importing_this_room_loads_no_model_library() -> None:
    """Its import takes seconds, and commands that do not embed would pay them."""
    code = "import sys, tasks.retrieval.search; print('torch' in sys.modules, 'sentence_transformers' in sys.modules)"
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert made.stdout.split() == ["False", "False"]


def test_what_passages_are_measured_against_gives_the_same_vectors() -> None:
    """Else a ratio of their times would compare two different things."""
    embedder = load_embedder("minilm")
    texts = ["The rule is effective on March 24, 2020.", "A pharmacy fills a prescription.", "x"]
    alone = np.stack([embedder.one_by_the_library(text) for text in texts])
    assert np.allclose(alone, embedder.passages(texts), atol=1e-5)
