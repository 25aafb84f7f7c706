"""Communities of entities: which of them occur with each other more than with the rest."""
