#!/bin/sh
# Epilog of slurm.conf, on each node of a job, as root: sends what the job left behind.
# Slurm sets a node DOWN when its epilog fails and holds it while it runs: this one
# starts the collector in a session of its own, returns at once, and always exits 0.
#
# In slurm.conf:   Epilog=/etc/slurm/epilog.d/triage.sh
# It reads /etc/triage/collect.conf where there is one:
#   TRIAGE_URL=https://triage.example       the service
#   TRIAGE_TOKEN_FILE=/etc/triage/token     a token of scope ingest, mode 0600
#   TRIAGE_HOME=/opt/triage                 holds the folder `triage` of the package
#   TRIAGE_PYTHON=/usr/bin/python3          3.9 or newer; nothing needs to be installed
#   TRIAGE_DEADLINE_S=300                   for the collector, in the background
CONF=${TRIAGE_CONF:-/etc/triage/collect.conf}
# shellcheck source=/dev/null
[ -r "$CONF" ] && . "$CONF"

[ -n "$SLURM_JOB_ID" ] && [ -n "$TRIAGE_URL" ] || exit 0
# Newer versions of Slurm say here how the job ended. A job that ended well sends nothing.
case ${SLURM_JOB_EXIT_CODE:-unknown} in
    0) exit 0 ;;
    unknown) ONLY=--only-with-dumps ;;
    *) ONLY= ;;
esac

LOG=${TRIAGE_LOG:-/var/log/triage-collect.log}
: 2>/dev/null >>"$LOG" || LOG=/dev/null
# Slurm kills what is left of the script's process group as soon as it has ended. So the collector
# gets a session of its own, and the script waits until it has one: a substitution ends when its
# output is closed, and the shell closes it from its own session. An epilogue has no search path.
SETSID=/usr/bin/setsid
[ -x "$SETSID" ] || SETSID=
export LOG PYTHONPATH="${TRIAGE_HOME:-/opt/triage}"

cd / || exit 0
: "$($SETSID /bin/sh -c 'exec "$@" >>"$LOG" 2>&1' sh "${TRIAGE_PYTHON:-/usr/bin/python3}" \
    -m triage.collectors --url "$TRIAGE_URL" \
    --token-file "${TRIAGE_TOKEN_FILE:-/etc/triage/token}" \
    --job-id "$SLURM_JOB_ID" --node "${SLURMD_NODENAME:-$(/bin/uname -n)}" \
    --deadline "${TRIAGE_DEADLINE_S:-300}" $ONLY </dev/null &)"
exit 0
