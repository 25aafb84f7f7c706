"""Text into vectors: the static model in the wheel, or a model of the operator's choice."""

from engram.embeddings.base import Embedder, EmbeddingModel, Passages, Vectors
from engram.embeddings.registry import open_embedder

__all__ = ["Embedder", "EmbeddingModel", "Passages", "Vectors", "open_embedder"]
