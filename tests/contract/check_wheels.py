"""Say what is missing from built wheels: manifests, type markers, licences."""

from __future__ import annotations

import sys
from pathlib import Path
from zipfile import ZipFile


def faults(wheel: Path) -> list[str]:
    distribution = wheel.name.partition("-")[0]
    names = ZipFile(wheel).namelist()
    wanted = [
        f"{distribution}/{name}"
        for name in ("__init__.py", "py.typed", "context_bench_plugin.toml")
    ]
    missing = [f"{wheel.name} lacks {name}" for name in wanted if name not in names]
    if not any(".dist-info/licenses/" in name for name in names):
        missing.append(f"{wheel.name} lacks its licence")
    return missing


def main(folder: str) -> int:
    wheels = sorted(Path(folder).glob("context_bench*.whl"))
    found = [fault for wheel in wheels for fault in faults(wheel)]
    print("\n".join(found) or f"{len(wheels)} wheels hold what they must.")
    return 1 if found or not wheels else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
