"""From the names that others give their fields to the fields of a memory."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from engram.memories.schemas import MemoryItem

_TEXT = ("content", "text", "memory", "message", "value")
_WHEN = ("valid_from", "timestamp", "ts", "created_at", "create_time", "date", "time")
_METADATA = ("metadata", "meta")
_USER = ("user_id", "user")
_SESSION = ("session_id", "session", "conversation_id", "thread_id")
_SPEAKER = ("name", "speaker", "author", "sender", "from", "role")
_OTHERS = tuple(
    name
    for name in MemoryItem.model_fields
    if name not in ("content", "valid_from", "metadata", "user_id", "session_id")
)
_ROLES = frozenset(
    ["user", "human", "assistant", "ai", "bot", "model", "agent", "system", "developer", "tool", "function"]
)
# Later than the year 5000 in the smaller unit: it must be the next one.
_UNITS = ((1e11, 1.0), (1e14, 1e3), (1e17, 1e6), (float("inf"), 1e9))


def memory_fields(record: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a memory, from a record that names them in one of the usual ways.

    What has no field of its own is kept in ``metadata``. Values are not judged here, but for moments, which may be
    seconds since 1970.
    """
    left = dict(record)
    fields: dict[str, Any] = {
        "content": _take(left, _TEXT),
        "valid_from": moment(_take(left, _WHEN)),
        "user_id": _take(left, _USER),
        "session_id": _take(left, _SESSION),
    }
    fields |= {name: left.pop(name) for name in _OTHERS if name in left}
    metadata = _take(left, _METADATA)
    if isinstance(metadata, dict) and fields["session_id"] is None:
        fields["session_id"] = next((metadata[name] for name in _SESSION if isinstance(metadata.get(name), str)), None)
    if metadata is None or isinstance(metadata, dict):
        metadata = left | (metadata or {})
    return fields | ({"metadata": metadata} if metadata else {})


def message_fields(message: Mapping[str, Any]) -> dict[str, Any] | None:
    """The fields of a conversation's turn, with its speaker; None where the message has no text.

    What a message has beside text (pictures, calls of tools) is named in ``metadata``, and not kept.
    """
    left = dict(message)
    role = left.get("role")
    speaker = _speaker(left)
    fields = memory_fields(left)
    text, omitted = _text(fields["content"])
    if text is None or (isinstance(text, str) and not text.strip()):
        return None
    fields["content"] = text
    own: dict[str, Any] = {"left_out": omitted} if omitted else {}
    if isinstance(role, str) and role != speaker:
        own["role"] = role
    if isinstance(speaker, str) and speaker.strip() and isinstance(text, str):
        own["speaker"] = speaker
        fields = spoken(fields, speaker)
    metadata = fields.get("metadata", {})
    return fields | {"metadata": own | metadata if isinstance(metadata, dict) else metadata}


def spoken(fields: dict[str, Any], speaker: str) -> dict[str, Any]:
    """The fields with the speaker in front of the text, by name: whoever recalls it shall see who said it.

    A mere role, such as ``user``, is not put there: it would make all turns look alike.
    """
    if speaker.strip().lower() in _ROLES:
        return fields
    return fields | {"content": f"{speaker}: {fields['content']}"}


def is_message(record: Mapping[str, Any]) -> bool:
    """Whether a record is a turn of a conversation: somebody says something."""
    return any(name in record for name in ("role", "speaker", "sender"))


def moment(value: Any) -> Any:
    """Seconds (or milli-, micro-, nanoseconds) since 1970 as a datetime; anything else as it is."""
    if isinstance(value, str) and value.replace(".", "", 1).isdecimal() and len(value) >= 9:
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    try:
        divisor = next(divisor for limit, divisor in _UNITS if abs(value) < limit)
        return datetime.fromtimestamp(value / divisor, UTC)
    except (StopIteration, ValueError, OverflowError, OSError):
        return value


def _take(record: dict[str, Any], names: tuple[str, ...]) -> Any:
    """The first of these fields that says something, taken out of the record."""
    for name in names:
        if record.get(name) is not None:
            return record.pop(name)
    for name in names:
        record.pop(name, None)
    return None


def _speaker(record: dict[str, Any]) -> Any:
    speaker = _take(record, _SPEAKER)
    if isinstance(speaker, dict):
        return speaker.get("name") or speaker.get("role")
    return speaker


def _text(content: Any) -> tuple[Any, list[str]]:
    """The text of a message, a string or in parts, and the kinds of the parts that are not text."""
    if isinstance(content, dict):
        content = content["parts"] if isinstance(content.get("parts"), list) else [content]
    if not isinstance(content, list):
        return content, []
    texts, omitted = [], []
    for part in content:
        text = part.get("text") if isinstance(part, dict) else part
        if isinstance(text, str):
            texts.append(text)
        else:
            omitted.append(str(part.get("type", "unknown")) if isinstance(part, dict) else type(part).__name__)
    return "\n\n".join(text for text in texts if text.strip()) or None, omitted
