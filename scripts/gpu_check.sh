#!/usr/bin/env bash
# Everything that needs a GPU: the tests, compute-sanitizer's four tools and the benchmark.
#
#   scripts/gpu_check.sh [BUILD]        BUILD holds a build with CUDA (default: build, which is made if it is not there)
#
# KWSIM_PYTHON names a Python with numpy, h5py, pytest and matplotlib (default: python3, else Debian's).
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
if [ ! -x "$build/kwsim" ]; then
    (. scripts/setup.sh
     kw_setup "${KW_BUILD_PACKAGES[@]}" "${KW_PYTHON_PACKAGES[@]}" "${KW_TEST_PACKAGES[@]}"
     kw_build "$build" -DKWSIM_TESTS=ON -DKWSIM_CUDA=ON)
fi
python=${KWSIM_PYTHON:-python3}
"$python" -c 'import numpy, h5py, pytest' 2>/dev/null || python=/usr/bin/python3
export KWSIM="$PWD/$build/kwsim" KWSIM_CACHE_DIR="$PWD/$build/test-cache"
failed=0
read -r -a KWSIM_BENCH_ARGS <<<"${KWSIM_BENCH_OPTIONS:-}"
check() { printf '\n== %s\n' "$*"; "$@" || { failed=1; printf 'FAILED: %s\n' "$*"; }; }

"$build/kwsim" --list-backends
check "$build/tests/conformance" cuda single
check "$python" -m pytest -q -p no:cacheprovider -rs tests/test_golden.py tests/test_gpu.py
check "$python" -m pytest -q -p no:cacheprovider -rs -k cuda tests/test_record.py tests/test_transducers.py tests/test_domain.py tests/test_kwave.py
sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
for tool in memcheck racecheck initcheck synccheck; do
    more=()
    [ $tool = memcheck ] && more=(--leak-check full)
    check "$sanitizer" --tool $tool "${more[@]}" --error-exitcode 9 "$build/kwsim" configs/plane2d.cfg --backend cuda --steps 30 \
        -q --force -o "$build/check.h5"
    for scene in layered reference; do
        check "$sanitizer" --tool $tool "${more[@]}" --error-exitcode 9 "$build/kwsim" configs/$scene.cfg --backend cuda --steps 12 \
            -q --force -o "$build/check.h5"
    done
done
check "$sanitizer" --tool memcheck --leak-check full --error-exitcode 9 "$build/tests/conformance" cuda single
cuobjdump=$(command -v cuobjdump || echo /usr/local/cuda/bin/cuobjdump)
if [ -x "$cuobjdump" ]; then
    printf '\n== no double in the machine code\n'
    if "$cuobjdump" -sass "$build/kwsim" | grep -E '\b(DADD|DMUL|DFMA|DSETP|DMNMX|F2F\.F64\.F32|I2F\.F64|MUFU\.RCP64H)\b'; then failed=1; fi
fi
printf "\n== benchmark\n"
check "$python" benchmarks/compare.py --build "$build" --out "${KWSIM_OUT:-out}" "${KWSIM_BENCH_ARGS[@]}"
exit $failed
