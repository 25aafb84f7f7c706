"""What all lines of an export have in common. Stricter than what clients write: a line is what a server wrote, and a
number that came as text was written by nobody that knows the format."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

from pydantic import AfterValidator, ConfigDict

from engram.wire import Instant, WireModel

CLOCKS_APART = timedelta(days=1)
"""How far the clock of the server that exported may be ahead."""


def _past(moment: datetime) -> datetime:
    # What was last changed later than now can be changed only later than that: a record of a far future would put what
    # is deleted beside it out of reach of the recovery's end, and at the end of all time could not be changed at all.
    if moment > datetime.now(UTC) + CLOCKS_APART:
        raise ValueError("must not lie in the future")
    return moment


Recorded = Annotated[Instant, AfterValidator(_past)]
"""A moment at which a server noted something: not later than now, as far as clocks agree."""


class Line(WireModel):
    """One line. Numbers are numbers, texts are texts."""

    model_config = ConfigDict(extra="forbid", strict=True, ser_json_inf_nan="null")
