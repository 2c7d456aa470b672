"""Question answering datasets: cards in the manifest, and the functions that make their records examples."""
