"""Which entities occur together: the observations, and the sums over them."""
