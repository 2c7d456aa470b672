"""The only place that wires the parts together: ``evaluate()``, requests, runs, rescoring."""
