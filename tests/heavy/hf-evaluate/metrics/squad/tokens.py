import re
import string
from collections import Counter


def tokens(text):
    bare = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", bare).split()


def is_match(response, answers):
    return any(tokens(response) == tokens(answer) for answer in answers)


def best_f1(response, answers):
    return max(_f1(tokens(response), tokens(answer)) for answer in answers)


def _f1(response, answer):
    common = sum((Counter(response) & Counter(answer)).values())
    return 2 * common / (len(response) + len(answer)) if common else 0.0
