"""The result of a run: rows as columns, metrics, the summary, reporters."""
