#!/usr/bin/env bash
# Sourced by demo.sh and test.sh: installs what is missing from Debian's packages, and builds. Works as root and
# with sudo; touches nothing when nothing is missing.
#
#   kw_setup PACKAGE...   install the packages that are missing
#   kw_build FOLDER [CMAKE OPTION...]

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

KW_BUILD_PACKAGES=(gcc g++ make cmake pkg-config libfftw3-dev libhdf5-dev libconfig-dev)
KW_PYTHON_PACKAGES=(python3 python3-numpy python3-h5py python3-matplotlib)
KW_TEST_PACKAGES=(libcmocka-dev python3-pytest valgrind strace)

kw_say() { printf '\n== %s\n' "$*"; }

kw_missing() {
    local package
    for package in "$@"; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || printf '%s\n' "$package"
    done
}

kw_setup() {
    local missing as=()
    mapfile -t missing < <(kw_missing "$@")
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || { echo "needs root or sudo to install: ${missing[*]}" >&2; exit 1; }
        as=(sudo)
    fi
    kw_say "installing ${missing[*]}"
    "${as[@]}" apt-get update -qq
    "${as[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

kw_build() {
    local folder=$1
    shift
    kw_say "building in $folder"
    cmake -S . -B "$folder" "$@" >/dev/null
    cmake --build "$folder" -j "$(nproc)" >"$folder/build.log" 2>&1 || { cat "$folder/build.log" >&2; exit 1; }
}
