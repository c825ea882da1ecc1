"""Certificates of the server: made, judged and renewed here. Knows nothing of runs, hooks or admission."""
