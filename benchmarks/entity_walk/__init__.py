"""Walks over entities of a knowledge graph, a memory for each of its triples."""
