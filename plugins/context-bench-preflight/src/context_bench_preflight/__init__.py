"""What to do before a run: ask each system a few times, and look over the installation."""
