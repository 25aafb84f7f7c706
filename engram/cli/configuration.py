"""A server's settings, for the commands that are not a client of one."""

from __future__ import annotations

from pydantic import ValidationError

from engram.cli.errors import CommandError, faults
from engram.settings import Settings


def load_settings(**given: object) -> Settings:
    """Settings from the environment and ``.env``; what is ``given``, and not None, counts more.

    Raises CommandError, naming the variables that are wrong and not their values.
    """
    try:
        return Settings.model_validate({name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        wrong = "; ".join(f"{variable_name(fault.field)}: {fault.message}" for fault in faults(error))
        raise CommandError(f"the settings cannot be used: {wrong}. More: engram doctor") from None
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"the file .env cannot be read: {error}") from None


def variable_name(field: str) -> str:
    """The environment variable of a field, as it stands in pydantic's errors: by field, or by variable already."""
    return field if field.isupper() else f"ENGRAM_{field.upper()}"
