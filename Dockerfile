# The server. The database is another container (docker-compose.yml) or any Postgres with pgvector.
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY alembic alembic
COPY engram engram
RUN python -m venv /opt/engram && /opt/engram/bin/pip install --no-cache-dir '.[server,openai,otel]'

FROM python:3.12-slim
RUN useradd --system --create-home engram
COPY --from=build /opt/engram /opt/engram
ENV PATH=/opt/engram/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    ENGRAM_HOST=0.0.0.0 \
    ENGRAM_PORT=8080 \
    # Inside a container every address is reached through a published port: publish it on 127.0.0.1 only.
    ENGRAM_INSECURE_BIND=true \
    ENGRAM_LOG_FORMAT=json
USER engram
EXPOSE 8080
# On the port that is set, and past any proxy: that one is for the providers of models.
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
    CMD ["python", "-c", "import os, urllib.request as r; r.build_opener(r.ProxyHandler({})).open(f'http://127.0.0.1:{os.environ[\"ENGRAM_PORT\"]}/health/live', timeout=2)"]
CMD ["engram", "serve"]
