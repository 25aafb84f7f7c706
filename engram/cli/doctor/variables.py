"""The settings, and the variables that set nothing because their name is wrong."""

from __future__ import annotations

import os
from collections.abc import Iterator
from difflib import get_close_matches

from dotenv import dotenv_values
from pydantic import AliasChoices, ValidationError

from engram.cli.configuration import variable_name
from engram.cli.doctor.findings import Finding, fail, ok, warn
from engram.cli.errors import faults
from engram.settings import Settings

# Read by the SDK, and by the command line itself.
_NOT_OF_A_SERVER = ("ENGRAM_BASE_URL", "ENGRAM_API_KEY", "ENGRAM_DEBUG")
_PREFIX = "ENGRAM_"


def examine_settings() -> tuple[Settings | None, list[Finding]]:
    """The settings, where they can be used, and what is to be said of them. Values are not shown."""
    try:
        settings = Settings()
    except ValidationError as error:
        wrong = [f"{variable_name(fault.field)}: {fault.message}" for fault in faults(error)]
        failed = [fail("Settings", said, "Correct or unset it") for said in wrong]
        return None, [*failed, *_unknown_variables()]
    except (OSError, UnicodeDecodeError) as error:
        return None, [fail("Settings", f"The file .env cannot be read: {error}", "Correct or remove it")]
    unknown = list(_unknown_variables())
    given = sorted(name for name in _variables() if name in known_variables())
    found = f"set by {', '.join(given)}" if given else "the defaults"
    return settings, [ok("Settings", found), *unknown]


def known_variables() -> set[str]:
    """The names of all variables that do something."""
    names = set(_NOT_OF_A_SERVER)
    for field, info in Settings.model_fields.items():
        if isinstance(info.validation_alias, AliasChoices):
            names.update(str(choice) for choice in info.validation_alias.choices)
        else:
            names.add(variable_name(field))
    return names


def _unknown_variables() -> Iterator[Finding]:
    known = known_variables()
    for name in sorted(_variables() - known):
        near = _nearest(name, known)
        # Programs of others may have variables of nearly these names, but hardly with our prefix.
        if near is not None:
            yield warn("Settings", f"{name} is not known, and does nothing", f"Did you mean {near}?")
        elif name.startswith(_PREFIX):
            yield warn("Settings", f"{name} is not known, and does nothing", "Unset it, or look its name up")


def _nearest(name: str, known: set[str]) -> str | None:
    """The known name that was probably meant. Our prefix, which all share, counts for nothing."""
    if name.startswith(_PREFIX):
        names = {other.removeprefix(_PREFIX): other for other in known if other.startswith(_PREFIX)}
        near = get_close_matches(name.removeprefix(_PREFIX), names, n=1, cutoff=0.7)
        return names[near[0]] if near else None
    return next(iter(get_close_matches(name, known, n=1, cutoff=0.9)), None)


def _variables() -> set[str]:
    """The names of all variables, in capitals, of the environment and of ``.env``."""
    file = Settings.model_config.get("env_file")
    return {name.upper() for name in (*os.environ, *(dotenv_values(str(file)) if file else ()))}
