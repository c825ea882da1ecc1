{{/* Name that objects start with. */}}
{{- define "workloadrun.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" (.Release.Name | trunc 28 | trimSuffix "-") .Chart.Name -}}
{{- end -}}
{{- end -}}

{{/* Labels of every object; called with a dict of `root` and, for a part's own objects, `component`. */}}
{{- define "workloadrun.labels" -}}
{{ include "workloadrun.selector" . }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Labels that never change: they select pods. */}}
{{- define "workloadrun.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end -}}

{{/* The one image. */}}
{{- define "workloadrun.image" -}}
{{- $name := .Values.image.repository -}}
{{- with .Values.imageRegistry -}}{{- $name = printf "%s/%s" (trimSuffix "/" .) $name -}}{{- end -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" $name .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" $name (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{/* Secret with the CA, the serving certificate and the tokens; it is empty until the certs container fills it. */}}
{{- define "workloadrun.secret" -}}
{{- printf "%s-tls" (include "workloadrun.fullname" .) -}}
{{- end -}}

{{/* Secret that serving certificates are mounted from. */}}
{{- define "workloadrun.servingSecret" -}}
{{- if eq .Values.tls.source "cert-manager" -}}
{{- printf "%s-serving" (include "workloadrun.fullname" .) -}}
{{- else -}}
{{- include "workloadrun.secret" . -}}
{{- end -}}
{{- end -}}

{{/* Names of the CompositeControllers that this cluster gets, as a JSON list in `names`. */}}
{{- define "workloadrun.controllers" -}}
{{- $names := list -}}
{{- if .Values.metacontroller.controllers -}}
{{- range (.Files.Get "controllers.yaml" | fromYaml).items -}}
{{- $wanted := true -}}
{{- if .needs -}}
{{- if eq (toString $.Values.metacontroller.devices) "auto" -}}
{{- range .needs -}}{{- if not ($.Capabilities.APIVersions.Has .) -}}{{- $wanted = false -}}{{- end -}}{{- end -}}
{{- else -}}
{{- $wanted = $.Values.metacontroller.devices -}}
{{- end -}}
{{- end -}}
{{- if $wanted -}}{{- $names = append $names .name -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson (dict "names" $names) -}}
{{- end -}}
