#!/bin/sh
# Runs a training command so that a failure leaves dumps, and sends them when it fails:
#
#   TRIAGE_URL=https://triage.example TRIAGE_TOKEN_FILE=/etc/triage/token \
#       ./run_with_triage.sh torchrun --nproc-per-node 8 train.py
#
# Run it on every node. Its exit status is that of the command, whatever the service does.
# Where the package is installed, TRIAGE_COLLECT="triage collect" may replace the default.
[ $# -gt 0 ] || {
    echo "usage: run_with_triage.sh COMMAND..." >&2
    exit 2
}
JOB=${TRIAGE_JOB_ID:-${SLURM_JOB_ID:-$(date +%Y%m%d%H%M%S)-$$}}
FOLDER=${TRIAGE_FOLDER:-${TMPDIR:-/tmp}/triage-$(id -u)-$JOB}
(umask 077 && mkdir -p "$FOLDER/fr" "$FOLDER/logs") || exec "$@"

# The recorder, by both of its names: the new ones since PyTorch 2.9, the old ones before.
TORCH_FR_BUFFER_SIZE=${TORCH_FR_BUFFER_SIZE:-2000}
TORCH_NCCL_TRACE_BUFFER_SIZE=${TORCH_NCCL_TRACE_BUFFER_SIZE:-$TORCH_FR_BUFFER_SIZE}
TORCH_FR_DUMP_TEMP_FILE=${TORCH_FR_DUMP_TEMP_FILE:-$FOLDER/fr/trace_rank_}
TORCH_NCCL_DEBUG_INFO_TEMP_FILE=${TORCH_NCCL_DEBUG_INFO_TEMP_FILE:-$TORCH_FR_DUMP_TEMP_FILE}
TORCH_NCCL_DUMP_ON_TIMEOUT=${TORCH_NCCL_DUMP_ON_TIMEOUT:-1}
# The start of the process group places each rank on its node and GPU.
NCCL_DEBUG=${NCCL_DEBUG:-INFO}
TORCHELASTIC_ERROR_FILE=${TORCHELASTIC_ERROR_FILE:-$FOLDER/logs/error.json}
export TORCH_FR_BUFFER_SIZE TORCH_NCCL_TRACE_BUFFER_SIZE TORCH_FR_DUMP_TEMP_FILE
export TORCH_NCCL_DEBUG_INFO_TEMP_FILE TORCH_NCCL_DUMP_ON_TIMEOUT NCCL_DEBUG
export TORCHELASTIC_ERROR_FILE

# A pipe would hide the status of the command; a second descriptor carries it past tee.
PIPE=$FOLDER/output.pipe
rm -f "$PIPE"
if mkfifo "$PIPE" 2>/dev/null; then
    tee "$FOLDER/logs/output.log" <"$PIPE" &
    TEE=$!
    "$@" >"$PIPE" 2>&1 &
    COMMAND=$!
    trap 'kill -TERM "$COMMAND" 2>/dev/null' TERM INT
    wait "$COMMAND"
    STATUS=$?
    # A signal ends the first wait before the command has ended.
    while kill -0 "$COMMAND" 2>/dev/null; do
        wait "$COMMAND"
        STATUS=$?
    done
    # A process that outlived the command may hold the pipe open.
    LEFT=10
    while [ "$LEFT" -gt 0 ] && kill -0 "$TEE" 2>/dev/null; do
        sleep 0.5
        LEFT=$((LEFT - 1))
    done
    kill "$TEE" 2>/dev/null
    rm -f "$PIPE"
else
    "$@"
    STATUS=$?
fi

if [ "$STATUS" -ne 0 ] && [ -n "$TRIAGE_URL" ]; then
    # shellcheck disable=SC2086  # a command and its options
    ${TRIAGE_COLLECT:-python3 -m triage.collectors} --url "$TRIAGE_URL" \
        ${TRIAGE_TOKEN_FILE:+--token-file "$TRIAGE_TOKEN_FILE"} --job-id "$JOB" \
        --fr "$TORCH_FR_DUMP_TEMP_FILE*" --logs "$FOLDER/logs/*" \
        --deadline "${TRIAGE_DEADLINE_S:-60}" || :
fi
exit "$STATUS"
