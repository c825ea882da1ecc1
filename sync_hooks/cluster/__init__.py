"""What the nodes are: which are fit for a run, what they offer, and how they are put into groups. Renders nothing."""
