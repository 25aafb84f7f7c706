"""What is wrong with what the evaluation was given."""

from __future__ import annotations


class EvaluationError(Exception):
    """In one line, what cannot be measured and why: names the file, line, field, variant or run."""
