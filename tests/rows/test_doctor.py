"""The command names what a cluster's settings would break, and nothing where nothing would."""

import pytest

from rashomon_explorer.cli import main
from rashomon_explorer.rows import dask as doctor

GOOD = {"distributed.comm.require-encryption": True, "distributed.worker.memory.spill": False}


def test_settings_that_encrypt_and_never_spill_are_left_alone():
    assert list(doctor._settings_findings(GOOD.get)) == []
    clear, spilled = doctor._settings_findings({}.get)
    assert "require-encryption" in clear and "encrypted folder" in spilled


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"numpy": "1.0"}, "numpy differs"),
        ({"package": "0.0"}, "package differs"),
        ({"kernels": ["Nehalem"]}, "one kind"),
        ({"blas": [8]}, "OMP_NUM_THREADS=1"),
        ({"disk": "1 MiB for 9 MiB of memory"}, "leave 1 MiB for 9 MiB of memory"),
    ],
)
def test_a_worker_that_adds_up_otherwise_is_named(changed, word):
    same = {**doctor._worker_environment(), "blas": [1]}
    assert list(doctor._workers_findings({"tls://one": same}, "tls://cluster")) == []
    (said,) = doctor._workers_findings({"tls://one": {**same, **changed}}, "tls://cluster")
    assert word in said
    nobody, clear = doctor._workers_findings({}, "tcp://cluster")
    assert "no worker" in nobody and "use tls://" in clear


def test_the_command_lists_what_was_found(capsys):
    pytest.importorskip("distributed")
    assert main(["doctor"]) == 1
    assert "- rows may be sent unencrypted" in capsys.readouterr().out
