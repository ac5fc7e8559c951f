"""Bootstrap, local services and the commands `python3 -m infra …`; nothing imports it."""
