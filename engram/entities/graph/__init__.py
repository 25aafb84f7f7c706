"""The entity graph: what occurs with what, walks over that, and chains between two entities."""
