"""The fact graph on public sets of facts: whether answers are exact, and what walks cost beside SQL written by hand.

The sets are not part of the project: each command takes the folder of one.
"""
