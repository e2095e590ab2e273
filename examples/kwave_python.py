"""A k-wave-python script that runs on kwsim without changing the simulation: only the binary's name differs.

    python3 examples/kwave_python.py [BINARY]     BINARY: kwsim under one of the solvers' names, which the install target
                                                  makes; default: kspaceFirstOrder-CUDA on the PATH

The front end writes its input file, kwsim runs it with the front end's own flags, and the front end's reader takes the
output. Where k-wave-python is not installed the same is shown with a file that kwsim wrote (--write-kwave) and h5py."""
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def run_binary(binary, source, output, *flags):
    """What every front end does at last: the binary, its input, its output, a flag for each recorded quantity."""
    subprocess.run([binary, "-i", source, "-o", output, *flags], check=True)


def with_kwave_python(binary, folder):
    import numpy as np
    from kwave.data import Vector
    from kwave.kgrid import kWaveGrid
    from kwave.kmedium import kWaveMedium
    from kwave.ksensor import kSensor
    from kwave.ksource import kSource
    from kwave.kspaceFirstOrder import kspaceFirstOrder

    grid = kWaveGrid(Vector([64, 64, 64]), Vector([1e-4, 1e-4, 1e-4]))
    medium = kWaveMedium(sound_speed=1500, density=1000)
    grid.makeTime(medium.sound_speed)
    source, sensor = kSource(), kSensor(np.zeros((64, 64, 64), bool))
    source.p0 = np.zeros((64, 64, 64))
    source.p0[28:37, 28:37, 28:37] = 1.0
    sensor.mask[10, :, :] = True
    # the one line that names the binary
    return kspaceFirstOrder(grid, medium, source, sensor, backend="cpp", binary_path=binary, data_path=folder)["p"].T


def with_h5py(binary, folder):
    import h5py

    source, output = os.path.join(folder, "input.h5"), os.path.join(folder, "output.h5")
    # kwsim itself makes the input: any scene can be checked against the field's solver in this way
    subprocess.run([binary_of_kwsim(binary), os.path.join(ROOT, "configs", "ball.cfg"), "--steps", "60", "--write-kwave", source, "-q"], check=True)
    run_binary(binary, source, output, "-p", "--p_final")
    with h5py.File(output) as file:
        return file["p"][0].T  # [sensor][time]


def binary_of_kwsim(binary):
    return os.path.realpath(binary)  # the solvers' names are links to it


def main():
    binary = sys.argv[1] if len(sys.argv) > 1 else shutil.which("kspaceFirstOrder-CUDA") or ""
    if not os.path.exists(binary):
        sys.exit("no binary: cmake --install build puts kspaceFirstOrder-CUDA and -OMP beside kwsim")
    with tempfile.TemporaryDirectory() as folder:
        try:
            import kwave  # noqa: F401
            p = with_kwave_python(os.path.abspath(binary), folder)
        except (ImportError, OSError):  # not there, or its import found no network for the binaries that it wants
            p = with_h5py(os.path.abspath(binary), folder)
    print("p: %d x %d, largest %.4g Pa" % (p.shape[0], p.shape[1], abs(p).max()))


if __name__ == "__main__":
    main()

# MATLAB, likewise:
#
#   sensor_data = kspaceFirstOrder3DG(kgrid, medium, source, sensor, ...
#       'BinaryPath', '~/.local/bin/', 'BinaryName', 'kspaceFirstOrder-CUDA', 'DataCast', 'single');
#
# or by hand, on another machine: kspaceFirstOrder3D(..., 'SaveToDisk', 'input.h5'), then
#   kspaceFirstOrder-CUDA -i input.h5 -o output.h5 -p      and      p = h5read('output.h5', '/p');
