"""Parts of following a run under way: what to wait for, how long, and what an answer keeps."""
