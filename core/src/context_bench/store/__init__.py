"""Identity, keys, and the run file."""
