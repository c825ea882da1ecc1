"""From log bytes to numbers: profiles, readers, sums and thresholds. Reads nothing itself, raises on no bytes, and never
makes up a number that the log does not hold."""
