"""Fixtures of the tests that stand on a real desktop."""

from tests.desktop.fixtures import desktop, shared_desktop, site

__all__ = ["desktop", "shared_desktop", "site"]
