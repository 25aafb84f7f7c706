"""What the routes of all domains share: strict input, services and scope, problem documents, disconnects.

Knows HTTP and FastAPI, and nothing of how the server is put together or run.
"""
