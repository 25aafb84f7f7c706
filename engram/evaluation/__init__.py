"""Measuring what recall finds on sets of questions whose answers are known."""
