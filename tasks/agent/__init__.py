"""The conversation with the model: what it is offered, what it may spend, and the record of what it said."""
