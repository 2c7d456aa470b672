"""Makes what the tests of clusters share importable."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
