import datasets
import evaluate


class ExactMatch(evaluate.Metric):
    def _info(self):
        text = datasets.Value("string")
        features = datasets.Features({"predictions": text, "references": text})
        return evaluate.MetricInfo(
            description="", citation="", inputs_description="", features=features
        )

    def _compute(self, predictions, references, ignore_case=False):
        if ignore_case:
            predictions = [text.lower() for text in predictions]
            references = [text.lower() for text in references]
        pairs = list(zip(predictions, references))
        return {"exact_match": sum(a == b for a, b in pairs) / len(pairs)}
