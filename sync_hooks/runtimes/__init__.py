"""From a framework to its TrainingRuntime: one module a framework, a registry by name, a neutral record between.

Knows nothing of nodes, groups or overrides.
"""
