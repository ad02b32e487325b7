# One image for API, worker, scheduler and migrations: only the command differs.
FROM python:3.12-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea

# Locked by hash; the lock holds every extra, and hatchling for the checkout itself.
# With a folder `wheels` (python3 run.py wheels) nothing is fetched.
WORKDIR /srv/triage
COPY requirements/server.txt requirements/server.txt
RUN --mount=type=bind,target=/context \
    offline=$(if [ -d /context/wheels ]; then echo --no-index --find-links=/context/wheels; fi) ;\
    pip install --no-cache-dir --disable-pip-version-check --require-hashes $offline \
        -r requirements/server.txt

COPY pyproject.toml README.md LICENSE CHANGELOG.md ./
COPY triage triage
COPY models models
COPY migrations migrations
COPY workers workers
RUN pip install --no-cache-dir --disable-pip-version-check --no-deps --no-build-isolation -e . && \
    python -m compileall -q triage models migrations workers

# Nobody in particular, by number, so that Kubernetes can see that it is not root.
# Loops are compiled now, where they can still be written, and kept in a volume; modules above.
ENV PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    HOME=/tmp \
    TMPDIR=/var/tmp/triage \
    NUMBA_CACHE_DIR=/var/cache/triage \
    TRIAGE_DATA_DIR=/var/lib/triage \
    TRIAGE_LOG_FORMAT=json
RUN install -d -m 0700 -o 10001 -g 10001 /var/cache/triage /var/lib/triage /var/tmp/triage
USER 10001:10001
RUN python -m triage.sandbox.warm_up

VOLUME ["/var/cache/triage", "/var/lib/triage", "/var/tmp/triage"]
EXPOSE 8000
STOPSIGNAL SIGTERM
CMD ["triage", "serve", "--host", "0.0.0.0"]
