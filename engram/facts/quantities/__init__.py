"""Numbers that memories declare of entities, and what is computed from them."""
