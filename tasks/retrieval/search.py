"""Searches one index generation: vectors and BM25, fused by reciprocal rank (fusion.py), made into passages that can be cited.

Decides which documents may be searched, how deep each ranking goes, and what is said where something is missing. It never returns what was
withdrawn or was not in force in the period asked for, never meets a query with vectors of another model or revision, and never returns
fewer passages than asked for without a word.

Rules
- Eligible is what the generation lists, is not closed (read again at each search, so a withdrawal counts at once), was in force on at least
  one day of the period, and is among the documents asked for. A document version with several names is eligible under each name of its own.
- A filter never costs results: BM25 masks, the vectors fall back to an exact scan, and where duplicates use the candidates up, more
  are taken until there are enough passages or no more chunks.

Cost of a search, beside embedding its query: four statements of under a millisecond each in a small index; BM25 runs while the query is
embedded. BM25 grows with the number of chunks that hold the query's words, the vectors with the logarithm of the set's size where
documents are not filtered (see vectors.py), the rest with `k`. Memory grows by one byte per chunk for each filter in use.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tasks.domain.errors import PermanentError
from tasks.domain.passages import Chunk, LeftOut, Origin, Passage, SearchResult
from tasks.domain.periods import Period, in_force
from tasks.retrieval.embedding import Vectors, embedding_model, load_embedder
from tasks.retrieval.fusion import RANK_CONSTANT, rank_for
from tasks.retrieval.generations import Generation
from tasks.retrieval.joining import Hit, Shown, arrange
from tasks.retrieval.keywords import open_keywords
from tasks.retrieval.reading import SearchConnection
from tasks.retrieval.recent import Recent
from tasks.retrieval.vectors import nearest
from tasks.store.connection import Connection, connect

Leg = Literal["fused", "vectors", "bm25"]

# Candidates that each ranking brings to the fusion at the least; a dozen times what a search returns.
CANDIDATES = 50
LONGEST_QUERY = 1_000  # characters; the embedding models read about 256 word pieces and drop the rest
FILTERS_KEPT = 8  # filters whose mask is kept from search to search
TEXTS_KEPT = 2_000  # texts kept from search to search, which never change: 2 MB of chunks and as much of pages

BEST = 3 / (1 + RANK_CONSTANT)  # the score of what stands first in every ranking

NO_WORD = "The query has no word to search for."


_Place = tuple[int, int, int, int]
"""A span of a stored page: document, page, start, end."""
_PageText = tuple[str, Origin, float | None]
"""Its text, where that is from, and with what confidence."""


@dataclass(frozen=True, slots=True)
class _Name:
    """A name under which the generation lists a document version."""

    name: str
    title: str
    document: int
    effective_from: date | None
    effective_to: date | None


@dataclass(frozen=True, slots=True)
class _Scope:
    """What one search may look into: document versions with their eligible names, and how many chunks they have."""

    names: dict[int, tuple[_Name, ...]]
    left_out: tuple[LeftOut, ...]
    chunks: int
    mask: NDArray[np.bool_] | None
    unknown: tuple[str, ...]
    withdrawn: tuple[str, ...]


class Index:
    """One generation, ready to be searched by any number of threads. `folder` is where BM25 files are kept.

    Keeps one connection and closes it when it is collected, or by `close`.
    """

    def __init__(self, url: str, generation: Generation, folder: Path) -> None:
        """Loads the generation's embedding model, opens its BM25 files and builds them where they are missing, stale or damaged.

        Raises PermanentError where the model's revision is not the installed one, or where the generation has no chunks (any more);
        TemporaryError where the weights, the database or the disk cannot be had.
        """
        model = embedding_model(generation.embedding_model)
        if model.revision != generation.embedding_revision:
            raise PermanentError(
                f"Index generation {generation.id} was made with {model.name} {generation.embedding_revision}, and "
                f"{model.revision} is installed. Their vectors do not compare: run ingest/ingest again."
            )
        if generation.set_id is None:
            raise PermanentError(
                f"The chunks of index generation {generation.id} were removed after a newer one opened: search that one."
            )
        self.generation = generation
        self._set = generation.set_id
        with connect(url, read_only=True, application="filewright-search") as connection:
            self._keywords = open_keywords(connection, generation, folder)
            self._names = _names(connection, generation.id)
            # About how many chunks the set has, those of other generations included; -1 before it was counted.
            row = connection.execute(
                "SELECT reltuples FROM pg_class WHERE oid = to_regclass(%s)", (f"corpus.chunks_{generation.set_id}",)
            ).fetchone()
            self._whole = max(int(row[0]) if row else 0, len(self._keywords))
        self._counts = np.bincount(self._keywords.documents, minlength=len(self._keywords.document_ids))
        self._embedder = load_embedder(generation.embedding_model)
        self._connection = SearchConnection(url)
        self._helper = ThreadPoolExecutor(max_workers=4, thread_name_prefix="bm25")
        self._scopes: Recent[tuple[object, ...], _Scope] = Recent(FILTERS_KEPT)
        self._chunk_texts: Recent[str, str] = Recent(TEXTS_KEPT)
        self._page_texts: Recent[_Place, _PageText] = Recent(TEXTS_KEPT)

    def close(self) -> None:
        """Give the connection and the threads back; a later search opens them again or fails."""
        self._connection.close()
        self._helper.shutdown(wait=False)

    @property
    def documents(self) -> tuple[str, ...]:
        """The names of all documents that the generation lists as readable, withdrawn ones included."""
        return tuple(name.name for name in self._names)

    def __len__(self) -> int:
        """How many chunks the generation has."""
        return len(self._keywords)

    def search(
        self,
        query: str,
        k: int,
        *,
        documents: Collection[str] | None = None,
        period: Period | None = None,
        leg: Leg = "fused",
    ) -> SearchResult:
        """At most `k` passages (at least 1), best first; none for a query without a letter or digit.

        `documents` limits the search to these names, `period` to what was in force then. `leg` ranks by one retriever alone. Scores are
        those of the fusion (above 0, at most `BEST`), good for comparing passages of one search and for nothing else. Raises ValueError
        for a `k` below 1, TemporaryError where the database does not answer, PermanentError where chunks of the generation are gone.
        """
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        text = query_text(query)
        wanted = None if documents is None else tuple(sorted(set(documents)))
        depth = max(CANDIDATES, 4 * k)
        keywords = self._helper.submit(self._scope_and_keywords, text, depth, wanted, period, leg)
        # The query is embedded here, while the other thread asks what may be searched and ranks by words.
        vector = self._embedder.query(text) if leg != "bm25" and text else None
        scope, by_words = keywords.result()
        if not text or not scope.chunks:
            return SearchResult((), k, scope.left_out, NO_WORD if not text else _nothing_eligible(scope, period))
        while True:
            rankings: list[list[int]] = []
            if vector is not None:
                rankings.append(self._keywords.positions(self._nearest(vector, depth, scope)))
            if leg != "vectors":
                rankings.append(by_words)
            passages = self._passages(rank_for(text, rankings, self._keywords.holds), k, scope)
            # A ranking that is shorter than asked for has no more to give.
            if len(passages) == k or depth >= scope.chunks or all(len(ranking) < depth for ranking in rankings):
                break
            depth = min(4 * depth, scope.chunks)
            if leg != "vectors":
                by_words = self._keywords.rank(text, depth, scope.mask)
        return SearchResult(passages, k, scope.left_out, _shortfall(len(passages), k, scope, leg))

    def by_vector(
        self, query: str, k: int, *, documents: Collection[str] | None = None, period: Period | None = None
    ) -> list[str]:
        """Ids of the `k` nearest chunks by cosine."""
        text = query_text(query)
        scope = self._scope(None if documents is None else tuple(sorted(set(documents))), period)
        if not text or not scope.chunks:
            return []
        return self._nearest(self._embedder.query(text), k, scope)

    def by_keyword(
        self, query: str, k: int, *, documents: Collection[str] | None = None, period: Period | None = None
    ) -> list[str]:
        """Ids of at most `k` chunks by BM25."""
        scope = self._scope(None if documents is None else tuple(sorted(set(documents))), period)
        if not scope.chunks:
            return []
        return self._keywords.ids(self._keywords.rank(query_text(query), k, scope.mask))

    def _scope_and_keywords(
        self, text: str, depth: int, documents: tuple[str, ...] | None, period: Period | None, leg: Leg
    ) -> tuple[_Scope, list[int]]:
        scope = self._scope(documents, period)
        ranked = self._keywords.rank(text, depth, scope.mask) if leg != "vectors" and text and scope.chunks else []
        return scope, ranked

    def _scope(self, documents: tuple[str, ...] | None, period: Period | None) -> _Scope:
        live, closed = self._connection.run(lambda connection: _closed(connection, self.generation.id))
        if live + len(closed) != len(self._names):
            raise PermanentError(
                f"Index generation {self.generation.id} no longer lists the documents that it had: it was removed or written again."
            )
        key = (documents, period, closed)
        known = self._scopes.get([key])
        if not known:
            known = {key: self._make_scope(documents, period, closed)}
            self._scopes.put(known)
        return known[key]

    def _make_scope(self, documents: tuple[str, ...] | None, period: Period | None, closed: frozenset[str]) -> _Scope:
        asked = [name for name in self._names if documents is None or name.name in documents]
        standing = [name for name in asked if name.name not in closed]
        eligible: dict[int, list[_Name]] = {}
        left_out = []
        for name in standing:
            if period is None or in_force(name.effective_from, name.effective_to, period):
                eligible.setdefault(name.document, []).append(name)
            else:
                left_out.append(LeftOut(name.name, name.effective_from, name.effective_to))
        chosen = np.isin(self._keywords.document_ids, np.fromiter(eligible, np.int64, len(eligible)))
        return _Scope(
            {document: tuple(names) for document, names in eligible.items()},
            tuple(left_out),
            int(self._counts[chosen].sum()),
            None if chosen.all() else chosen[self._keywords.documents],
            tuple(sorted(set(documents or ()) - {name.name for name in asked})),
            tuple(name.name for name in asked if documents is not None and name.name in closed),
        )

    def _nearest(self, vector: Vectors, k: int, scope: _Scope) -> list[str]:
        return self._connection.run(
            lambda connection: nearest(
                connection,
                self._set,
                vector,
                k,
                scope.names,
                eligible=scope.chunks,
                whole=self._whole,
                precision=self.generation.precision,
            )
        )

    def _passages(self, fused: list[tuple[int, float]], k: int, scope: _Scope) -> tuple[Passage, ...]:
        hits: list[Hit] = []
        shown: list[Shown] = []
        while len(shown) < k and len(hits) < len(fused):
            hits += self._hits(fused[len(hits) : 2 * len(hits) + 2 * k + 8])
            shown = arrange(hits, k, self._around)
        places = [(each.hit.document, each.hit.page, each.start, each.end) for each in shown]
        texts = self._page_texts.complete(
            places, lambda missing: self._connection.run(lambda connection: _page_texts(connection, missing))
        )
        return tuple(
            self._passage(each, rank, texts[place], scope)
            for rank, (each, place) in enumerate(zip(shown, places, strict=True), start=1)
        )

    def _hits(self, ranked: Sequence[tuple[int, float]]) -> list[Hit]:
        words = self._keywords
        ids = words.ids([position for position, _ in ranked])
        texts = self._chunk_texts.complete(
            ids, lambda missing: self._connection.run(lambda connection: _texts(connection, self._set, missing))
        )
        if len(texts) < len(set(ids)):
            raise PermanentError(
                f"Chunks of index generation {self.generation.id} are gone: they were pruned after a newer one opened. Search that one."
            )
        return [
            Hit(
                position,
                int(words.document_ids[words.documents[position]]),
                int(words.pages[position]),
                int(words.starts[position]),
                int(words.ends[position]),
                texts[identity],
                score,
            )
            for (position, score), identity in zip(ranked, ids, strict=True)
        ]

    def _around(self, position: int) -> tuple[tuple[int, int, int] | None, tuple[int, int, int] | None]:
        """The chunks before and after on the page: chunks are numbered in reading order."""
        words = self._keywords

        def there(other: int) -> tuple[int, int, int] | None:
            if (
                not 0 <= other < len(words)
                or words.documents[other] != words.documents[position]
                or words.pages[other] != words.pages[position]
            ):
                return None
            return other, int(words.starts[other]), int(words.ends[other])

        return there(position - 1), there(position + 1)

    def _passage(self, shown: Shown, rank: int, page: _PageText, scope: _Scope) -> Passage:
        hit, (text, origin, confidence) = shown.hit, page
        first, *others = scope.names[hit.document]
        also_at = [(other.name, hit.page) for other in others]
        also_at += [(other.name, number) for document, number in shown.also_at for other in scope.names[document]]
        identity, *neighbours = self._keywords.ids(shown.positions)
        alone = (shown.start, shown.end) == (hit.start, hit.end)
        return Passage(
            Chunk(identity, first.name, hit.page, hit.start, hit.end, hit.text),
            first.title,
            hit.score,
            rank,
            first.effective_from,
            first.effective_to,
            tuple(dict.fromkeys(also_at)),
            origin,
            confidence,
            "" if alone else text,
            () if alone else (identity, *neighbours),
        )


def query_text(query: str) -> str:
    """What is searched for: without blanks around it, NUL and lone surrogates, at most `LONGEST_QUERY` characters; empty where there is
    no letter or digit in it."""
    text = query[: 10 * LONGEST_QUERY].replace("\0", " ").strip()[:LONGEST_QUERY]
    text = text.encode("utf-8", "replace").decode("utf-8").strip()
    return text if any(character.isalnum() for character in text) else ""


def _names(connection: Connection, generation: int) -> tuple[_Name, ...]:
    """Everything readable that the generation lists, by name. Names, titles and dates stay as they are once a generation is written."""
    rows = connection.execute(
        "SELECT name, title, document_id, effective_from, effective_to FROM corpus.generation_documents "
        "WHERE generation_id = %s AND document_id IS NOT NULL ORDER BY name",
        (generation,),
    )
    return tuple(_Name(*row) for row in rows)


def _closed(connection: Connection, generation: int) -> tuple[int, frozenset[str]]:
    """How many documents stand in the generation, and the names of those that were withdrawn."""
    row = connection.execute(
        "SELECT count(*) FILTER (WHERE closed_at IS NULL), array_agg(name) FILTER (WHERE closed_at IS NOT NULL) "
        "FROM corpus.generation_documents WHERE generation_id = %s AND document_id IS NOT NULL",
        (generation,),
    ).fetchone()
    assert row is not None
    return int(row[0]), frozenset(row[1] or ())


def _texts(connection: Connection, chunk_set: int, ids: Sequence[str]) -> dict[str, str]:
    rows = connection.execute(
        f"SELECT id, text FROM corpus.chunks WHERE set_id = {int(chunk_set)} AND id = ANY(%s)", (list(ids),)
    )
    return {str(identity): str(text) for identity, text in rows}


def _page_texts(connection: Connection, places: Sequence[_Place]) -> dict[_Place, _PageText]:
    """Text, origin and confidence for spans of stored pages."""
    columns = [list(column) for column in zip(*places, strict=True)]
    rows = connection.execute(
        "SELECT s.document, s.page, s.first, s.last, substr(p.text, s.first + 1, s.last - s.first), p.origin, p.confidence "
        "FROM unnest(%s::bigint[], %s::int[], %s::int[], %s::int[]) AS s(document, page, first, last) "
        "JOIN corpus.pages p ON p.document_id = s.document AND p.number = s.page",
        columns,
    )
    return {(row[0], row[1], row[2], row[3]): (row[4], row[5], row[6]) for row in rows}


def _nothing_eligible(scope: _Scope, period: Period | None) -> str:
    if scope.left_out and period is not None:
        return f"No document that could be searched was in force in {period}."
    return _missing(scope) or "The index has no document that can be searched: all were withdrawn."


def _missing(scope: _Scope) -> str:
    parts = []
    if scope.unknown:
        parts.append(f"The index has no document named {', '.join(scope.unknown)}.")
    if scope.withdrawn:
        parts.append(f"Withdrawn from the corpus: {', '.join(scope.withdrawn)}.")
    return " ".join(parts)


def _shortfall(found: int, k: int, scope: _Scope, leg: Leg) -> str:
    if found >= k:
        # What was asked for and could not be searched is said also where the others gave enough.
        return _missing(scope)
    why = (
        "no other passage shares a word with the query"
        if leg == "bm25" and scope.chunks > found
        else f"what was searched has {scope.chunks} chunk{'s' if scope.chunks != 1 else ''}, and those with the same words or side by side "
        "count as one passage"
    )
    return " ".join(part for part in (f"{found} of {k} passages found: {why}.", _missing(scope)) if part)
