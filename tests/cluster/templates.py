"""What KWOK writes into a pod, as Go templates over the pod: its status when it runs, ended or is stuck, and its log.

Texts only; ``%(name)s`` stands for what `stages.py` fills in, as JSON, which YAML reads too.
"""

from __future__ import annotations

RUNNING = """\
{{ $now := Now }}
phase: Running
startTime: {{ $now | Quote }}
hostIP: {{ NodeIPWith .spec.nodeName | Quote }}
{{ with .metadata }}
podIP: {{ PodIPWith $.spec.nodeName (or $.spec.hostNetwork false) .uid .name .namespace | Quote }}
{{ end }}
conditions:
{{ range $type := list "Initialized" "ContainersReady" "Ready" }}
- {type: {{ $type }}, status: "True", lastTransitionTime: {{ $now | Quote }}}
{{ end }}
{{ with .spec.initContainers }}
initContainerStatuses:
{{ range . }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  restartCount: 0
  ready: true
  state: {terminated: {exitCode: 0, reason: Completed, startedAt: {{ $now | Quote }}, finishedAt: {{ $now | Quote }}}}
{{ end }}
{{ end }}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  restartCount: 0
  ready: true
  started: true
  state: {running: {startedAt: {{ $now | Quote }}}}
{{ end }}
"""

ENDED = """\
{{ $now := Now }}
{{ $started := or .status.startTime $now }}
phase: %(phase)s
reason: %(pod_reason)s
message: %(pod_message)s
conditions:
{{ range $type := list "ContainersReady" "Ready" }}
- {type: {{ $type }}, status: "False", reason: %(not_ready)s, lastTransitionTime: {{ $now | Quote }}}
{{ end }}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  restartCount: 0
  ready: false
  started: false
  state:
    terminated:
      exitCode: %(exit_code)d
      reason: %(reason)s
      message: %(message)s
      startedAt: {{ $started | Quote }}
      finishedAt: {{ $now | Quote }}
{{ end }}
"""

STUCK = """\
phase: Pending
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  restartCount: 0
  ready: false
  started: false
  state: {waiting: {reason: %(reason)s, message: %(message)s}}
{{ end }}
"""

LOGS = """\
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Logs
metadata:
  name: {{ .metadata.name | Quote }}
  namespace: {{ .metadata.namespace | Quote }}
  ownerReferences:
  - {apiVersion: v1, kind: Pod, name: {{ .metadata.name | Quote }}, uid: {{ .metadata.uid | Quote }}}
spec:
  logs: %(logs)s
"""
