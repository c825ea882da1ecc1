"""Says whether an object may be stored, and adds what is absent. Pure: reads no cluster, calls no other service."""
