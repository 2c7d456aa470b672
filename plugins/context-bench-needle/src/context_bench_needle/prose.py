"""Plain prose without end: sentences from a small grammar, none with a digit or a hyphen in it.

Every word is one token, so the size of a sentence is known before it is written. Changing anything here changes every
generated row.
"""

from __future__ import annotations

from collections.abc import Iterator

from context_bench_needle.dice import Dice

_WORDS = {
    "name": """
        Ada Anselm Beatrix Bruno Carla Cedric Clara Conrad Daria Dmitri Edith Elias Esther Felix Flora Gideon Greta
        Hanna Hugo Ines Irene Jasper Joanna Kamil Karin Leon Linda Lorenzo Magda Marta Milo Nadia Nils Nora Oscar
        Paula Petra Quentin Rafael Renata Rosa Rufus Samira Silvia Simon Tamara Theo Ursula Vera Viktor Wanda Xavier
        Yusuf Zora
    """,
    "who": """
        baker barber bookseller carpenter clerk cook doctor driver farmer ferryman fisherman gardener glazier guard
        guide hatter judge librarian locksmith mason merchant midwife miller miner nurse painter pharmacist pilot
        plumber poet postman potter printer rider roofer scholar shoemaker singer smith stranger student surgeon
        tailor teacher tenant traveller visitor waiter watchman weaver
    """,
    "place": """
        barn bay beach bench bridge canal cellar chapel churchyard cloister corner courthouse courtyard crossroads
        dairy dock embankment factory farmhouse ferry field fountain gallery gatehouse greenhouse hall harbour
        hillside hospital hotel kitchen laundry library mill marketplace meadow museum nursery park path pier pond
        quarry quay ridge school shop square station stream theatre tower village warehouse wharf window wood yard
    """,
    "thing": """
        atlas bag ball barrel basket bell blanket book bottle bowl box brush bucket button cabinet cage camera candle
        cart chair chart chest coat coin compass crate cup curtain drawing dress drum fence flag flute gate glove
        hammer hat jar kettle key knife ladder lamp letter lock map mirror notebook package painting parcel pencil
        photograph picture plate pot recipe ring rope saddle sack scarf shovel sketch spoon stamp stove suitcase
        sweater table telegram ticket toy tray trunk vase violin watch wheel wreath
    """,
    "mood": """
        bent borrowed broken careless cheap clean cold costly crowded damp dark dear dirty dry dusty faded familiar
        famous fine foreign forgotten fragile friendly grey heavy hidden huge lost loud low lucky narrow neat new
        nervous noisy painted pale polished proud quiet red rotten rough round rusty secret shabby silent simple slow
        small soft spare strange striped tall thin tired torn useful warm wet white wide wooden yellow
    """,
    "did": """
        admired bought borrowed carried chose cleaned copied covered described dropped emptied examined finished fixed
        forgot found guarded hid kept lifted lost measured mended missed moved needed noticed opened packed painted
        polished praised promised pushed raised refused remembered repaired returned sold stored studied touched
        traded wanted washed watched weighed wrapped
    """,
    "went": """
        arrived argued bowed coughed dreamed frowned hesitated hummed hurried knelt knocked laughed listened lingered
        nodded paused prayed rested sang shivered shrugged sighed sketched slept smiled stayed stumbled talked
        trembled turned waited walked wandered waved whispered whistled wondered worked yawned
    """,
    "how": """
        absently again alone alike boldly briefly calmly carefully daily easily eagerly firmly freely gently gladly
        gravely happily idly kindly lazily lightly loudly neatly often openly patiently plainly politely promptly
        proudly quickly quietly rarely readily sadly secretly shyly silently simply slowly softly suddenly twice
        warmly wearily wisely
    """,
    "when": """
        Afterwards Eventually Finally Indeed Later Meanwhile Nevertheless Nowadays Often Once Perhaps Recently
        Sometimes Soon Still Suddenly Then There Today Tomorrow Tonight Usually Yesterday
    """,
    "time": """
        morning evening winter spring summer autumn night week month year season day harvest market storm supper lunch
        breakfast
    """,
    "near": """
        above across against along around before behind below beside beyond by inside near outside past through toward
        under
    """,
    "idea": """
        advice ambition anger courage curiosity debt doubt envy fame fear fortune grief gossip happiness honesty hope
        humour joy kindness luck manners memory music patience pity pride promise rumour silence sleep sorrow thunder
        time trust truth weather wisdom worry youth
    """,
    "link": "and because but so while until although since when as before after unless whenever",
}
LISTS: dict[str, tuple[str, ...]] = {slot: tuple(words.split()) for slot, words in _WORDS.items()}

CLAUSES: tuple[str, ...] = (
    "{name} {did} the {thing}",
    "{name} {did} the {mood} {thing}",
    "{name} {went} {near} the {place}",
    "{name} {went} {how}",
    "{name} and {name} {went} {near} the {place}",
    "the {who} {did} the {mood} {thing}",
    "the {who} {went} {near} the {mood} {place}",
    "the {who} {how} {did} the {thing}",
    "the {mood} {thing} was {near} the {place}",
    "the {place} was {mood} and {mood}",
    "the {place} looked {mood} that {time}",
    "nobody {near} the {place} {did} the {thing}",
    "somebody {did} the {thing} {how}",
    "a {who} from the {place} {did} the {thing}",
    "{idea} was worth more than {idea}",
    "people spoke of {idea} and of {idea}",
    "{name} never {did} the {thing} again",
    "{name} told the {who} about the {mood} {place}",
    "every {who} in the {place} {went} {how}",
    "neither the {who} nor the {who} {did} the {thing}",
    "{name} asked the {who} for the {mood} {thing}",
    "some {idea} was left {near} the {place}",
)
OPENINGS: tuple[str, ...] = (
    "",
    "",
    "",
    "{when}, ",
    "after the {time}, ",
    "one {mood} {time}, ",
    "because of the {idea}, ",
)

CLOSERS: dict[int, tuple[str, ...]] = {
    3: ("Rain fell.", "Nobody spoke.", "Time passed.", "Dogs barked.", "Bells rang."),
    4: (
        "The lamp flickered.",
        "Everyone went home.",
        "The street emptied.",
        "Nothing else happened.",
    ),
    5: (
        "The bread was warm.",
        "All of them laughed.",
        "The wind had turned.",
        "That was the rule.",
    ),
    6: ("Nobody asked about the ferry.", "The river was very low.", "It rained all that week."),
    7: (
        "The kettle sang in the kitchen.",
        "They talked about it for years.",
        "The road was dry and empty.",
    ),
    8: ("They counted the baskets twice and left.", "Nothing in the room had been moved."),
    9: ("The old clock above the door had stopped.", "By noon the market was full of people."),
    10: (
        "There was always a light in the upper window.",
        "In the end they agreed to share the cost.",
    ),
    11: (
        "Some of the children were still playing by the well.",
        "He had heard the whole story before and said so.",
    ),
    12: (
        "The last train of the day left without any passengers again.",
        "It was said that the winter would be a long one.",
    ),
}
"""Sentences by their number of tokens: with these the last gap of a haystack is filled to the token."""

_LONGEST_CLOSER = max(CLOSERS)
SHORTEST = min(CLOSERS)
"""Tokens of the shortest gap that :func:`closers` can fill."""


def _size(template: str) -> int:
    """Return the tokens of a template: its words, slots counting one each, and its commas."""
    return len(template.split()) + template.count(",")


def _compiled(templates: tuple[str, ...]) -> list[tuple[str, tuple[tuple[str, ...], ...], int]]:
    compiled = []
    for template in templates:
        slots = tuple(LISTS[part.split("}")[0]] for part in template.split("{")[1:])
        pattern = template
        for slot in LISTS:
            pattern = pattern.replace("{" + slot + "}", "%s")
        compiled.append((pattern, slots, _size(template)))
    return compiled


_CLAUSES = _compiled(CLAUSES)
_OPENINGS = _compiled(OPENINGS)
_LINKS = LISTS["link"]

LONGEST = max(size for *_, size in _OPENINGS) + 2 * max(size for *_, size in _CLAUSES) + 3
"""Tokens of the longest sentence that :func:`sentences` can make."""


def sentences(dice: Dice) -> Iterator[tuple[str, int]]:
    """Yield sentences with their numbers of tokens, without end."""
    random = dice.random
    while True:
        opening, slots, size = _OPENINGS[int(random() * len(_OPENINGS))]
        pattern, more, length = _CLAUSES[int(random() * len(_CLAUSES))]
        pattern, slots, size = opening + pattern, slots + more, size + length
        if random() < 0.45:
            link = _LINKS[int(random() * len(_LINKS))]
            second, more, length = _CLAUSES[int(random() * len(_CLAUSES))]
            pattern, slots, size = f"{pattern}, {link} {second}", slots + more, size + length + 2
        text = pattern % tuple([words[int(random() * len(words))] for words in slots])
        yield f"{text[0].upper()}{text[1:]}.", size + 1


def closers(tokens: int, dice: Dice) -> Iterator[tuple[str, int]]:
    """Yield sentences of exactly ``tokens`` tokens together; none for fewer than the shortest sentence has."""
    while tokens >= SHORTEST:
        size = tokens if tokens <= _LONGEST_CLOSER else min(_LONGEST_CLOSER, tokens - SHORTEST)
        yield dice.pick(CLOSERS[size]), size
        tokens -= size
