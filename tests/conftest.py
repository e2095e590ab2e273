"""Whole-program tests: each writes a scene, runs kwsim and reads the output.

The binary is $KWSIM. All runs share one cache folder for FFTW's wisdom, so that plans, and with them the bits of the
results, are the same from run to run."""
import os
import subprocess
from types import SimpleNamespace

import h5py
import numpy as np
import pytest

BINARY = os.environ.get("KWSIM", os.path.join(os.path.dirname(__file__), "..", "build", "kwsim"))
BINARY = os.path.abspath(BINARY)
ENVIRONMENT = dict(os.environ)
ENVIRONMENT.setdefault("KWSIM_CACHE_DIR", os.path.join(os.path.dirname(BINARY), "test-cache"))


def run_program(arguments, cwd, timeout=300, environment=None):
    """Runs kwsim; returns code, out, err."""
    done = subprocess.run([BINARY, *map(str, arguments)], cwd=cwd, capture_output=True, timeout=timeout,
                          env={**ENVIRONMENT, **(environment or {})})
    return SimpleNamespace(code=done.returncode, out=done.stdout.decode(), err=done.stderr.decode())


slow = pytest.mark.skipif("KWSIM_SANITIZED" in os.environ, reason="takes minutes unoptimised; the release build runs it")


def why_not_usable(backend):
    """What --list-backends says against a backend; "" if it is usable here."""
    out = run_program(["--list-backends"], ".").out
    line = out.split("\n%s " % backend if not out.startswith(backend) else backend, 1)[1].splitlines()[1].strip()
    return line[len("not usable: "):] if line.startswith("not usable") else ""


def need(backend):
    """Skips the test, with the reason, where the backend is not usable."""
    reason = why_not_usable(backend)
    if reason:
        pytest.skip("backend %s: %s" % (backend, reason))


def value_text(value):
    """A Python value in libconfig's form."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(value)
    if isinstance(value, (float, np.floating)):
        text = repr(float(value))
        return text if any(c in text for c in ".e") else text + ".0"
    if isinstance(value, str):
        return '"%s"' % value
    if isinstance(value, dict):
        return "{ " + " ".join("%s = %s;" % (k, value_text(v)) for k, v in value.items()) + " }"
    return "( " + ", ".join(value_text(v) for v in value) + " )"


def scene_text(scene):
    return "".join("%s = %s;\n" % (key, value_text(value)) for key, value in scene.items())


class Workshop:
    """A folder with a scene, its files and its outputs."""

    def __init__(self, folder):
        self.folder = folder

    def maps(self, **arrays):
        """Writes arrays to maps.h5; returns what a scene says to read each."""
        with h5py.File(self.folder / "maps.h5", "a") as file:
            for name, array in arrays.items():
                if name in file:
                    del file[name]
                file[name] = array
        return [{"file": "maps.h5", "dataset": "/" + name} for name in arrays]

    def write(self, scene, name="scene.cfg"):
        text = scene if isinstance(scene, str) else scene_text(scene)
        (self.folder / name).write_text(text)
        return name

    def try_run(self, scene, *arguments, name="scene.cfg", backend="cpu", **options):
        """Runs the scene whatever comes of it."""
        return run_program([self.write(scene, name), "--backend", backend, *arguments], self.folder, **options)

    def run(self, scene, *arguments, output="out.h5", double=True, backend="cpu", environment=None):
        """Runs the scene, which must work; returns p [sensor][time], p_final if recorded, and the attributes."""
        precision = "double" if double else "single"
        done = self.try_run(scene, "-o", output, "--force", "--precision", precision, *arguments, backend=backend,
                            environment=environment)
        assert done.code == 0, done.err
        return read_output(self.folder / output, done)


def read_output(path, done=None):
    with h5py.File(path) as file:
        result = SimpleNamespace(done=done, attributes=dict(file.attrs), p=None, p_final=None)
        result.time = file["time"][:]
        result.time_attributes = dict(file["time"].attrs)
        if "p" in file:
            result.p = file["p"][:]
        if "p_final" in file:
            result.p_final = file["p_final"][:]
        return result


@pytest.fixture
def shop(tmp_path):
    return Workshop(tmp_path)


def relative_error(got, wanted):
    """Relative L2 difference over all elements."""
    got, wanted = np.asarray(got, float), np.asarray(wanted, float)
    return np.linalg.norm(got - wanted) / np.linalg.norm(wanted)


def periodic(size, spacing=1e-4, **more):
    """A homogeneous lossless scene without PML: the field is periodic."""
    scene = {"grid": {"size": size, "spacing": spacing},
             "time": {"cfl": 0.3, "steps": 20},
             "medium": {"sound_speed": 1500.0, "density": 1000.0},
             "pml": {"size": 0},
             "record": {"quantities": ["p_final"]}}
    scene.update(more)
    return scene
