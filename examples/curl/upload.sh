#!/bin/sh
# Sends files of a job with tar and curl alone, for a node without Python:
#
#   TRIAGE_URL=https://triage.example TRIAGE_HEADER_FILE=/etc/triage/header \
#       ./upload.sh JOB_ID NODE FILE...
#
# TRIAGE_HEADER_FILE holds the one line "Authorization: Bearer TOKEN", mode 0600: on a command line
# every user of the node would see it. A file that is sent twice is taken once.
set -eu
if [ $# -lt 3 ] || [ -z "${TRIAGE_URL:-}" ]; then
    echo "usage: TRIAGE_URL=URL upload.sh JOB_ID NODE FILE...   (NODE '' for files of no node)" >&2
    exit 2
fi
# In a path and a query everything is quoted that is not plainly a name.
quote() {
    printf %s "$1" | od -An -v -tx1 | tr -d '\n' | sed 's/ \(..\)/%\1/g'
}
JOB=$(quote "$1")
NODE=$(quote "$2")
shift 2
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
trap 'exit 143' TERM INT
# Whole before it is sent: the length is known, and a retry sends the same bytes.
tar -cf - -- "$@" | gzip -1 >"$WORK/bundle.tar.gz"
set -- -sS -g --fail-with-body --connect-timeout 5 --max-time "${TRIAGE_DEADLINE_S:-60}" \
    --retry 5 --retry-max-time "${TRIAGE_DEADLINE_S:-60}" --retry-connrefused \
    -H 'Content-Type: application/x-tar' -H 'Content-Encoding: gzip' \
    -X POST -T "$WORK/bundle.tar.gz"
[ -z "${TRIAGE_HEADER_FILE:-}" ] || set -- -H "@$TRIAGE_HEADER_FILE" "$@"
"${TRIAGE_CURL:-curl}" "$@" "$TRIAGE_URL/v1/jobs/$JOB/bundle${NODE:+?node=$NODE}"
echo
