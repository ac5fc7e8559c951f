"""Fixtures of the tests that stand on a real desktop."""

import pytest

pytest.register_assert_rewrite("tests.contracts.computer_toolset")

from tests.desktop.fixtures import desktop, shared_desktop, site  # noqa: E402

__all__ = ["desktop", "shared_desktop", "site"]
