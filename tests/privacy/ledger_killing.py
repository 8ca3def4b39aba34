"""Processes that charge one ledger and are killed at random moments; run by test_ledger_crashes.

A script of its own: a process that forks must be small, and must have no threads.
"""

import json
import os
import random
import signal
import sys
import time
from collections import Counter

from rashomon_explorer.privacy import BudgetExceededError, Ledger, bounded_range, pure, zcdp

PRICES = [pure(0.001), bounded_range(0.002), zcdp(1e-6)]


def run(path, workers, kills, seed):
    """Let `workers` charge at once, kill and replace one `kills` times, then let the rest end."""
    chance = random.Random(seed)
    ledger = Ledger(path)
    budget = ledger.budget
    said, most = "", 0.0
    hit: Counter[str] = Counter()
    running = [fork(ledger, chance.random()) for _ in range(workers)]
    for _ in range(kills):
        time.sleep(chance.random() * 0.02)
        pid, pipe = running.pop(0)
        os.kill(pid, signal.SIGKILL)
        last = words_of(pid, pipe)
        said += last
        hit[last.split()[-3] if last else "nothing"] += 1
        running.append(fork(ledger, chance.random()))
        most = max(most, ledger.spent())
        ledger.check()
    for pid, pipe in running:
        if kills:
            os.kill(pid, signal.SIGKILL)
        said += words_of(pid, pipe)
    words = [line.split() for line in said.splitlines()]
    most = max(most, ledger.spent())
    return {"words": words, "most": most, "budget": budget, "hit": hit}


def fork(ledger, seed):
    """Start a worker; return its number and the pipe on which it acknowledges."""
    receive, send = os.pipe()
    pid = os.fork()
    if pid:
        os.close(send)
        return pid, receive
    try:
        work(ledger, random.Random(seed), send)
    except BaseException as error:
        os.write(send, f"failed {type(error).__name__} .\n".encode())
    finally:
        os._exit(0)


def work(ledger, chance, send):
    """Charge until the budget is spent; say what is asked of the ledger and acknowledged by it."""
    while True:
        price = chance.randrange(len(PRICES))
        os.write(send, b"reserving 0 .\n")
        try:
            charge = ledger.reserve(PRICES[price])
        except BudgetExceededError:
            if price == len(PRICES) - 1:
                return
            continue
        os.write(send, b"reserved %d .\n" % charge.id)
        if chance.random() < 0.2:
            steps = [(b"voiding", b"voided", charge.void)]
        else:
            steps = [(b"starting", b"started", charge.start)]
            steps += [(b"committing", b"committed", charge.commit)]
        for before, after, step in steps:
            os.write(send, b"%s %d .\n" % (before, charge.id))
            step()
            os.write(send, b"%s %d .\n" % (after, charge.id))


def words_of(pid, pipe):
    """Return all that a worker said until it ended; a word that the kill cut off was not said."""
    with open(pipe, encoding="ascii") as stream:
        text = stream.read()
    os.waitpid(pid, 0)
    return text[: text.rfind("\n") + 1]


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], *map(int, sys.argv[2:]))))
