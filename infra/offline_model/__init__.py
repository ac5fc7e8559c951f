"""The offline model: a local server that speaks the Messages API as strictly as the real one, and the clerk it asks.

It decides what the real API would refuse, counts what the real API would bill, and asks the clerk for the turn.
It never reads a database, a corpus or a key, and imports nothing of tasks, flows or portal.
"""
