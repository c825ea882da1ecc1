module cluster/trainer
go 1.26.0
require github.com/kubeflow/trainer/v2 v2.3.0
tool github.com/kubeflow/trainer/v2/cmd/trainer-controller-manager
