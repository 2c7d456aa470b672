"""Your own JSONL, JSON, CSV and TSV files as datasets.

>>> import pathlib, tempfile
>>> path = pathlib.Path(tempfile.mkdtemp()) / "capitals.jsonl"
>>> _ = path.write_text('{"question": "Capital of France?", "answer": "Paris"}\\n')
>>> list(local(path=path))
[{'question': 'Capital of France?', 'answer': 'Paris'}]
"""

from context_bench_local.loader import local
from context_bench_local.records import Record, read_records

__all__ = ["Record", "local", "read_records"]
