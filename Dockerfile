# Three images: `supervisor` (the sidecar), `shim` (the init container that brings the shim into the
# engine's container), `router` (the supervisor's with lastcall-router on top, under `lastcall run`).
#
#   docker build --target supervisor -t lastcall .      podman and buildah take the same arguments
#
# BASE is any Debian 12: what compiles and what runs come from the same one, so that the libraries
# fit. Programs that are in build/image already (packaging/images.sh --binaries) are not compiled.
# PACKAGES says whether packages come as packaging/packages.lock has them; the values are in
# packaging/install_packages.sh, which is why this file calls no apt itself.
ARG BASE=debian:12-slim

FROM ${BASE} AS tools
ARG PACKAGES=locked
ENV DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
# The files that are always there let the pattern match nothing else.
COPY packaging/install_packages.sh packaging/packages.lock build/imag[e] /out/
# Of the list in ./dev what the programs need; a lint test holds the two together.
RUN if [ -x /out/lastcall ]; then exit 0; fi; \
    sh /out/install_packages.sh \
    clang-16 lld-16 cmake ninja-build ccache pkg-config python3 \
    libboost1.81-dev libcpp-httplib-dev libyaml-cpp-dev prometheus-cpp-dev libspdlog-dev \
    libfmt-dev nlohmann-json3-dev libcli11-dev libnats-dev libssl-dev zlib1g-dev \
    libcurl4-openssl-dev libcivetweb-dev

# The programs, what they are made of, and a proof that they are hardened as the options say.
FROM tools AS compile
COPY . /src
RUN if [ -x /out/lastcall ]; then exit 0; fi; \
    cmake -S /src --preset release -DLASTCALL_BUILD_TESTS=OFF -DLASTCALL_BUILD_BENCH=OFF && \
    ninja -C /src/build/release supervisor/cli/lastcall lastcall-doctor lastcall-kube shim/lastcall-shim \
      router/lastcall-router && \
    cp /src/build/release/supervisor/cli/lastcall /src/build/release/supervisor/cli/lastcall-doctor \
      /src/build/release/supervisor/cli/lastcall-kube /src/build/release/shim/lastcall-shim \
      /src/build/release/router/lastcall-router /out/ && \
    mkdir /out/program && cp /src/build/release/supervisor/libexec/lastcall/lastcall /out/program/ && \
    python3 /src/packaging/hardening.py /out/lastcall /out/program/lastcall /out/lastcall-doctor \
      /out/lastcall-kube /out/lastcall-shim /out/lastcall-router && \
    sh /src/packaging/describe_programs.sh /src/build/release /out

FROM ${BASE} AS libraries
ARG PACKAGES=locked
ENV DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
RUN find /lib/ /usr/lib/ -name '*.so*' -printf '%f\n' | sort -u >/in-base && \
    cp /var/lib/dpkg/status /status-of-base
COPY packaging/install_packages.sh packaging/packages.lock build/image/apt.source[s] /packaging/
RUN sh /packaging/install_packages.sh binutils python3 \
    libcpp-httplib0.11 libyaml-cpp0.7 prometheus-cpp-dev libspdlog1.10 libfmt9 libnats3.4 \
    libssl3

# Puts /rootfs together: the programs, of the libraries only those that are used and that the base
# lacks, with the records by which scanners know them; /router-rootfs, what the router adds to them;
# and /shim-rootfs.
FROM libraries AS collect
COPY packaging /packaging
COPY CMakeLists.txt /
COPY --from=compile /out /out
RUN sh /packaging/collect_rootfs.sh /out /rootfs /in-base /status-of-base /shim-rootfs \
      /router-rootfs

# What packages.lock is made from (packaging/images.sh --refresh-lock).
FROM scratch AS lock
COPY --from=tools /out/installed /tools
COPY --from=libraries /packaging/installed /libraries

FROM scratch AS shim
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="lastcall-shim" \
      org.opencontainers.image.description="Copies the engine's parent process into a volume" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}"
COPY --from=collect /shim-rootfs /
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

FROM supervisor AS router
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="lastcall-router" \
      org.opencontainers.image.description="One front for many LLM engines, in which streams outlive them" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}"
COPY --from=collect /router-rootfs /
EXPOSE 8080 7091
# The router drains by itself, so it gets its SIGTERM at once and has its own grace of 30 minutes.
ENTRYPOINT ["/usr/bin/lastcall", "run", "--set", "shutdown.grace_period=1805s", \
  "--set", "shutdown.late_accept=0s", "--set", "shutdown.drain_unknown=0s", \
  "--", "/usr/bin/lastcall-router"]
CMD []

# What a build without a target gives.
FROM supervisor
