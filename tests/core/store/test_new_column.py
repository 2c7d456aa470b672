"""A new column of a row is one declaration: the recipe of CONTRIBUTING.md, applied to a copy of core."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import context_bench

ROOT = Path(__file__).resolve().parents[3]

SCRIPT = """
import json, sys
from pathlib import Path
from context_bench.records import KeyMeaning, flatten, row_to_dict
from context_bench.store.keys import RowId
from context_bench.store.queries import answered_rows
from context_bench.store.reader import RunReader
from context_bench.store.rows import Label, StoredExample, StoredRow
from context_bench.store.runfile import RunFile

path = Path(sys.argv[1])
store = RunFile.create(path, "run", "now", {}, {})
store.add_system(0, "system", b"k", True, {})
store.add_label(Label(0, "data", "f1", {"f1": KeyMeaning("d/e")}, {}))
example = StoredExample(id=RowId(0, 0), example_id="e", label=0, hash=b"h", body="{}")
row = StoredRow(id=RowId(0, 0), key=b"k", output="{}", queue_time=1.5)
store.commit([example, row])
store.close()
reader = RunReader(path)
[read] = reader.rows()
[answered] = answered_rows(reader, [0])
print(json.dumps({
    "table": reader.lines("SELECT queue_time FROM responses")[0][0],
    "row": read.queue_time,
    "metrics": answered.queue_time,
    "json": row_to_dict(read)["queue_time"],
    "csv": dict(flatten(read))["queue_time"],
}))
"""


def test_a_new_column_is_one_field_and_everything_else_follows(tmp_path: Path) -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    [field] = re.findall(r"^    queue_time: .*?^    \)\n", page, flags=re.MULTILINE | re.DOTALL)
    package = Path(context_bench.__file__).parent
    shutil.copytree(
        package, tmp_path / "context_bench", ignore=shutil.ignore_patterns("__pycache__")
    )
    module = tmp_path / "context_bench" / "columns.py"
    text = module.read_text(encoding="utf-8")
    first = "    input_tokens: int = field("
    assert text.count(first) == 1
    module.write_text(text.replace(first, f"{field}{first}"), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "run.sqlite")],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(tmp_path), "PATH": ""},
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == dict.fromkeys(["table", "row", "metrics", "json", "csv"], 1.5)
