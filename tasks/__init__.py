"""What Filewright does, one Prefect box per function; the rooms below it do the work."""
