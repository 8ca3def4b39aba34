# The dashboard for a team (docs/team.md), and workers of a cluster (docs/cluster.md): `make image`.
# A newer base: --build-arg PYTHON=python:3.13-slim@sha256:…, as the release workflow looks it up.
ARG PYTHON=python:3.13-slim@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b

FROM ${PYTHON} AS build
WORKDIR /build
COPY pyproject.toml hatch_build.py constraints.txt README.md LICENSE ./
COPY rashomon_explorer rashomon_explorer
COPY apps apps
COPY datasets datasets
COPY docs docs
RUN python -m venv /opt/explorer && \
    /opt/explorer/bin/pip install --no-cache-dir --constraint constraints.txt '.[app,scale]'

FROM ${PYTHON}
LABEL org.opencontainers.image.title="Rashomon Explorer"
LABEL org.opencontainers.image.licenses="BSD-3-Clause"
COPY --from=build /opt/explorer /opt/explorer
ENV PATH=/opt/explorer/bin:$PATH

# Ledgers and sets that were paid for: keep this folder, or what was spent is forgotten.
RUN useradd --create-home --uid 1000 explorer && install --directory --owner 1000 /data
USER 1000
WORKDIR /data
VOLUME /data
EXPOSE 8866

# Any answer counts: without a token the server shows its login.
HEALTHCHECK --start-period=30s CMD ["python", "-c", "from http.client import HTTPConnection as H; c = H('127.0.0.1', 8866, timeout=5); c.request('GET', '/'); c.getresponse()"]

ENTRYPOINT ["rashomon-explorer", "--no-browser", "--ip", "0.0.0.0", "--port", "8866"]
