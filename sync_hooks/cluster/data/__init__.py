"""Tables of the cluster package as data."""
