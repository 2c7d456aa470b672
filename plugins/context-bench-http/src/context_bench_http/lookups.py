"""Addresses of hosts, looked up in bounded time: what asks the system's resolver cannot be ended before it answers."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import Future


class Lookups:
    """Looks hosts up on threads of its own: one for each host that is being looked up, however many wait for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[tuple[str, int], Future[str | None]] = {}

    def address(self, host: str, port: int) -> Future[str | None]:
        """Return what will hold the one address of a host, None where it has several, or the error of the resolver.

        Nobody who waits for it may cancel it: others may wait, too.
        """
        asked, found = (host, port), Future[str | None]()
        if _is_address(host):
            found.set_result(host)
            return found
        with self._lock:
            if asked in self._running:
                return self._running[asked]
            self._running[asked] = found
            found.set_running_or_notify_cancel()
        try:
            threading.Thread(
                target=self._look_up, args=(asked, found), name="context-bench-lookup", daemon=True
            ).start()
        except RuntimeError:  # no thread is to be had
            self._look_up(asked, found)
        return found

    def _look_up(self, asked: tuple[str, int], found: Future[str | None]) -> None:
        error: Exception | None = None
        addresses: set[str] = set()
        try:
            addresses = {
                str(entry[4][0]) for entry in socket.getaddrinfo(*asked, type=socket.SOCK_STREAM)
            }
        except Exception as raised:  # noqa: BLE001 - handed to whoever waits for the address
            error = raised
        with self._lock:
            del self._running[asked]
        if error is None:
            found.set_result(addresses.pop() if len(addresses) == 1 else None)
        else:
            found.set_exception(error)


def _is_address(host: str) -> bool:
    try:
        socket.getaddrinfo(host, None, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return False
    return True
