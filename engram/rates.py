"""How often something may happen, as settings say it: ``12000/minute``."""

from __future__ import annotations

from limits.limits import RateLimitItem
from limits.util import parse_many


def parse_rate(text: str) -> RateLimitItem:
    """One rate, such as ``50/second``, ``12000 per minute`` or ``100/15 minutes``.

    Raises ValueError with the end of a sentence that begins with the name of what is wrong.
    """
    try:
        rates = parse_many(text)
    except ValueError:
        rates = []
    if len(rates) != 1 or rates[0].amount < 1 or rates[0].get_expiry() < 1:
        raise ValueError("must be one rate of at least 1, such as 12000/minute or 50/second")
    return rates[0]
