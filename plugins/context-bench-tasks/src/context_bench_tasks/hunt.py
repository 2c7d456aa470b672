"""The generator of evidence hunts: facts spread over logs, corrections, entries that moved, and rules for a ledger."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from random import Random
from typing import Any

from attrs import frozen

from context_bench.errors import ConfigurationError
from context_bench_tasks.checks import Check

LEDGER = "ledger.txt"
RULES = "RULES.md"
INDEX = "INDEX.md"
MAX_ASSETS = 50
_LOGS = 16
_LINES = 90
_LIMITS = {"turns": 80, "seconds": 600, "bytes": 1_000_000}
_SEPARATORS = (" | ", ";", " = ", " : ")
"""Without quotation marks and other characters that an agent may escape on the way to its model."""
_NAMES = ("Ortega", "Lindqvist", "Okafor", "Tanaka", "Moreau", "Haddad", "Novak", "Silva")
_SOURCES = ("gateway", "scheduler", "replica", "billing", "indexer", "mailer")
_EVENTS = (
    "heartbeat received, queue depth {number}",
    "retry of job {number} succeeded after a timeout",
    "cache segment {number} compacted without loss",
    "session {number} closed by the client",
    "lease {number} renewed for another period",
    "draft asset=A{asset} state=recorded digest={digest} was withdrawn before review",
    "unverified report {number}: asset=A{asset} digest={digest} could not be reproduced",
    "entry={number} asset=X{asset} state=recorded digest={digest} next=-",
)


@frozen
class Entry:
    """One fact about an asset.

    Attributes:
        number: Position in the chain of the asset; 1 is in the index.
        asset: Name of the asset.
        state: ``indexed``, ``moved``, ``recorded`` or ``corrected``.
        digest: Digest that the entry records; empty where it records none.
        file: File that contains the entry.
        next: File of the next entry; ``-`` for the last.
    """

    number: int
    asset: str
    state: str
    digest: str
    file: str
    next: str

    @property
    def line(self) -> str:
        """The entry as a line of a file."""
        digest = f" digest={self.digest}" if self.digest else ""
        return f"entry={self.number} asset={self.asset} state={self.state}{digest} next={self.next}"


@frozen
class LedgerRules:
    """How the ledger has to be written.

    Attributes:
        order: ``ascending`` or ``descending``, by the number of the asset.
        separator: Text between asset and digest.
        header: First line.
        last: Last line.
    """

    order: str
    separator: str
    header: str
    last: str

    @property
    def text(self) -> str:
        """The file of the rules."""
        return (
            "# Rules of the ledger\n\nThey apply when the ledger is written, after all evidence is read. Texts are between square brackets.\n\n"
            f"rule order: {self.order}\nrule separator: [{self.separator}]\n"
            f"rule header: [{self.header}]\nrule last: [{self.last}]\n"
        )

    def ledger(self, digests: dict[str, str]) -> str:
        """Return the ledger of digests by asset."""
        assets = sorted(digests, key=asset_number, reverse=self.order == "descending")
        lines = [f"{asset}{self.separator}{digests[asset]}" for asset in assets]
        return "\n".join([self.header, *lines, self.last]) + "\n"


def asset_number(asset: str) -> int:
    """Return the number in the name of an asset.

    >>> asset_number("A12")
    12
    """
    return int(asset[1:])


def evidence_hunt(seed: int, index: int, assets: int = 8) -> dict[str, Any]:
    """Return an evidence hunt: the same arguments return the same task.

    Args:
        seed: Seed of the dataset.
        index: Number of the task, from 0.
        assets: Assets whose digest is asked for, 1 to 50.

    Raises:
        ConfigurationError: ``assets`` is out of range.
    """
    if not 1 <= assets <= MAX_ASSETS:
        raise ConfigurationError(f"assets is {assets}, but must be 1 to {MAX_ASSETS}.")
    random = Random(f"evidence-hunt/{seed}/{index}/{assets}")
    names = [f"A{number}" for number in range(1, assets + 1)]
    logs = [f"logs/part-{number:02}.log" for number in range(1, _LOGS + 1)]
    rules = ledger_rules(random)
    entries = [entry for asset in names for entry in _chain(random, asset, logs)]
    files = {RULES: rules.text, INDEX: _index(entries)}
    for log in logs:
        lines = [entry.line for entry in entries if entry.file == log]
        files[log] = _log(random, log, lines, assets)
    digests = {entry.asset: entry.digest for entry in entries if entry.next == "-"}
    check = Check.of_files({LEDGER: rules.ledger(digests)}, files)
    return {
        "id": f"evidence-hunt-{seed}-{index}-{assets}",
        "question": _instruction(names),
        "files": files,
        "limits": dict(_LIMITS),
        "task": "evidence-hunt",
        "check": check.record(),
    }


def ledger_rules(random: Random) -> LedgerRules:
    """Return rules that a generator draws."""
    return LedgerRules(
        order=random.choice(("ascending", "descending")),
        separator=random.choice(_SEPARATORS),
        header=f"audit {random.randrange(1000, 10000)}",
        last=f"sealed by {random.choice(_NAMES)} {random.randrange(100, 1000)}",
    )


def _chain(random: Random, asset: str, logs: Sequence[str]) -> list[Entry]:
    """Return the entries of an asset: in the index, perhaps moved, recorded, perhaps corrected."""
    states = ["indexed"]
    states += ["moved"] * (random.random() < 0.5)
    states += ["recorded"]
    states += ["corrected"] * random.choice((0, 1, 1, 2))
    places = [INDEX, *random.sample(list(logs), len(states) - 1)]
    following = [*places[1:], "-"]
    return [
        Entry(number, asset, state, _digest(random, state), place, after)
        for number, (state, place, after) in enumerate(
            zip(states, places, following, strict=True), 1
        )
    ]


def _digest(random: Random, state: str) -> str:
    if state not in ("recorded", "corrected"):
        return ""
    return sha256(str(random.getrandbits(128)).encode()).hexdigest()[:32]


def _index(entries: Sequence[Entry]) -> str:
    lines = [f"- {entry.line}" for entry in entries if entry.file == INDEX]
    return "# Index of the assets\n\n" + "\n".join(lines) + "\n"


def _log(random: Random, name: str, facts: Sequence[str], assets: int) -> str:
    lines = [_noise(random, assets) for _ in range(_LINES)]
    for fact in facts:
        lines.insert(random.randrange(len(lines) + 1), fact)
    stamped = []
    for number, line in enumerate(lines):
        source = random.choice(_SOURCES)
        stamped.append(f"2026-03-{number % 28 + 1:02}T{number % 24:02}:00:00Z {source}: {line}")
    return f"# {name}\n" + "\n".join(stamped) + "\n"


def _noise(random: Random, assets: int) -> str:
    digest = sha256(str(random.getrandbits(128)).encode()).hexdigest()[:32]
    asset = random.randrange(1, assets + 1)
    number = random.randrange(1, 100_000)
    return random.choice(_EVENTS).format(number=number, asset=asset, digest=digest)


def _instruction(names: Sequence[str]) -> str:
    return (
        f"This is an evidence hunt. Read {RULES} first: it has the rules of the ledger that you write at the end. "
        f"{INDEX} has the first entry of each asset. Each entry names the file with the next entry (next=FILE); "
        "next=- marks the last. An entry with state=moved records nothing, and a later digest replaces an earlier one. "
        "Lines that are not entries of the asset, such as drafts and unverified reports, do not count.\n"
        f"Assets: {', '.join(names)}\n"
        f"Write {LEDGER}: the header, one line for each asset with its name, the separator and the digest of its last "
        "entry, and the last line, by the rules. Change no other file."
    )
