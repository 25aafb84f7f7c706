"""What Prometheus reads: the app's own measurements, and what is asked for them at each scrape."""
