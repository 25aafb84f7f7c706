"""What a run measures: a value, the baseline's beside it, and what was wanted. Pure."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from benchmarks.timing import Times


class Size(BaseModel, frozen=True):
    """How many memories a store holds, or how many facts, over how many agents."""

    memories: int = 0
    agents: int = 1
    facts: int = 0

    def __str__(self) -> str:
        held = f"{self.facts:,} facts" if self.facts else f"{self.memories:,} memories"
        return held + (f" over {self.agents:,} agents" if self.agents > 1 else "")


class Target(BaseModel, frozen=True):
    """A bound on the value, on its ratio to the baseline, or on what it has above the baseline."""

    of: Literal["value", "ratio", "difference"]
    sign: Literal["<", "<=", ">="]
    bound: float

    def __str__(self) -> str:
        return f"{self.of} {self.sign} {self.bound:g}"

    def admits(self, number: float) -> bool:
        if self.sign == ">=":
            return number >= self.bound
        return number < self.bound if self.sign == "<" else number <= self.bound


def at_most(bound: float, of: Literal["value", "ratio", "difference"] = "ratio") -> Target:
    return Target(of=of, sign="<=", bound=bound)


def below(bound: float, of: Literal["value", "ratio", "difference"] = "ratio") -> Target:
    return Target(of=of, sign="<", bound=bound)


def at_least(bound: float, of: Literal["value", "ratio", "difference"] = "ratio") -> Target:
    return Target(of=of, sign=">=", bound=bound)


class Figure(BaseModel, frozen=True):
    """``ratio`` is value over baseline; ``met`` is None where nothing was wanted. ``better`` says which way is good."""

    run: str
    size: Size
    name: str
    value: float
    unit: str
    better: Literal["lower", "higher"] = "lower"
    baseline_name: str | None = None
    baseline: float | None = None
    ratio: float | None = None
    target: str | None = None
    met: bool | None = None

    @property
    def key(self) -> tuple[str, int, int, str]:
        """What the same figure of another report has in common with this one."""
        return self.run, self.size.memories, self.size.agents, self.name


class Sheet:
    """The figures of one run on one store, as they come in."""

    def __init__(self, run: str, size: Size) -> None:
        self.figures: list[Figure] = []
        self._run = run
        self._size = size

    def add(
        self,
        name: str,
        value: float,
        unit: str,
        *,
        better: Literal["lower", "higher"] = "lower",
        beside: tuple[str, float] | None = None,
        target: Target | None = None,
    ) -> None:
        """Note a figure; ``beside`` is the baseline's name and value. A target needs what it is a bound of."""
        baseline = beside[1] if beside else None
        ratio = value / baseline if baseline else None
        difference = value - baseline if baseline is not None else None
        bounded = {"value": value, "ratio": ratio, "difference": difference}[target.of] if target else None
        self.figures.append(
            Figure(
                run=self._run,
                size=self._size,
                name=name,
                value=value,
                unit=unit,
                better=better,
                baseline_name=beside[0] if beside else None,
                baseline=baseline,
                ratio=ratio,
                target=str(target) if target else None,
                met=target.admits(bounded) if target and bounded is not None else None,
            )
        )

    def latency(
        self,
        name: str,
        times: Times,
        *,
        beside: tuple[str, Times] | None = None,
        p50: Target | None = None,
        p95: Target | None = None,
    ) -> None:
        """Median and 95th percentile in milliseconds, each beside the baseline's."""
        for percent, target in ((50, p50), (95, p95)):
            other = (beside[0], beside[1].milliseconds(percent)) if beside else None
            self.add(f"{name} p{percent}", times.milliseconds(percent), "ms", beside=other, target=target)
