"""Servers for the tests: one that always says hello, and one for a script of the test's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.infra.offline_model.scripted import Answer, Hosts, Offline, Script, text


@pytest.fixture(scope="session")
def hosts() -> Iterator[Hosts]:
    """The HTTP server that all tests of this folder share."""
    with Hosts().running() as hosts:
        yield hosts


@pytest.fixture(scope="session")
def offline(hosts: Hosts) -> Iterator[Offline]:
    """A model that answers every valid request with the same words: for tests that only ask what is refused."""
    with hosts.serving(Script([[text("Hello.")]])) as running:
        yield running


@pytest.fixture
def scripted(hosts: Hosts) -> Iterator[Callable[..., Offline]]:
    """Starts a model that gives the answers of the test, in order."""
    with ExitStack() as stack:
        yield lambda *answers: stack.enter_context(hosts.serving(Script(list[Answer](answers))))
