{{/* What the two webhooks have in common; called with a dict of `root` and `path`. */}}
{{- define "workloadrun.webhook" -}}
admissionReviewVersions: [v1]
clientConfig:
  service:
    name: {{ include "workloadrun.fullname" .root }}-admission
    namespace: {{ .root.Release.Namespace | quote }}
    path: {{ .path }}
    port: 443
# an object that nobody looked at could say anything; only our own kinds are ever refused
failurePolicy: Fail
matchPolicy: Equivalent
namespaceSelector: {}
objectSelector: {}
sideEffects: None
timeoutSeconds: {{ .root.Values.admission.timeoutSeconds }}
matchConditions:
  # finalizers can be removed while admission is down, so that nothing hangs in deletion
  - name: not-being-deleted
    expression: "!has(object.metadata.deletionTimestamp)"
  - name: created-or-spec-changed
    expression: >-
      request.operation == 'CREATE' || !has(object.spec) || !has(oldObject.spec) || object.spec != oldObject.spec
{{- end -}}

{{/* Annotations by which cert-manager, where it is the source, injects its CA. */}}
{{- define "workloadrun.injection" -}}
{{- if eq .Values.tls.source "cert-manager" -}}
annotations:
  cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/{{ include "workloadrun.servingSecret" . }}
{{- end -}}
{{- end -}}
