"""Vectors of entities, by which a query finds one that it names in other words."""
