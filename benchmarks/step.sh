#!/usr/bin/env bash
# A step against ten FFTW transforms, as CSV: benchmarks/step.sh [SIZE ...]; needs a build (scripts/demo.sh).
set -euo pipefail
cd "$(dirname "$0")/.."
build=${KWSIM_BUILD:-build}
"$build/benchmarks/step"
for n in "${@:-64 97 128 192 256}"; do
    for medium in homogeneous maps; do
        for size in $n; do "$build/benchmarks/step" "$size" "$(nproc)" single $medium; done
    done
done
