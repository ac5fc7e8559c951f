"""Searches pages in memory, exactly: what a search finds once nothing but the ranking decides.

For measuring: how passages are cut, which model embeds them and how rankings are fused can be compared without a database and without an
approximate index. It has the words, the fusion and the joining of the product's search, and no others; it knows no periods, filters or
withdrawn documents.

Cost: embedding every chunk once; a query reads every vector.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from tasks.domain.chunking import OVERLAP, SIZE, chunk_page
from tasks.domain.passages import Chunk, Page, Passage, SearchResult
from tasks.retrieval.embedding import Vectors
from tasks.retrieval.fusion import rank_for
from tasks.retrieval.joining import SHOWN, Hit, Shown, arrange
from tasks.retrieval.keywords import KeywordIndex
from tasks.retrieval.search import CANDIDATES, Leg, query_text


class ExactIndex:
    """The chunks of some pages with their vectors, ready to be searched.

    `passages` and `query` embed, with the same model; `folder` is where the BM25 files go, and must not exist yet. `shown` is how long a
    passage with its neighbours may be, in characters; 0 shows every chunk as it was cut.
    """

    def __init__(
        self,
        pages: Sequence[Page],
        titles: Mapping[str, str],
        folder: Path,
        *,
        passages: Callable[[Sequence[str]], Vectors],
        query: Callable[[str], Vectors],
        size: int = SIZE,
        overlap: int = OVERLAP,
        shown: int = SHOWN,
    ) -> None:
        """Raises ValueError for a size and overlap that do not go together, and where no page has a word."""
        self._names = sorted({page.document for page in pages})
        self._titles, self._shown, self._query = titles, shown, query
        ordered = sorted(pages, key=lambda page: (page.document, page.number))
        self._texts = {(page.document, page.number): page.text for page in ordered}
        self.chunks: tuple[Chunk, ...] = tuple(
            chunk for page in ordered for chunk in chunk_page(page, size=size, overlap=overlap)
        )
        if not self.chunks:
            raise ValueError("no page has a word")
        self._vectors = passages([chunk.text for chunk in self.chunks])
        self._keywords = KeywordIndex.write(
            folder,
            (
                (chunk.id, self._names.index(chunk.document), chunk.page, chunk.start, chunk.end, chunk.text)
                for chunk in self.chunks
            ),
        )

    def as_cut(self) -> ExactIndex:
        """The same index, which shows every chunk as it was cut."""
        other = copy.copy(self)
        other._shown = 0
        return other

    def search(self, query: str, k: int, *, leg: Leg = "fused") -> SearchResult:
        """At most `k` passages, best first; none for a query without a letter or digit. Ranks as `Index.search` does."""
        text = query_text(query)
        if not text:
            return SearchResult((), k)
        depth = max(CANDIDATES, 4 * k)
        while True:
            rankings = []
            if leg != "bm25":
                order = np.argsort(-(self._vectors @ self._query(text)), kind="stable")
                rankings.append([int(position) for position in order[:depth]])
            if leg != "vectors":
                rankings.append(self._keywords.rank(text, depth))
            ranked = rank_for(text, rankings, self._keywords.holds)
            hits = [self._hit(position, score) for position, score in ranked]
            shown = arrange(hits, k, self._around, shown=self._shown)
            if len(shown) == k or depth >= len(self.chunks) or all(len(ranking) < depth for ranking in rankings):
                return SearchResult(tuple(self._passage(each, rank) for rank, each in enumerate(shown, start=1)), k)
            depth = min(4 * depth, len(self.chunks))

    def _hit(self, position: int, score: float) -> Hit:
        chunk = self.chunks[position]
        return Hit(position, self._names.index(chunk.document), chunk.page, chunk.start, chunk.end, chunk.text, score)

    def _around(self, position: int) -> tuple[tuple[int, int, int] | None, tuple[int, int, int] | None]:
        here = self.chunks[position]

        def there(other: int) -> tuple[int, int, int] | None:
            if not 0 <= other < len(self.chunks):
                return None
            chunk = self.chunks[other]
            return (
                (other, chunk.start, chunk.end) if (chunk.document, chunk.page) == (here.document, here.page) else None
            )

        return there(position - 1), there(position + 1)

    def _passage(self, shown: Shown, rank: int) -> Passage:
        chunk = self.chunks[shown.hit.position]
        alone = (shown.start, shown.end) == (chunk.start, chunk.end)
        return Passage(
            chunk,
            self._titles.get(chunk.document, chunk.document),
            shown.hit.score,
            rank,
            also_at=tuple((self._names[document], page) for document, page in shown.also_at),
            joined="" if alone else self._texts[chunk.document, chunk.page][shown.start : shown.end],
        )
