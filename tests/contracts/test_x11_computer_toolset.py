"""The contract suite on the driver that runs filings: X11 and Firefox."""

from __future__ import annotations

from tests.contracts.computer_toolset import ComputerToolsetContract, bench

__all__ = ["bench"]


class TestX11ComputerToolset(ComputerToolsetContract):
    """Every test of the contract."""
