{{/*
What the pods of both parts have in common; called with a dict of `root`, `component` and `part`, the part's values.
Every field that the API server would add is written out, so that what is stored is what was rendered.
*/}}
{{- define "workloadrun.deploymentSpec" -}}
replicas: {{ .part.replicas }}
revisionHistoryLimit: 10
progressDeadlineSeconds: 600
strategy:
  type: RollingUpdate
  rollingUpdate:
    maxSurge: 1
    maxUnavailable: 0
selector:
  matchLabels:
    {{- include "workloadrun.selector" . | nindent 4 }}
{{- end -}}

{{- define "workloadrun.podMetadata" -}}
labels:
  {{- merge (include "workloadrun.selector" . | fromYaml) (.part.podLabels | default dict) | toYaml | nindent 2 }}
{{- with merge (dict) (.marks | default dict) (.part.podAnnotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "workloadrun.podSpec" -}}
serviceAccountName: {{ include "workloadrun.fullname" .root }}-{{ .component }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . | quote }}
  {{- end }}
{{- end }}
{{- with .part.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
enableServiceLinks: false
dnsPolicy: ClusterFirst
restartPolicy: Always
schedulerName: default-scheduler
# readiness ends when deletion begins; preStop then leaves the API server time to notice before the server stops
terminationGracePeriodSeconds: 60
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "workloadrun.selector" . | nindent 8 }}
    matchLabelKeys:
      - pod-template-hash
{{- with .part.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .part.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .part.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The server's container, without its environment and mounts. */}}
{{- define "workloadrun.server" -}}
image: {{ include "workloadrun.image" .root | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
terminationMessagePath: /dev/termination-log
terminationMessagePolicy: FallbackToLogsOnError
ports:
  - name: https
    containerPort: 8443
    protocol: TCP
  - name: health
    containerPort: 8080
    protocol: TCP
startupProbe:
  {{- include "workloadrun.probe" (dict "path" "/healthz" "period" 1 "failures" 60) | nindent 2 }}
livenessProbe:
  {{- include "workloadrun.probe" (dict "path" "/healthz" "period" 10 "failures" 6) | nindent 2 }}
readinessProbe:
  {{- include "workloadrun.probe" (dict "path" "/readyz" "period" 2 "failures" 2) | nindent 2 }}
lifecycle:
  preStop:
    sleep:
      seconds: 5
resources:
  {{- toYaml .part.resources | nindent 2 }}
{{ include "workloadrun.containerSecurity" . }}
{{- end -}}

{{- define "workloadrun.probe" -}}
httpGet:
  path: {{ .path }}
  port: health
  scheme: HTTP
timeoutSeconds: 5
periodSeconds: {{ .period }}
successThreshold: 1
failureThreshold: {{ .failures }}
{{- end -}}

{{- define "workloadrun.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop:
      - ALL
{{- end -}}

{{/* Environment of the server; the ports are those above. */}}
{{- define "workloadrun.serverEnvironment" -}}
- name: WORKLOADRUN_ROLE
  value: {{ .component }}
- name: WORKLOADRUN_PORT
  value: "8443"
- name: WORKLOADRUN_HEALTH_PORT
  value: "8080"
- name: WORKLOADRUN_TLS_DIR
  value: /run/workloadrun/serving
{{- end -}}

{{/* Memory that a container may write to: the root is read-only. */}}
{{- define "workloadrun.memory" -}}
- name: {{ .name }}
  emptyDir:
    medium: Memory
    sizeLimit: {{ .limit }}
{{- end -}}
