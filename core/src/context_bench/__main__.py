"""``python -m context_bench``: the command line."""

from context_bench.cli import main

if __name__ == "__main__":
    main()
