# One image for both roles (WORKLOADRUN_ROLE): gunicorn is process 1, the user is a number, the root may be read-only.
FROM python:3.11-slim AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /src
COPY requirements-build.lock requirements-runtime.lock ./
RUN python -m venv /opt/workloadrun \
 && /opt/workloadrun/bin/pip install --require-hashes --requirement requirements-runtime.lock \
 && python -m pip install --require-hashes --requirement requirements-build.lock
COPY pyproject.toml README.md LICENSE ./
COPY certs certs
COPY cli cli
COPY sync_hooks sync_hooks
COPY webhook webhook
RUN python -m pip wheel --no-deps --no-build-isolation --wheel-dir /wheels . \
 && /opt/workloadrun/bin/pip install --no-deps --no-index /wheels/*.whl \
 && /opt/workloadrun/bin/pip uninstall --yes setuptools pip \
 && python -m compileall -q /opt/workloadrun/lib

FROM python:3.11-slim
COPY --from=build /opt/workloadrun /opt/workloadrun
# bytecode is in the image already and nothing may be written beside it; /tmp and /dev/shm are memory
ENV PATH=/opt/workloadrun/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HOME=/tmp
WORKDIR /tmp
USER 65532:65532
EXPOSE 8443 8080
ENTRYPOINT ["gunicorn", "--config", "python:webhook.gunicorn_conf"]
