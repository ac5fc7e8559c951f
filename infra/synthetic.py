"""Text and vectors that no document holds, made like real ones, so that an index of any size can be measured without a corpus of that size.

Decides what "like real ones" means and how it is checked; it never measures time and never writes anything but a PDF of its own text.

Text: words of the given real texts by their real frequency, then made-up words, drawn by Zipf's law (the word of rank r as often as
1 / (r + 2.7): Mandelbrot), in sentences and paragraphs, on pages as long as the real ones. Chunks are cut from it by the product's own
splitter, so their lengths are the real ones.

Vectors: a mean, and four parts that add up to the rest of the variance: one that a document's chunks share, one that a section's share, one
that neighbours share, and the chunk's own. How much each has differs from group to group. All parts have one spectrum, and its largest axes
are those of the given real vectors, so that a real question falls where real passages lie.

The numbers were fitted to what minilm makes of 2,533 real passages of 229 documents on many subjects (`REAL`). The federal PDFs have such
neighbourhoods too (174 passages: nearest .66 / .78 / .88, dimension 11). `neighbourhood` measures the same on any vectors; the command
prints both, and a test holds them together.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

DIMENSION = 384
MEAN_LENGTH = 0.36
# Eigenvalue n of real vectors' covariance falls like 1/n, and faster towards the end.
SPECTRUM = np.exp(-np.arange(DIMENSION) / 150) / (np.arange(DIMENSION) + 4)
# (chunks in a group, 0 for the whole document; mean share of what variance the levels above left)
LEVELS = ((0, 0.25), (12, 0.30), (3, 0.35))
DISPERSION = 12.0  # a group's share is Beta distributed with its mean and these many pseudo-counts
QUESTION_COSINE = (
    0.60,
    0.12,
)  # mean and deviation, between a question and the passage that it is nearest to, over both golden sets

VOCABULARY = 60_000
RANK_OFFSET = 2.7


@dataclass(frozen=True)
class Neighbourhood:
    """How near the neighbours are.

    Cosines to the nearest one (10 %, 50 %, 90 % quantile), the median to the tenth, and the intrinsic dimension.

    The dimension is Levina and Bickel's maximum likelihood estimate over 20 neighbours, median over the points.
    """

    nearest: tuple[float, float, float]
    tenth: float
    dimension: float


REAL = Neighbourhood((0.603, 0.736, 0.866), 0.523, 11.4)
REAL_SHAPE = (229, 11)  # documents, passages of each


def neighbourhood(vectors: Floats, neighbours: int = 20) -> Neighbourhood:
    """Of vectors of length 1, more than `neighbours` of them, which is at least 10.

    Cost and memory grow with the square of their number: for some thousands.
    """
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -2)
    best = -np.sort(-cosines, axis=1)[:, :neighbours]
    distances = np.sqrt(2 * np.maximum(1 - best, 1e-9))
    dimension = 1 / np.mean(np.log(distances[:, -1:] / distances[:, :-1]), axis=1)
    first, middle, last = (float(q) for q in np.quantile(best[:, 0], (0.1, 0.5, 0.9)))
    return Neighbourhood((first, middle, last), float(np.median(best[:, 9])), float(np.median(dimension)))


@dataclass(frozen=True)
class VectorShape:
    """`mean` (384,) has length `MEAN_LENGTH`; `axes` (384, 384) has an axis in each row, scaled by its standard deviation."""

    mean: Floats
    axes: Floats

    @classmethod
    def fit(cls, real: Floats) -> VectorShape:
        """Mean direction and largest axes of `real` (n, 384), n at least 2; axes that so few vectors do not have are random ones."""
        mean = real.mean(axis=0)
        _, _, found = np.linalg.svd(real - mean, full_matrices=False)
        rng = np.random.default_rng(384)
        candidates = np.concatenate([found[: len(real) - 1], rng.standard_normal((DIMENSION, DIMENSION))])
        orthogonal, signs = np.linalg.qr(candidates.T)
        basis = (orthogonal * np.sign(np.diag(signs))).T[:DIMENSION]
        variance = SPECTRUM / SPECTRUM.sum() * (1 - MEAN_LENGTH**2)
        return cls(
            (mean / np.linalg.norm(mean) * MEAN_LENGTH).astype(np.float32),
            (basis * np.sqrt(variance)[:, None]).astype(np.float32),
        )

    def document(self, rng: np.random.Generator, chunks: int) -> Floats:
        """Vectors of length 1 of one document's chunks in reading order, (chunks, 384)."""
        made = np.zeros((chunks, DIMENSION), np.float32)
        rest = np.ones((chunks, 1), np.float32)
        for group, mean_share in LEVELS:
            size = group or max(chunks, 1)
            groups = -(-chunks // size)
            share = rng.beta(mean_share * DISPERSION, (1 - mean_share) * DISPERSION, groups).astype(np.float32)
            shares = np.repeat(share, size)[:chunks, None]
            made += np.sqrt(rest * shares) * np.repeat(self._draw(rng, groups), size, axis=0)[:chunks]
            rest *= 1 - shares
        made += np.sqrt(rest) * self._draw(rng, chunks)
        return _unit(made @ self.axes + self.mean)

    def questions(self, rng: np.random.Generator, passages: Floats) -> Floats:
        """A question's vector for each of `passages` (n, 384): as near to it as a real question is to the nearest real passage."""
        cosine = np.clip(rng.normal(*QUESTION_COSINE, len(passages)), 0.3, 0.9)[:, None].astype(np.float32)
        other = _unit(self._draw(rng, len(passages)) @ self.axes + self.mean)
        across = _unit(other - np.sum(other * passages, axis=1, keepdims=True) * passages)
        return _unit(cosine * passages + np.sqrt(1 - cosine**2) * across)

    @staticmethod
    def _draw(rng: np.random.Generator, count: int) -> Floats:
        return rng.standard_normal((count, DIMENSION), dtype=np.float32)


def _unit(vectors: NDArray[np.floating[Any]]) -> Floats:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32, copy=False)


@dataclass(frozen=True)
class Language:
    """Words by rank, most frequent first, and how long pages are, in characters."""

    words: tuple[str, ...]
    page_lengths: tuple[int, ...]

    @classmethod
    def of(cls, pages: Sequence[str]) -> Language:
        """The words of real pages, by frequency, and made-up ones up to `VOCABULARY`; pages shorter than 500 characters set no length."""
        counted = Counter(word for page in pages for word in re.findall(r"[a-z]+", page.lower()))
        words = [word for word, _ in sorted(counted.items(), key=lambda item: (-item[1], item[0]))]
        rng, known = np.random.default_rng(26), set(words)
        syllables = [a + b for a in "bcdfghjklmnprstvw" for b in ("a", "e", "i", "o", "u", "an", "er", "il")]
        while len(words) < VOCABULARY:
            word = "".join(syllables[n] for n in rng.integers(0, len(syllables), rng.integers(2, 5)))
            if word not in known:
                known.add(word)
                words.append(word)
        return cls(tuple(words), tuple(len(page) for page in pages if len(page) >= 500) or (3_000,))

    @cached_property
    def _cumulative(self) -> NDArray[np.float64]:
        weights = 1 / (np.arange(len(self.words)) + 1 + RANK_OFFSET)
        cumulative: NDArray[np.float64] = np.cumsum(weights) / weights.sum()
        return cumulative

    def draw(self, rng: np.random.Generator, count: int) -> list[str]:
        """Words by their frequency."""
        ranks = np.searchsorted(self._cumulative, rng.random(count))
        return [self.words[min(int(rank), len(self.words) - 1)] for rank in ranks]

    def page(self, rng: np.random.Generator) -> str:
        """A page of sentences of 6 to 30 words in paragraphs of 1 to 5, no longer than a real page that is drawn for it."""
        length = int(rng.choice(self.page_lengths))
        words = iter(self.draw(rng, length // 3))
        paragraphs: list[str] = []
        used = 0
        while used < length:
            sentences = []
            for _ in range(int(rng.integers(1, 6))):
                sentence = " ".join(word for _, word in zip(range(int(rng.integers(6, 31))), words, strict=False))
                if sentence:
                    sentences.append(sentence.capitalize() + ".")
            if not sentences:
                break
            paragraphs.append(" ".join(sentences))
            used += len(paragraphs[-1]) + 2
        return "\n\n".join(paragraphs)[:length].strip()

    def pages(self, rng: np.random.Generator) -> Iterator[str]:
        while True:
            yield self.page(rng)


def write_pdf(path: Path, pages: Iterator[str], count: int) -> None:
    """A PDF with a text layer of the first `count` pages' words, in lines of 90 characters; its memory is one page."""
    offsets: list[int] = []
    with path.open("wb") as file:
        file.write(b"%PDF-1.4\n")

        def write(number: int, body: bytes) -> None:
            offsets.append(file.tell())
            file.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))

        write(1, b"<</Type/Catalog/Pages 2 0 R>>")
        children = b" ".join(b"%d 0 R" % (4 + 2 * number) for number in range(count))
        write(2, b"<</Type/Pages/Count %d/Kids[%s]>>" % (count, children))
        write(3, b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>")
        for number, text in zip(range(count), pages, strict=False):
            lines = [line for paragraph in text.split("\n\n") for line in (*wrap(paragraph, 90), "")]
            shown = b"\n".join(b"(%s) Tj T*" % line.encode("cp1252", "replace") for line in lines)
            content = b"BT /F1 9 Tf 11 TL 60 740 Td\n%s\nET" % shown
            own = 4 + 2 * number
            write(
                own,
                b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R>>"
                % (own + 1),
            )
            write(own + 1, b"<</Length %d>>stream\n%s\nendstream" % (len(content), content))
        table_at = file.tell()
        file.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(offsets) + 1))
        file.write(b"".join(b"%010d 00000 n \n" % offset for offset in offsets))
        file.write(b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(offsets) + 1, table_at))
