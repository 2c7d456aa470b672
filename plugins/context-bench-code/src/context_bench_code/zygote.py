"""A fork server that is there when it is needed: started at the first program, and again if it dies."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from context_bench_code.conversation import converse
from context_bench_code.errors import SandboxError
from context_bench_code.fork_server import ForkServer, ServerLostError
from context_bench_code.tiers import Tier
from context_bench_code.verdict import Verdict


class Zygote:
    """Runs programs in one tier, from any number of threads."""

    def __init__(self, tier: Tier) -> None:
        self.tier = tier
        self._lock = threading.Lock()
        self._server: ForkServer | None = None

    def run(self, job: Mapping[str, Any], timeout: float, memory: int) -> Verdict:
        """Run one program to its end.

        Raises:
            SandboxError: The sandbox could not be set up, or was lost twice with this program.
        """
        complaint = ""
        for _ in range(2):
            server = self._current()
            try:
                return converse(server, job, timeout, memory)
            except ServerLostError:
                complaint = self._discard(server) or complaint
            finally:
                if not self.tier.is_reusable:
                    self._discard(server)
        if self.tier.isolates and self.tier.is_reusable:
            raise SandboxError(
                f"The code sandbox ({self.tier.name}) was lost twice while it ran a program. If the machine is short of "
                f"memory, run fewer programs at once or lower the option `memory`. {complaint}".rstrip()
            )
        return Verdict(
            "crashed", 0.0, {"error": "took its supervisor along"}
        )  # which only walls prevent

    def close(self) -> None:
        """End the fork server and all its programs."""
        with self._lock:
            if self._server is not None:
                self._server.close()
            self._server = None

    def abandon(self) -> None:
        """Let go of a fork server that belongs to the parent of this forked process."""
        if self._server is not None:
            self._server.abandon()
        self._server, self._lock = None, threading.Lock()

    def _current(self) -> ForkServer:
        if not self.tier.is_reusable:
            return ForkServer(self.tier)
        with self._lock:
            if self._server is None:
                self._server = ForkServer(self.tier)
            return self._server

    def _discard(self, server: ForkServer) -> str:
        with self._lock:
            if self._server is server:
                self._server = None
            return server.close()
