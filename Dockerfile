# Two images: `supervisor` (the sidecar), `shim` (the init container that brings the shim into the
# engine's container).
#
#   docker build --target supervisor -t lastcall .      podman and buildah take the same arguments
#
# BASE is any Debian 12: what compiles and what runs come from the same one, so that the libraries
# fit. Programs that are in build/image already (packaging/images.sh --binaries) are not compiled.
ARG BASE=debian:12-slim

FROM ${BASE} AS compile
ENV DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
# The file that is always there lets the pattern match nothing else.
COPY Dockerfile build/imag[e] /out/
# Of the list in ./dev what the programs need; a lint test holds the two together.
RUN if [ -x /out/lastcall ]; then exit 0; fi; \
    apt-get update -q && apt-get install -y -q --no-install-recommends \
    clang-16 lld-16 cmake ninja-build ccache pkg-config \
    libboost1.81-dev libcpp-httplib-dev libyaml-cpp-dev prometheus-cpp-dev libspdlog-dev \
    libfmt-dev nlohmann-json3-dev libcli11-dev libnats-dev libssl-dev zlib1g-dev \
    libcurl4-openssl-dev libcivetweb-dev && rm -rf /var/lib/apt/lists/*
COPY . /src
RUN if [ -x /out/lastcall ]; then exit 0; fi; \
    cmake -S /src --preset release -DLASTCALL_BUILD_TESTS=OFF -DLASTCALL_BUILD_BENCH=OFF && \
    ninja -C /src/build/release supervisor/cli/lastcall shim/lastcall-shim && \
    cp /src/build/release/supervisor/cli/lastcall /src/build/release/shim/lastcall-shim /out/

# Puts /rootfs together: the programs, and of the libraries only those that are used and that the
# base lacks.
FROM ${BASE} AS collect
RUN find /lib/ /usr/lib/ -name '*.so*' -printf '%f\n' | sort -u >/in-base
RUN apt-get update -q && apt-get install -y -q --no-install-recommends binutils \
    libcpp-httplib0.11 libyaml-cpp0.7 prometheus-cpp-dev libspdlog1.10 libfmt9 libnats3.4 \
    libssl3
COPY packaging/collect_rootfs.sh /
COPY --from=compile /out /out
RUN sh /collect_rootfs.sh /out /rootfs /in-base

FROM scratch AS shim
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="lastcall-shim" \
      org.opencontainers.image.description="Copies the engine's parent process into a volume" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}"
COPY --from=collect /rootfs/usr/bin/lastcall-shim /lastcall-shim
USER 65532:65532
ENTRYPOINT ["/lastcall-shim"]
CMD ["--install", "/opt/lastcall"]

FROM ${BASE} AS supervisor
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="lastcall" \
      org.opencontainers.image.description="The lifecycle sidecar for LLM engines on Kubernetes" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}"
COPY --from=collect /rootfs /
USER 65532:65532
EXPOSE 7090
# The stand-alone shim reaps what exec checks and hooks leave behind, and starts `serve` again after a
# crash, which in a pod that is being deleted nobody else does.
ENTRYPOINT ["/usr/bin/lastcall-shim", "--restart", "/usr/bin/lastcall"]
CMD ["serve"]
