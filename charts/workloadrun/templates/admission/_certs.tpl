{{/*
The certs container: it runs beside the server for as long as the pod does, and before it, so that the server finds a
certificate when it starts.
*/}}
{{- define "workloadrun.certs" -}}
{{- $own := eq .Values.tls.source "own" -}}
- name: certs
  image: {{ include "workloadrun.image" . | quote }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  restartPolicy: Always
  command: [python, -m, webhook.rotation]
  terminationMessagePath: /dev/termination-log
  terminationMessagePolicy: FallbackToLogsOnError
  {{- if $own }}
  startupProbe:
    exec:
      command: [test, -s, /run/workloadrun/serving/tls.crt]
    timeoutSeconds: 5
    periodSeconds: 1
    successThreshold: 1
    failureThreshold: 300
  {{- end }}
  env:
    {{- include "workloadrun.certsEnvironment" . | nindent 4 }}
  resources:
    {{- toYaml .Values.tls.resources | nindent 4 }}
  {{- include "workloadrun.containerSecurity" . | nindent 2 }}
  volumeMounts:
    {{- if $own }}
    - name: serving
      mountPath: /run/workloadrun/serving
    {{- end }}
    - name: api
      mountPath: /var/run/secrets/kubernetes.io/serviceaccount
      readOnly: true
    {{- if .Values.logProfiles }}
    - name: profiles
      mountPath: /etc/workloadrun/profiles
      readOnly: true
    {{- end }}
{{- end -}}

{{- define "workloadrun.certsEnvironment" -}}
{{- $name := include "workloadrun.fullname" . -}}
- name: WORKLOADRUN_NAMESPACE
  valueFrom:
    fieldRef:
      apiVersion: v1
      fieldPath: metadata.namespace
- name: WORKLOADRUN_TLS_SOURCE
  value: {{ .Values.tls.source }}
- name: WORKLOADRUN_TLS_SECRET
  value: {{ include "workloadrun.secret" . }}
{{- if eq .Values.tls.source "own" }}
- name: WORKLOADRUN_TLS_DIR
  value: /run/workloadrun/serving
{{- else }}
- name: WORKLOADRUN_TLS_SERVING_SECRET
  value: {{ include "workloadrun.servingSecret" . }}
{{- end }}
- name: WORKLOADRUN_ADMISSION_SERVICE
  value: {{ $name }}-admission
- name: WORKLOADRUN_HOOKS_SERVICE
  value: {{ $name }}-hooks
- name: WORKLOADRUN_WEBHOOK_CONFIGURATION
  value: {{ $name | quote }}
- name: WORKLOADRUN_COMPOSITE_CONTROLLERS
  value: {{ join "," (include "workloadrun.controllers" . | fromJson).names | quote }}
- name: WORKLOADRUN_CA_DAYS
  value: {{ .Values.tls.caDays | quote }}
- name: WORKLOADRUN_SERVING_DAYS
  value: {{ .Values.tls.servingDays | quote }}
- name: WORKLOADRUN_RENEW_FRACTION
  value: {{ .Values.tls.renewFraction | quote }}
- name: WORKLOADRUN_TOKEN_DAYS
  value: {{ .Values.tls.tokenDays | quote }}
- name: WORKLOADRUN_INTERVAL_SECONDS
  value: {{ .Values.tls.intervalSeconds | quote }}
- name: WORKLOADRUN_SETTLE_SECONDS
  value: {{ .Values.tls.settleSeconds | quote }}
- name: WORKLOADRUN_PATIENCE_SECONDS
  value: {{ .Values.tls.patienceSeconds | quote }}
{{- if .Values.logProfiles }}
- name: WORKLOADRUN_PROFILES_DIR
  value: /etc/workloadrun/profiles
{{- end }}
{{- end -}}
