"""The one error of this plugin."""

from __future__ import annotations


class SandboxError(RuntimeError):
    """No program can be run: this machine offers no isolation, or a sandbox that worked has stopped working."""
