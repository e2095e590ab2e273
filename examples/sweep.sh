#!/usr/bin/env bash
# A sweep in bash: the peak pressure at the first sensor against the absorption of the tissue in configs/burst.cfg.
#
#   examples/sweep.sh [KWSIM]        KWSIM: the program (default: build/kwsim)
set -euo pipefail
cd "$(dirname "$0")/.."
kwsim=${1:-build/kwsim}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for alpha in 0.0 0.3 0.6 1.2; do
    "$kwsim" configs/burst.cfg --set "medium.absorption.coefficient=$alpha" -o "$folder/$alpha.h5" -q >/dev/null
done
/usr/bin/python3 - "$folder" <<'PYTHON'
import glob
import sys

import h5py
import numpy as np

for name in sorted(glob.glob(sys.argv[1] + "/*.h5")):
    with h5py.File(name) as file:
        alpha = file["medium"].attrs["absorption_range"][0]
        print("%.1f dB/(MHz^1.2 cm): %.1f kPa" % (alpha, 1e-3 * np.abs(file["p"][0]).max()))
PYTHON
