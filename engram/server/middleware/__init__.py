"""What holds for every request, whatever route it is for. Pure ASGI."""
