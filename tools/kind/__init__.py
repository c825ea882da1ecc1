"""`make kind`: the product in a cluster of containers."""
