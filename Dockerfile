# syntax=docker/dockerfile:1
# BASE is pinned to a patch release. To pin the bytes as well: --build-arg BASE=python:3.11.14-slim-bookworm@sha256:…
ARG BASE=python:3.11.14-slim-bookworm

FROM ${BASE} AS build
WORKDIR /src
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
COPY requirements/build.txt requirements/runtime.txt requirements/
# The wheel is built with pinned tools in an environment of its own, so that none of them gets into the image.
RUN python -m venv /build \
    && /build/bin/pip install --require-hashes -r requirements/build.txt \
    && python -m venv --without-pip /venv \
    && pip --python /venv/bin/python install --require-hashes -r requirements/runtime.txt
COPY pyproject.toml README.md LICENSE ./
COPY service service
COPY docs docs
COPY tools/sbom.py tools/sbom.py
RUN /build/bin/python -m hatchling build -t wheel -d /dist \
    && pip --python /venv/bin/python install --no-index --no-deps /dist/*.whl \
    && mkdir -p /venv/share/cardmatch \
    && /venv/bin/python tools/sbom.py > /venv/share/cardmatch/sbom.cdx.json

FROM ${BASE}
ARG REVISION=unknown
LABEL org.opencontainers.image.title="cardmatch" \
      org.opencontainers.image.description="Which GPU card fits a model, and what it costs" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.revision="${REVISION}" \
      org.cyclonedx.sbom="/venv/share/cardmatch/sbom.cdx.json"
COPY --from=build /venv /venv
# Nothing is written while it runs: the root file system may be read-only.
ENV PATH=/venv/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    CARDMATCH_BIND_HOST=0.0.0.0 \
    CARDMATCH_BIND_PORT=8000
USER 10001:10001
WORKDIR /tmp
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=15s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as u; u.urlopen('http://127.0.0.1:' + os.environ['CARDMATCH_BIND_PORT'] + '/livez', timeout=2)"]
ENTRYPOINT ["cardmatch"]
CMD ["serve"]
