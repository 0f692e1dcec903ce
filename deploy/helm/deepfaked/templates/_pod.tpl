{{- define "deepfaked.pod" -}}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.runtimeClassName }}
runtimeClassName: {{ . }}
{{- end }}
serviceAccountName: {{ include "deepfaked.serviceAccount" .root }}
automountServiceAccountToken: false
enableServiceLinks: false
# The wait before it is told to stop, the drain, and what follows that.
terminationGracePeriodSeconds: {{ add .root.Values.preStopSeconds .root.Values.drainSeconds 30 }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
containers:
  - name: deepfaked
    image: {{ include "deepfaked.image" .root | quote }}
    imagePullPolicy: {{ .root.Values.image.pullPolicy }}
    args: [{{ .component }}]
    env: {{- include "deepfaked.environment" . | trim | nindent 6 }}
    {{- with .root.Values.uploads.secret }}
    envFrom:
      - secretRef: {name: {{ . }}}
    {{- end }}
    ports:
      {{- if eq .component "serve" }}
      - {name: http, containerPort: 8080}
      {{- end }}
      - {name: admin, containerPort: 9090}
    startupProbe: # until the program answers, which it does once the schema is up to date
      httpGet: {path: /healthz, port: admin}
      periodSeconds: 2
      failureThreshold: 450
    livenessProbe: # not of readiness: most of what it waits for is not made better by a restart
      httpGet: {path: /healthz, port: admin}
      periodSeconds: 10
      timeoutSeconds: 3
      failureThreshold: 6
    readinessProbe:
      httpGet: {path: /readyz, port: admin}
      periodSeconds: 5
      timeoutSeconds: 3
      failureThreshold: 2
    {{- if .root.Values.preStopSeconds }}
    lifecycle:
      preStop:
        sleep: {seconds: {{ .root.Values.preStopSeconds }}}
    {{- end }}
    resources:
      requests: {{- toYaml .values.resources.requests | nindent 8 }}
      limits:
        {{- with .values.resources.limits }}{{ toYaml . | nindent 8 }}{{ end }}
        {{- if .root.Values.gpu }}
        nvidia.com/gpu: {{ .root.Values.gpu }}
        {{- end }}
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities: {drop: [ALL]}
    volumeMounts:
      - {name: data, mountPath: /var/lib/deepfaked}
      - {name: tmp, mountPath: /tmp}
      {{- if .root.Values.config }}
      - {name: config, mountPath: /etc/deepfaked, readOnly: true}
      {{- end }}
volumes:
  - name: data
    emptyDir: {sizeLimit: {{ .root.Values.data.sizeLimit }}}
  - name: tmp
    emptyDir: {sizeLimit: 256Mi}
  {{- if .root.Values.config }}
  - name: config
    configMap: {name: {{ include "deepfaked.name" .root }}}
  {{- end }}
{{- with .values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "deepfaked.environment" -}}
{{- if .root.Values.config }}
- {name: DEEPFAKED_CONFIG, value: /etc/deepfaked/deepfaked.yaml}
{{- end }}
- {name: DEEPFAKED_DATA, value: /var/lib/deepfaked}
- {name: DEEPFAKED_ADMIN, value: "0.0.0.0:9090"}
{{- if eq .component "serve" }}
- {name: DEEPFAKED_LISTEN, value: "0.0.0.0:8080"}
{{- end }}
- {name: DEEPFAKED_PROVIDER, value: {{ .root.Values.provider }}}
{{- if ne .values.workers nil }}
- {name: DEEPFAKED_WORKERS, value: {{ .values.workers | quote }}}
{{- end }}
- {name: DEEPFAKED_DRAIN, value: {{ .root.Values.drainSeconds }}s}
- {name: DEEPFAKED_UPLOADS, value: {{ .root.Values.uploads.url | quote }}}
- name: DEEPFAKED_DATABASE
  valueFrom:
    secretKeyRef: {name: {{ .root.Values.database.secret }}, key: {{ .root.Values.database.key }}}
{{- if .root.Values.redis.secret }}
- name: DEEPFAKED_REDIS
  valueFrom:
    secretKeyRef: {name: {{ .root.Values.redis.secret }}, key: {{ .root.Values.redis.key }}}
{{- end }}
{{- end }}
