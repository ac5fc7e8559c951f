"""The order of things: each flow is a page that a newcomer can read top to bottom."""
