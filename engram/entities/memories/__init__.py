"""Memories by the entities that they name: what is related to one, what names the same, and an entity through time."""
