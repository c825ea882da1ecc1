"""From log bytes to numbers: profiles, readers, sums, thresholds. Makes up no number that the log does not hold."""
