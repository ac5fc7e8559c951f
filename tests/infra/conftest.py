"""A supervisor in a throwaway state folder; whatever it started is gone after the test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.places import Home
from infra.processes import end, marked
from tests.infra.bench import Bench, start_supervisor
from tests.infra.machines import Machine


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A running supervisor; whatever it started is gone afterwards."""
    home = Home(tmp_path / "home")
    home.make()
    found = Bench(home, start_supervisor(home))
    yield found
    found.process.kill()
    found.process.wait()
    end(marked(home.mark))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine with nothing installed."""
    folder = tmp_path / "machine"
    folder.mkdir()
    return Machine(folder)
