from __future__ import annotations

import re

import pytest

from context_bench_needle import needle
from context_bench_needle.tasks import TASKS, Task, tasks_of


@pytest.mark.parametrize(
    ("given", "lengths"),
    [
        ({}, [4000]),
        ({"length": 300}, [300]),
        ({"length": "300"}, [300]),
        ({"length": " 2k "}, [2000]),
        ({"length": 1e3}, [1000]),
        ({"lengths": "1k/2K, 300"}, [1000, 2000, 300]),
        ({"lengths": ["1k", 500]}, [1000, 500]),
        ({"lengths": (300,)}, [300]),
        ({"lengths": 300}, [300]),
        ({"lengths": [300, "300", 400]}, [300, 400]),
    ],
    ids=str,
)
def test_lengths_are_given_in_many_ways(given: dict[str, object], lengths: list[int]) -> None:
    rows = needle(len(lengths), **given)  # type: ignore[arg-type]
    assert [row["length"] for row in rows] == lengths


@pytest.mark.parametrize(
    ("given", "depths"),
    [
        (0, [0.0, 0.0]),
        (12.5, [12.5, 12.5]),
        ("50", [50.0, 50.0]),
        ("50%", [50.0, 50.0]),
        ("0/100", [0.0, 100.0]),
        (["0", 100], [0.0, 100.0]),
        ([0.0, "100.0"], [0.0, 100.0]),
        (-0.0, [0.0, 0.0]),
    ],
    ids=str,
)
def test_depths_are_given_in_many_ways(given: object, depths: list[float]) -> None:
    assert [row["depth"] for row in needle(2, length=100, depth=given)] == depths  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [None, "uniform", ["uniform"], (" uniform ",)], ids=str)
def test_uniform_is_what_depth_is_unless_told(given: object) -> None:
    assert list(needle(3, length=100, depth=given)) == list(needle(3, length=100))  # type: ignore[arg-type]


def test_options_change_a_configuration() -> None:
    (task,) = tasks_of("multi-value", keys=2, values=None, haystack="noise")
    assert task == Task("multi-value", keys=2, values=4, haystack="noise")


def test_more_queries_bring_the_keys_they_need() -> None:
    assert [(task.keys, task.queries) for task in tasks_of("single", queries=3)] == [(3, 3)]
    assert [(task.keys, task.queries) for task in tasks_of("multi-key", queries=3)] == [(4, 3)]


def test_numbers_may_come_as_text() -> None:
    assert list(needle(1, length=300, keys="2", queries="2", seed="5")) == list(
        needle(1, length=300, keys=2, queries=2, seed=5)
    )


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (
            {"config": "multikey"},
            ValueError,
            "no configuration 'multikey'. Did you mean 'multi-key'? There are: single,",
        ),
        ({"config": "xyz"}, ValueError, "needle has no configuration 'xyz'. There are: single,"),
        ({"split": "train"}, ValueError, "needle has one split, 'test', and no 'train'."),
        (
            {"length": 10, "lengths": [10]},
            ValueError,
            "both length and lengths are given; give one of them",
        ),
        ({"length": 0}, ValueError, "length has 0, and a context has at least one token"),
        (
            {"length": 12},
            ValueError,
            "12 tokens is too short for the 1 needles of single; give a length of 14 or more",
        ),
        (
            {"length": "4kb"},
            ValueError,
            "length has '4kb', and a number of tokens is needed, such as 4000 or 16k",
        ),
        ({"length": 1.5}, TypeError, "length has 1.5, and a whole number of tokens is needed"),
        ({"length": float("nan")}, TypeError, "length has nan"),
        ({"length": float("inf")}, TypeError, "length has inf"),
        ({"length": True}, TypeError, "length has True"),
        ({"lengths": []}, ValueError, "lengths is empty"),
        ({"lengths": [None]}, TypeError, "lengths has None"),
        ({"depth": []}, ValueError, "depth is empty"),
        (
            {"depth": 101},
            ValueError,
            "depth has 101, and a percentage from 0 to 100, or 'uniform', is needed",
        ),
        ({"depth": "middle"}, ValueError, "depth has 'middle'"),
        ({"depth": ["uniform", 5]}, ValueError, "depth has 'uniform'"),
        ({"depth": float("nan")}, ValueError, "depth has nan"),
        ({"depth": [None]}, TypeError, "depth has None"),
        ({"seed": "x"}, ValueError, "seed is 'x', and a whole number is needed"),
        ({"seed": 1.5}, TypeError, "seed is 1.5, and a whole number is needed"),
        ({"limit": -1}, ValueError, "neither can be below 0"),
        ({"per_length": -1}, ValueError, "neither can be below 0"),
        ({"keys": 0}, ValueError, "keys is 0, and at least 1 is needed"),
        (
            {"keys": 1, "queries": 2},
            ValueError,
            "2 queries cannot be asked about 1 keys; give keys=2 or more",
        ),
        (
            {"key_kind": "name"},
            ValueError,
            "key_kind is 'name', and it is one of number, word, uuid",
        ),
        ({"value_kind": "name"}, ValueError, "value_kind is 'name'"),
        (
            {"haystack": "essay"},
            ValueError,
            "haystack is 'essay', and it is one of noise, prose, needles",
        ),
    ],
    ids=str,
)
def test_a_wrong_option_is_told_at_once(
    given: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=re.escape(message)):
        needle(**given)  # type: ignore[arg-type]


def test_a_length_that_one_of_several_tasks_cannot_have_is_told_at_once() -> None:
    with pytest.raises(
        ValueError,
        match="46 tokens is too short for the 4 needles of multi-key; give a length of 47",
    ):
        needle(1, "multi-key", lengths=[4000, 46])


@pytest.mark.parametrize("task", TASKS.values(), ids=list(TASKS))
def test_the_shortest_length_works(task: Task) -> None:
    with pytest.raises(ValueError, match="give a length of") as caught:
        needle(1, task.name, length=1)
    shortest = int(re.findall("[0-9]+", str(caught.value).split("give a length of")[1])[0])
    (row,) = needle(1, task.name, length=shortest)
    assert len(row["needles"]) == task.asked
