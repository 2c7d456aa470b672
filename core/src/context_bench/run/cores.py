"""How many processors this process may use: its affinity, and the quota of its control group."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUP = Path("/proc/self/cgroup")


def usable_cores(groups: Path = _GROUPS, own_group: Path = _OWN_GROUP) -> int:
    """Return the number of processors that this process may use, 1 at least.

    A container's share is a quota of its control group, which ``os.cpu_count()`` does not know; a
    part of a processor counts as a whole one.

    Args:
        groups: Where the control groups are.
        own_group: The file that names those of this process.
    """
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        cores = os.cpu_count() or 1
    quotas = [math.ceil(quota) for quota in _quotas(groups, own_group)]
    return max(1, min([cores, *quotas]))


def _quotas(groups: Path, own_group: Path) -> list[float]:
    """Return the quotas of the control group and of those that it is part of, in processors."""
    quotas: list[float] = []
    lines: list[str] = []
    with suppress(OSError):
        lines = own_group.read_text(encoding="utf-8").splitlines()
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and "cpu" not in controllers.split(","):
            continue
        folder = groups / "cpu" if controllers else groups
        group = Path(path.lstrip("/"))
        for part in (group, *group.parents):
            quotas += _quota_of(folder / part)
    return quotas


def _quota_of(folder: Path) -> list[float]:
    """Return the quota of one control group: version 2 has one file for it, version 1 two."""
    with suppress(OSError, ValueError):
        quota, period = (folder / "cpu.max").read_text(encoding="utf-8").split()
        return [int(quota) / int(period)] if quota != "max" else []
    with suppress(OSError, ValueError):
        quota = (folder / "cpu.cfs_quota_us").read_text(encoding="utf-8")
        period = (folder / "cpu.cfs_period_us").read_text(encoding="utf-8")
        return [int(quota) / int(period)] if int(quota) > 0 else []
    return []
