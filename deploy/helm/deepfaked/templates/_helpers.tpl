{{- define "deepfaked.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "deepfaked.serviceAccount" -}}
{{- if .Values.serviceAccount.name }}{{ .Values.serviceAccount.name }}{{ else if .Values.serviceAccount.create }}{{ include "deepfaked.name" . }}{{ else }}default{{ end }}
{{- end }}

{{/* selector takes the root and the component: what never changes of the labels. */}}
{{- define "deepfaked.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{- define "deepfaked.labels" -}}
{{ include "deepfaked.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "deepfaked.image" -}}
{{- with .Values.image }}{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}{{ end }}
{{- end }}

{{/* deployment takes the root and the component, serve or worker: they are one program. */}}
{{- define "deepfaked.deployment" -}}
{{- $root := .root }}
{{- $values := index .root.Values .component }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "deepfaked.name" .root }}-{{ .component }}
  labels: {{- include "deepfaked.labels" . | nindent 4 }}
spec:
  {{- if not $values.autoscaling.enabled }}
  replicas: {{ $values.replicas }}
  {{- end }}
  revisionHistoryLimit: 5
  strategy:
    # A GPU that the old pod holds is not there for the new one.
    rollingUpdate: {maxUnavailable: 1, maxSurge: {{ if .root.Values.gpu }}0{{ else }}1{{ end }}}
  selector:
    matchLabels: {{- include "deepfaked.selector" . | nindent 6 }}
  template:
    metadata:
      {{- /* Of a key that both have the selector needs the chart's label; the annotation is the user's to decide. */}}
      labels: {{- merge (include "deepfaked.labels" . | fromYaml) (.root.Values.podLabels | default dict) | toYaml | nindent 8 }}
      {{- $annotations := dict "prometheus.io/scrape" "true" "prometheus.io/port" "9090" "checksum/config" (toYaml .root.Values.config | sha256sum) }}
      {{- range $key, $value := .root.Values.podAnnotations }}{{ $_ := set $annotations $key $value }}{{ end }}
      annotations: {{- toYaml $annotations | nindent 8 }}
    spec: {{- include "deepfaked.pod" (dict "root" $root "component" .component "values" $values) | trim | nindent 6 }}
{{- end }}
