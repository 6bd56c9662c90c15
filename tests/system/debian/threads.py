"""Eight threads count under one lock, a queue carries their results, and a condition wakes them in turn."""

import queue
import threading

lock, results, turn, state = threading.Lock(), queue.Queue(), threading.Condition(), [0, 0]


def work(number: int) -> None:
    for _ in range(500):
        with lock:
            state[0] += 1
    with turn:
        turn.wait_for(lambda: state[1] == number)
        state[1] += 1
        turn.notify_all()
    results.put(number)


threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("threads", state[0], sorted(results.get() for _ in threads) == list(range(8)))
