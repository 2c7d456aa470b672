"""``python -m context_bench``: the command line."""

import os
import sys

if __name__ == "__main__":
    # Python puts the working directory first; code that lies there by chance is none that was
    # installed.
    allowed = os.environ.get("CONTEXT_BENCH_ALLOW_CURRENT_DIRECTORY", "").strip().lower()
    if not getattr(sys.flags, "safe_path", False) and allowed in ("", "0", "false", "no", "off"):
        del sys.path[0]
    from context_bench.cli import main

    main()
