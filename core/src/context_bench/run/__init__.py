"""The runner: from a plan to committed rows."""
