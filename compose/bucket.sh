#!/bin/sh
# The bucket, and a user that may use it and nothing else of the store. It may run again.
set -eu
SECRETS=${SECRETS:-/run/secrets}
mc alias set store http://s3:9000 root "$(cat "$SECRETS/s3_root_password")" >/dev/null
mc mb --ignore-existing store/triage
mc admin policy create store triage-packs "${POLICY:-/etc/triage/bucket-policy.json}"
mc admin user add store triage "$(cat "$SECRETS/s3_secret_access_key")" >/dev/null
case $(mc admin user info store triage) in
    *triage-packs*) ;;
    *) mc admin policy attach store triage-packs --user triage ;;
esac
