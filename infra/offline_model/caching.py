"""The prompt cache: what a request reads from it, writes to it and pays in full.

A prefix is tools, then system, then messages, block by block. A `cache_control` mark writes the prefix up to its block;
a later request reads the longest live prefix that ends at one of its marks or within 20 blocks before one. Reading or
writing an entry starts its time again. Prefixes below the model's minimum are not cached, without an error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from .canonical import Chain, canonical
from .errors import JSON
from .models import ModelRules
from .requests import breakpoints
from .tokens import TOOL_PROMPT_TOKENS, block_tokens, tool_tokens

LOOKBACK_BLOCKS = 20
TTL_SECONDS = {"5m": 300.0, "1h": 3600.0}


@dataclass(frozen=True)
class Segment:
    """One step of the prefix: the digest up to and with it, its own tokens, and the TTL of its mark (or "")."""

    digest: str
    tokens: int
    ttl: str


@dataclass(frozen=True)
class CacheUse:
    """Input tokens of one request, by how they are billed."""

    read: int = 0
    written_5m: int = 0
    written_1h: int = 0
    uncached: int = 0

    @property
    def total(self) -> int:
        """All input tokens."""
        return self.read + self.written_5m + self.written_1h + self.uncached


def segments(
    system: list[JSON], tools: list[JSON], messages: list[JSON], rules: ModelRules, top_level: JSON | None
) -> list[Segment]:
    """The prompt as segments; `top_level` is the request's own `cache_control`, which marks the last block."""
    chain = Chain(rules.name)
    found = [Segment(chain.add(canonical(entry)), tool_tokens(entry), _ttl(entry)) for entry in tools]
    if found:
        first = found[0]
        found[0] = Segment(first.digest, first.tokens + TOOL_PROMPT_TOKENS, first.ttl)
    found += [
        Segment(chain.add("system", canonical(block)), block_tokens(block, rules), _ttl(block)) for block in system
    ]
    found += [
        Segment(chain.add(message["role"], canonical(block)), block_tokens(block, rules), _ttl(block))
        for message in messages
        for block in message["content"]
    ]
    if top_level and found:
        last = found[-1]
        found[-1] = Segment(last.digest, last.tokens, last.ttl or top_level.get("ttl", "5m"))
    return found


def _ttl(block: JSON) -> str:
    marks = breakpoints(block)
    return str(marks[-1].get("ttl", "5m")) if marks else ""


class PromptCache:
    """The live prefixes of all conversations; safe to use from several threads."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._entries: dict[str, tuple[float, float]] = {}
        self._lock = Lock()

    def use(self, prompt: list[Segment], rules: ModelRules) -> CacheUse:
        """Bill a prompt: read what is cached, write what is marked."""
        with self._lock:
            now = self._clock()
            self._entries = {key: entry for key, entry in self._entries.items() if entry[0] > now}
            ends = _cumulative(prompt)
            marks = [i for i, part in enumerate(prompt) if part.ttl and ends[i] >= rules.min_cache_tokens]
            hit = self._longest_hit(prompt, marks, now)
            read = ends[hit] if hit is not None else 0
            written = {"5m": 0, "1h": 0}
            done = read
            for i in marks:
                if ends[i] > done:
                    written[prompt[i].ttl] += ends[i] - done
                    done = ends[i]
                lifetime = TTL_SECONDS[prompt[i].ttl]
                self._entries[prompt[i].digest] = (now + lifetime, lifetime)
            total = ends[-1] if ends else 0
            return CacheUse(read, written["5m"], written["1h"], total - done)

    def _longest_hit(self, prompt: list[Segment], marks: list[int], now: float) -> int | None:
        for mark in reversed(marks):
            for i in range(mark, max(-1, mark - LOOKBACK_BLOCKS - 1), -1):
                entry = self._entries.get(prompt[i].digest)
                if entry is not None:
                    self._entries[prompt[i].digest] = (now + entry[1], entry[1])
                    return i
        return None


def _cumulative(prompt: list[Segment]) -> list[int]:
    ends: list[int] = []
    for part in prompt:
        ends.append(part.tokens + (ends[-1] if ends else 0))
    return ends
