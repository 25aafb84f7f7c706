"""What can be asked of the server, one module per domain.

Each module describes its endpoints as plain functions, and then lists them in classes: one for each way of
calling them. Annotations stay objects here, not text, because methods are made from them: no import of
``annotations`` from ``__future__``.
"""
