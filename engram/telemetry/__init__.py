"""What the server says about its own work: measurements for Prometheus, and traces where OpenTelemetry is on.

``stages`` and ``counting`` are what the rest of the code calls. They record for whoever is watching the task that
calls them (``watching``), and do nothing where nobody is: in a command, or in the evaluation. Nothing that is recorded
holds what users stored or asked, nor an id of theirs.
"""
