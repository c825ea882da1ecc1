"""A cluster in memory under virtual time: API server, Metacontroller, Trainer, kubelets. Holds no hook."""
