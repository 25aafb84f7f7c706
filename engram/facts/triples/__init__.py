"""Facts by what they say, one line for each triple, whoever and however many say it."""
