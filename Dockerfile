# The command and the Python package, without a compiler: docker build -t quasistep .
# docker run -v "$PWD":/work quasistep run scene.yml
FROM rust:1.95-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends npm python3-pip python3-venv
COPY . /src
RUN pip wheel --no-deps --wheel-dir /wheels /src

FROM python:3.13-slim-bookworm
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir /wheels/*.whl && rm -r /wheels
WORKDIR /work
ENTRYPOINT ["quasistep"]
