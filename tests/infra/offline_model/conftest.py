"""Servers for the tests: one that always says hello, and one for a script of the test's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.infra.offline_model.scripted import Answer, Offline, Script, serving, text


@pytest.fixture(scope="session")
def offline() -> Iterator[Offline]:
    """A server that answers every valid request with the same words: for tests that only ask what is refused."""
    with serving(Script([[text("Hello.")]])) as running:
        yield running


@pytest.fixture
def scripted() -> Iterator[Callable[..., Offline]]:
    """Starts a server that gives the answers of the test, in order."""
    with ExitStack() as stack:
        yield lambda *answers: stack.enter_context(serving(Script(list[Answer](answers))))
