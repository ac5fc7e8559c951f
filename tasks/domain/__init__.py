"""Pure rules and types: no clock, no environment, no I/O, no vendor import."""
