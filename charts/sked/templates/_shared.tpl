{{- /*
Names are those of config/: there is one sked in a cluster, for the CRD, the policies and the owner
labels are the cluster's. Only the namespace is free. A second release is refused by helm, because
the objects belong to the first.
*/ -}}

{{- define "sked.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* A file that `make manifests` copied from config/, in the release's namespace. */ -}}
{{- define "sked.file" -}}
{{- .root.Files.Get .path | replace "sked-system" .root.Release.Namespace -}}
{{- end -}}

{{- /* Pod Security "restricted", for every pod of ours. */ -}}
{{- define "sked.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "sked.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop:
  - ALL
{{- end -}}

{{- define "sked.pullSecrets" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
{{- range . }}
- name: {{ . }}
{{- end }}
{{- end }}
{{- end -}}
