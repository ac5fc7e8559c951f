"""What is kept from search to search: no more than allowed, never wrong, shared by threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from tasks.retrieval.recent import Recent

KEYS = st.lists(st.integers(0, 20), max_size=8)


@given(most=st.integers(1, 6), calls=st.lists(KEYS, max_size=20))
def test_values_are_right_and_their_number_is_bounded(most: int, calls: list[list[int]]) -> None:
    kept: Recent[int, int] = Recent(most)
    for keys in calls:
        assert kept.complete(keys, lambda missing: {key: key * key for key in missing}) == {k: k * k for k in keys}
        assert len(kept) <= most


@given(KEYS)
def test_what_is_kept_is_not_fetched_again(keys: list[int]) -> None:
    kept: Recent[int, int] = Recent(100)
    asked: list[int] = []

    def fetch(missing: list[int]) -> dict[int, int]:
        asked.extend(missing)
        return dict.fromkeys(missing, 1)

    kept.complete(keys, fetch)
    kept.complete(keys, fetch)
    assert sorted(asked) == sorted(set(keys))


def test_what_does_not_exist_is_not_kept() -> None:
    kept: Recent[int, int] = Recent(5)
    assert kept.complete([1, 2], lambda missing: {1: 1}) == {1: 1}
    assert len(kept) == 1


def test_the_least_recently_used_is_forgotten_first() -> None:
    kept: Recent[int, int] = Recent(2)
    kept.put({1: 1, 2: 2})
    kept.get([1])
    kept.put({3: 3})
    assert kept.get([1, 2, 3]) == {1: 1, 3: 3}


def test_threads_do_no_harm() -> None:
    kept: Recent[int, int] = Recent(10)
    with ThreadPoolExecutor(8) as pool:
        found = pool.map(
            lambda start: kept.complete(range(start, start + 8), lambda missing: {key: -key for key in missing}),
            range(200),
        )
    assert all(value == -key for each in found for key, value in each.items())
