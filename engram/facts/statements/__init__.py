"""Facts that follow from what memories declare: stated with the memory, and as long as it says so."""
