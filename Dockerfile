# The chat for a team: no embedded engine is used, GRAPH_AGENT_FALKORDB_URL names the server.
FROM python:3.12-slim-bookworm
RUN apt-get update && apt-get install -y --no-install-recommends libgomp1 && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY . .
RUN pip install --no-cache-dir --constraint constraints.txt '.[all]' && useradd --create-home agent && mkdir -p /data && chown agent /data
USER agent
ENV GRAPH_AGENT_DATA=/data
EXPOSE 7860
CMD ["graph-agent", "ui", "--host", "0.0.0.0", "--auth", "/data/users.json"]
