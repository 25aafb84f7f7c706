"""A whole agent as lines of JSON: out of one server, and into another or the same."""
