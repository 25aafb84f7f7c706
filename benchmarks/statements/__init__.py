"""An agent whose memories state the triples of a knowledge graph, and what is read of it."""
