"""What the demo remembers: six weeks of one user, as an assistant would have noted them.

Marta lives in Porto and writes software. Every conversation is a session; names are given where an assistant would know
them; four edges were asserted by somebody, all others make themselves.
"""

from __future__ import annotations

from typing import NamedTuple

from engram.graph.schemas import RelationType

USER = "marta"


class Note(NamedTuple):
    """One memory. ``about`` and ``names`` are its entities: subjects and mentions. ``key`` is for links."""

    text: str
    about: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    key: str = ""


class Conversation(NamedTuple):
    """``day`` is an ISO date; its notes are taken a minute apart, from ``at`` on, in UTC."""

    id: str
    day: str
    at: str
    topic: str
    notes: tuple[Note, ...]


class Link(NamedTuple):
    """An asserted edge between two keys: "source relation target"."""

    source: str
    relation: RelationType
    target: str
    reason: str


CONVERSATIONS = (
    Conversation(
        "first-talk",
        "2026-03-02",
        "19:40",
        "about",
        (
            Note("User is a software engineer", key="engineer"),
            Note("User works from home on Fridays and in the Matosinhos office on the other days"),
            Note(
                "User lives in Porto with her partner Tomás and a greyhound called Fado",
                names=("Porto", "Tomás", "Fado"),
            ),
            Note("User grew up in Braga and came to Porto for university", names=("Braga", "Porto")),
            Note("User prefers a short answer first and the reasoning after it"),
        ),
    ),
    Conversation(
        "japan",
        "2026-03-05",
        "21:05",
        "travel",
        (
            Note("User is planning ten days in Japan in late April: Kyoto first, then Naoshima", about=("Japan trip",)),
            Note(
                "User's passport runs out on 9 June and has to be renewed before the Japan trip",
                about=("passport",),
                names=("Japan trip",),
            ),
            Note("User would rather stay in a small ryokan with a garden than in a hotel chain", names=("Japan trip",)),
            Note("Tomás is allergic to shellfish, so restaurants have to be asked beforehand", about=("Tomás",)),
        ),
    ),
    Conversation(
        "team",
        "2026-03-09",
        "08:30",
        "work",
        (
            Note("User's team uses Go for all backend services"),
            Note("The ledger is being split out of the old monolith; the target is the end of May", about=("ledger",)),
            Note("User likes to have tests before code"),
            Note("User reviews pull requests first thing in the morning and takes no meetings before eleven"),
            Note(
                "PAY-2231 turned out to be a time zone bug: refunds issued after midnight were booked a day early",
                about=("PAY-2231",),
                names=("ledger",),
                key="ticket",
            ),
        ),
    ),
    Conversation(
        "flat",
        "2026-03-14",
        "11:15",
        "home",
        (
            Note("The boiler in the flat is looked after by Duarte Pinho", about=("boiler",), names=("Duarte Pinho",)),
            Note("User pays the rent to Dona Amélia by bank transfer on the fifth", names=("Dona Amélia",)),
            Note("User wants to turn the spare room into a place to practise before autumn"),
            Note("The neighbours asked for no viola after nine in the evening"),
        ),
    ),
    Conversation(
        "knee",
        "2026-03-18",
        "18:20",
        "health",
        (
            Note("User is training for the Porto half marathon in September", names=("Porto",)),
            Note("User's left knee hurts after ten kilometres; she sees Dr Salgado about it", names=("Dr Salgado",)),
            Note("Dr Salgado advised two weeks without hills, and more strength training", about=("Dr Salgado",)),
            Note("User does weights at the gym near Bolhão on Tuesday evenings"),
        ),
    ),
    Conversation(
        "family",
        "2026-03-22",
        "16:45",
        "family",
        (
            Note("User's sister Rita is expecting her first child in July", about=("Rita",)),
            Note("Rita wants no plastic toys; books and wooden ones are welcome", about=("Rita",)),
            Note("User bakes sourdough on Sundays; the starter is called Greta", names=("Greta",)),
            Note("User does not eat meat on weekdays", key="no-meat"),
        ),
    ),
    Conversation(
        "news",
        "2026-03-26",
        "20:10",
        "work",
        (
            Note("User's company was acquired by Stripe last month", about=("Stripe",), key="stripe"),
            Note("User now reports to Priya Raman in Dublin", about=("Priya Raman",), names=("Dublin",), key="priya"),
            Note("Half of the stock options vest at closing, the rest over two years", key="options"),
            Note("User is unsure whether to stay beyond the retention date in October", key="unsure"),
        ),
    ),
    Conversation(
        "orchestra",
        "2026-03-31",
        "22:00",
        "music",
        (
            Note("User plays the viola in an amateur orchestra that rehearses on Wednesdays", names=("orchestra",)),
            Note(
                "The orchestra performs Dvořák's Eighth at Casa da Música on 23 May",
                about=("orchestra",),
                names=("Casa da Música",),
            ),
            Note("User does the seating plan and the rota for the orchestra", names=("orchestra",)),
            Note("Tomás drives her to rehearsals, because User does not have a licence", names=("Tomás",)),
        ),
    ),
    Conversation(
        "tickets",
        "2026-04-02",
        "08:45",
        "work",
        (
            Note("PAY-2312 is about rounding in yen, and nobody has looked into it yet", about=("PAY-2312",)),
            Note("PAY-2213 is still open: the bank has not answered", about=("PAY-2213",)),
            Note("User is on call in the odd weeks, Bao in the even ones", names=("Bao",)),
        ),
    ),
    Conversation(
        "habits",
        "2026-04-04",
        "09:50",
        "habits",
        (
            Note("User learns Japanese with Anki, twenty minutes a day on the tram", names=("Anki",)),
            Note("User uses Linux on her own machines, and Vim keys everywhere"),
            Note("User cycles to the office unless it rains"),
            Note("User uses a fountain pen and a paper notebook for everything that matters"),
            Note("Priya Raman prefers a written proposal of one page to a meeting", about=("Priya Raman",)),
            Note("User does the weekly shopping at the Bolhão market on Saturday mornings", names=("Bolhão market",)),
        ),
    ),
    Conversation(
        "heating",
        "2026-04-08",
        "07:35",
        "home",
        (
            Note("The heating has been knocking again since Monday night"),
            Note(
                "Duarte Pinho is away until 20 April; his cousin Inês stands in and answers only on WhatsApp",
                about=("Duarte Pinho",),
                names=("Inês",),
                key="away",
            ),
            Note("User had a francesinha with the viola section on Tuesday", key="francesinha"),
        ),
    ),
    Conversation(
        "plans",
        "2026-04-12",
        "17:25",
        "about",
        (
            Note("User wants to give Rita the weekend in the Douro that she talked about at Easter", names=("Rita",)),
            Note("User asked to be reminded of the passport on 20 April", names=("passport",)),
            Note("User is training to run the Porto half marathon in under two hours", names=("Porto",)),
            Note("The orchestra has two extra rehearsals of Dvořák's Eighth in May", names=("orchestra",)),
        ),
    ),
)

LINKS = (
    Link("engineer", RelationType.causal, "stripe", "It is the company that she works for as an engineer"),
    Link("stripe", RelationType.causal, "priya", "The acquisition brought a new manager"),
    Link("options", RelationType.supports, "unsure", "What has not vested yet speaks for staying"),
    Link("no-meat", RelationType.contradicts, "francesinha", "Tuesday is a weekday"),
)
