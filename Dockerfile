# The dashboard for a team: `make image`, then as docs/team.md says.
FROM python:3.11-slim

WORKDIR /build
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY rashomon_explorer rashomon_explorer
COPY apps apps
COPY datasets datasets
RUN pip install --no-cache-dir --constraint constraints.txt . && rm -rf /build

# Ledgers and sets that were paid for: keep this folder, or what was spent is forgotten.
RUN useradd --create-home explorer && install --directory --owner explorer /data
USER explorer
WORKDIR /data
VOLUME /data
EXPOSE 8866

ENTRYPOINT ["rashomon-explorer", "--no-browser", "--ip", "0.0.0.0", "--port", "8866"]
