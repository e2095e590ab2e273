#!/usr/bin/env bash
# The same set-up as demo.sh, then every test: ./scripts/test.sh
# The tests run twice: on the release build, and on a debug build with AddressSanitizer and UndefinedBehaviorSanitizer
# (unoptimised, so that what only works optimised fails).
. "$(dirname "$0")/setup.sh"

kw_setup "${KW_BUILD_PACKAGES[@]}" "${KW_PYTHON_PACKAGES[@]}" "${KW_TEST_PACKAGES[@]}"
kw_build build -DKWSIM_TESTS=ON -DKWSIM_WERROR=ON
kw_build build-sanitize -DKWSIM_TESTS=ON -DKWSIM_WERROR=ON -DKWSIM_SANITIZE=ON -DKWSIM_CUDA=OFF -DCMAKE_BUILD_TYPE=Debug

kw_say "tests under the sanitizers"
ctest --test-dir build-sanitize --output-on-failure -j "$(nproc)"
kw_say "tests"
ctest --test-dir build --output-on-failure -j "$(nproc)"
