"""What all tests share: patience, a Ctrl-C that works, and the way to the recorded benchmark data."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # so a job in the background starts, and all that it starts
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # as nohup starts all
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# No deadline for one example: a busy machine is no fault of the code. In CI, Hypothesis chooses that by itself.
if find_spec("hypothesis") and "CI" not in os.environ:
    from hypothesis import settings

    settings.register_profile("patient", deadline=None)
    settings.load_profile("patient")

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Callable[[str], Path]:
    """The path of a file or folder of the shared records; the test is skipped where they are not beside the checkout.

    With ``CONTEXT_BENCH_SHARED=required``, as CI sets it, it fails instead: what must be there is not passed over.
    """

    def path(name: str) -> Path:
        found = SHARED / name
        if not found.exists():
            missing = f"the shared records are not beside the checkout: no {name}"
            if os.environ.get("CONTEXT_BENCH_SHARED") == "required":
                pytest.fail(f"{missing}, and CONTEXT_BENCH_SHARED=required")
            pytest.skip(missing)
        return found

    return path


if find_spec("datasets"):
    import tempfile
    from collections.abc import Iterator
    from importlib.util import module_from_spec, spec_from_file_location
    from pathlib import Path

    import pytest

    _spec = spec_from_file_location("fake_hub", Path(__file__).with_name("fake_hub.py"))
    assert _spec is not None
    assert _spec.loader is not None
    fake_hub = module_from_spec(_spec)
    _spec.loader.exec_module(fake_hub)
    HUB = fake_hub.FakeHub()
    os.environ.update(  # read once, when the library is imported: no test may reach the real hub
        HF_ENDPOINT=HUB.url,
        HF_HOME=tempfile.mkdtemp(prefix="context-bench-hub-"),
        HF_HUB_DISABLE_TELEMETRY="1",
        HF_HUB_DISABLE_XET="1",
    )
    for _name in ("HF_TOKEN", "HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):
        os.environ.pop(_name, None)

    @pytest.fixture
    def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[fake_hub.FakeHub]:
        """An empty hub on loopback, which the library takes for the real one; nothing sleeps before another attempt."""
        import time
        from types import SimpleNamespace

        import huggingface_hub.utils._http as http

        monkeypatch.setattr(http, "time", SimpleNamespace(sleep=lambda _: None, time=time.time))
        HUB.start()
        HUB.reset()
        yield HUB
        HUB.reset()
