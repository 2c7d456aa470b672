"""What is core's own on the command line: no plugin can take it. Tests hold these lists against the command line itself."""

from __future__ import annotations

COMMANDS: dict[str, tuple[str, ...]] = {
    "": (
        "run",
        "resume",
        "rescore",
        "report",
        "export",
        "lock",
        "explain",
        "plugins",
        "datasets",
        "systems",
        "evaluators",
        "metrics",
    ),
    "explain": ("wiring",),
    "plugins": ("list", "show"),
    "datasets": ("list", "show"),
    "systems": ("list", "show"),
    "evaluators": ("list", "show"),
    "metrics": ("list", "show"),
}
"""Core's commands by their group; the top is the group without a name."""
