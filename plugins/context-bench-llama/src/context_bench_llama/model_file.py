"""The file of a model: found on the disk or downloaded, checked, and known by its content."""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile

from context_bench.installation import install_hint

_ON_THE_HUB = re.compile(r"(?P<repository>[\w.-]+/[\w.-]+):(?P<file>[^:]+\.gguf)", re.IGNORECASE)
_HOW = "Write the path of a GGUF file, or namespace/name:file.gguf of the Hugging Face Hub."


def on_the_hub(model: str) -> tuple[str, str] | None:
    """Return repository and file that a model names on the Hugging Face Hub, or None when it is a path.

    >>> on_the_hub("acme/tiny-GGUF:tiny.Q4_K_M.gguf")
    ('acme/tiny-GGUF', 'tiny.Q4_K_M.gguf')
    """
    found = _ON_THE_HUB.fullmatch(model)
    return (found["repository"], found["file"]) if found and not Path(model).exists() else None


def local_file(model: str) -> Path:
    """Return the file of a model on the disk.

    Raises:
        FileNotFoundError: There is none.
        ValueError: It is no GGUF file.
    """
    path = Path(model).expanduser()
    if not model.strip() or not path.exists():
        raise FileNotFoundError(f"llama: there is no model file {model!r}. {_HOW}")
    if path.is_dir():
        inside = sorted(each.name for each in path.glob("*.gguf"))
        told = f"it holds {', '.join(inside)}" if inside else "and it holds no .gguf file"
        raise ValueError(f"llama: {model!r} is a folder, {told}. {_HOW}")
    with open(path, "rb") as file:
        start = file.read(4)
    if start != b"GGUF":
        raise ValueError(
            f"llama: {model!r} is no GGUF file: it begins with {start!r} in place of b'GGUF'."
        )
    return path


def download(repository: str, file: str, revision: str | None) -> Path:
    """Return a file of the Hugging Face Hub, downloaded when it is not there yet.

    Raises:
        ImportError: huggingface_hub is not installed.
        OSError: It cannot be had.
    """
    try:
        from huggingface_hub import (  # type: ignore[import-untyped, import-not-found, unused-ignore]
            hf_hub_download,
        )
    except ImportError:
        raise ImportError(
            f"llama: the model {repository}:{file} is downloaded with huggingface_hub, which is not installed: "
            f"{install_hint('context-bench-llama', extra='hub')}.",
            name="huggingface_hub",
        ) from None
    try:
        return local_file(hf_hub_download(repository, file, revision=revision))
    except ValueError:
        raise
    except Exception as error:
        told = (str(error).strip().splitlines() or ["no message"])[0]
        raise OSError(
            f"llama: the model {repository}:{file} cannot be had from the Hugging Face Hub: {type(error).__name__}: {told}"
        ) from error


def content_hash(path: Path) -> str:
    """Return the SHA-256 of a file. It is computed once for each size and time of change, and kept between runs."""
    real, seen = str(path.resolve()), path.stat()
    known = _known()
    if known.get(real, [None])[:2] == [seen.st_size, seen.st_mtime_ns]:
        return str(known[real][2])
    digest = sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 22):
            digest.update(block)
    found = digest.hexdigest()
    _keep({**_known(), real: [seen.st_size, seen.st_mtime_ns, found]})
    return found


def _notes() -> Path:
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home())
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "context-bench" / "model-hashes.json"


def _known() -> dict[str, list[object]]:
    try:
        found = json.loads(_notes().read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return {path: note for path, note in found.items() if isinstance(note, list) and len(note) == 3}


def _keep(known: dict[str, list[object]]) -> None:
    with suppress(OSError):  # a home that cannot be written to only costs the time
        _notes().parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile("w", dir=_notes().parent, encoding="utf-8", delete=False) as file:
            json.dump(known, file)
        os.replace(file.name, _notes())
