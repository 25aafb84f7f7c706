"""Which kinds and relations an agent prefers, and which relations have one value."""
