"""Twenty-two runs of the field's reference solver and their float64 twins: tests/reference/README.md."""
import os

import h5py
import numpy as np
import pytest

from conftest import need, relative_error

REFERENCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "reference")
CASES = ["p0_ball", "p0_anisotropic", "p0_prime_sizes", "p0_cfl_small_pml", "p0_pml_per_axis", "p0_speed",
         "p0_speed_density", "two_dimensional", "record_everything", "absorbing", "absorbing_heterogeneous",
         "absorbing_strong_y24", "nonlinear", "nonlinear_absorbing", "p_source_additive", "p_source_dirichlet",
         "p_source_no_correction", "p_source_many_speed", "u_source_additive", "u_source_dirichlet", "u_source_many",
         "record_cuboids"]


MEDIUM = {"medium/sound_speed": ("sound_speed",), "medium/density": ("density",),
          "medium/alpha_coeff": ("absorption", "coefficient"), "medium/BonA": ("nonlinearity",)}


def golden_scene(name):
    path = os.path.join(REFERENCE, name + ".h5")

    def from_file(dataset):
        return {"file": path, "dataset": "/" + dataset}

    def sources(file):
        for key, quantities in (("p", {"signal": "p"}), ("u", {"x": "ux", "y": "uy", "z": "uz"})):
            group = "source/" + key
            if group not in file:
                continue
            for signal, quantity in quantities.items():
                if signal in file[group]:
                    yield {"quantity": quantity, "mode": file[group].attrs["mode"],
                           "points_index": from_file(group + "/index"), "signal": from_file(group + "/" + signal)}

    def sensors(file):
        if "sensor/index" in file:
            return [{"name": "s", "points_index": from_file("sensor/index")}]
        return [{"name": "box %d" % i, "box_index": {"min": c[:3].tolist(), "max": c[3:].tolist()}}
                for i, c in enumerate(file["sensor/corners"][:])]

    with h5py.File(path) as file:
        a = file.attrs
        medium = {"reference_speed": float(a["c_ref"])}
        for dataset, keys in MEDIUM.items():
            if dataset in file:
                inner = medium.setdefault(keys[0], {}) if len(keys) > 1 else medium
                inner[keys[-1]] = from_file(dataset) if file[dataset].shape else float(file[dataset][()])
        if "absorption" in medium:
            medium["absorption"]["power"] = float(file["medium"].attrs["alpha_power"])
        scene = {"grid": {"size": a["size"].tolist(), "spacing": a["spacing"].tolist()},
                 "time": {"dt": float(a["dt"]), "steps": int(a["steps"])},
                 "medium": medium,
                 "pml": {"size": a["pml_size"].tolist(), "alpha": (np.ones(3) * a["pml_alpha"]).tolist()},
                 "sensors": sensors(file), "sources": list(sources(file)),
                 "record": {"quantities": ["p", "p_final"], "from_step": int(a["record_start"])}}
        if "source/p0" in file:
            scene["p0"] = from_file("source/p0")
        return scene


def expected(name, dataset):
    """[sensor][time]; boxes one after the other."""
    with h5py.File(os.path.join(REFERENCE, name + ".h5")) as file:
        found = file[dataset]
        if isinstance(found, h5py.Dataset):
            return found[:]
        return np.concatenate([found[key][:].reshape(-1, found[key].shape[-1]) for key in sorted(found)])


@pytest.mark.parametrize("name", CASES)
def test_double_agrees_with_float64(shop, name):
    result = shop.run(golden_scene(name))
    assert result.p.dtype == np.float64
    assert relative_error(result.p, expected(name, "float64/p")) < 1e-10
    assert relative_error(result.p_final, expected(name, "float64/p_final")) < 1e-10


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("backend", ["cpu", "cuda"])
def test_single_agrees_with_float64(shop, backend, name):
    need(backend)
    result = shop.run(golden_scene(name), double=False, backend=backend)
    assert result.attributes["backend"] == backend and result.p.dtype == np.float32
    bound = 1e-5 if "nonlinear" in name else 5e-6
    assert relative_error(result.p, expected(name, "float64/p")) < bound
    assert relative_error(result.p_final, expected(name, "float64/p_final")) < 3e-5
    assert relative_error(result.p, expected(name, "expected/p")) < bound  # the field's own float32 run
