"""The strongest sandbox that works here, found by trying; one for each tier and process."""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import socket
import tempfile
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from context_bench_code.errors import SandboxError
from context_bench_code.places import Places
from context_bench_code.tiers import TIERS, Tier
from context_bench_code.verdict import Verdict
from context_bench_code.zygote import Zygote

_TRIAL_SECONDS = 20.0
_TRIAL_MEMORY = 512

_ORDINARY_TRIAL = """
import csv, decimal, fractions, hashlib, string, zlib
assert attempt(lambda: sum(range(5))) == 10
open("note", "w").write("here")
assert open("note").read() == "here"
"""

# Each of these has to fail behind walls. Without them, the first ones would not.
_ESCAPE_TRIAL = """
import os, socket
assert os.getuid() != 0
escapes = dict(
    reading=lambda: open({secret!r}).read(),
    writing=lambda: open({secret!r} + "-written", "w"),
    listing=lambda: os.listdir({folder!r}),
    accounts=lambda: open("/etc/passwd"),
    network=lambda: socket.create_connection(("127.0.0.1", {port}), timeout=1),
    runner=lambda: os.kill({runner}, 0),
    everybody=lambda: os.kill(-1, 0),
    process=lambda: os.fork(),
    command=lambda: os.execv({shell!r}, ["sh"]),
)
for name, escape in escapes.items():
    try:
        attempt(escape)
    except OSError:
        continue
    raise AssertionError(name)
assert not {{name for name in os.environ}} - {{"HOME", "LANG", "TMPDIR", "LC_CTYPE"}}
"""


def run(
    job: Mapping[str, Any],
    *,
    timeout: float,
    memory: int,
    tier: str = "auto",
    allow_unsandboxed: bool = False,
) -> tuple[str, Verdict]:
    """Run one program in the strongest sandbox there is, or in the one that is named; gives its name and the verdict.

    Raises:
        SandboxError: There is none, or it stopped working.
    """
    zygote = _sandboxes.strongest(tier, allow_unsandboxed)
    with _sandboxes.places.taken(memory):
        return zygote.tier.name, zygote.run(job, timeout, memory)


def name_of(tier: str = "auto", allow_unsandboxed: bool = False) -> str:
    """The name of the sandbox that :func:`run` would use.

    Raises:
        SandboxError: There is none.
    """
    return _sandboxes.strongest(tier, allow_unsandboxed).tier.name


class _Sandboxes:
    """The fork servers of this process and what became of each tier that was tried."""

    def __init__(self) -> None:
        self.places = Places()
        self._lock = threading.Lock()
        self._zygotes: dict[str, Zygote] = {}
        self._faults: dict[str, str] = {}
        self._watches_process = False

    def strongest(self, name: str, allow_unsandboxed: bool) -> Zygote:
        with self._lock:
            self._watch_process()
            for tier in TIERS:
                if tier.isolates or allow_unsandboxed:
                    zygote = self._tried(tier) if name in ("auto", tier.name) else None
                    if zygote is not None:
                        return zygote
            raise SandboxError(self._explanation(name, allow_unsandboxed))

    def _tried(self, tier: Tier) -> Zygote | None:
        if tier.name not in self._zygotes and tier.name not in self._faults:
            zygote = Zygote(tier)
            fault = _fault_of(zygote)
            if fault is None:
                self._zygotes[tier.name] = zygote
            else:
                zygote.close()
                self._faults[tier.name] = fault
        return self._zygotes.get(tier.name)

    def _explanation(self, name: str, allow_unsandboxed: bool) -> str:
        faults = [
            f"{tier}: {fault}" for tier, fault in self._faults.items() if name in ("auto", tier)
        ]
        tried = "; ".join(faults) if faults else f"{name!r} does not isolate"
        advice = "On Linux install bubblewrap or allow user namespaces."
        if not allow_unsandboxed:
            advice += (
                " To run the code without isolation, with all the rights of your account, say allow_unsandboxed=True or "
                "--allow-unsandboxed-code."
            )
        return f"CodeExecution does not run model-written code: no sandbox works here ({tried}). {advice}"

    def _watch_process(self) -> None:
        if not self._watches_process:
            self._watches_process = True
            atexit.register(self._close)
            os.register_at_fork(after_in_child=self._forget)

    def _close(self) -> None:
        for zygote in self._zygotes.values():
            zygote.close()
        self._zygotes = {}

    def _forget(self) -> None:
        """In a child of this process: the fork servers are its parent's."""
        for zygote in self._zygotes.values():
            zygote.abandon()
        self._zygotes, self._lock, self.places = {}, threading.Lock(), Places()


def _fault_of(zygote: Zygote) -> str | None:
    """What is wrong with a tier: why it cannot be started, or what a program could do in it. None if nothing is."""
    with _bait() as facts:
        tests = (
            [_ORDINARY_TRIAL, _ESCAPE_TRIAL.format_map(facts)]
            if zygote.tier.isolates
            else [_ORDINARY_TRIAL]
        )
        job = {
            "response": "def attempt(action):\n    return action()\n",
            "prompts": [],
            "entry_point": None,
            "calls": "",
            "imports": "",
            "setup": "",
            "tests": tests,
        }
        try:
            verdict = zygote.run(job, _TRIAL_SECONDS, _TRIAL_MEMORY)
        except SandboxError as error:
            return str(error)
    return None if verdict.passed else f"the trial failed, {verdict.outcome} {verdict.facts}"


@contextlib.contextmanager
def _bait() -> Iterator[dict[str, Any]]:
    """What a sandboxed program must not reach: a file that everybody may read, and a port on this machine."""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as listener:
        os.chmod(folder, 0o777)
        secret = os.path.join(folder, "secret")
        with open(secret, "w") as file:
            file.write(secrets.token_hex())
        os.chmod(secret, 0o644)
        port = 9
        with contextlib.suppress(
            OSError
        ):  # a machine without a loopback device has nothing to protect there
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            port = listener.getsockname()[1]
        yield {
            "secret": secret,
            "folder": folder,
            "port": port,
            "runner": os.getpid(),
            "shell": os.path.realpath("/bin/sh"),
        }


_sandboxes = _Sandboxes()
