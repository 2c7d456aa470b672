"""How well an evaluator agrees with human or official judgements.

The command is ``context-bench evaluators validate``.
"""
