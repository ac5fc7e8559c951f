"""How ranked chunks become the passages that are shown: duplicates collapsed, neighbours joined. Pure: it reads and writes nothing.

Rules
- Chunks with the same words (`folded`: blanks, case and dashes aside) are one passage, at the best ranked place; the other places are
  named with it.
- A passage is shown with the chunks before and after it on its page, where all of it has at most `SHOWN` characters; what follows goes
  first, because an answer mostly follows what it is found by.
- A hit that lies in, overlaps or adjoins what is shown of a better one on the same page is joined to it, up to the same size; what does
  not fit is a passage of its own, and its neighbours do not repeat what is shown.
- Nothing is joined across pages or documents, so a passage is cited by one page.

Cost: each hit is compared with the passages before it on its page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

SHOWN = 1_600
"""Characters of a joined passage at the most: about 400 tokens. A single chunk is shown whole whatever its size."""

_DASHES = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"), "-") | {0xAD: None}


def folded(text: str) -> str:
    """What two texts have in common that a reader would call the same."""
    return " ".join(text.translate(_DASHES).split()).casefold()


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that was found: where it stands, and its text. `position` is its number in reading order."""

    position: int
    document: int
    page: int
    start: int
    end: int
    text: str
    score: float


@dataclass(slots=True)
class Shown:
    """A passage: its best hit, the span of the page that is shown, the chunks in it, and other places of the same words."""

    hit: Hit
    start: int
    end: int
    positions: list[int]
    also_at: list[tuple[int, int]] = field(default_factory=list)

    def touches(self, start: int, end: int) -> bool:
        """Whether a span of the same page overlaps or adjoins what is shown; one blank between them is no distance."""
        return start <= self.end + 1 and end >= self.start - 1


Around = Callable[[int], tuple[tuple[int, int, int] | None, tuple[int, int, int] | None]]
"""The chunks before and after a position on its page, as (position, start, end), or None."""


def arrange(hits: Sequence[Hit], k: int, around: Around, *, shown: int = SHOWN) -> list[Shown]:
    """At most `k` passages out of `hits`, which are best first; hits that would be a passage beyond `k` are dropped."""
    passages: list[Shown] = []
    by_words: dict[str, Shown] = {}
    by_page: dict[tuple[int, int], list[Shown]] = {}
    for hit in hits:
        words, place = folded(hit.text), (hit.document, hit.page)
        same = by_words.get(words)
        if same is not None:
            if place != (same.hit.document, same.hit.page) and place not in same.also_at:
                same.also_at.append(place)
            continue
        on_page = by_page.setdefault(place, [])
        home = next((each for each in on_page if _join(each, hit, shown)), None)
        if home is None:
            if len(passages) == k:
                continue
            home = Shown(hit, hit.start, hit.end, [hit.position])
            _widen(home, around, on_page, shown)
            passages.append(home)
            on_page.append(home)
        by_words[words] = home
    return passages


def _join(passage: Shown, hit: Hit, shown: int) -> bool:
    """Whether the hit is shown with the passage, which grows where it must and may."""
    if not passage.touches(hit.start, hit.end):
        return False
    start, end = min(passage.start, hit.start), max(passage.end, hit.end)
    if end - start > max(shown, passage.end - passage.start):
        return False
    passage.start, passage.end = start, end
    if hit.position not in passage.positions:
        passage.positions.append(hit.position)
    return True


def _widen(passage: Shown, around: Around, on_page: Sequence[Shown], shown: int) -> None:
    before, after = around(passage.hit.position)
    for neighbour in (after, before):
        if neighbour is None:
            continue
        position, first, last = neighbour
        start, end = min(passage.start, first), max(passage.end, last)
        if end - start <= shown and not any(each.start < last and first < each.end for each in on_page):
            passage.start, passage.end = start, end
            passage.positions.append(position)
