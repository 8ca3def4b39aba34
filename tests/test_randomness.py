"""Noise comes from a stream cipher keyed by the system, and a guarantee says where it does not."""

import re
from pathlib import Path

import numpy as np
import pytest
from randomgen import ChaCha
from scipy import stats

from rashomon_explorer import RashomonClassifier, randomness
from rashomon_explorer.randomness import PREDICTABLE, generator, noise_assumptions

PACKAGE = Path(randomness.__file__).parent


def test_without_a_seed_it_is_chacha_under_a_fresh_key() -> None:
    first, second = generator(), generator()
    assert isinstance(first.bit_generator, ChaCha)
    states = [g.bit_generator.state["state"] for g in (first, second)]
    assert [state["rounds"] for state in states] == [20, 20]
    keys = [state["keysetup"].tolist() for state in states]
    assert keys[0] != keys[1]
    assert all(any(key[:4]) and any(key[4:]) for key in keys)  # both halves of 256 bits


def test_randomgen_is_the_cipher_of_the_standard() -> None:
    # RFC 8439, appendix A.1, test vector 1: key, nonce and counter are zero.
    stream = ChaCha(key=0, counter=0, rounds=20).random_raw(4).astype("<u8").tobytes()
    assert stream.hex() == "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"


def test_normals_are_normal() -> None:
    assert stats.kstest(generator().standard_normal(20_000), "norm").pvalue > 1e-6


def test_a_seed_gives_the_same_numbers_with_and_without_randomgen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = np.random.default_rng([1, 2]).random(3)
    assert np.array_equal(generator([1, 2]).random(3), expected)
    monkeypatch.setattr(randomness, "is_cryptographic", lambda: False)
    assert np.array_equal(generator([1, 2]).random(3), expected)


def test_without_randomgen_the_guarantee_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = np.array([[0.5], [-0.5]] * 10), np.array([0, 1] * 10)
    model = RashomonClassifier(n_draws=2)
    assert PREDICTABLE not in model.fit(X, y).guarantee_.assumptions
    monkeypatch.setattr(randomness, "is_cryptographic", lambda: False)
    assert noise_assumptions() == (PREDICTABLE,)
    assert isinstance(generator().bit_generator, np.random.PCG64)
    assert PREDICTABLE in model.fit(X, y).guarantee_.assumptions
    assert PREDICTABLE not in model.set_params(random_state=0).fit(X, y).guarantee_.assumptions


def test_a_missing_randomgen_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    randomness.is_cryptographic.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "randomgen", None)
    assert not randomness.is_cryptographic()
    randomness.is_cryptographic.cache_clear()


def test_no_other_place_makes_unseeded_generators() -> None:
    made = re.compile(r"^(?!.*>>>).*(default_rng|RandomState|SeedSequence|PCG64)\(\)", re.MULTILINE)
    found = [p.name for p in PACKAGE.rglob("*.py") if made.search(p.read_text(encoding="utf-8"))]
    assert found == ["randomness.py"]
