{{/* Name that objects start with. Names of Services begin with a letter and have no dots; a release's may be otherwise. */}}
{{- define "workloadrun.fullname" -}}
{{- $release := .Release.Name | replace "." "-" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimAll "-" -}}
{{- else if regexMatch "^[0-9]" $release -}}
{{- printf "%s-%s" .Chart.Name $release | trunc 40 | trimAll "-" -}}
{{- else if contains .Chart.Name $release -}}
{{- $release | trunc 40 | trimAll "-" -}}
{{- else -}}
{{- printf "%s-%s" ($release | trunc 28 | trimAll "-") .Chart.Name -}}
{{- end -}}
{{- end -}}

{{/*
Labels of every object; called with a dict of `root` and, for a part's own objects, `component`, and for some `more`.
What several name is there once: first come ours, then those of the object, then those of all.
*/}}
{{- define "workloadrun.labels" -}}
{{- $ours := include "workloadrun.ownLabels" . | fromYaml -}}
{{- toYaml (merge $ours (.more | default dict) (.root.Values.commonLabels | default dict)) -}}
{{- end -}}

{{- define "workloadrun.ownLabels" -}}
{{ include "workloadrun.selector" . }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | quote }}
{{- end -}}

{{/* Labels that never change: they select pods. */}}
{{- define "workloadrun.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
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
{{- $names = append $names .name -}}
{{- end -}}
{{- end -}}
{{- toJson (dict "names" $names) -}}
{{- end -}}

{{/* Whether device kinds are declared: "true", or nothing. */}}
{{- define "workloadrun.devices" -}}
{{- if ne (toString .Values.metacontroller.devices) "auto" -}}
{{- if .Values.metacontroller.devices }}true{{ end -}}
{{- else if and (.Capabilities.APIVersions.Has "resource.k8s.io/v1") (.Capabilities.APIVersions.Has "resource.nvidia.com/v1beta1") -}}
true
{{- end -}}
{{- end -}}
