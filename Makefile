# Two commands: make run starts the service, make test tests it.
# Both set the machine up first; scripts/setup says what it installs and why.

# ONNX Runtime reports to nobody, whatever uses it.
export ORT_DISABLE_TELEMETRY := 1

TAGS      := gocv_specific_modules,gocv_videoio,nodynamic
TEST_TAGS := $(TAGS),matprofile
LISTEN    ?= 127.0.0.1:8080
DATA      ?= data
BENCH     ?= .
JOBS      ?= 1000
COUNT     ?= 6
RACE      ?=
FAST      ?=
MEDIA     ?= ../shared/data
WEIGHTS   ?= ../shared/weights
WORK      ?= .cache/train
MORE      ?= $(WORK)/more
TOOLS     := $(if $(XDG_CACHE_HOME),$(XDG_CACHE_HOME),$(HOME)/.cache)/deepfaked/tools

.PHONY: run build test check lint vet vuln bench memory-check deploy-check image-check benchmark benchmark-peers cluster-check setup setup-tests train-image train-image-clip train-face train-face-clip train-fusion train-fusion-clip train-facedetect train-speech train-test convert-measure convert-parity clean help

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

run: build ## set up, build and start the service on LISTEN with its data in DATA
	@scripts/run '$(LISTEN)' '$(DATA)'

build: setup ## set up and leave bin/deepfaked and bin/deepfaked-bench
	go build -trimpath -tags $(TAGS) -o bin/deepfaked ./cmd/deepfaked
	CGO_ENABLED=0 go build -trimpath -o bin/deepfaked-bench ./cmd/deepfaked-bench

test: ## set up and run every test; RACE=-race looks for data races, and takes twice as long
	@echo 'test: on two free cores this takes some 20 minutes the first time and 12 later:'
	@echo '  setting up       2 minutes, once: packages, ONNX Runtime and Go modules'
	@echo '  compiling        5 minutes, once'
	@echo '  tests of scripts 1 minute'
	@echo '  tests in Go     11 minutes; each package prints a line when it is done'
	@scripts/setup --tests $(if $(FAST),--fast)
	scripts/test-setup
	scripts/test-gpu-check
	cd scripts && python3 -m unittest discover -s bench -p 'test_*.py' -t .
	@# The limit ends tests that hang. Those of cmd/deepfaked take 8 minutes, and several times that beside other work.
	go test $(RACE) -shuffle=on -timeout 80m -tags $(TEST_TAGS) ./...

check: lint vet vuln ## what continuous integration checks beside make test, with tools that are built once
	@# The race detector leaves out tests that bound memory.
	go test -tags $(TEST_TAGS) ./preprocess
	$(MAKE) --no-print-directory cluster-check JOBS=100

lint: setup-tools ## golangci-lint, pyflakes and, where it is installed, shellcheck
	$(TOOLS)/golangci-lint run --build-tags $(TEST_TAGS) ./...
	pyflakes3 scripts
	@if command -v shellcheck >/dev/null; then shellcheck scripts/setup scripts/test-setup scripts/test-gpu-check scripts/run scripts/sample scripts/vuln scripts/memory-check scripts/gpu-check scripts/benchmark scripts/benchmark-peers scripts/deploy-check scripts/image-check .ci/run; \
	else echo 'lint: shellcheck is not installed, the shell scripts were not checked'; fi

vet: setup ## go vet, also as it is on a machine without OpenCV and FFmpeg
	go vet -tags $(TEST_TAGS) ./...
	PKG_CONFIG_LIBDIR=/nonexistent PKG_CONFIG_PATH= go vet ./...

vuln: setup-tools ## govulncheck; only what is reached fails
	scripts/vuln $(TOOLS)/govulncheck -tags $(TAGS) ./...

bench: setup-tools ## benchmarks, COUNT times each, summed up by benchstat
	go test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) -tags $(TAGS) ./... | tee bench.out
	$(TOOLS)/benchstat bench.out

memory-check: build ## a thousand requests of each kind: memory must not grow
	scripts/memory-check

cluster-check: build setup-tools ## JOBS jobs on a cluster on this machine, whose processes are killed meanwhile
	scripts/test-cluster
	scripts/cluster check $(JOBS)

deploy-check: ## check the chart and the compose file; builds helm, kubeconform and docker compose once
	scripts/deploy-check

image-check: ## build the container image and judge a picture in it; as root, with buildah and debootstrap
	scripts/image-check

benchmark: build ## measure the service on this machine and write docs/benchmarks.md; seven minutes, ARGS=--quick two, ARGS="--provider cuda --clients 2" on a GPU
	scripts/benchmark $(ARGS)

benchmark-peers: build ## measure it beside nine other servers and write docs/benchmarks-peers.md: 40 minutes; ARGS=--quick, ARGS="--provider cuda" on a GPU
	scripts/benchmark-peers $(ARGS)

setup: ## install what building and running need; FAST=1 leaves out the weights of models that judge better
	@scripts/setup $(if $(FAST),--fast)

setup-tools:
	@scripts/setup --tests --tools $(if $(FAST),--fast)

train-image: $(WORK)/venv/ready ## train the picture model on MEDIA and MORE, from WEIGHTS: two hours of two cores
	$(<D)/bin/python scripts/train/image/run.py --data '$(MEDIA)' --more '$(MORE)' --weights '$(WEIGHTS)' --work '$(WORK)' --out models/builtin/image

train-image-clip: $(WORK)/venv/ready ## train the picture model on CLIP's blocks, which lie in WEIGHTS, on MEDIA and MORE: three hours of two cores
	$(<D)/bin/python scripts/train/image/run_clip.py --data '$(MEDIA)' --more '$(MORE)' --weights '$(WEIGHTS)' --work '$(WORK)' --out models/builtin/image-clip --report scripts/train/image/RESULTS-CLIP.md

train-face: $(WORK)/venv/ready ## train the face model on MEDIA and MORE, from WEIGHTS: half an hour
	$(<D)/bin/python scripts/train/face/run.py --data '$(MEDIA)' --more '$(MORE)' --weights '$(WEIGHTS)' --work '$(WORK)' --out models/builtin/face

train-face-clip: $(WORK)/venv/ready ## train the face model on CLIP's blocks, which lie in WEIGHTS, on MEDIA and MORE: two hours of two cores
	$(<D)/bin/python scripts/train/face/run_clip.py --data '$(MEDIA)' --more '$(MORE)' --weights '$(WEIGHTS)' --work '$(WORK)' --out models/builtin/face-clip --report scripts/train/face/RESULTS-CLIP.md

train-fusion: $(WORK)/venv/ready build ## fit the fusion of the picture models, after train-image and train-face in the same WORK
	$(<D)/bin/python scripts/train/fusion/run.py --work '$(WORK)' --program bin/deepfaked --out models/builtin/fusion.json

train-fusion-clip: $(WORK)/venv/ready build ## the same with the picture model on CLIP's blocks, after train-image-clip
	$(<D)/bin/python scripts/train/fusion/run.py --work '$(WORK)' --program bin/deepfaked --picture image-clip --out models/builtin/fusion-clip.json --report scripts/train/fusion/RESULTS-CLIP.md

# glibc gives big blocks back to the system and takes them anew each step, which costs a third of the time.
train-facedetect: $(WORK)/venv/ready ## train the face detector on MEDIA and MORE, from WEIGHTS: half an hour of two cores
	MALLOC_MMAP_THRESHOLD_=4000000000 MALLOC_TRIM_THRESHOLD_=8000000000 $(<D)/bin/python scripts/train/facedetect/run.py --data '$(MEDIA)' --more '$(MORE)' --weights '$(WEIGHTS)' --work '$(WORK)' --out models/builtin/face-detection

train-speech: $(WORK)/venv/ready ## train the speech model on MEDIA, and MORE where it is there, from WEIGHTS: an hour and a half
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(<D)/bin/python scripts/train/speech/run.py --data '$(MEDIA)' $(if $(filter-out file,$(origin MORE))$(wildcard $(MORE)/manifest.tsv),$(if $(MORE),--more '$(MORE)')) --weights '$(WEIGHTS)' --work '$(WORK)/speech' --out models/builtin/speech

train-test: $(WORK)/venv/convert ## test the scripts that gather, train and convert
	cd scripts/train && WEIGHTS='$(abspath $(WEIGHTS))' $(abspath $(<D))/bin/python -m unittest discover -p 'test_*.py' -t .
	cd scripts && WEIGHTS='$(abspath $(WEIGHTS))' MEDIA='$(abspath $(MEDIA))' $(abspath $(<D))/bin/python -m unittest discover -s convert -p 'test_*.py' -t .

convert-measure: $(WORK)/venv/convert ## measure the published detectors in WEIGHTS on MEDIA, and on clips of MORE: an hour
	cd scripts && OMP_NUM_THREADS=1 $(abspath $(<D))/bin/python -m convert.measure --data '$(abspath $(MEDIA))' $(if $(wildcard $(MORE)/manifest.tsv),--more '$(abspath $(MORE))') --weights '$(abspath $(WEIGHTS))' --work '$(abspath $(WORK))/convert'

convert-parity: $(WORK)/venv/reference ## compare the converted detectors with their frameworks, on MEDIA
	cd scripts && OMP_NUM_THREADS=1 $(abspath $(<D))/bin/python -m convert.parity --media '$(abspath $(MEDIA))' --weights '$(abspath $(WEIGHTS))' --work '$(abspath $(WORK))/convert'

$(WORK)/venv/ready: scripts/train/requirements.txt
	python3 -m venv $(@D)
	$(@D)/bin/pip install --disable-pip-version-check --quiet -r $<
	touch $@

$(WORK)/venv/convert: scripts/convert/requirements.txt $(WORK)/venv/ready
	$(@D)/bin/pip install --disable-pip-version-check --quiet -r $<
	touch $@

$(WORK)/venv/reference: scripts/convert/reference-requirements.txt $(WORK)/venv/convert
	$(@D)/bin/pip install --disable-pip-version-check --quiet -r $<
	touch $@

clean: ## remove what was built; the data folder and what training made stay
	rm -rf bin bench.out
