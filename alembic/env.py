"""Runs migrations on the connection that ``engram.db.migrate`` hands over, a transaction for each."""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"], transaction_per_migration=True)
with context.begin_transaction():
    context.run_migrations()
