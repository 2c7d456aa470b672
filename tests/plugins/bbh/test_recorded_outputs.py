"""The recorded code-davinci-002 outputs of the benchmark's authors give their accuracies, task by task."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from context_bench_bbh import BBHExactMatch

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"
ACCURACIES = {  # task: with chain of thought, answer only
    "boolean_expressions": (92.8, 88.4),
    "date_understanding": (87.2, 63.6),
    "disambiguation_qa": (76.0, 67.2),
    "formal_fallacies": (50.4, 52.4),
    "geometric_shapes": (54.4, 32.0),
    "logical_deduction_five_objects": (54.8, 32.4),
    "logical_deduction_seven_objects": (38.8, 26.0),
    "movie_recommendation": (90.4, 84.8),
    "multistep_arithmetic_two": (47.6, 1.2),
    "object_counting": (93.2, 45.2),
    "penguins_in_a_table": (79.5, 66.4),
    "ruin_names": (68.4, 75.2),
    "salient_translation_error_detection": (60.8, 62.0),
    "sports_understanding": (97.6, 72.8),
    "temporal_sequences": (96.8, 77.6),
    "tracking_shuffled_objects_seven_objects": (85.6, 14.4),
    "tracking_shuffled_objects_three_objects": (78.4, 37.6),
    "word_sorting": (40.4, 50.4),
}


@pytest.mark.shared
@pytest.mark.parametrize("task", ACCURACIES)
def test_the_published_accuracy_of_a_task_is_reproduced(task):
    assert tuple(accuracy(prompting, task) for prompting in ("cot", "direct")) == ACCURACIES[task]


def accuracy(prompting, task):
    """Percent right, to one decimal as the benchmark reports it."""
    path = SHARED / "outputs" / f"bbh-codex-{prompting}" / f"{task}.json.gz"
    if not path.exists():
        pytest.skip(f"the recorded benchmark data are not beside the checkout: no {path.name}")
    outputs = json.loads(gzip.decompress(path.read_bytes()))["outputs"]
    score = BBHExactMatch().score
    scores = [
        score({"answer": output["target"]}, {"response": output["prediction"]})
        for output in outputs
    ]
    return round(100 * sum(row["bbh_exact_match"] for row in scores) / len(outputs), 1)
