#!/usr/bin/env python3
"""check.py LIBRARY: arrays of NumPy go into Tessera's software device and come back without a copy. Where PyTorch or CuPy
finds a GPU, so do theirs into its memory."""

import ctypes
import sys

import numpy

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


def check(name, device, module, address_of, **where):
    gpu = tessera.open(device)
    array = module.arange(1.0, 100_001.0, dtype=module.float64, **where)
    sums = module.from_dlpack(running_sums(gpu, array))
    assert address_of(sums) == address_of(array), f"{name}: a copy"
    wanted = module.arange(1.0, 100_001.0, dtype=module.float64, **where)
    assert bool((sums == wanted * (wanted + 1) / 2).all()), f"{name}: other sums"
    assert running_sums(gpu, module.arange(3, dtype=module.float32, **where)) is None
    assert running_sums(gpu, array.reshape(1000, 100)) is None
    print(f"{name}: its array went in and came back without a copy")


check("NumPy", -1, numpy, lambda array: array.ctypes.data)
read_only = numpy.arange(3.0)
read_only.flags.writeable = False
assert running_sums(tessera.open(-1), read_only) is None

try:
    import torch

    if torch.cuda.is_available():
        check("PyTorch", 0, torch, lambda tensor: tensor.data_ptr(), device="cuda")
except ImportError:
    pass
try:
    import cupy

    if cupy.cuda.is_available():
        check("CuPy", 0, cupy, lambda array: array.data.ptr)
except ImportError:
    pass
