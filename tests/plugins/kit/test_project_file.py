"""Editing the project file: a person wrote it, and everything that is not the list stays as it stands."""

from __future__ import annotations

from pathlib import Path

import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st

from context_bench.errors import ConfigurationError
from context_bench_kit.project_file import set_disabled

HAND_WRITTEN = """\
# Our evaluation. [plugins] is further down.
reader = "needle-oracle"   # the perfect one

[run]
limit = 50

[plugins]  # what we do without
# allow-current-directory = true
allow = [
    "rouge",  # [for summaries]
    'local',
]
disable = [
    "judge",   # too dear, "really"
    # "math",
    'code',    # no sandbox ], here
]

[plugins.prefer]
rouge = "context-bench-rouge"

[[systems]]
spec = "identity"
"""

# before, name, after disabling it
ADDED = {
    "no file": ("", '[plugins]\ndisable = ["x"]\n'),
    "no table": ("[run]\nlimit = 1\n", '[run]\nlimit = 1\n\n[plugins]\ndisable = ["x"]\n'),
    "no line end": ("[run]\nlimit = 1", '[run]\nlimit = 1\n\n[plugins]\ndisable = ["x"]\n'),
    "a table without the list": (
        "[plugins]\nallow = []\n",
        '[plugins]\ndisable = ["x"]\nallow = []\n',
    ),
    "a table at the end": ("[plugins]", '[plugins]\ndisable = ["x"]\n'),
    "an empty list": ("[plugins]\ndisable = []\n", '[plugins]\ndisable = ["x"]\n'),
    "an empty list with a note": (
        "[plugins]\ndisable = [ # none\n]\n",
        '[plugins]\ndisable = ["x" # none\n]\n',
    ),
    "a list of one": (
        '[plugins]\ndisable = ["a"] # note\n',
        '[plugins]\ndisable = ["a", "x"] # note\n',
    ),
    "a list after a list": (
        '[plugins]\nallow = ["a"]\ndisable = ["a"]\n',
        '[plugins]\nallow = ["a"]\ndisable = ["a", "x"]\n',
    ),
    "a comma at the end": ('[plugins]\ndisable = ["a",]\n', '[plugins]\ndisable = ["a", "x",]\n'),
    "only a table below": (
        '[plugins.prefer]\na = "b"\n',
        '[plugins.prefer]\na = "b"\n\n[plugins]\ndisable = ["x"]\n',
    ),
    "spaces in the header": (
        '  [ plugins ]\n  disable=["a"]\n',
        '  [ plugins ]\n  disable=["a", "x"]\n',
    ),
    "line ends of Windows": (
        "[run]\r\nlimit = 1\r\n",
        '[run]\r\nlimit = 1\r\n\r\n[plugins]\r\ndisable = ["x"]\r\n',
    ),
    "a list in another table": (
        '[other]\ndisable = ["a"]\n[plugins]\n',
        '[other]\ndisable = ["a"]\n[plugins]\ndisable = ["x"]\n',
    ),
    "a bracket at a line's beginning": ('[plugins]\nallow = [\n["a"][0]\n]\n', None),
}


def edited(path: Path, before: str, name: str, disabled: bool) -> str:
    path.write_bytes(before.encode())
    set_disabled(name, disabled, path)
    return path.read_bytes().decode()


@pytest.mark.parametrize(
    ("before", "after"),
    [pair for pair in ADDED.values() if pair[1]],
    ids=[name for name, pair in ADDED.items() if pair[1]],
)
def test_disabling_adds_to_the_list_and_enabling_takes_it_out_again(
    tmp_path: Path, before: str, after: str
) -> None:
    path = tmp_path / "context-bench.toml"
    assert edited(path, before, "x", True) == after
    assert "x" not in tomli.loads(edited(path, after, "x", False))["plugins"]["disable"]
    if "disable = []" not in edited(path, after, "x", False):
        assert edited(path, after, "x", False) == before


def test_comments_and_layout_stay(tmp_path: Path) -> None:
    path = tmp_path / "context-bench.toml"
    assert edited(path, HAND_WRITTEN, "math", True) == HAND_WRITTEN.replace(
        "'code',    #", "'code', \"math\",    #"
    )
    assert edited(path, HAND_WRITTEN, "judge", False) == HAND_WRITTEN.replace(
        '"judge",   # too', "# too"
    )
    assert edited(path, HAND_WRITTEN, "code", False) == HAND_WRITTEN.replace(
        "'code',    # no", "# no"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('["a", "x", "b"]', '["a", "b"]'),
        ('["x"]', "[]"),
        ('["a", "x"]', '["a"]'),
        ('["x", "x", "a"]', '["a"]'),
        ('[\n  "a", # one\n  "x" # two\n]', '[\n  "a" # one\n # two\n]'),
        ('["x" , "a"]', '["a"]'),
    ],
    ids=[
        "in the middle",
        "alone",
        "last",
        "twice",
        "last of several lines",
        "a space before the comma",
    ],
)
def test_enabling_takes_a_name_out_wherever_it_stands(
    tmp_path: Path, before: str, after: str
) -> None:
    path = tmp_path / "context-bench.toml"
    assert (
        edited(path, f"[plugins]\ndisable = {before}\n", "x", False)
        == f"[plugins]\ndisable = {after}\n"
    )


@pytest.mark.parametrize(
    "before",
    [
        'plugins = { disable = ["a"] }\n',
        'plugins.disable = ["a"]\n',
        '[plugins]\n"disable" = ["a"]\n',
    ],
    ids=["an inline table", "a dotted key", "a quoted key"],
)
def test_a_form_that_is_not_edited_is_left_alone_and_told(tmp_path: Path, before: str) -> None:
    path = tmp_path / "context-bench.toml"
    with pytest.raises(ConfigurationError, match="is not edited here"):
        edited(path, before, "x", True)
    assert path.read_text() == before


def test_a_file_that_is_no_toml_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "context-bench.toml"
    with pytest.raises(ConfigurationError, match="is no valid TOML"):
        edited(path, "[plugins\n", "x", True)
    assert path.read_text() == "[plugins\n"


NAMES = st.sampled_from(["a", "b-c", "context-bench-x", "x/y", "z.1"])
GAPS = st.sampled_from(["", " ", "\n", "\n    ", ' # note, [with] "things"\n', "\n# 'x',\n  "])


@st.composite
def lists(draw: st.DrawFn) -> str:
    names = draw(st.lists(NAMES, max_size=4, unique=True))
    text = "["
    for number, name in enumerate(names):
        quote = draw(st.sampled_from("\"'"))
        comma = "," if number < len(names) - 1 or draw(st.booleans()) else ""
        text += f"{draw(GAPS)}{quote}{name}{quote}{draw(GAPS)}{comma}"
    return text + draw(GAPS) + "]"


@given(
    st.sampled_from(["", "# top\n[run]\nalso = ['a']\n", "[plugins.prefer]\na = 'b'\n"]),
    lists(),
    st.sampled_from(["", "\nallow = ['a']", "\n\n[[systems]]\nspec = 'x'\n"]),
    NAMES,
)
def test_any_layout_survives_a_round_trip(head: str, body: str, tail: str, name: str) -> None:
    import tempfile

    before = f"{head}[plugins]\ndisable = {body}{tail}\n"
    names = tomli.loads(before)["plugins"]["disable"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "context-bench.toml"
        disable = name not in names
        once = edited(path, before, name, disable)
        twice = edited(path, once, name, not disable)
    expected = tomli.loads(before)
    assert sorted(tomli.loads(once)["plugins"]["disable"]) == sorted({*names} ^ {name})
    assert sorted(tomli.loads(twice)["plugins"]["disable"]) == sorted(names)
    for after in (tomli.loads(once), tomli.loads(twice)):
        after["plugins"]["disable"] = expected["plugins"]["disable"]
        assert after == expected
    assert [line.partition("#")[2] for line in once.splitlines()] == [
        line.partition("#")[2] for line in before.splitlines()
    ]
