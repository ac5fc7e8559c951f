"""Values that never change for their key, kept from search to search: the most recently used ones, shared by threads."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """At most `most` values. It decides what is forgotten, never what is true: only what cannot change may be kept in it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[K, V] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, keys: Sequence[K]) -> dict[K, V]:
        """Those that are kept."""
        with self._lock:
            found = {key: self._values[key] for key in keys if key in self._values}
            for key in found:
                self._values.move_to_end(key)
        return found

    def put(self, values: Mapping[K, V]) -> None:
        """Keep these, and forget the ones that were not used for longest."""
        with self._lock:
            self._values.update(values)
            while len(self._values) > self._most:
                self._values.popitem(last=False)

    def complete(self, keys: Sequence[K], fetch: Callable[[list[K]], Mapping[K, V]]) -> dict[K, V]:
        """The values of all keys that exist: kept ones, and the others from `fetch`, called with what is missing if anything is."""
        found = self.get(keys)
        missing = [key for key in dict.fromkeys(keys) if key not in found]
        if missing:
            fetched = fetch(missing)
            self.put(fetched)
            found |= fetched
        return found
