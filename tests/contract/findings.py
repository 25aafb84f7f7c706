"""What a run of the engine finds."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from schemathesis.engine import events, from_schema
from schemathesis.schemas import BaseSchema

_SHOWN_CHARS = 1500


@dataclass
class Findings:
    """``complaints`` as a person would like to read them, and the statuses that each operation answered."""

    complaints: list[str] = field(default_factory=list)
    statuses: dict[str, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))

    @classmethod
    def of(cls, schema: BaseSchema) -> Findings:
        found = cls()
        for event in from_schema(schema).execute():
            if isinstance(event, events.ScenarioFinished):
                found._read(event)
            elif isinstance(event, events.NonFatalError | events.FatalError):
                found.complaints.append(f"the run itself failed: {event}")
        return found

    def _read(self, event: events.ScenarioFinished) -> None:
        for id, node in event.recorder.cases.items():
            answered = event.recorder.interactions.get(id)
            response = answered.response if answered else None
            if response is not None:
                self.statuses[node.value.operation.label][response.status_code] += 1
            for check in event.recorder.checks.get(id, ()):
                if check.failure_info is not None:
                    told = [check.name, check.failure_info.failure.message, check.failure_info.code_sample]
                    if response is not None:
                        told.append(f"-> {response.status_code} {response.content.decode('utf-8', 'replace')}")
                    self.complaints.append("\n".join(text[:_SHOWN_CHARS] for text in told))
