"""Noise comes from a stream cipher keyed by the system, and a guarantee says where it does not."""

import os
import pickle
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from randomgen import ChaCha

from rashomon_explorer import RashomonClassifier
from rashomon_explorer._utils import randomness
from rashomon_explorer._utils.randomness import PREDICTABLE, generator, is_seeded, noise_assumptions

PACKAGE = Path(randomness.__file__).parent


def test_without_a_seed_it_is_the_cipher_of_the_standard_under_a_fresh_key():
    # RFC 8439, appendix A.1, test vector 1: key, nonce and counter are zero.
    stream = ChaCha(key=0, counter=0, rounds=20).random_raw(4).astype("<u8").tobytes()
    assert stream.hex() == "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
    first, second = generator(), generator()
    assert isinstance(first.bit_generator, ChaCha)
    states = [g.bit_generator.state["state"] for g in (first, second)]
    assert [state["rounds"] for state in states] == [20, 20]
    keys = [state["keysetup"].tolist() for state in states]
    assert keys[0] != keys[1]
    assert all(any(key[:4]) and any(key[4:]) for key in keys)  # both halves of 256 bits


def test_a_seed_gives_the_same_numbers_with_and_without_randomgen(monkeypatch):
    expected = np.random.default_rng([1, 2]).random(3)
    assert np.array_equal(generator([1, 2]).random(3), expected)
    monkeypatch.setattr(randomness, "is_cryptographic", lambda: False)
    assert np.array_equal(generator([1, 2]).random(3), expected)


def test_without_randomgen_the_guarantee_says_so(monkeypatch):
    X, y = np.array([[0.5], [-0.5]] * 10), np.array([0, 1] * 10)
    model = RashomonClassifier(n_draws=2)
    assert PREDICTABLE not in model.fit(X, y).guarantee_.assumptions
    monkeypatch.setattr(randomness, "is_cryptographic", lambda: False)
    assert noise_assumptions() == (PREDICTABLE,)
    assert isinstance(generator().bit_generator, np.random.PCG64)
    assert PREDICTABLE in model.fit(X, y).guarantee_.assumptions
    assert PREDICTABLE not in model.set_params(random_state=0).fit(X, y).guarantee_.assumptions
    monkeypatch.undo()
    randomness.is_cryptographic.cache_clear()
    monkeypatch.setitem(sys.modules, "randomgen", None)
    assert not randomness.is_cryptographic()
    randomness.is_cryptographic.cache_clear()


def test_no_other_place_makes_unseeded_generators():
    made = re.compile(r"^(?!.*>>>).*(default_rng|RandomState|SeedSequence|PCG64)\(\)", re.MULTILINE)
    found = [p.name for p in PACKAGE.rglob("*.py") if made.search(p.read_text(encoding="utf-8"))]
    assert found == ["randomness.py"]


def in_a_fork(work):
    """What some work returns in a forked process."""
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(sending, pickle.dumps(work()))
        os._exit(0)
    os.close(sending)
    with os.fdopen(receiving, "rb") as pipe:
        found = pickle.loads(pipe.read())
    os.waitpid(child, 0)
    return found


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


@forks
@pytest.mark.parametrize("cryptographic", [True, False])
def test_a_fork_makes_other_noise_under_a_key_of_its_own(cryptographic, monkeypatch):
    monkeypatch.setattr(randomness, "is_cryptographic", lambda: cryptographic)
    generators = [generator() for _ in range(3)]
    for rng, drawn in zip(generators, (0, 1, 7), strict=True):
        rng.standard_normal(drawn)
        rng.integers(5, dtype=np.uint32)  # half of a number is left over

    def drawn():
        return [number for rng in generators for number in rng.random(4)]

    assert len({*in_a_fork(drawn), *in_a_fork(drawn), *drawn()}) == 36
    assert in_a_fork(lambda: any(map(is_seeded, generators))) is False
    assert not any(map(is_seeded, generators))


@forks
def test_seeded_and_ordinary_generators_and_the_parents_own_go_on_as_without_a_fork():
    for make in (lambda: generator(3), lambda: np.random.Generator(ChaCha(key=1))):
        rng, twin = make(), make()
        assert in_a_fork(lambda rng=rng: rng.random(4).tolist()) == twin.random(4).tolist()
    assert is_seeded(generator(3))
    rng = generator()
    twin = np.random.Generator(ChaCha(key=0))
    twin.bit_generator.state = rng.bit_generator.state
    in_a_fork(lambda: rng.random(4).tolist())
    assert rng.random(4).tolist() == twin.random(4).tolist()


@forks
def test_children_of_a_generator_differ_between_forks():
    rng = generator()
    theirs = in_a_fork(lambda: [one.random() for one in rng.spawn(2)])
    assert len({*theirs, *(one.random() for one in rng.spawn(2))}) == 4
    assert not any(map(is_seeded, rng.spawn(2)))


def test_a_fork_that_python_did_not_notice_counts_as_seeded(monkeypatch):
    rng = generator()
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert is_seeded(rng) and not is_seeded(generator())
