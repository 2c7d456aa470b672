"""Twenty questions of four kinds: long prose, logs, JSON records, short prose.

All facts are invented, so that no model knows them. The order matters to proxies that remember: kompact stops shortening
prose for good once a prompt has fewer than 2,000 characters, so the short ones come last.

    python questions.py questions.jsonl
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Example = dict[str, Any]

LONG_PROSE = {
    "lighthouse": (
        "In which year did the tower of Skarholm lose its keeper?",
        "1971",
        """
        The lighthouse of Skarholm stands on a rock three miles off the coast. It was planned after the winter storms
        of 1847, when eleven fishing boats did not come home in a single night. The harbour board argued for six years
        about the money. Ingrid Vallen, a widow who had lost two sons in the storm, collected signatures in forty
        parishes. In the end the merchants paid half of the cost and the crown paid the rest. Granite was cut on the
        mainland and taken over on barges whenever the sea allowed it. The barges could land on thirty days of a good
        year. The masons slept in a wooden hut that was chained to the rock, and the hut was washed away twice. The
        first lamp burned rape oil and needed a man to watch it all night. A clockwork turned the lens, and the weights
        had to be wound up every four hours. Visitors wrote that the keeper's family kept a goat, which ate seaweed and
        was said to give salty milk. Paraffin replaced the oil in 1881, and electric light came by a cable under the
        sea in 1934. The cable broke so often that a diesel engine was kept in the old oil store. In the summer of 1952
        a painter lived in the engine room and left nineteen pictures, which now hang in the town hall. The tower lost
        its last keeper in 1971, when the lamp was made automatic. For some years nobody but birds lived on the rock. A
        society of friends was founded to save the building, and it mends the roof each May. Members row out in two
        boats, and they take their own water with them. The lens was cleaned by hand in the spring, one prism after
        another, with vinegar and soft cloth. Today ships find their way by satellite, but the fishermen asked that the
        light should stay. It flashes twice every ten seconds, and on clear nights it can be seen from the church of
        the town. A small museum in the harbour shows the clockwork, the goat's bell and the petition of the widow. On
        the anniversary of the great storm the light is covered for one minute, and the boats in the harbour answer
        with their horns. Afterwards there is soup for everybody in the old oil store, and the names of the eleven
        boats are read out.
        """,
    ),
    "bakery": (
        "Who keeps the books of the bakery in Ostrava Street?",
        "Marek Dolan",
        """
        The bakery in Ostrava Street belongs to the people who work in it. It was opened in 1998 by five friends who
        had lost their places when the bread factory closed. None of them had ever run a business. They borrowed an
        oven from a monastery and paid for it in loaves. During the first winter they baked at night and sold from the
        window of a cellar. Customers came because the bread was dark and heavy and stayed fresh for a week. The recipe
        is a rye dough that rests for thirty hours. A sour starter is fed at noon and at midnight, and the starter has
        a name, Agata. When the street was dug up for new pipes in 2003, nobody could reach the shop for two months.
        The friends put the bread on bicycles and rode it to schools and offices. That round still exists, and it
        brings a third of the income. Everybody in the bakery earns the same wage by the hour. New members work for a
        year before they may vote. The meeting is held on the first Monday of the month, and it ends when the soup is
        cold. Marek Dolan keeps the books, although he says that he would rather knead. Two apprentices are taken on
        each autumn. In 2011 the bakery bought a mill on the river, so that it could grind the grain of three farms.
        The mill stone was cut from sandstone and weighs nine hundred kilograms. Flooding in 2013 ruined the floor of
        the mill and forty sacks of rye. The farms gave credit until the next harvest, and the debt was paid in bread.
        A supermarket has offered twice to sell the loaves in the whole country. Twice the meeting said no. Cakes are
        made on Saturdays only, because the oven is too hot for them on other days. Children may bring their own dough
        in December and bake it at the edge of the oven. The cellar window is still there, and at five in the morning
        one can knock and get a warm roll for a coin. Tourists are told to come later, when the shop is open and
        somebody has time to talk. A photograph of the five friends hangs above the scales, and in it they look very
        tired. Two of them are still there, and one of them taught the others how to braid.
        """,
    ),
    "ferry": (
        "How many cars can the ferry Halcyon carry?",
        "six",
        """
        The cable ferry Halcyon crosses the river Tave below the old salt works. It has no engine of its own. Two steel
        ropes hold it against the stream, and the stream itself pushes it across. The ferryman turns the hull by a
        wheel until the water strikes it at the right angle. There has been a crossing here since the monks of Lun
        carried salt on their backs. A bridge was built upstream in 1902, and everybody thought that the ferry would
        come to an end. It did not, because the road to the bridge floods each spring. The boat of today was built of
        oak and steel in 1926 by a yard that made grain barges before. It can carry six cars, or forty people, or one
        hay cart with its horses. The crossing takes seven minutes when the river is high and nearly twenty in a dry
        August. In very dry years the boat rests on gravel, and people walk over with their shoes in their hands. The
        fare was raised for the last time in 1994. School children and doctors go free. The widow of the last private
        owner gave the ferry to the two villages, and they share the cost of the ropes. New ropes are needed every
        eight years. They come on a drum that weighs more than the boat. Pavel Horn has been ferryman for thirty-one
        years, and his father stood at the same wheel. He keeps a list of all birds that he sees from the deck. So far
        the list has a hundred and twelve names. In the flood of 2002 one rope tore, and the ferry swung to the left
        bank with a bus on it. Nobody was hurt, and the passengers ate the ferryman's supper. Since then there has been
        a third rope, which is slack on normal days. A film was shot on the boat in 2009, but the scene was cut. Each
        September the villages hold a feast in the middle of the river, and the boat is tied still for an afternoon.
        Musicians sit where the cars stand on other days. When fog comes up, a bell is rung on both banks. The two
        bells have different voices, so that the ferryman knows where he is. A notebook on the deck is open to all
        passengers, and the oldest entries are about the price of salt. In winter the hull is pulled ashore, and the
        whole of both villages comes to scrape and paint it.
        """,
    ),
}

SHORT_PROSE = {
    "bridge": (
        "Who designed the bridge over the Tarn at Velmont?",
        "Elise Brandt",
        "The bridge over the Tarn at Velmont was designed by Elise Brandt. It was opened in 1932 and has three arches.",
    ),
    "library": (
        "On which day is the library of Ansel closed?",
        "Tuesday",
        "The library of Ansel opens at nine in the morning. It is closed on Tuesday. Cards are free for children.",
    ),
    "lake": (
        "How deep is Lake Orrin?",
        "84 metres",
        "Lake Orrin lies in the north of the valley. It is 84 metres deep and freezes over in most winters.",
    ),
    "train": (
        "From which platform does the train to Kestrel leave?",
        "platform 4",
        "The train to Kestrel leaves from platform 4 at a quarter past six. It has a dining car on Fridays.",
    ),
    "museum": (
        "What does the museum in Dunmore show?",
        "clocks",
        "The museum in Dunmore shows clocks. Its oldest piece was made in 1540, and it still runs.",
    ),
}

SERVICES = {
    "payments": (
        "Which order failed?",
        "order 7731",
        "ERROR payment of order 7731 failed: card expired",
        9,
    ),
    "backup": ("Which disk is full?", "disk sdc2", "ERROR backup stopped: disk sdc2 is full", 4),
    "mail": (
        "Which host refused the mail?",
        "host relay9",
        "ERROR mail refused by host relay9: no such user",
        12,
    ),
    "search": (
        "Which index is broken?",
        "index parts",
        "ERROR index parts is broken and is built again",
        6,
    ),
    "gateway": (
        "Which route is missing?",
        "route /v2/rates",
        "ERROR nothing listens at route /v2/rates",
        10,
    ),
}

PEOPLE = [
    "Ada",
    "Bruno",
    "Clara",
    "Dario",
    "Edda",
    "Felix",
    "Greta",
    "Hugo",
    "Irma",
    "Jonas",
    "Klara",
    "Linus",
]
TOWNS = [
    "Velmont",
    "Ansel",
    "Orrin",
    "Kestrel",
    "Dunmore",
    "Lun",
    "Merrow",
    "Skarholm",
    "Tave",
    "Vela",
    "Brask",
    "Corvo",
]


def examples() -> list[Example]:
    """Return the twenty examples, in the order in which proxies that remember should see them."""
    kinds = {
        "long-prose": long_prose(),
        "log": logs(),
        "records": records(),
        "short-prose": short_prose(),
    }
    return [{"kind": kind, **example} for kind, some in kinds.items() for example in some]


def long_prose() -> Iterator[Example]:
    """Yield passages of some 2,100 characters with the answer somewhere in the middle."""
    for name, (question, answer, text) in LONG_PROSE.items():
        yield example(name, " ".join(text.split()), question, answer)


def logs() -> Iterator[Example]:
    """Yield logs of fourteen lines, most of them in runs that differ in numbers only."""
    for service, (question, answer, event, place) in SERVICES.items():
        request = f"INFO {service} request {{}} done in {{}} ms"
        lines = [
            f"INFO {service} starts with the settings of the night shift",
            *(request.format(40 + run, 20 + 13 * run % 50) for run in range(5)),
            f"INFO the clock of {service} is set by the time server",
            *(request.format(45 + run, 31 + 7 * run % 50) for run in range(5)),
            "INFO the settings are read again and have not changed",
        ]
        lines.insert(place, event)
        stamped = [
            f"08:{3 * number:02}:{number * 7 % 60:02} {line}" for number, line in enumerate(lines)
        ]
        yield example(service, "\n".join(stamped), question, answer)


def records() -> Iterator[Example]:
    """Yield lists of six JSON records with the same fields."""
    for number in range(7):
        rows = [
            {
                "order": 5100 + 10 * number + row,
                "customer": PEOPLE[(row + 3 * number) % 12],
                "town": TOWNS[(5 * row + 3 * number) % 12],
                "status": "shipped",
                "currency": "EUR",
                "carrier": "post",
            }
            for row in range(6)
        ]
        asked = rows[5 * number % 6]
        question = f"To which town does order {asked['order']} of {asked['customer']} go?"
        yield example(
            f"orders-{number + 1}", json.dumps(rows, indent=2), question, str(asked["town"])
        )


def short_prose() -> Iterator[Example]:
    """Yield passages of two or three sentences."""
    for name, (question, answer, text) in SHORT_PROSE.items():
        yield example(name, text, question, answer)


def example(name: str, context: str, question: str, answer: str) -> Example:
    return {
        "id": name,
        "context": context,
        "question": f"{question} Answer in a few words.",
        "answer": answer,
    }


def write(path: Path, some: list[Example]) -> None:
    """Write examples as JSON lines."""
    path.write_text(
        "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in some), encoding="utf-8"
    )


if __name__ == "__main__":
    write(Path(sys.argv[1]), examples())
