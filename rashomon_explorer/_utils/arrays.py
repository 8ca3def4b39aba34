"""Array types, and conversion between NumPy and other array libraries."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Mask = NDArray[np.bool_]


def likeliest(scores: FloatArray) -> NDArray[np.int_]:
    """Class with the largest of the probabilities (…, n_rows) or (n_models, n_rows, n_classes)."""
    return np.asarray(scores.argmax(axis=-1) if scores.ndim == 3 else (scores > 0.5).astype(int))


_MODULES = {
    "torch": "array_api_compat.torch",
    "cupy": "array_api_compat.cupy",
    "jax": "jax.numpy",
    "array_api_strict": "array_api_strict",
}
_TO_HOST: dict[str, Callable[[Any], Any]] = {
    "torch": lambda array: array.detach().cpu().numpy(),
    "cupy": lambda array: array.get(),
}
_PRECISIONS = ("float64", "float32")


@dataclass(frozen=True)
class ArrayBackend:
    """A library of arrays and one of its devices; see :func:`array_backend`."""

    library: str = "numpy"
    device: Any = None
    dtype: str = "float64"

    def __post_init__(self) -> None:
        if self.library not in ("numpy", *_MODULES):
            known = ["numpy", *_MODULES]
            raise ValueError(f"the array library must be one of {known}, got {self.library!r}")
        if self.dtype not in _PRECISIONS:
            raise ValueError(f"dtype must be one of {_PRECISIONS}, got {self.dtype!r}")
        if self.on_host and (self.device is not None or self.dtype != "float64"):
            raise ValueError('NumPy has no device and only dtype "float64": name another library')
        if not self.on_host:
            self._check_precision()

    @property
    def on_host(self) -> bool:
        """Whether it is NumPy."""
        return self.library == "numpy"

    @property
    def xp(self) -> Any:
        """Namespace of the array API standard."""
        if self.on_host:
            return np
        try:
            return _module(self.library)
        except ImportError as error:
            raise ImportError(
                f"arrays of {self.library} need {self.library} and array-api-compat: "
                f"pip install 'rashomon-explorer[arrays]' {self.library}"
            ) from error

    @property
    def accelerated(self) -> bool:
        """Whether the device is not a CPU; work is then done in larger chunks."""
        return not self.on_host and "cpu" not in self._home.lower()

    def put(self, values: Any) -> Any:
        """Return the values as an array of this backend, without a copy if they already are one."""
        if self.on_host:
            return np.asarray(values, dtype=float)
        xp = self.xp
        options = {} if self.device is None else {"device": self.device}
        return xp.asarray(_writable(values), dtype=getattr(xp, self.dtype), **options)

    @property
    def _home(self) -> str:
        return str(self.put(np.zeros(1)).device)

    def _check_precision(self) -> None:
        try:
            dtype = str(self.put(np.zeros(1)).dtype)
        except (TypeError, ValueError, RuntimeError, AssertionError) as error:
            raise ValueError(
                f"{self.library} makes no {self.dtype} array on device {self.device!r}: {error}"
            ) from error
        if self.dtype not in dtype:
            raise ValueError(
                f"{self.library} made {dtype} instead of {self.dtype}; JAX needs "
                'jax.config.update("jax_enable_x64", True) before its first array'
            )

    def __str__(self) -> str:
        return self.library if self.on_host else f"{self.library} on {self._home}"


NUMPY = ArrayBackend()
_CHOSEN: ContextVar[ArrayBackend | None] = ContextVar("array_backend", default=None)


@contextmanager
def array_backend(
    library: str, *, device: Any = None, dtype: str = "float64"
) -> Iterator[ArrayBackend]:
    """Compute with the arrays of another library, on one of its devices.

    In this context, problems store their rows there, and losses, gradients, Hessians and Langevin
    chains are computed there. Noise is generated on the host, and draws are rounded to the public
    grid on the host. If ``X`` is an array of such a library, no context is needed: the computation
    uses its device (docs/accelerators.md).

    Parameters
    ----------
    library : {"numpy", "torch", "cupy", "jax", "array_api_strict"}
        ``"numpy"`` for the host, for any type of ``X``.
    device : str or object, optional
        Device as named by the library, such as ``"cuda"`` or ``"cuda:1"`` for PyTorch.
    dtype : {"float64", "float32"}, default="float64"
        Precision of computations on rows. ``"float32"`` has no privacy guarantee.

    Yields
    ------
    ArrayBackend
        The selected backend.

    Raises
    ------
    ValueError
        If library or precision is not listed, or the device does not support the precision.
    ImportError
        If the library, or ``array-api-compat``, is not installed.

    Examples
    --------
    >>> from rashomon_explorer.problem.problem import Problem
    >>> with array_backend("array_api_strict"):
    ...     problem = Problem([[0.5], [-0.5]], [1, -1], radius=2.0)
    >>> problem.arrays.library, problem.value(np.zeros((2, 1))).round(4).tolist()
    ('array_api_strict', [0.6931])
    """
    with placed_on(ArrayBackend(library, device, dtype)) as backend:
        yield backend


@contextmanager
def placed_on(backend: ArrayBackend) -> Iterator[ArrayBackend]:
    """Use an existing backend in this context, as :func:`array_backend` does."""
    token = _CHOSEN.set(backend)
    try:
        yield backend
    finally:
        _CHOSEN.reset(token)


def backend_for(values: Any = None) -> ArrayBackend:
    """Backend of the context, else that of the values, else NumPy."""
    backend = _CHOSEN.get()
    if backend is not None:
        return backend
    library = _library(values)
    return NUMPY if library is None else ArrayBackend(library, values.device)


def namespace(array: Any) -> Any:
    """Namespace of functions for an array; NumPy for other values."""
    library = _library(array)
    return np if library is None else _module(library)


def is_foreign(array: Any) -> bool:
    """Whether this is an array of a library other than NumPy."""
    return _library(array) is not None


def on_host(data: Any) -> Any:
    """Return data unchanged, but arrays of other libraries as NumPy arrays."""
    return to_host(data) if is_foreign(data) else data


def to_host(array: Any) -> FloatArray:
    """Return a NumPy array with the same values; floats of other libraries become float64."""
    library = _library(array)
    if library is None:
        return np.asarray(array)
    values = np.asarray(_TO_HOST.get(library, np.asarray)(array))
    return values.astype(np.float64, copy=False) if values.dtype.kind == "f" else values


@cache
def _module(library: str) -> Any:
    return import_module(_MODULES[library])


def as_numbers(values: Any, rule: str) -> FloatArray:
    """Values as floats; raise ValueError with the rule that others break."""
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{rule}: {error}") from error


def read_only_copy(values: Any) -> FloatArray:
    """Copy numbers to an array that cannot be changed."""
    copy = np.array(values, dtype=float)
    copy.flags.writeable = False
    return copy


def _library(array: Any) -> str | None:
    """Library of an array, or None; imports no library."""
    if isinstance(array, np.ndarray | np.generic | float | list):
        return None
    # The class of a tracer or subclass may be defined elsewhere, so base classes are checked too.
    for kind in type(array).__mro__:
        home = kind.__module__.partition(".")[0].removesuffix("lib")
        if home in _MODULES and hasattr(array, "shape") and hasattr(array, "device"):
            return home
    return None


def _writable(values: Any) -> Any:
    """Copy read-only NumPy arrays, for which PyTorch would warn."""
    if isinstance(values, np.ndarray) and not values.flags.writeable:
        return values.copy()
    return values
