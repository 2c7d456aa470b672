"""The plan of a run: from what was requested to systems, datasets, wiring and metrics. Nothing is
run."""
