"""The entity graph as a file that other programs open."""
