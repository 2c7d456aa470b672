"""Deciding between systems: paired differences with intervals, verdicts in words, gates, baselines and plans."""
