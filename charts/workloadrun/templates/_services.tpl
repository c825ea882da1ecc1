{{/* Service, disruption budget and account of a part; called with a dict of `root` and `component`. */}}
{{- define "workloadrun.service" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ include "workloadrun.fullname" .root }}-{{ .component }}
  namespace: {{ .root.Release.Namespace | quote }}
  labels:
    {{- include "workloadrun.labels" . | nindent 4 }}
spec:
  type: ClusterIP
  internalTrafficPolicy: Cluster
  sessionAffinity: None
  selector:
    {{- include "workloadrun.selector" . | nindent 4 }}
  ports:
    - name: https
      port: 443
      protocol: TCP
      targetPort: https
    - name: health
      port: 8080
      protocol: TCP
      targetPort: health
{{- end -}}

{{- define "workloadrun.disruption" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "workloadrun.fullname" .root }}-{{ .component }}
  namespace: {{ .root.Release.Namespace | quote }}
  labels:
    {{- include "workloadrun.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  # a pod that is not ready serves nobody: it must not stop a node from being drained
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "workloadrun.selector" . | nindent 6 }}
{{- end -}}

{{- define "workloadrun.account" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "workloadrun.fullname" .root }}-{{ .component }}
  namespace: {{ .root.Release.Namespace | quote }}
  labels:
    {{- include "workloadrun.labels" . | nindent 4 }}
automountServiceAccountToken: false
{{- end -}}

{{/* Binding of a part's ClusterRole or Role; called with `kind` in addition. */}}
{{- define "workloadrun.binding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}Binding
metadata:
  name: {{ include "workloadrun.fullname" .root }}-{{ .component }}
  {{- if eq .kind "Role" }}
  namespace: {{ .root.Release.Namespace | quote }}
  {{- end }}
  labels:
    {{- include "workloadrun.labels" . | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind }}
  name: {{ include "workloadrun.fullname" .root }}-{{ .component }}
subjects:
  - kind: ServiceAccount
    name: {{ include "workloadrun.fullname" .root }}-{{ .component }}
    namespace: {{ .root.Release.Namespace | quote }}
{{- end -}}
