"""Make the tiny text model of these tests: an embedding for each of 40 words, their mean the text's.

Run with the packages onnx, numpy and tokenizers: ``python make.py``. Words of one meaning have one direction, so that
nearness can be told from sameness: cat and pet, code and password, rain and weather.
"""

from __future__ import annotations

from pathlib import Path

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

FOLDER = Path(__file__).parent
MEANINGS = [
    ["cat", "pet", "kitten", "animal"],
    ["code", "password", "secret", "4711", "42"],
    ["rain", "weather", "storm", "fell"],
    ["tower", "building", "house", "window", "vault"],
    ["time", "passed", "day", "hour"],
    ["sleeps", "rest", "sofa", "mat"],
]


def main() -> None:
    words = ["[UNK]", *(word for group in MEANINGS for word in group)]
    table = numpy.zeros((len(words), 8), dtype=numpy.float32)
    table[:, 7] = 0.05  # every word a little like every other
    row = 1
    for axis, group in enumerate(MEANINGS):
        for place, _ in enumerate(group):
            table[row, axis] = 1.0 - 0.05 * place
            row += 1
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"], axis=0)],
        "tiny",
        [
            helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "words"]),
            helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch", "words"]),
        ],
        [
            helper.make_tensor_value_info(
                "last_hidden_state", TensorProto.FLOAT, ["batch", "words", 8]
            )
        ],
        [numpy_helper.from_array(table, "table")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, FOLDER / "model.onnx")
    tokenizer = Tokenizer(
        models.WordLevel({word: at for at, word in enumerate(words)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(FOLDER / "tokenizer.json"))


if __name__ == "__main__":
    main()
