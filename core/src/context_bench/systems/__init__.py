"""The installed systems, by the names of their classes: ``from context_bench.systems import ...``.

Each name is looked up in the manifests of the installed plugins when it is first used. A name of
the project's own whose plugin is not installed raises an ImportError with the command that installs
it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from context_bench.plugins.loading import facade

if TYPE_CHECKING:
    from context_bench.systems._first_party import *  # noqa: F403

__getattr__, __dir__ = facade("systems", globals())
