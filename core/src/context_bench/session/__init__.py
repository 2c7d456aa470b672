"""One session of a run: ``evaluate()``, starting, resuming and rescoring a planned run."""
