"""BM25 over one index generation, in memory-mapped files that can be built again from Postgres at any time.

Text is folded for matching only: case, the kinds of dashes, and compounds, so that `460–ET` in a passage meets `460-ET` in a
query, and a word of a compound is found without its neighbours. The stored passage keeps its own characters.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import bm25s
from bm25s.stopwords import STOPWORDS_EN

DASHES = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"), "-")
WORD = re.compile(r"[^\W_]+(?:[-.][^\W_]+)*")
STOPWORDS = frozenset(STOPWORDS_EN)
IDS = "ids.json"


def tokens(text: str) -> list[str]:
    """The words to match: lower case, dashes folded; a compound gives itself and its parts; stop words fall out."""
    folded = unicodedata.normalize("NFKC", text).translate(DASHES).casefold()
    found: list[str] = []
    for word in WORD.findall(folded):
        parts = re.split(r"[-.]", word)
        found += [word, *parts] if len(parts) > 1 else [word]
    return [token for token in found if token not in STOPWORDS]


class KeywordIndex:
    """BM25 ranking of chunk ids. Building costs one pass over the text; a query costs time in the number of chunks."""

    def __init__(self, folder: Path) -> None:
        """Open the files that `build` wrote into `folder`."""
        self._ids: list[str] = json.loads((folder / IDS).read_text(encoding="utf-8"))
        self._scores = bm25s.BM25.load(str(folder), mmap=True, show_progress=False)

    @classmethod
    def build(cls, folder: Path, ids: Sequence[str], texts: Sequence[str]) -> KeywordIndex:
        """Write the files for `texts` and open them. Another process that builds the same folder at once does no harm."""
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f"{folder.name}-", dir=folder.parent))
        scores = bm25s.BM25()
        # bm25s refuses a text without a token; a single private-use character is one that no query holds.
        scores.index([tokens(text) or ["\ue000"] for text in texts], show_progress=False)
        scores.save(str(draft), show_progress=False)
        (draft / IDS).write_text(json.dumps(list(ids)), encoding="utf-8")
        try:
            draft.rename(folder)
        except OSError:
            if not (folder / IDS).exists():
                raise
            shutil.rmtree(draft)
        return cls(folder)

    def rank(self, query: str, k: int) -> list[str]:
        """Ids of at most `k` chunks that share a word with `query`, best first."""
        words = tokens(query)
        if not words or not self._ids:
            return []
        positions, scores = self._scores.retrieve([words], k=min(k, len(self._ids)), show_progress=False)
        return [self._ids[int(position)] for position, score in zip(positions[0], scores[0], strict=True) if score > 0]
