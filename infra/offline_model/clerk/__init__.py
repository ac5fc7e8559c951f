"""The clerk: plays the model's part from screenshots and search results alone."""

from infra.offline_model.clerk.clerk import respond

__all__ = ["respond"]
