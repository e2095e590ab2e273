"""Twenty-odd runs of the field's reference solver and their float64 twins: tests/reference/README.md."""
import os

import h5py
import numpy as np
import pytest

from conftest import need, relative_error

REFERENCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "reference")
CASES = ["p0_ball", "p0_anisotropic", "p0_prime_sizes", "p0_cfl_small_pml", "p0_pml_per_axis", "p0_speed",
         "p0_speed_density", "two_dimensional", "record_everything"]


def golden_scene(name):
    path = os.path.join(REFERENCE, name + ".h5")

    def field(file, dataset):
        return {"file": path, "dataset": "/" + dataset} if file[dataset].shape else float(file[dataset][()])

    with h5py.File(path) as file:
        a = file.attrs
        return {"grid": {"size": a["size"].tolist(), "spacing": a["spacing"].tolist()},
                "time": {"dt": float(a["dt"]), "steps": int(a["steps"])},
                "medium": {"sound_speed": field(file, "medium/sound_speed"),
                           "density": field(file, "medium/density"), "reference_speed": float(a["c_ref"])},
                "pml": {"size": a["pml_size"].tolist(),
                        "alpha": (np.ones(3) * a["pml_alpha"]).tolist()},
                "p0": field(file, "source/p0"),
                "sensors": [{"name": "s", "points_index": {"file": path, "dataset": "/sensor/index"}}],
                "record": {"quantities": ["p", "p_final"], "from_step": int(a["record_start"])}}


@pytest.mark.parametrize("name", CASES)
def test_double_agrees_with_float64(shop, name):
    result = shop.run(golden_scene(name))
    with h5py.File(os.path.join(REFERENCE, name + ".h5")) as file:
        assert result.p.dtype == np.float64
        assert relative_error(result.p, file["float64/p"]) < 1e-10
        assert relative_error(result.p_final, file["float64/p_final"]) < 1e-10


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("backend", ["cpu", "cuda"])
def test_single_agrees_with_float64(shop, backend, name):
    need(backend)
    result = shop.run(golden_scene(name), double=False, backend=backend)
    assert result.attributes["backend"] == backend
    with h5py.File(os.path.join(REFERENCE, name + ".h5")) as file:
        assert result.p.dtype == np.float32
        assert relative_error(result.p, file["float64/p"]) < 5e-6
        assert relative_error(result.p_final, file["float64/p_final"]) < 3e-5
        assert relative_error(result.p, file["expected/p"]) < 5e-6  # the field's own float32 run
