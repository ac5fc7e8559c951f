"""The settling rule on a clock of its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tasks.desktop.settling import CAP_SECONDS, FIRST_SECONDS, QUIET_SECONDS, Settled, settle


class Film:
    """A screen that changes at the given seconds, and a clock that only sleeping moves."""

    def __init__(self, *changes: float) -> None:
        self.changes = changes
        self.now = 0.0

    def grab(self) -> bytes:
        return bytes([sum(at <= self.now for at in self.changes)])

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def settle(self, check: Callable[[], None] = lambda: None) -> Settled:
        return settle(self.grab, bytes([0]), check=check, clock=lambda: self.now, sleep=self.sleep)


def test_an_action_without_effect_is_given_up_after_the_first_wait() -> None:
    film = Film()
    assert film.settle() == Settled(changed=False, quiet=True)
    assert FIRST_SECONDS <= film.now < FIRST_SECONDS + 0.05


def test_a_change_is_followed_until_it_is_quiet() -> None:
    film = Film(0.05, 0.1, 0.16)
    assert film.settle() == Settled(changed=True, quiet=True)
    assert 0.16 + QUIET_SECONDS <= film.now < 0.16 + QUIET_SECONDS + 0.05


def test_a_change_that_was_there_before_the_first_look_counts() -> None:
    film = Film(-1.0)
    assert film.settle() == Settled(changed=True, quiet=True)
    assert film.now < FIRST_SECONDS


def test_a_spinner_meets_the_cap() -> None:
    film = Film(*(number * 0.05 for number in range(1000)))
    assert film.settle() == Settled(changed=True, quiet=False)
    assert CAP_SECONDS <= film.now < CAP_SECONDS + 0.05


def test_a_stop_ends_the_wait() -> None:
    def check() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Film().settle(check)
