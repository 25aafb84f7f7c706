"""Which names are one node by somebody's word. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from engram.facts.names import node_name


class Groups:
    """Nodes that were merged, in groups. The canonical name of a group is that of the first node of each merge."""

    def __init__(self, merges: Iterable[tuple[str, str]] = ()) -> None:
        """``merges`` are pairs of names in the order in which they were said."""
        self._canonical: dict[str, str] = {}
        self._members: dict[str, set[str]] = {}
        for name, other in merges:
            self.merge(name, other)

    def merge(self, name: str, other: str) -> str:
        """Make two names one node, and say by which name it goes. Raises ValueError for an empty name."""
        first, second = self.resolve(node_name(name)), self.resolve(node_name(other))
        if not first or not second:
            raise ValueError("a merge takes two names that are not empty")
        if first != second:
            members = self.members(first) | self.members(second)
            self._members.pop(second, None)
            self._members[first] = members
            self._canonical.update(dict.fromkeys(members, first))
        return first

    def resolve(self, node: str) -> str:
        """The canonical name of a node: its own where nothing was merged with it."""
        return self._canonical.get(node, node)

    def members(self, canonical: str) -> set[str]:
        """The nodes of a group."""
        return set(self._members.get(canonical, {canonical}))

    @property
    def merged(self) -> Mapping[str, set[str]]:
        """Groups of more than one node, by their canonical names."""
        return self._members
