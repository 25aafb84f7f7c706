"""One run a file: each measures one thing beside its baseline, and returns figures."""
