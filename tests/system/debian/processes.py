"""A pool of processes, processes joined by a queue, shared memory with a lock, and a program with its output caught."""

import multiprocessing
import subprocess
from multiprocessing import shared_memory


def square(number: int) -> int:
    return number * number


def produce(to: multiprocessing.Queue, count: int) -> None:
    for number in range(count):
        to.put(number)
    to.put(None)


def add(name: str, lock: multiprocessing.Lock, times: int) -> None:
    memory = shared_memory.SharedMemory(name)
    for _ in range(times):
        with lock:
            memory.buf[0] = (memory.buf[0] + 1) % 256
    memory.close()


if __name__ == "__main__":
    with multiprocessing.Pool(4) as pool:
        print("pool", sum(pool.map(square, range(200), chunksize=10)))
    numbers = multiprocessing.Queue()
    producer = multiprocessing.Process(target=produce, args=(numbers, 50))
    producer.start()
    print("queue", sum(iter(numbers.get, None)))
    producer.join()
    shared, guard = shared_memory.SharedMemory(create=True, size=4096), multiprocessing.Lock()
    adders = [multiprocessing.Process(target=add, args=(shared.name, guard, 50)) for _ in range(4)]
    for adder in adders:
        adder.start()
    for adder in adders:
        adder.join()
    print("shared", shared.buf[0])
    shared.close()
    shared.unlink()
    ended = subprocess.run(["tr", "a-z", "A-Z"], input="through a pipe", capture_output=True, text=True, check=True)
    print("subprocess", ended.stdout)
