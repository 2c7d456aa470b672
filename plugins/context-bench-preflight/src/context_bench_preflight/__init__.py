"""What to do before a run: ask each system a few times, and look over the installation."""

from __future__ import annotations

from context_bench_preflight.isolation import IsolatedPrefixes

__all__ = ["IsolatedPrefixes"]
