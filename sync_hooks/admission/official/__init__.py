"""The shape of Kubernetes' and Trainer's own types, from a table made of the official models."""
