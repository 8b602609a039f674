# Two stages: a toolchain that builds, and a Debian that runs. The packages are those of the Makefile.
FROM swift:6.3-bookworm AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends \
        libssl-dev libsqlite3-dev libcurl4-openssl-dev libargon2-dev libnghttp2-dev libpq-dev zlib1g-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY Package.swift ./
COPY Fuzz Fuzz
COPY examples/apple examples/apple
COPY Migrations Migrations
COPY Sources Sources
COPY Tests Tests
# The commit for `sealpost --version`, from `make docker`.
ARG COMMIT
RUN swift build --configuration release --static-swift-stdlib -Xswiftc -cross-module-optimization \
        ${COMMIT:+-Xlinker "--package-metadata={\"type\":\"git\",\"name\":\"sealpost\",\"commit\":\"$COMMIT\"}"} \
        --product sealpost \
    && strip .build/release/sealpost

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends \
        ca-certificates libssl3 libsqlite3-0 libcurl4 libargon2-1 libpq5 zlib1g \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* \
    && useradd --system --uid 65532 --home-dir /var/lib/sealpost --create-home sealpost
COPY --from=build /source/.build/release/sealpost /usr/local/bin/sealpost
USER 65532:65532
WORKDIR /var/lib/sealpost
VOLUME /var/lib/sealpost
# The host cannot reach a container's loopback; publish the port on the host's loopback only.
ENV SEALPOST_SERVER_LISTEN=0.0.0.0:8080
EXPOSE 8080
# With a configuration elsewhere than in /etc/sealpost/sealpost.yaml, add "--config", FILE.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["sealpost", "health"]
ENTRYPOINT ["sealpost"]
CMD ["serve"]
