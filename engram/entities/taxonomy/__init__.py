"""What an agent knows most of: its entities by how much they occur with others."""
