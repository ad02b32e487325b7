#!/bin/sh
# EpilogSlurmctld of slurm.conf, on the head node: tells the service that a job failed, and of
# one that ended well that it did: a rate needs both.
# The job's record waits for this script: it sends in the background and exits 0.
#
# In slurm.conf:   EpilogSlurmctld=/etc/slurm/EpilogSlurmctld.sh
# It reads /etc/triage/hook.conf: TRIAGE_URL, and TRIAGE_HEADER_FILE, a file of mode 0600 with
# the one line "Authorization: Bearer TOKEN" (a token in an argument is seen by every user);
# TRIAGE_GPUS_PER_NODE where the nodes are alike.
CONF=${TRIAGE_CONF:-/etc/triage/hook.conf}
# shellcheck source=/dev/null
[ -r "$CONF" ] && . "$CONF"
SPOOL=${TRIAGE_SPOOL:-/var/spool/triage-hooks} CURL=${TRIAGE_CURL:-/usr/bin/curl}
umask 077
[ -n "$TRIAGE_URL" ] && /bin/mkdir -p "$SPOOL" 2>/dev/null || exit 0
CODE=${SLURM_JOB_EXIT_CODE2:-${SLURM_JOB_EXIT_CODE:-0}} HOOK=job-failed END=failed_at
case $CODE in 0 | 0:0) HOOK=job-ended END=ended_at ;; esac
[ "${SLURM_JOB_EXIT_CODE:-1}" != 0 ] || HOOK=job-ended END=ended_at
# Names come from users: of what JSON would have to escape, nothing is let through.
clean() { printf %s "$1" | /usr/bin/tr -cd '[:alnum:] _.,:/[]-'; }
NOW=$(/bin/date -u +%Y-%m-%dT%H:%M:%SZ)
printf '{"source":"slurm","job_id":"%s","cluster":"%s","name":"%s","nodelist":"%s","exit_code":"%s","SLURM_JOB_START_TIME":"%s","SLURM_RESTART_COUNT":"%s","gpus_per_node":%s,"%s":"%s"}' \
    "$(clean "$SLURM_JOB_ID")" "$(clean "$SLURM_CLUSTER_NAME")" "$(clean "$SLURM_JOB_NAME")" \
    "$(clean "$SLURM_JOB_NODELIST")" "$(clean "$CODE")" "$(clean "$SLURM_JOB_START_TIME")" \
    "$(clean "${SLURM_RESTART_COUNT:-$SLURM_JOB_RESTART_COUNT}")" \
    "${TRIAGE_GPUS_PER_NODE:-null}" "$END" "$NOW" >"$SPOOL/.$$" 2>/dev/null &&
    /bin/mv "$SPOOL/.$$" "$SPOOL/$NOW-$$.$HOOK.json" || exit 0
# What a service that was away did not get goes out with the next message, the oldest first.
# Slurm kills what is left of the script's process group as soon as it has ended. So what sends
# gets a session of its own, and the script waits until it has one: a substitution ends when its
# output is closed, and the shell closes it from its own session.
SETSID=/usr/bin/setsid
[ -x "$SETSID" ] || SETSID=
LOG=${TRIAGE_LOG:-/dev/null}
: 2>/dev/null >>"$LOG" || LOG=/dev/null
export SPOOL CURL TRIAGE_URL TRIAGE_HEADER_FILE LOG
: "$($SETSID /bin/sh -c 'exec >>"$LOG" 2>&1
for FILE in "$SPOOL"/*.json; do
    case $FILE in *.job-ended.json) HOOK=job-ended ;; *) HOOK=job-failed ;; esac
    CODE=$("$CURL" -sS -g -m 5 -o /dev/null -w "%{http_code}" --data-binary "@$FILE" \
        -H "@${TRIAGE_HEADER_FILE:-/etc/triage/header}" -H "Content-Type: application/json" \
        "$TRIAGE_URL/v1/hooks/$HOOK")
    case $CODE in
        2*) /bin/rm -f "$FILE" ;;
        400 | 404 | 409 | 413 | 415 | 422) /bin/mv "$FILE" "$FILE.refused" ;;
        *) break ;;
    esac
done' </dev/null &)"
exit 0
