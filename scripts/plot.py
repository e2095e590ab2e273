#!/usr/bin/env python3
"""Draws traces and a slice of the final field of a kwsim output into a PNG. Needs no display.

    scripts/plot.py ball.h5                    -> ball.png
    scripts/plot.py ball.h5 -o out.png --axis x --index 40
"""
import argparse
import os
import sys

try:
    import h5py
    import numpy as np
    import matplotlib
except ImportError as missing:
    sys.exit("plot.py: %s; on Debian: apt-get install python3-h5py python3-matplotlib, then /usr/bin/python3 %s"
             % (missing, sys.argv[0]))

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

MOST_TRACES = 12


def unit_of(largest):
    """A unit in which a pressure reads well."""
    for scale, unit in ((1e6, "MPa"), (1e3, "kPa"), (1.0, "Pa"), (1e-3, "mPa")):
        if largest >= scale:
            return scale, unit
    return 1.0, "Pa"


def draw_traces(axes, file):
    p, time = file["p"], file["time"]
    rows = np.unique(np.linspace(0, p.shape[0] - 1, min(MOST_TRACES, p.shape[0])).astype(int))
    names, sets = file["sensors/names"].asstr()[:], file["sensors/set"]
    position = file["sensors/position_used"]
    traces = np.array([p[int(row)] for row in rows])
    scale, unit = unit_of(np.abs(traces).max(initial=0))
    for row, trace in zip(rows, traces):
        label = "%s (%s) mm" % (names[sets[int(row)]], ", ".join("%.3g" % (1e3 * x) for x in position[int(row)]))
        axes.plot(1e6 * time[: len(trace)], trace / scale, label=label)
    axes.set(xlabel="time [us]", ylabel="pressure [%s]" % unit,
             title="%d of %d traces" % (len(rows), p.shape[0]) if len(rows) < p.shape[0] else "traces")
    axes.legend(fontsize="small")
    axes.grid(alpha=0.3)


def draw_slice(figure, axes, file, name, axis, index):
    field, grid = file[name], file["grid"].attrs
    size, spacing, origin = grid["size"], grid["spacing"], grid["origin_index"]
    if axis is None:  # across the shortest axis, so that a 2-D run shows its plane
        axis = int(np.argmin(size)) if min(size) == 1 else 2
    if index is None:
        index = int(origin[axis])
    if not 0 <= index < size[axis]:
        sys.exit("plot.py: --index must be 0 to %d, got %d" % (size[axis] - 1, index))
    part = np.take(field[...] if size[axis] == 1 else field[tuple(slice(index, index + 1) if i == axis else slice(None) for i in range(3))],
                   0, axis)
    a, b = [i for i in range(3) if i != axis]
    scale, unit = unit_of(np.abs(part).max(initial=0))
    limit = max(np.abs(part).max(initial=0) / scale, 1e-30)
    low = [1e3 * (-origin[i] - 0.5) * spacing[i] for i in (a, b)]
    high = [1e3 * (size[i] - origin[i] - 0.5) * spacing[i] for i in (a, b)]
    image = axes.imshow(part.T / scale, origin="lower", extent=(low[0], high[0], low[1], high[1]), cmap="RdBu_r", vmin=-limit,
                        vmax=limit, interpolation="nearest", aspect="equal" if size[a] > 1 and size[b] > 1 else "auto")
    axes.set(xlabel="%s [mm]" % "xyz"[a], ylabel="%s [mm]" % "xyz"[b],
             title="%s at %s = %.3g mm" % (name, "xyz"[axis], 1e3 * (index - origin[axis]) * spacing[axis]))
    figure.colorbar(image, ax=axes, label="pressure [%s]" % unit)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="output of kwsim")
    parser.add_argument("-o", "--output", help="PNG to write (default: the file's name with .png)")
    parser.add_argument("--axis", choices="xyz", help="axis across which the field is cut (default: z, or the flat one)")
    parser.add_argument("--index", type=int, help="grid index of the cut (default: through the origin)")
    arguments = parser.parse_args()
    try:
        file = h5py.File(arguments.file, "r")
    except OSError as error:
        sys.exit("plot.py: cannot read %s: %s" % (arguments.file, error))
    parts = [name for name in ("p", "p_final") if name in file]
    if file.attrs.get("format") != "kwsim" or not parts:
        sys.exit("plot.py: %s is not an output of kwsim with traces or a field" % arguments.file)
    figure, axes = plt.subplots(1, len(parts), figsize=(7 * len(parts), 5), squeeze=False, layout="constrained")
    for name, place in zip(parts, axes[0]):
        if name == "p":
            draw_traces(place, file)
        else:
            draw_slice(figure, place, file, name, arguments.axis and "xyz".index(arguments.axis), arguments.index)
    output = arguments.output or os.path.splitext(arguments.file)[0] + ".png"
    try:
        figure.savefig(output, dpi=120)
    except OSError as error:
        sys.exit("plot.py: cannot write %s: %s" % (output, error.strerror))
    print(output)


if __name__ == "__main__":
    main()
