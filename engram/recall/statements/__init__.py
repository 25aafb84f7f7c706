"""SQL text of a recall. Put together from fixed fragments; every value is a parameter."""
