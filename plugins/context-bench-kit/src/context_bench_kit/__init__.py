"""Commands for those who write plugins, and for those who keep an installation."""
