#!/usr/bin/env bash
# From a fresh Debian machine to a 3-D simulation and its picture: ./scripts/demo.sh
. "$(dirname "$0")/setup.sh"

kw_setup "${KW_BUILD_PACKAGES[@]}" "${KW_PYTHON_PACKAGES[@]}"
kw_build build -DKWSIM_TESTS=OFF

mkdir -p out
kw_say "kwsim configs/ball.cfg"
build/kwsim configs/ball.cfg -o out/ball.h5 --force
kw_say "picture"
/usr/bin/python3 scripts/plot.py out/ball.h5
