# The two commands that matter: `make demo` and `make test`. Each installs what is missing and works on a bare machine.

PACKAGES = libssl-dev libsqlite3-dev libcurl4-openssl-dev libargon2-dev libnghttp2-dev libpq-dev zlib1g-dev
TEST_PACKAGES = curl haproxy nginx-light openssl postgresql python3 strace
E2E_PACKAGES = $(TEST_PACKAGES) chromium gcc iproute2 nghttp2-client slowhttptest squid varnish wrk
BENCH_PACKAGES = curl nginx-light openssl postgresql python3 wrk
# Optimising across modules and linking the standard library in saves a tenth of the processor time of a request each.
RELEASE = --configuration release --static-swift-stdlib -Xswiftc -cross-module-optimization
SOURCES = Package.swift Migrations Sources Tests Benchmarks/Package.swift Benchmarks/Sources Fuzz/Package.swift \
	Fuzz/Sources/Fuzz
# Executions of each of the fuzzer's targets, and which of them, if not all: make fuzz RUNS=100000 TARGETS="head json"
RUNS = 10000000
TARGETS =

# All at once, five hundred tests would starve each other's deadlines on a busy machine.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH = 4

.PHONY: demo test check build release bench bench-fetches bench-delivery bench-herd bench-posts bench-batches bench-tools fuzz growth sanitize e2e format docs docker packages test-packages e2e-packages bench-packages

demo: packages
	swift build --product sealpost
	.build/debug/sealpost demo

test: packages test-packages
	swift test

# What has to be green before a change lands.
check: packages test-packages
	swift format lint --strict --recursive $(SOURCES)
	swift test

build: packages
	swift build

release: packages
	swift build $(RELEASE) --product sealpost

# Requests a second against Hummingbird and nginx, pushes a second against libcurl and AsyncHTTPClient, a herd against plain
# fetches, and posts a second against PostgreSQL and a loop over SQLite, as ratios of one run each. Each fails below its limits;
# make --keep-going bench goes on with the others.
bench: bench-fetches bench-delivery bench-herd bench-posts bench-batches

bench-fetches: bench-tools
	scripts/e2e run bench-fetches .build/release/sealpost .build-benchmarks/release

bench-delivery: bench-tools
	scripts/e2e run bench-delivery .build/release/sealpost .build-benchmarks/release

bench-herd: bench-tools
	scripts/e2e run herd .build/release/sealpost .build-benchmarks/release

bench-posts: bench-tools
	scripts/e2e run bench-posts .build/release/sealpost .build-benchmarks/release/sqlite-posts

bench-batches: release bench-packages
	scripts/e2e run bench-batches .build/release/sealpost

bench-tools: release bench-packages
	swift build $(RELEASE) --package-path Benchmarks --scratch-path .build-benchmarks

# Any bytes to the parsers of what comes from outside, under libFuzzer and the address sanitizer; some minutes each.
fuzz: packages
	scripts/fuzz $(RUNS) $(TARGETS)

# What each operation costs at a thousand, a hundred thousand and ten million stored notifications: some 15 minutes, 6 GiB of
# disk.
growth: release e2e-packages
	scripts/e2e run growth .build/release/sealpost

# All tests under the thread sanitizer, in a build folder of its own.
sanitize: packages test-packages
	scripts/sanitize

# The whole product at length: kill -9 in the middle of work and of a broadcast, a thousand restarts, proxies, clients and
# caches of others, thousands of hostile, of idle and of busy connections, thousands of requests to each operation of
# openapi.json, hostile pages in a browser, a million deliveries with faults, a provider down for hours, a search for secrets
# in all that leaves, senders behind a Squid, payloads that are read once over a proxy that cuts answers off, schemas of the
# past, guesses at passwords and at who has one, and the moves of hostile users.
e2e: release e2e-packages
	SEALPOST_TEST_PROXIES=all swift test --filter EndToEnd
	SEALPOST_TEST_FLIPS=10000 SEALPOST_TEST_ID_BITS=16 swift test --filter 'BitFlip|GuessedID'
	scripts/e2e run clients .build/release/sealpost
	scripts/e2e run conditional .build/release/sealpost
	scripts/e2e run lint-http .build/release/sealpost
	scripts/e2e run schemathesis .build/release/sealpost
	scripts/e2e run schemas .build/release/sealpost
	scripts/e2e run restarts .build/release/sealpost
	scripts/e2e run restarts .build/release/sealpost --proxy haproxy --count 100
	scripts/e2e run restarts .build/release/sealpost --proxy varnish --count 100
	scripts/e2e run restarts .build/release/sealpost --proxy squid --count 100
	scripts/e2e run siege .build/release/sealpost
	scripts/e2e run busy .build/release/sealpost
	scripts/e2e run browsers .build/release/sealpost
	scripts/e2e run ssrf .build/release/sealpost
	scripts/e2e run egress .build/release/sealpost
	scripts/e2e run tokens .build/release/sealpost
	scripts/e2e run bruteforce .build/release/sealpost
	scripts/e2e run enumeration .build/release/sealpost --count 5000
	scripts/e2e run insiders .build/release/sealpost
	scripts/e2e run privacy .build/release/sealpost
	scripts/e2e run canaries .build/release/sealpost
	scripts/e2e run readonce .build/release/sealpost
	scripts/e2e run schedule .build/release/sealpost
	scripts/e2e run outage .build/release/sealpost
	scripts/e2e run crashes .build/release/sealpost
	scripts/e2e run nodes .build/release/sealpost
	scripts/e2e run conservation .build/release/sealpost
	scripts/e2e run events .build/release/sealpost
	$(MAKE) sanitize

format:
	swift format --in-place --recursive $(SOURCES)

# The pages of the libraries that apps link, in .build-docs; a page that names a symbol which is not there fails.
docs: packages
	scripts/make-docs

docker:
	docker build --tag sealpost .

packages:
	@scripts/install-packages $(PACKAGES)

test-packages:
	@scripts/install-packages $(TEST_PACKAGES)
	@scripts/make-test-environment

e2e-packages:
	@scripts/install-packages $(E2E_PACKAGES)
	@scripts/make-test-environment
	@scripts/make-test-environment .venv-e2e Tests/Clients/requirements.txt

bench-packages:
	@scripts/install-packages $(BENCH_PACKAGES)
