"""Plans a run once: detects, resolves, renders and groups in one pass; the Workflow then only follows the plan."""
