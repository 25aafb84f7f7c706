"""Commands about entities: walks, chains, and memories by what they name."""
