"""Postgres itself: connections, and the schema that every room brings along as numbered SQL files."""
