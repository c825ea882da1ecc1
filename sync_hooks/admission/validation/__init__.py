"""The rules, by the part of the spec they look at: one small function a rule, errors yielded, never raised."""
