# Two commands: make run starts the service, make test checks everything.
# Both set the machine up first; scripts/setup says what it installs and why.

TAGS      := gocv_specific_modules,gocv_videoio,nodynamic
TEST_TAGS := $(TAGS),matprofile
LISTEN    ?= 127.0.0.1:8080
DATA      ?= data
BENCH     ?= .
COUNT     ?= 6
TOOLS     := $(if $(XDG_CACHE_HOME),$(XDG_CACHE_HOME),$(HOME)/.cache)/deepfaked/tools

.PHONY: run build test lint vet vuln bench memory-check setup setup-tests clean help

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

run: build ## set up, build and start the service on LISTEN with its data in DATA
	@scripts/run '$(LISTEN)' '$(DATA)'

build: setup ## set up and leave bin/deepfaked
	go build -trimpath -tags $(TAGS) -o bin/deepfaked ./cmd/deepfaked

test: setup-tests lint vet vuln ## set up and run every check and test
	scripts/test-setup
	go test -race -shuffle=on -timeout 12m -tags $(TEST_TAGS) ./...

lint: setup-tests ## golangci-lint and, where it is installed, shellcheck
	$(TOOLS)/golangci-lint run --build-tags $(TEST_TAGS) ./...
	@if command -v shellcheck >/dev/null; then shellcheck scripts/setup scripts/test-setup scripts/run scripts/sample scripts/vuln scripts/memory-check .ci/run; \
	else echo 'lint: shellcheck is not installed, the shell scripts were not checked'; fi

vet: setup ## go vet, also as it is on a machine without OpenCV and FFmpeg
	go vet -tags $(TEST_TAGS) ./...
	PKG_CONFIG_LIBDIR=/nonexistent PKG_CONFIG_PATH= go vet ./...

vuln: setup-tests ## govulncheck; only what is reached fails
	scripts/vuln $(TOOLS)/govulncheck -tags $(TAGS) ./...

bench: setup-tests ## benchmarks, COUNT times each, summed up by benchstat
	go test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) -tags $(TAGS) ./... | tee bench.out
	$(TOOLS)/benchstat bench.out

memory-check: build ## a thousand requests of each kind: memory must not grow
	scripts/memory-check

setup: ## install what building and running need
	@scripts/setup

setup-tests:
	@scripts/setup --tests --tools

clean: ## remove what was built; the data folder stays
	rm -rf bin bench.out
