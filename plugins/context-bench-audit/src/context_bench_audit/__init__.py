"""What to do after a run: verify its file, and ask why its rows and keys are as they are."""
