"""BERTScore through torch: against the definition by hand, the authors' package, and as a run with the documented model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bert_score
import pytest
import torch

from context_bench_scorers import ScorerUserError
from context_bench_scorers_embedding import BERTScore, HedgingLanguage, embedder_for, match_pairs
from context_bench_scorers_embedding.bertscore import DEBERTA
from context_bench_scorers_embedding.layers import LAYERS, layer_of
from context_bench_scorers_embedding.transformer import TransformerEmbedder

TEXTS = [
    "The tower in Paris is 330 metres tall, and it was built in 1889.",
    "Nobody knows why the clock stopped at a quarter past four.",
    "He didn't say whether she'd come back on Tuesday, or not at all!",
    "No.",
    "A small boat crossed the lake before the storm reached the shore. " * 6,
    "  Ünlü 漢字 and words it has never seen: zyzzyva, qoph \n",
    "Water boils at 100 degrees; on a mountain it boils sooner.",
]
PAIRS = [(one, other) for one in TEXTS for other in TEXTS]
KINDS = ["deberta-v3", "bert", "roberta"]


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_those_of_the_definition(
    kind: str, folder_of: Callable[[str], Path], by_hand: Callable[..., tuple[float, float, float]]
) -> None:
    folder = folder_of(kind)
    found = match_pairs(embedder_for(str(folder)), TEXTS, TEXTS[::-1])
    for match, candidate, reference in zip(found, TEXTS, TEXTS[::-1]):
        wanted = by_hand(folder, 12, candidate.strip(), reference.strip())
        assert (match.precision, match.recall, match.f1) == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_those_of_the_authors_package(
    kind: str, folder_of: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = folder_of(kind)
    bounded = (
        tmp_path / kind
    )  # the package cannot read a tokenizer without a greatest length, as deberta-v3's is
    bounded.mkdir()
    for file in folder.iterdir():
        (bounded / file.name).symlink_to(file)
    settings = json.loads((folder / "tokenizer_config.json").read_text("utf-8"))
    (bounded / "tokenizer_config.json").unlink()
    (bounded / "tokenizer_config.json").write_text(
        json.dumps({**settings, "model_max_length": 512}), "utf-8"
    )
    candidates, references = [one for one, _ in PAIRS], [other for _, other in PAIRS]
    theirs = bert_score.score(candidates, references, model_type=str(bounded), num_layers=12)
    ours = match_pairs(embedder_for(str(folder)), candidates, references)
    for match, precision, recall, f1 in zip(ours, *(values.tolist() for values in theirs)):
        assert (match.precision, match.recall, match.f1) == pytest.approx(
            (precision, recall, f1), abs=1e-5
        )


def test_layers_are_those_of_the_authors_package() -> None:
    theirs = bert_score.utils.model2layers
    assert DEBERTA in LAYERS
    assert {name: theirs[name] for name in LAYERS} == dict(LAYERS)
    assert layer_of("somebody/else") == -1


def test_an_empty_text_scores_zero_and_harms_no_other(folder_of: Callable[[str], Path]) -> None:
    embedder = embedder_for(str(folder_of("deberta-v3")))
    alone = match_pairs(embedder, [TEXTS[0]], [TEXTS[1]])[0]
    found = match_pairs(embedder, ["", TEXTS[0], " \n"], [TEXTS[0], TEXTS[1], ""])
    assert [match.f1 for match in found] == [0.0, pytest.approx(alone.f1, abs=1e-6), 0.0]


def test_a_text_longer_than_the_model_is_cut(folder_of: Callable[[str], Path]) -> None:
    vectors = embedder_for(str(folder_of("deberta-v3"))).embed(["the tower " * 2000])[0]
    assert vectors.vectors.shape == (512, 48)


def test_texts_are_computed_in_batches(
    folder_of: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = TransformerEmbedder(str(folder_of("bert")))
    _, model, _, _ = embedder._opened()
    sizes: list[int] = []
    forward = model.forward

    def counted(*args: Any, **kwargs: Any) -> Any:
        sizes.append(len(kwargs["input_ids"]))
        return forward(*args, **kwargs)

    monkeypatch.setattr(model, "forward", counted)
    texts = [f"the tower {number} is tall" for number in range(100)]
    assert len(match_pairs(embedder, texts, texts)) == 100
    assert sum(sizes) == 100  # each text once, though it is candidate and reference
    assert max(sizes) >= 16
    assert len(sizes) <= 7


def test_the_model_lies_on_the_gpu_where_there_is_one(folder_of: Callable[[str], Path]) -> None:
    _, model, _, device = TransformerEmbedder(str(folder_of("bert")))._opened()
    assert device == ("cuda" if torch.cuda.is_available() else "cpu")
    assert {parameter.device.type for parameter in model.parameters()} == {device}


@pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no GPU")
def test_the_gpu_gives_the_scores_of_the_processor(
    folder_of: Callable[[str], Path], by_hand: Callable[..., tuple[float, float, float]]
) -> None:
    folder = folder_of("deberta-v3")
    found = match_pairs(TransformerEmbedder(str(folder)), TEXTS[:1], TEXTS[1:2])[0]
    assert (found.precision, found.recall, found.f1) == pytest.approx(
        by_hand(folder, 12, *TEXTS[:2]), abs=1e-3
    )


def test_a_model_that_cannot_be_had_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScorerUserError, match="no-such-folder"):
        embedder_for(str(tmp_path / "no-such-folder")).embed(["a"])


SCRIPT = """
import json
from context_bench_scorers_embedding import BERTScore, HedgingLanguage
candidate, reference = {candidate!r}, {reference!r}
score = BERTScore().run_batch([candidate], [reference])[0]
hedging = HedgingLanguage(hedging_language=reference).run_batch([candidate])[0]
print(json.dumps([score.score, score.details, hedging.score]))
"""


@pytest.fixture
def downloaded(folder_of: Callable[[str], Path], tmp_path: Path) -> dict[str, str]:
    """An environment in which the documented model has been downloaded, and nothing else can be."""
    repository = tmp_path / "hub" / f"models--{DEBERTA.replace('/', '--')}"
    snapshot = repository / "snapshots" / ("a" * 40)
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("a" * 40, "utf-8")
    for file in folder_of("deberta-v3").iterdir():
        (snapshot / file.name).write_bytes(file.read_bytes())
    return {
        **os.environ,
        "HF_HOME": str(tmp_path),
        "HF_HUB_OFFLINE": "1",
        "HF_ENDPOINT": "http://127.0.0.1:9",
    }


def test_the_documented_default_is_deberta_at_its_ninth_layer(
    downloaded: dict[str, str],
    folder_of: Callable[[str], Path],
    by_hand: Callable[..., tuple[float, float, float]],
) -> None:
    script = SCRIPT.format(candidate=TEXTS[0], reference=TEXTS[1])
    done = subprocess.run(
        [sys.executable, "-c", script], env=downloaded, capture_output=True, text=True, check=True
    )
    score, details, hedging = json.loads(done.stdout.splitlines()[-1])
    precision, recall, f1 = by_hand(folder_of("deberta-v3"), 9, *TEXTS[:2])
    assert BERTScore().model_type == HedgingLanguage().model_type == details["model"] == DEBERTA
    assert (details["precision"], details["recall"], details["f1"]) == pytest.approx(
        (precision, recall, f1), abs=1e-5
    )
    assert score == pytest.approx(0.1 * precision + 0.9 * recall, abs=1e-5)
    assert hedging == pytest.approx(f1, abs=1e-5)


def test_a_run_takes_the_documented_model_by_option(
    downloaded: dict[str, str],
    folder_of: Callable[[str], Path],
    by_hand: Callable[..., tuple[float, float, float]],
    tmp_path: Path,
) -> None:
    rows = [{"id": str(number), "answer": TEXTS[1], "response": TEXTS[0]} for number in range(3)]
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    command = ["run", "--system", "replay", "--dataset", "rows.jsonl", "--evaluators", "bertscore"]
    command += [
        "--set",
        f"evaluators.bertscore.model_type={DEBERTA}",
        "--format",
        "json",
        "-o",
        "report.json",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "context_bench", *command],
        cwd=tmp_path,
        env=downloaded,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    precision, recall, _ = by_hand(folder_of("deberta-v3"), 9, *TEXTS[:2])
    assert f"{0.1 * precision + 0.9 * recall:.6f}" in done.stdout, done.stdout[:3000]
