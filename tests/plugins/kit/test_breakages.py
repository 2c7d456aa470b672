"""Ways to break a package: which of them the static check finds, which are found by calling the
component, and which pass both, with the reason."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import dedent
from uuid import uuid4

import pytest
from attrs import frozen

from context_bench.catalog import open_catalog
from context_bench_kit.checking import check_components

pytestmark = pytest.mark.one_python

CODE = {
    "evaluators": """
        import os
        class Thing:
            name = "acme"
            def __init__(self, strict=False):
                self.strict = strict
            def fingerprint(self):
                return {"strict": self.strict}
            def score(self, original, processed):
                response = processed["response"]
                scores = {"exact": float(response == original["answer"])}
                scores["length"] = float(len(response))
                return scores
    """,
    "datasets": """
        import os
        ROWS = [
            {"id": "1", "question": "one", "answer": "1", "parts": ["a"]},
            {"id": "2", "question": "two", "answer": "2", "parts": ["b"]},
        ]
        def Thing(limit=None, config=None, split=None, upper=False):
            rows = [dict(row, parts=list(row["parts"])) for row in ROWS]
            for row in rows[:limit]:
                yield row
    """,
    "systems": """
        import os
        class Thing:
            name = "acme"
            def __init__(self, suffix=""):
                self.suffix = suffix
            def fingerprint(self):
                return {"suffix": self.suffix}
            def process(self, example):
                question = example["question"]
                output = {"response": question + self.suffix}
                return output
    """,
    "metrics": """
        import os
        class Thing:
            name = "acme"
            def __init__(self, scale=1.0):
                self.scale = scale
            def compute(self, rows):
                lengths = [len(row.response or "") for row in rows if not row.failed]
                value = self.scale * sum(lengths) / len(lengths) if lengths else 0.0
                return {"acme_length": value}
    """,
    "reporters": """
        import os
        class Thing:
            name = "acme"
            def write(self, result, stream):
                for system, values in result.summary.items():
                    stream.write(f"{system}: {values.get('mean_score')}\\n")
    """,
    "hooks": """
        import os
        from context_bench.hookspecs import hookimpl
        class Thing:
            def __init__(self, factor=1):
                self.factor = factor
            @hookimpl
            def row_finished(self, row):
                with open("rows.txt", "a") as file:
                    file.write(row.example_id.encode("ascii", "replace").decode() + "\\n")
    """,
    "commands": """
        import os
        import click
        @click.command()
        @click.option("--times", type=int, default=1, help="How often.")
        def Thing(times):
            "Greet."
            click.echo("hello " * times)
    """,
    "tokenizers": """
        import os
        class Thing:
            name = "acme"
            def count(self, text):
                return len(text.split())
    """,
    "flags": """
        Thing = None
    """,
}
"""A package without a fault, for each kind."""

MANIFESTS = {
    "evaluators": """
        class = "Thing"
        primary = "exact"
        version = "1"
        cpu_bound = true
        needs = { original = ["answer"], processed = ["response"] }
        reads = ["answer"]
        options.strict = { type = "bool", default = false, help = "Whether case counts" }
        scores.exact = {}
        scores.length = { range = [0, "inf"], better = "neither" }
    """,
    "datasets": """
        class = "Thing"
        fields = ["question", "answer", "parts"]
        inputs = ["question"]
        gold = ["answer"]
        splits = ["test"]
        options.upper = { type = "bool", default = false, help = "Whether in upper case" }
    """,
    "systems": """
        class = "Thing"
        kind = "endpoint"
        reads = ["question"]
        options.suffix = { default = "", help = "What follows the question" }
    """,
    "metrics": """
        class = "Thing"
        options.scale = { type = "float", default = 1.0, help = "A factor" }
        values.acme_length = { heading = "length" }
    """,
    "reporters": """
        class = "Thing"
        files = [".acme"]
    """,
    "hooks": """
        class = "Thing"
        implements = ["row_finished"]
        options.factor = { type = "int", default = 1, help = "A factor" }
    """,
    "commands": """
        parent = "plugins"
    """,
    "tokenizers": """
        class = "Thing"
    """,
    "flags": """
        options.colour = { flag = "--acme-colour", help = "A colour" }
    """,
}

STATIC = "plugins check"
RUN = "plugins check --run"
PASSES = "passes"


@frozen
class Breakage:
    """A package with one thing broken.

    Attributes:
        kind: Kind of its component.
        old: The text of its code or manifest that is replaced.
        new: The text that replaces it.
        caught: What finds it: ``STATIC``, ``RUN``, or ``PASSES``.
        why: A part of the message that names the fault; why it passes, where it passes.
    """

    kind: str
    old: str
    new: str
    caught: str
    why: str


SCORE = "response = processed["
RESULT = '{"exact": float(response == original["answer"])}'
LOAD = "for row in rows[:limit]:"
ROWS = '[dict(row, parts=list(row["parts"])) for row in ROWS]'
PROCESS = 'question = example["question"]'
OUTPUT = '{"response": question + self.suffix}'
VALUE = "return {"
COMPUTE = "lengths = ["

BREAKAGES: Mapping[str, Breakage] = {
    # evaluators: against the manifest
    "evaluator: no class of that name": Breakage(
        "evaluators", "class Thing", "class Other", STATIC, "has no attribute 'Thing'"
    ),
    "evaluator: no score()": Breakage(
        "evaluators", "def score(", "def scores(", STATIC, "no score()"
    ),
    "evaluator: primary is not a score": Breakage(
        "evaluators", 'primary = "exact"', 'primary = "em"', STATIC, "is not one of its scores"
    ),
    "evaluator: a key that no version knows": Breakage(
        "evaluators", 'version = "1"', 'version = "1"\ncolour = 1', STATIC, "unknown key"
    ),
    "evaluator: no version": Breakage(
        "evaluators", 'version = "1"', "", STATIC, "version: missing"
    ),
    "evaluator: an option that the class does not take": Breakage(
        "evaluators", "self, strict=False", "self", STATIC, "takes no such argument"
    ),
    "evaluator: another default in the code": Breakage(
        "evaluators", "strict=False", "strict=True", STATIC, "its default is False"
    ),
    "evaluator: an argument that is not an option": Breakage(
        "evaluators", "strict=False", "model, strict=False", STATIC, "needs the argument model"
    ),
    "evaluator: a syntax error": Breakage(
        "evaluators", "class Thing:", "class Thing", STATIC, "SyntaxError"
    ),
    "evaluator: a module that is not installed": Breakage(
        "evaluators", "import os", "import no_such_module", STATIC, "no_such_module"
    ),
    "evaluator: the import ends the process": Breakage(
        "evaluators", "import os", "import os\nos._exit(3)", STATIC, "exit code 3"
    ),
    "evaluator: a rule for a flag that no option has": Breakage(
        "evaluators",
        'version = "1"',
        'version = "1"\nwire = [{ option = "acme" }]',
        STATIC,
        "waits for --acme",
    ),
    # evaluators: by a call
    "evaluator: score() takes one argument": Breakage(
        "evaluators", "score(self, original, processed)", "score(self, pair)", RUN, "[signature]"
    ),
    "evaluator: the constructor raises": Breakage(
        "evaluators", "self.strict = strict", "raise ValueError('no')", RUN, "[build]"
    ),
    "evaluator: no name": Breakage("evaluators", 'name = "acme"', "name = None", RUN, "[name]"),
    "evaluator: score() always raises": Breakage(
        "evaluators", SCORE, "raise ValueError('no')\n" + " " * 16 + SCORE, RUN, "[raises]"
    ),
    "evaluator: an undeclared key": Breakage(
        "evaluators", RESULT, '{"exact": 1.0, "em": 1.0}', RUN, "[undeclared-key]"
    ),
    "evaluator: never its primary score": Breakage(
        "evaluators", f"scores = {RESULT}", "scores = {}", RUN, "[missing-key]"
    ),
    "evaluator: a score out of its range": Breakage(
        "evaluators", RESULT, '{"exact": 100.0 * (response == original["answer"])}', RUN, "[range]"
    ),
    "evaluator: a score that is not a number": Breakage(
        "evaluators", RESULT, '{"exact": str(response == original["answer"])}', RUN, "number]"
    ),
    "evaluator: NaN": Breakage(
        "evaluators", RESULT, '{"exact": float("nan")}', RUN, "[not-finite]"
    ),
    "evaluator: a number in place of a mapping": Breakage(
        "evaluators", "return scores", 'return scores["exact"]', RUN, "[return-type]"
    ),
    "evaluator: None in place of a mapping": Breakage(
        "evaluators", "return scores", "return None", RUN, "[return-type]"
    ),
    "evaluator: reads a field that reads does not name": Breakage(
        "evaluators", 'original["answer"]', 'original["question"]', RUN, "[undeclared-read]"
    ),
    "evaluator: lists all fields": Breakage(
        "evaluators", SCORE, "dict(original)\n" + " " * 16 + SCORE, RUN, "[undeclared-read]"
    ),
    "evaluator: needs a field that needs does not name": Breakage(
        "evaluators", '{ original = ["answer"], ', "{ ", RUN, "[undeclared-need]"
    ),
    "evaluator: needs a field that no dataset has": Breakage(
        "evaluators",
        'processed = ["response"]',
        'processed = ["response", "respnse"]',
        PASSES,
        "nobody knows the fields of all datasets; a note says that it was not called",
    ),
    "evaluator: needs a present field that it does not read": Breakage(
        "evaluators",
        '["answer"], processed',
        '["answer", "question"], processed',
        RUN,
        "[unused-need]",
    ),
    "evaluator: changes the example": Breakage(
        "evaluators", SCORE, "original['seen'] = True\n" + " " * 16 + SCORE, RUN, "[mutation]"
    ),
    "evaluator: changes the output": Breakage(
        "evaluators",
        SCORE,
        "processed.pop('x', processed.update(x=1))\n"
        + " " * 16
        + "processed['y'] = 1\n"
        + " " * 16
        + SCORE,
        RUN,
        "[mutation]",
    ),
    "evaluator: random": Breakage(
        "evaluators",
        "float(len(response))",
        "float(int.from_bytes(os.urandom(6), 'big'))",
        RUN,
        "[not-deterministic]",
    ),
    "evaluator: state from one call to the next": Breakage(
        "evaluators",
        "float(len(response))",
        "float(self.__dict__.setdefault('n', []).append(1) or len(self.n))",
        RUN,
        "[not-deterministic]",
    ),
    "evaluator: prints": Breakage(
        "evaluators", SCORE, "print('x')\n" + " " * 16 + SCORE, RUN, "[stdout]"
    ),
    "evaluator: raises for an empty response": Breakage(
        "evaluators",
        "float(len(response))",
        "float(len(response.split()[0]))",
        RUN,
        "[unusual-input]",
    ),
    "evaluator: raises for Unicode": Breakage(
        "evaluators",
        "float(len(response))",
        "float(len(response.encode('ascii')))",
        RUN,
        "[unusual-input]",
    ),
    "evaluator: a score of 0/0 for an empty response": Breakage(
        "evaluators", "float(len(response))", "len(response) or float('nan')", RUN, "[not-finite]"
    ),
    "evaluator: uses the network": Breakage(
        "evaluators",
        SCORE,
        "import socket; socket.create_connection(('192.0.2.1', 80), 1)\n" + " " * 16 + SCORE,
        RUN,
        "uses network",
    ),
    "evaluator: hides that it uses the network": Breakage(
        "evaluators",
        SCORE,
        "import contextlib, socket\n"
        + " " * 16
        + "with contextlib.suppress(OSError): socket.create_connection(('192.0.2.1', 80), 1)\n"
        + " " * 16
        + SCORE,
        RUN,
        "uses network",
    ),
    "evaluator: starts a program": Breakage(
        "evaluators", SCORE, "os.system('true')\n" + " " * 16 + SCORE, RUN, "uses subprocess"
    ),
    "evaluator: writes a file": Breakage(
        "evaluators", SCORE, "open('cache.txt', 'w').close()\n" + " " * 16 + SCORE, RUN, "[files]"
    ),
    "evaluator: reads a variable that it does not declare": Breakage(
        "evaluators", SCORE, "os.environ.get('ACME_KEY')\n" + " " * 16 + SCORE, RUN, "env:ACME_KEY"
    ),
    "evaluator: reads all variables": Breakage(
        "evaluators",
        SCORE,
        "dict(os.environ)\n" + " " * 16 + SCORE,
        RUN,
        "[undeclared-environment]",
    ),
    "evaluator: reads a variable that is not a secret": Breakage(
        "evaluators",
        SCORE,
        "os.environ.get('ACME_MODE')\n" + " " * 16 + SCORE,
        PASSES,
        "a setting that nobody has to set; a note names it",
    ),
    "evaluator: refuses every example": Breakage(
        "evaluators",
        SCORE,
        "from context_bench.errors import ConfigurationError; raise ConfigurationError('no')\n"
        + " " * 16
        + SCORE,
        PASSES,
        "its error says what it needs; a note says that it was not called",
    ),
    "evaluator: an import writes a file": Breakage(
        "evaluators",
        "import os",
        "import os\nopen('log.txt', 'w').close()",
        RUN,
        "its import writes",
    ),
    "evaluator: an import prints": Breakage(
        "evaluators",
        "import os",
        "import os\nprint('hello')",
        PASSES,
        "core sends the output of an import to standard error",
    ),
    "evaluator: a fingerprint that differs between instances": Breakage(
        "evaluators", '{"strict": self.strict}', '{"strict": id(self)}', RUN, "[fingerprint]"
    ),
    "evaluator: a fingerprint that JSON cannot hold": Breakage(
        "evaluators", '{"strict": self.strict}', '{"strict": {self.strict}}', RUN, "[fingerprint]"
    ),
    "evaluator: cannot be pickled, but is cpu_bound": Breakage(
        "evaluators",
        "self.strict = strict",
        "self.strict = strict; self.key = lambda: 1",
        RUN,
        "[pickle]",
    ),
    "evaluator: score_batch() returns too few": Breakage(
        "evaluators",
        "def fingerprint",
        "def score_batch(self, pairs):\n"
        + " " * 16
        + "return [self.score(*pairs[0])]\n"
        + " " * 12
        + "def fingerprint",
        RUN,
        "[score-batch]",
    ),
    "evaluator: details that JSON cannot hold": Breakage(
        "evaluators",
        "return scores",
        "from context_bench.records import Scores; return Scores(scores, details={'x': {1}})",
        RUN,
        "[details]",
    ),
    "evaluator: ends the process": Breakage(
        "evaluators", SCORE, "os._exit(0)\n" + " " * 16 + SCORE, RUN, "ended the process"
    ),
    "evaluator: a wrong score": Breakage(
        "evaluators",
        "response == original",
        "response != original",
        PASSES,
        "only a test of the package knows the right score",
    ),
    # datasets
    "dataset: not a function": Breakage(
        "datasets", "def Thing(", "Thing = 1\ndef Other(", STATIC, "cannot be called"
    ),
    "dataset: takes no limit": Breakage(
        "datasets", "limit=None, config", "config", STATIC, "argument limit"
    ),
    "dataset: ignores the limit": Breakage(
        "datasets", LOAD, "for row in rows * 3:", RUN, "[limit]"
    ),
    "dataset: yields nothing": Breakage("datasets", LOAD, "for row in ():", RUN, "[empty]"),
    "dataset: raises": Breakage(
        "datasets", LOAD, "raise ValueError('no')\n" + " " * 12 + LOAD, RUN, "[raises]"
    ),
    "dataset: yields text": Breakage(
        "datasets", "yield row", "yield str(row)", RUN, "[return-type]"
    ),
    "dataset: returns None": Breakage("datasets", "yield row", "pass", RUN, "[return-type]"),
    "dataset: a field that fields does not name": Breakage(
        "datasets", "yield row", "yield dict(row, hint='x')", RUN, "[undeclared-field]"
    ),
    "dataset: gold names a field that it does not have": Breakage(
        "datasets", 'gold = ["answer"]', 'gold = ["label"]', RUN, "[missing-field]"
    ),
    "dataset: fields names a field that it does not have": Breakage(
        "datasets",
        'fields = ["question", ',
        'fields = ["question", "hint", ',
        RUN,
        "[missing-field]",
    ),
    "dataset: an input that is the answer": Breakage(
        "datasets", 'inputs = ["question"]', 'inputs = ["question", "answer"]', RUN, "[gold]"
    ),
    "dataset: random order": Breakage(
        "datasets",
        LOAD,
        "import random; random.shuffle(rows)\n"
        + " " * 12
        + "rows[0]['question'] = os.urandom(4).hex()\n"
        + " " * 12
        + LOAD,
        RUN,
        "[not-deterministic]",
    ),
    "dataset: the limit changes the examples": Breakage(
        "datasets",
        LOAD,
        "rows = rows[::-1] if limit == 1 else rows\n" + " " * 12 + LOAD,
        RUN,
        "[limit]",
    ),
    "dataset: two examples with one id": Breakage(
        "datasets", "yield row", "yield dict(row, id='1')", RUN, "[id]"
    ),
    "dataset: one object for all examples": Breakage(
        "datasets", "yield row", "rows[0].update(row); yield rows[0]", RUN, "[shared]"
    ),
    "dataset: examples share state with the next load": Breakage(
        "datasets", ROWS, "[dict(row) for row in ROWS]", RUN, "[shared]"
    ),
    "dataset: a value that JSON cannot hold": Breakage(
        "datasets", "yield row", "yield dict(row, parts={1, 2})", RUN, "[not-json]"
    ),
    "dataset: a declared split cannot be loaded": Breakage(
        "datasets", LOAD, "if split: raise ValueError(split)\n" + " " * 12 + LOAD, RUN, "[raises]"
    ),
    "dataset: prints": Breakage(
        "datasets", LOAD, "print('x')\n" + " " * 12 + LOAD, RUN, "[stdout]"
    ),
    "dataset: downloads": Breakage(
        "datasets",
        LOAD,
        "import urllib.request; urllib.request.urlopen('http://192.0.2.1/', timeout=1)\n"
        + " " * 12
        + LOAD,
        RUN,
        "uses network",
    ),
    "dataset: accepts any configuration": Breakage(
        "datasets",
        LOAD,
        "config = None\n" + " " * 12 + LOAD,
        PASSES,
        "a manifest without configs accepts any",
    ),
    # systems
    "system: no process()": Breakage("systems", "def process(", "def run(", STATIC, "no process()"),
    "system: process() takes nothing": Breakage(
        "systems", "def process(self, example)", "def process(self)", RUN, "[signature]"
    ),
    "system: returns text": Breakage(
        "systems", "return output", "return question", RUN, "[return-type]"
    ),
    "system: no response": Breakage("systems", OUTPUT, '{"text": question}', RUN, "[return-type]"),
    "system: a response that is not text": Breakage(
        "systems", OUTPUT, '{"response": [question]}', RUN, "[return-type]"
    ),
    "system: reads a field that reads does not name": Breakage(
        "systems",
        PROCESS,
        "question = example.get('context') or example['question']",
        RUN,
        "[undeclared-read]",
    ),
    "system: reads the answer": Breakage(
        "systems", PROCESS, "question = example.get('answer') or example['question']", RUN, "[gold]"
    ),
    "system: reads none of its fields": Breakage(
        "systems", PROCESS, "question = 'x'", RUN, "[unused-read]"
    ),
    "system: random": Breakage(
        "systems", OUTPUT, '{"response": os.urandom(4).hex()}', RUN, "[not-deterministic]"
    ),
    "system: one state for all threads": Breakage(
        "systems",
        PROCESS,
        "import threading, time; self.ids = getattr(self, 'ids', set()); self.ids.add(threading.get_ident())\n"
        + " " * 16
        + "question = str(len(self.ids)) + example['question']; time.sleep(0.01)",
        RUN,
        "[threads]",
    ),
    "system: raises for an empty question": Breakage(
        "systems",
        PROCESS,
        "question = example['question']; question.split()[0]",
        RUN,
        "[unusual-input]",
    ),
    "system: the fingerprint lacks an option": Breakage(
        "systems", '{"suffix": self.suffix}', "{}", RUN, "[fingerprint]"
    ),
    "system: negative usage": Breakage(
        "systems",
        OUTPUT,
        '{"response": question + self.suffix, "usage": {"input_tokens": -1}}',
        RUN,
        "[usage]",
    ),
    "system: an output that JSON cannot hold": Breakage(
        "systems", OUTPUT, '{"response": question + self.suffix, "raw": object}', RUN, "[not-json]"
    ),
    "system: prints": Breakage("systems", PROCESS, "print('x'); " + PROCESS, RUN, "[stdout]"),
    "system: uses the network": Breakage(
        "systems",
        PROCESS,
        "import socket; socket.getaddrinfo('example.org', 80); " + PROCESS,
        RUN,
        "uses network",
    ),
    "system: starts a program": Breakage(
        "systems",
        PROCESS,
        "import subprocess; subprocess.run(['true'], check=True); " + PROCESS,
        RUN,
        "uses subprocess",
    ),
    "system: changes its example": Breakage(
        "systems",
        PROCESS,
        "example['x'] = 1; " + PROCESS,
        PASSES,
        "a system receives a private copy",
    ),
    # metrics
    "metric: no compute()": Breakage("metrics", "def compute(", "def sum(", STATIC, "no compute()"),
    "metric: compute() takes nothing": Breakage(
        "metrics", "compute(self, rows)", "compute(self)", RUN, "[signature]"
    ),
    "metric: an undeclared key": Breakage(
        "metrics", '{"acme_length": value}', '{"acme_size": value}', RUN, "[undeclared-key]"
    ),
    "metric: raises without rows": Breakage(
        "metrics", " if lengths else 0.0", "", RUN, "raises ZeroDivisionError"
    ),
    "metric: NaN": Breakage(
        "metrics", '"acme_length": value', '"acme_length": float("nan")', RUN, "[not-finite]"
    ),
    "metric: text": Breakage(
        "metrics", '"acme_length": value', '"acme_length": str(value)', RUN, "number]"
    ),
    "metric: takes rows for a list": Breakage(
        "metrics", COMPUTE, "rows.sort(); " + COMPUTE, RUN, "[raises]"
    ),
    "metric: random": Breakage(
        "metrics",
        '"acme_length": value',
        '"acme_length": os.urandom(4)[0] * 1e9 + os.urandom(4)[0]',
        RUN,
        "[not-deterministic]",
    ),
    "metric: changes a row": Breakage(
        "metrics", COMPUTE, "[row.scores.clear() for row in rows]; " + COMPUTE, RUN, "[mutation]"
    ),
    "metric: prints": Breakage("metrics", COMPUTE, "print('x'); " + COMPUTE, RUN, "[stdout]"),
    # reporters
    "reporter: no write()": Breakage("reporters", "def write(", "def save(", STATIC, "no write()"),
    "reporter: write() takes no stream": Breakage(
        "reporters", "write(self, result, stream)", "write(self, result)", RUN, "[signature]"
    ),
    "reporter: raises": Breakage(
        "reporters", "for system", "result.none\n" + " " * 16 + "for system", RUN, "[raises]"
    ),
    "reporter: writes to standard output": Breakage(
        "reporters", "stream.write(", "print(", RUN, "[stdout]"
    ),
    "reporter: closes the stream": Breakage(
        "reporters",
        "for system",
        "stream.write('x'); stream.close(); return\n" + " " * 16 + "for system",
        RUN,
        "[closed]",
    ),
    "reporter: changes the summary": Breakage(
        "reporters",
        "for system",
        "result.summary['first']['x'] = 1\n" + " " * 16 + "for system",
        RUN,
        "[mutation]",
    ),
    "reporter: another text each time": Breakage(
        "reporters",
        "for system",
        "stream.write(os.urandom(8).hex())\n" + " " * 16 + "for system",
        RUN,
        "[not-deterministic]",
    ),
    # extensions
    "extension: implements a hook that the manifest does not name": Breakage(
        "hooks", '["row_finished"]', '["run_finished"]', STATIC, "row_finished"
    ),
    "extension: a hook that does not exist": Breakage(
        "hooks", '["row_finished"]', '["row_ended"]', STATIC, "expected one of"
    ),
    "extension: an argument that the hook does not have": Breakage(
        "hooks", "row_finished(self, row)", "row_finished(self, line)", RUN, "line"
    ),
    "extension: a hook that watches raises": Breakage(
        "hooks",
        'with open("rows.txt", "a") as file:',
        "with open('no/such/folder') as file:",
        RUN,
        "[raises]",
    ),
    "extension: prints": Breakage(
        "hooks", "with open", "print('x')\n" + " " * 16 + "with open", RUN, "[stdout]"
    ),
    "extension: uses the network": Breakage(
        "hooks",
        "with open",
        "import socket; socket.getaddrinfo('example.org', 80)\n" + " " * 16 + "with open",
        RUN,
        "uses network",
    ),
    # commands
    "command: not a command": Breakage(
        "commands", "@click.command()", "@click.pass_context", RUN, "not a click command"
    ),
    "command: declared as a group": Breakage(
        "commands", 'parent = "plugins"', "group = true", RUN, "[group]"
    ),
    "command: no help": Breakage("commands", '"Greet."', "pass", RUN, "[help]"),
    "command: accepts any option": Breakage(
        "commands",
        "@click.command()",
        "@click.command(context_settings={'ignore_unknown_options': True, 'allow_extra_args': True})",
        RUN,
        "[exit-code]",
    ),
    # tokenizers
    "tokenizer: no count()": Breakage(
        "tokenizers", "def count(", "def number(", RUN, "[signature]"
    ),
    "tokenizer: a number that is not whole": Breakage(
        "tokenizers", "len(text.split())", "len(text) / 4", RUN, "number]"
    ),
    "tokenizer: a token in an empty text": Breakage(
        "tokenizers", "len(text.split())", "len(text.split(' '))", RUN, "[range]"
    ),
    "tokenizer: raises for Unicode": Breakage(
        "tokenizers", "len(text.split())", "len(text.encode('ascii'))", RUN, "[unusual-input]"
    ),
    # option groups
    "option group: an option without a flag": Breakage(
        "flags", 'flag = "--acme-colour", ', "", STATIC, "has a flag"
    ),
}


def _write(site: Path, number: str, kind: str, code: str, manifest: str) -> str:
    """Write an installed package with one component, and return its distribution."""
    package = site / f"acme_{number}"
    package.mkdir()
    (package / "__init__.py").write_text(code, encoding="utf-8")
    head = f'schema = 1\napi = "1.0"\n[{kind}.acme-{number}]\nsummary = "A thing"\n'
    (package / "context_bench_plugin.toml").write_text(head + manifest, encoding="utf-8")
    metadata = site / f"acme_{number}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: acme-{number}\nVersion: 1.0\n", encoding="utf-8"
    )
    (metadata / "entry_points.txt").write_text(
        f"[context_bench.{kind}]\nacme-{number} = acme_{number}:Thing\n", encoding="utf-8"
    )
    return f"acme-{number}"


def _sources(breakage: Breakage) -> tuple[str, str]:
    code = dedent(CODE[breakage.kind])
    manifest = dedent(MANIFESTS[breakage.kind])
    assert breakage.old in code + manifest, f"nothing to replace: {breakage.old!r}"
    new = breakage.new.replace("\n" + " " * 8, "\n")
    return code.replace(breakage.old, new, 1), manifest.replace(breakage.old, new, 1)


@frozen
class Faults:
    """The faults of a package.

    Attributes:
        static: Those that the static check finds.
        called: Those that calling the component finds; each ends with the code of its check.
    """

    static: list[str]
    called: list[str]


Check = Callable[[str], Faults]


@pytest.fixture(scope="module")
def check(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Check]:
    """Return what checks a package by its name in the table; all of them are installed."""
    site = tmp_path_factory.mktemp("site")
    distributions: dict[str, str] = {}
    for kind, text in CODE.items():
        manifest = dedent(MANIFESTS[kind])
        distributions[kind] = _write(site, f"good{kind}", kind, dedent(text), manifest)
    for number, (name, breakage) in enumerate(BREAKAGES.items()):
        code, manifest = _sources(breakage)
        distributions[name] = _write(site, f"b{number}", breakage.kind, code, manifest)
    sys.path.insert(0, str(site))
    installed = {component.distribution.name: component for component in open_catalog((), {})}

    def check_one(name: str) -> Faults:
        [(_, verdict)] = check_components([installed[distributions[name]]], 300.0, call=True)
        called = [line for line in verdict.faults if re.search(r" \[[a-z-]+\]$", line)]
        return Faults([line for line in verdict.faults if line not in called], called)

    yield check_one
    sys.path.remove(str(site))


@pytest.mark.parametrize("kind", CODE)
def test_a_package_without_a_fault_passes(kind: str, check: Check) -> None:
    assert check(kind) == Faults([], [])


def _named(caught: str) -> list[str]:
    return [name for name, breakage in BREAKAGES.items() if breakage.caught == caught]


@pytest.mark.parametrize("name", _named(STATIC))
def test_the_static_check_finds(name: str, check: Check) -> None:
    assert BREAKAGES[name].why in " ".join(check(name).static)


@pytest.mark.parametrize("name", _named(RUN))
def test_only_a_call_finds(name: str, check: Check) -> None:
    faults = check(name)
    why = BREAKAGES[name].why
    assert why in " ".join([*faults.called, *_ended(faults.static)])
    assert faults.static == _ended(faults.static)


def _ended(lines: Sequence[str]) -> list[str]:
    """Return the faults of a component that ended the process which called it."""
    return [line for line in lines if "ended the process of its check" in line]


@pytest.mark.parametrize("name", _named(PASSES))
def test_no_check_finds(name: str, check: Check) -> None:
    assert check(name) == Faults([], [])


def test_at_most_one_breakage_in_ten_passes() -> None:
    assert len(BREAKAGES) >= 61
    assert len(_named(PASSES)) * 10 <= len(BREAKAGES)


DOWNLOADS = """\
import socket
        from pathlib import Path
        folder = Path(os.environ["XDG_CACHE_HOME"])
        folder.mkdir(exist_ok=True)
        (folder / "index").write_text("")
        try:
            socket.create_connection(("192.0.2.1", 80), 1)
        except OSError:
            reached = False
        if not reached:
            raise RuntimeError("the hub cannot be reached")
        """
"""A library that downloads: it prepares its cache, and has an error of its own for a network that is not there."""


@pytest.mark.parametrize(
    ("declared", "checks"),
    [
        ('capabilities = ["model-download"]', []),
        ('capabilities = ["network"]', ["files"]),
        ("", ["undeclared-capability", "files"]),
    ],
)
def test_what_downloads_a_model_may_write_its_cache_and_is_not_called_further(
    declared: str, checks: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Not in the folder for temporary files, which is free to all.
    home = Path(__file__).parent / f"cache-{uuid4().hex}"
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    code = dedent(CODE["evaluators"]).replace(SCORE, DOWNLOADS + SCORE)
    name = _write(tmp_path, "down", "evaluators", code, dedent(MANIFESTS["evaluators"]) + declared)
    monkeypatch.syspath_prepend(str(tmp_path))
    components = [item for item in open_catalog((), {}) if item.distribution.name == name]
    try:
        [(_, verdict)] = check_components(components, 300.0, call=True)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    found = [match[1] for line in verdict.faults if (match := re.search(r" \[([a-z-]+)\]$", line))]
    assert sorted(set(found)) == sorted(checks)
    assert any("not called further" in line for line in verdict.notes) == bool(declared)


def test_a_component_that_hangs_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = dedent(CODE["evaluators"]).replace(SCORE, "import time; time.sleep(3600); " + SCORE)
    name = _write(tmp_path, "hangs", "evaluators", code, dedent(MANIFESTS["evaluators"]))
    monkeypatch.syspath_prepend(str(tmp_path))
    components = [item for item in open_catalog((), {}) if item.distribution.name == name]
    [(_, verdict)] = check_components(components, 3.0, call=True)
    assert "takes longer than 3 s" in " ".join(verdict.faults)
