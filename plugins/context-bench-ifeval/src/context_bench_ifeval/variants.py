"""The relaxed readings of a response that the loose verdict allows."""

from __future__ import annotations


def relaxed_variants(response: str) -> list[str]:
    r"""The response without its first line, its last line, or both, each and itself also without asterisks.

    The response itself, blank variants and repetitions are left out: they cannot change a verdict.

    Example:
        >>> relaxed_variants("Sure:\n*yes*")
        ['Sure:\nyes', '*yes*', 'yes', 'Sure:']
    """
    lines = response.split("\n")
    cut = [response, *("\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1]))]
    variants = dict.fromkeys(
        variant for text in cut for variant in (text, text.replace("*", "")) if variant.strip()
    )
    variants.pop(response, None)
    return list(variants)
