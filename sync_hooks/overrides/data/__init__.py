"""The platform table: one file a platform, `any.yaml` for all; rows apply in the order of the files' lines."""
