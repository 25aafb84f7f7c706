"""Measurements of Engram beside bare baselines; see docs/performance.md. Run with ``python -m benchmarks``."""
