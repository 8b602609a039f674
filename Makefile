# Begin with `make demo` and `make test`. Each installs missing packages and works on a bare machine.

PACKAGES = libssl-dev libsqlite3-dev libcurl4-openssl-dev libargon2-dev libnghttp2-dev libpq-dev zlib1g-dev
# Debian's nodejs has no npm; the nodejs of other sources has it, and conflicts with Debian's npm.
TEST_PACKAGES = curl default-jdk-headless haproxy kotlin logrotate mono-mcs nginx-light node-typescript nodejs openssl pgbouncer postgresql python3 strace \
	$(if $(shell command -v npm 2>/dev/null),,npm)
DEB_PACKAGES = binutils chrpath debhelper lintian po-debconf python3
E2E_PACKAGES = $(TEST_PACKAGES) $(DEB_PACKAGES) chromium etcd-server firefox-esr gcc gdb golang-go iproute2 \
	libbcprov-java libmono-system-net-http4.0-cil \
	libmono-system-runtime-serialization4.0-cil lua-sec mmdebstrap nghttp2-client podman prometheus prosody \
	prosody-modules pypy3 runc slowhttptest squid systemd-container varnish wrk
BENCH_PACKAGES = binutils curl nginx-light openssl postgresql python3 valgrind wrk
# Cross-module optimization and the static standard library save a tenth of a request's CPU time.
# The prefix map keeps this machine's paths out of the executable.
RELEASE = --configuration release --static-swift-stdlib -Xswiftc -cross-module-optimization \
	-Xcc -fmacro-prefix-map=$(CURDIR)=.
# WHOLE=1 compiles each module in one process, which saves a fifth of a cold build. A build after a change
# then compiles whole modules, so the default is without (docs/decisions/whole-modules.md).
WHOLE =
# Debug information costs a large part of a debug build; `make test DEBUG=` adds it.
DEBUG = -debug-info-format none $(if $(WHOLE),-Xswiftc -wmo -Xswiftc -num-threads -Xswiftc 2 \
	-Xswiftc -no-emit-module-separately-wmo -Xswiftc -disable-batch-mode)
# The commit, for --version: a linker's note, which `readelf --notes` and coredumpctl show, too.
# It is empty without git.
COMMIT := $(shell git describe --always --abbrev=12 --exclude='*' --dirty 2>/dev/null)
NOTE = -Xlinker '--package-metadata={"type":"git","name":"sealpost","commit":"$(COMMIT)"}'
SOURCES = Package.swift Migrations Sources Tests examples Benchmarks/Package.swift Benchmarks/Sources Fuzz/Package.swift \
	Fuzz/Sources/Fuzz
# `make check` compares the prose with this commit.
BASE = HEAD~1
# Executions and names of the fuzzer's targets: make fuzz RUNS=100000 TARGETS="head json"
RUNS = 10000000
TARGETS =

# `make install` and `make deb` use this executable, and build only the default one.
PROGRAM = .build/release/sealpost
# The simulators and the demonstration, in the same folder.
DEMO = $(dir $(PROGRAM))sealpost-demo
# The folders of `make install`, below DESTDIR: sudo make install PREFIX=/opt/sealpost
PREFIX = /usr/local
SYSCONFDIR = /etc
UNITDIR = $(PREFIX)/lib/systemd/system
BASH_COMPLETIONS = $(PREFIX)/share/bash-completion/completions
FISH_COMPLETIONS = $(PREFIX)/share/fish/vendor_completions.d
ZSH_COMPLETIONS = $(PREFIX)/share/zsh/site-functions
# The package's version (default: the program's and the commit), and its folder.
VERSION =
DEB_FOLDER = .build-deb

.PHONY: demo test check build build-tests build-cost release release-demo bench bench-fetches bench-delivery bench-herd bench-posts bench-batches bench-postgresql bench-outbox bench-servers bench-thousand-devices bench-instructions bench-tools plots console-grown sizes fuzz growth stress sanitize check-release e2e e2e-quick soak format docs docker install deb packages test-packages e2e-packages deb-packages bench-packages

demo: packages
	swift build $(DEBUG) --product sealpost-demo
	.build/debug/sealpost-demo

test: packages test-packages
	swift test $(DEBUG)

# Lints and tests; every change must pass.
check: packages test-packages
	swift format lint --strict --recursive $(SOURCES)
	scripts/wrap-comments --check Sources Tests Migrations
	scripts/plain-english --changed $(BASE)
	swift test $(DEBUG)

build: packages
	swift build $(DEBUG)

# Builds the tests for `make test`.
build-tests: packages
	swift build $(DEBUG) --build-tests

release: packages
	swift build $(RELEASE) $(if $(COMMIT),$(NOTE)) --product sealpost

# The simulators and the demonstration, for `make install`, `make deb` and some e2e programs.
release-demo: packages
	swift build $(RELEASE) $(if $(COMMIT),$(NOTE)) --product sealpost-demo

# Ratios within one run: requests to Hummingbird and nginx, pushes to libcurl and AsyncHTTPClient, a
# herd to plain fetches, posts to PostgreSQL and a loop over SQLite, PostgreSQL to pgbench, its outbox
# to a prototype, two servers to one, and end-to-end payloads to key agreements. Each bench fails
# below its limits; `make --keep-going bench` continues with the others.
bench: bench-fetches bench-delivery bench-herd bench-posts bench-batches bench-postgresql bench-outbox bench-servers bench-thousand-devices plots

# Draws each bench's output in .build-benchmarks/results, also if it ended below a limit.
plots:
	scripts/make-plots .build-benchmarks/results

# The console's views with a million devices: five minutes, 3 GiB of disk.
console-grown: release
	scripts/e2e run console-grown .build/release/sealpost

bench-fetches: bench-tools
	scripts/e2e run bench-fetches .build/release/sealpost .build-benchmarks/release
	scripts/e2e run bench-instructions .build/release/sealpost

bench-delivery: bench-tools
	scripts/e2e run bench-delivery .build/release/sealpost .build-benchmarks/release

bench-herd: bench-tools
	scripts/e2e run herd .build/release/sealpost .build-benchmarks/release

bench-posts: bench-tools
	scripts/e2e run bench-posts .build/release/sealpost .build-benchmarks/release/sqlite-posts

bench-batches: release bench-packages
	scripts/e2e run bench-batches .build/release/sealpost

bench-postgresql: release bench-packages
	scripts/e2e run bench-postgresql .build/release/sealpost

bench-outbox: bench-tools
	scripts/e2e run bench-outbox .build/release/sealpost .build-benchmarks/release

bench-servers: release bench-packages
	scripts/e2e run bench-servers .build/release/sealpost

# The sender's time for end-to-end payloads, in each library for backends: five minutes.
bench-thousand-devices: release bench-packages test-packages
	scripts/thousand-devices .build/release/sealpost

# A fetch's instructions, compared with another executable: make bench-instructions BASELINE=path
bench-instructions: release bench-packages
	scripts/e2e run bench-instructions .build/release/sealpost $(if $(BASELINE),--baseline $(BASELINE))

# The size of rows on PostgreSQL with a million devices: five minutes, 8 GiB of disk.
sizes: bench-tools
	scripts/e2e run bench-sizes .build/release/sealpost .build-benchmarks/release

bench-tools: release bench-packages
	swift build $(RELEASE) --package-path Benchmarks --scratch-path .build-benchmarks

# CPU seconds of cold builds, of this commit and an older one: half an hour to an hour.
build-cost: packages
	scripts/build-cost

# Fuzzes the parsers of external input with libFuzzer and the address sanitizer: minutes each.
fuzz: packages
	scripts/fuzz $(RUNS) $(TARGETS)

# The cost of each operation with up to ten million notifications: 15 minutes, 6 GiB of disk.
growth: release e2e-packages
	scripts/e2e run growth .build/release/sealpost

# All tests on a busy machine, ten times, and on a quarter of a core: STRESS="--count 3 --filter Loss"
STRESS =
stress: packages test-packages
	swift build $(DEBUG) --build-tests
	scripts/stress-tests $(STRESS)

# All tests with the thread sanitizer, in a separate build folder.
sanitize: packages test-packages
	scripts/sanitize

# All end-to-end programs that pass or fail, for hours; `scripts/e2e list` says what each tests.
e2e: check-release
	SEALPOST_TEST_PROXIES=all swift test $(DEBUG) --filter EndToEnd
	SEALPOST_TEST_FLIPS=10000 SEALPOST_TEST_ID_BITS=16 swift test $(DEBUG) --filter 'BitFlip|GuessedID'
	SEALPOST_TEST_STREAMS=50000 swift test $(DEBUG) --filter SocketHTTPTests.DifferentialTests
	scripts/e2e run clients .build/release/sealpost
	scripts/e2e run conditional .build/release/sealpost
	scripts/e2e run lint-http .build/release/sealpost
	scripts/e2e run schemathesis .build/release/sealpost
	scripts/e2e run schemas .build/release/sealpost
	scripts/e2e run restarts .build/release/sealpost
	scripts/e2e run restarts .build/release/sealpost --proxy haproxy --count 100
	scripts/e2e run restarts .build/release/sealpost --proxy varnish --count 100
	scripts/e2e run restarts .build/release/sealpost --proxy squid --count 100
	scripts/e2e run day-of-changes .build/release/sealpost
	scripts/e2e run oidc .build/release/sealpost
	scripts/e2e run siege .build/release/sealpost
	scripts/e2e run busy .build/release/sealpost
	scripts/e2e run soak .build/release/sealpost
	scripts/e2e run browsers .build/release/sealpost
	scripts/e2e run console .build/release/sealpost
	scripts/e2e run console-servers .build/release/sealpost
	scripts/e2e run web-client .build/release/sealpost
	scripts/e2e run looks .build/release/sealpost
	scripts/e2e run looks .build/release/sealpost --postgresql
	scripts/e2e run firefox .build/release/sealpost
	scripts/e2e run publishers .build/release/sealpost
	scripts/e2e run unified-push .build/release/sealpost
	for library in java python; do cd $(CURDIR)/Clients/$$library && SEALPOST_TEST_MANY=9800 \
		SEALPOST_PROGRAM=$(CURDIR)/.build/release/sealpost \
		$(CURDIR)/.venv-test/bin/python -B -m unittest discover --start-directory tests || exit; done
	SEALPOST_TEST_MANY=9800 SEALPOST_EXECUTABLE=$(CURDIR)/.build/release/sealpost node --test Clients/node/tests/client.test.mjs
	scripts/backend-libraries .build/release/sealpost
	scripts/e2e run ssrf .build/release/sealpost
	scripts/e2e run egress .build/release/sealpost
	scripts/e2e run enumeration .build/release/sealpost --count 5000
	scripts/e2e run insiders .build/release/sealpost
	scripts/e2e run canaries .build/release/sealpost
	scripts/e2e run end-to-end .build/release/sealpost
	scripts/e2e run crashes .build/release/sealpost
	scripts/e2e run nodes .build/release/sealpost
	scripts/e2e run streams .build/release/sealpost
	scripts/e2e run failover .build/release/sealpost
	scripts/e2e run conservation .build/release/sealpost
	scripts/e2e run events .build/release/sealpost
	scripts/e2e run prometheus .build/release/sealpost
	scripts/e2e run package .build/release/sealpost
	scripts/e2e run image .build/release/sealpost
	scripts/e2e run newcomer .build/release/sealpost
	scripts/client-only
	scripts/client-package
	SEALPOST_TEST_STEPS=10000 swift test $(DEBUG) --filter TwoProcessesTests
	SEALPOST_TEST_STEPS=10000 node --test Clients/web/tests/client.test.mjs
	SEALPOST_TEST_CACHED=5000 swift test $(DEBUG) --filter ExtensionMemoryTests
	scripts/android-client check
	scripts/android-client large
	scripts/android-client processes 10000
	scripts/e2e run android-client .build/release/sealpost
	$(MAKE) sanitize

# Each line is an e2e program in a form that takes minutes; a scheduled workflow runs them.
define QUICK
clients --quick
publishers
conditional --quick
lint-http
schemas
oidc
web-client
firefox
unified-push
canaries
events --pushes 20000 --kills 2
schemathesis --max-examples 60 --chains 3
end-to-end --count 300
crashes --devices 2000 --count 10
conservation --pushes 20000
restarts --count 50
day-of-changes --count 100
enumeration
streams --devices 20 --steady 5 --kills 2
nodes --kills 4 --pauses 1 --takeovers 1
failover --kills 1 --freezes 1
egress
ssrf
soak
console-servers
looks
insiders
siege
growth --sizes 10^3 --rounds 1
endef
export QUICK
e2e-quick: check-release
	set -e; echo "$$QUICK" | while read program options; do echo "== $$program $$options"; \
		scripts/e2e run $$program .build/release/sealpost $$options </dev/null; done

# Faults that only release builds have.
check-release: release release-demo e2e-packages
	scripts/async-contexts .build/release/sealpost .build/release/sealpost-demo
	.build/release/sealpost-demo demo >/dev/null

# A quarter of an hour of full load: memory, descriptors, the log and the file must not grow.
soak: release release-demo e2e-packages
	scripts/e2e run soak .build/release/sealpost

format:
	swift format --in-place --recursive $(SOURCES)
	scripts/wrap-comments Sources Tests Migrations

# The DocC pages of the libraries that apps link, in .build-docs; a broken link to a symbol fails.
docs: packages
	scripts/make-docs

docker:
	docker build --build-arg COMMIT=$(COMMIT) --tag sealpost .

# Installs the release builds with units, man pages, completions and an example configuration. An
# existing configuration stays.
install:
	@test -x "$(PROGRAM)" || { echo "$(PROGRAM) is not there: run make release first" >&2; exit 1; }
	@test -x "$(DEMO)" || { echo "$(DEMO) is not there: run make release-demo first" >&2; exit 1; }
	install -D -m 755 "$(PROGRAM)" "$(DESTDIR)$(PREFIX)/bin/sealpost"
	install -m 755 "$(DEMO)" "$(DESTDIR)$(PREFIX)/bin/sealpost-demo"
	install -d "$(DESTDIR)$(UNITDIR)"
	sed 's|/usr/local/bin/|$(PREFIX)/bin/|' config/sealpost.service >"$(DESTDIR)$(UNITDIR)/sealpost.service"
	install -m 644 config/sealpost.socket "$(DESTDIR)$(UNITDIR)"
	install -D -m 644 config/sealpost.yaml "$(DESTDIR)$(PREFIX)/share/doc/sealpost/examples/sealpost.yaml"
	test -e "$(DESTDIR)$(SYSCONFDIR)/sealpost/sealpost.yaml" \
		|| install -D -m 644 config/installed.yaml "$(DESTDIR)$(SYSCONFDIR)/sealpost/sealpost.yaml"
	install -d "$(DESTDIR)$(PREFIX)/share/man/man1" "$(DESTDIR)$(PREFIX)/share/man/man5"
	scripts/make-manual command "$(PROGRAM)" >"$(DESTDIR)$(PREFIX)/share/man/man1/sealpost.1"
	scripts/make-manual command "$(DEMO)" >"$(DESTDIR)$(PREFIX)/share/man/man1/sealpost-demo.1"
	scripts/make-manual configuration "$(PROGRAM)" >"$(DESTDIR)$(PREFIX)/share/man/man5/sealpost.yaml.5"
	install -d "$(DESTDIR)$(BASH_COMPLETIONS)" "$(DESTDIR)$(FISH_COMPLETIONS)" "$(DESTDIR)$(ZSH_COMPLETIONS)"
	"$(PROGRAM)" --generate-completion-script bash >"$(DESTDIR)$(BASH_COMPLETIONS)/sealpost"
	"$(PROGRAM)" --generate-completion-script fish >"$(DESTDIR)$(FISH_COMPLETIONS)/sealpost.fish"
	"$(PROGRAM)" --generate-completion-script zsh >"$(DESTDIR)$(ZSH_COMPLETIONS)/_sealpost"
	"$(DEMO)" --generate-completion-script bash >"$(DESTDIR)$(BASH_COMPLETIONS)/sealpost-demo"
	"$(DEMO)" --generate-completion-script fish >"$(DESTDIR)$(FISH_COMPLETIONS)/sealpost-demo.fish"
	"$(DEMO)" --generate-completion-script zsh >"$(DESTDIR)$(ZSH_COMPLETIONS)/_sealpost-demo"

# sealpost_VERSION_amd64.deb, checked by lintian.
deb: $(if $(filter .build/release/sealpost,$(PROGRAM)),release release-demo) deb-packages
	scripts/async-contexts "$(PROGRAM)" "$(DEMO)"
	scripts/make-deb "$(PROGRAM)" "$(DEB_FOLDER)" $(VERSION)

packages:
	@scripts/install-packages $(PACKAGES)

test-packages:
	@scripts/install-packages $(TEST_PACKAGES)
	@scripts/make-test-environment

e2e-packages:
	@scripts/install-packages $(E2E_PACKAGES)
	@scripts/make-test-environment
	@scripts/make-test-environment .venv-e2e Tests/Clients/requirements.txt
	@scripts/make-test-environment .venv-failover Tests/Failover/requirements.txt

deb-packages:
	@scripts/install-packages $(DEB_PACKAGES)

bench-packages:
	@scripts/install-packages $(BENCH_PACKAGES)
