#!/usr/bin/env python3
"""check.py LIBRARY [numpy|torch|cupy]: arrays go into Tessera and come back without a copy. Arrays of NumPy, the default, go to the
software device, and those of PyTorch and CuPy to the first GPU."""

import ctypes
import importlib
import sys

NAME, USED = b"dltensor_versioned", b"used_dltensor_versioned"
python = ctypes.pythonapi
python.PyCapsule_GetPointer.restype = ctypes.c_void_p
python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
python.PyCapsule_New.restype = ctypes.py_object
python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

tessera = ctypes.CDLL(sys.argv[1])
tessera.open.restype = tessera.stream.restype = tessera.running_sums.restype = ctypes.c_void_p
tessera.open.argtypes = [ctypes.c_int32]
tessera.stream.argtypes = [ctypes.c_void_p]
tessera.running_sums.argtypes = [ctypes.c_void_p, ctypes.c_void_p]


class Tensor:
    """A tensor of Tessera's, as the protocol asks for it."""

    def __init__(self, address, device):
        self.address, self.device = address, device

    def __dlpack__(self, **_):
        return python.PyCapsule_New(self.address, NAME, None)

    def __dlpack_device__(self):
        return self.device


def running_sums(gpu, array):
    """Gives an array away and returns the tensor of its running sums, or None where it does not fit."""
    on_host = array.__dlpack_device__()[0] == 1
    stream = None if on_host else tessera.stream(gpu)
    capsule = array.__dlpack__(stream=stream, max_version=(1, 0))
    tensor = python.PyCapsule_GetPointer(capsule, NAME)
    python.PyCapsule_SetName(capsule, USED)
    address = tessera.running_sums(gpu, tensor)
    return Tensor(address, array.__dlpack_device__()) if address else None


name = sys.argv[2] if len(sys.argv) > 2 else "numpy"
module = importlib.import_module(name)
gpu = tessera.open(-1 if name == "numpy" else 0)
if not gpu:
    sys.exit(1)
where = {"device": "cuda"} if name == "torch" else {}
address_of = {
    "numpy": lambda array: array.ctypes.data,
    "torch": lambda tensor: tensor.data_ptr(),
    "cupy": lambda array: array.data.ptr,
}[name]

array = module.arange(1.0, 100_001.0, dtype=module.float64, **where)
wanted = array * (array + 1) / 2
sums = module.from_dlpack(running_sums(gpu, array))
assert address_of(sums) == address_of(array), "a copy"
assert bool((sums == wanted).all()), "other sums"
assert running_sums(gpu, module.arange(3, dtype=module.float32, **where)) is None
assert running_sums(gpu, array.reshape(1000, 100)) is None
if name == "numpy":
    array.flags.writeable = False
    assert running_sums(gpu, array) is None
print(f"{name}: its array went in and came back without a copy")
