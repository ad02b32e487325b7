{{- define "triage.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- with .Values.image.digest }}@{{ . }}{{ end }}
{{- end -}}

{{- define "triage.labels" -}}
app.kubernetes.io/name: nccl-triage
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "triage.selector" -}}
app.kubernetes.io/name: nccl-triage
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* What every pod has: nobody in particular, nothing writable but its volumes. */}}
{{- define "triage.pod" -}}
serviceAccountName: {{ .Release.Name }}-triage
automountServiceAccountToken: {{ .Values.acting.rbac }}
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "triage.container" -}}
image: {{ include "triage.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
env:
  {{- range $name, $value := .Values.settings }}
  - {name: {{ $name }}, value: {{ $value | quote }}}
  {{- end }}
  {{- range .Values.secretKeys }}
  - {name: TRIAGE_{{ upper . }}_FILE, value: /run/secrets/triage/{{ . }}}
  {{- end }}
volumeMounts:
  - {name: data, mountPath: /var/lib/triage}
  - {name: scratch, mountPath: /var/tmp/triage}
  - {name: compiled, mountPath: /var/cache/triage}
  - {name: tmp, mountPath: /tmp}
  {{- if .Values.secretKeys }}
  - {name: secrets, mountPath: /run/secrets/triage, readOnly: true}
  {{- end }}
{{- end -}}

{{- define "triage.volumes" -}}
- name: data
{{- if eq .Values.mode "embedded" }}
  persistentVolumeClaim: {claimName: {{ .Release.Name }}-triage}
{{- else }}
  emptyDir: {sizeLimit: {{ .Values.persistence.scratchSize }}}
{{- end }}
- name: scratch
  emptyDir: {sizeLimit: {{ .Values.persistence.scratchSize }}}
- name: compiled
  emptyDir: {sizeLimit: 1Gi}
- name: tmp
  emptyDir: {sizeLimit: 256Mi}
{{- if .Values.secretKeys }}
- name: secrets
  secret:
    secretName: {{ required "secretKeys needs secretName, the Secret that holds them" .Values.secretName }}
    defaultMode: 0440
{{- end }}
{{- end -}}

{{- define "triage.check" -}}
{{- if eq .Values.mode "scaled" -}}
{{- range list "database_url" "broker_url" "secret_key" -}}
{{- if not (has . $.Values.secretKeys) -}}
{{- fail (printf "mode scaled needs %s among secretKeys" .) -}}
{{- end -}}
{{- end -}}
{{- if not (index .Values.settings "TRIAGE_BLOB_URL") -}}
{{- fail "mode scaled needs settings.TRIAGE_BLOB_URL, an s3:// address" -}}
{{- end -}}
{{- end -}}
{{- end -}}
