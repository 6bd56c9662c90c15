"""Helper commands for gdb on the kernel (gdb loads this file; it is no module of lab).

  corral-cores          every core: its state and the thread it runs
  corral-queues         every core's run queue: who runs, who waits
  corral-threads        every thread: its state, where it is, and what is asked of it
  corral-frame THREAD   a thread's saved user registers, by its number

They read the kernel's structures by their debug information and call nothing in
the guest, so they work at any stop. A core that is just changing a list may
show it half changed.
"""

from collections.abc import Iterator

import gdb

CORE_TABLE = "'corral::cores::(anonymous namespace)::table'"
CORE_COUNT = "'corral::cores::(anonymous namespace)::detected'"
REQUESTS, ON_THE_WAY = 0xF, 0x10  # of Thread::requests_
PROCESS_TABLE = "'corral::(anonymous namespace)::table'"
LONGEST = 100_000  # of a list: what is longer is a broken list


def field_offset(kind: gdb.Type, name: str) -> int:
    for field in kind.fields():
        if field.name == name:
            return field.bitpos // 8
    raise gdb.GdbError(f"{kind} has no field {name}: these helpers are older than the kernel")


def containing(link: gdb.Value, kind: gdb.Type, field: str) -> gdb.Value:
    """The object of type `kind` whose member `field` lies at the pointer `link`."""
    return gdb.Value(int(link) - field_offset(kind, field)).cast(kind.pointer()).dereference()


def thread_type() -> gdb.Type:
    return gdb.lookup_type("corral::Thread")


def entity_type() -> gdb.Type:
    return gdb.lookup_type("corral::sched::SchedulingEntity")


def cores() -> Iterator[gdb.Value]:
    table = gdb.parse_and_eval(CORE_TABLE)
    try:
        count = int(gdb.parse_and_eval(CORE_COUNT)["value_"])
    except gdb.MemoryError as error:  # still in the firmware: the kernel's addresses do not exist
        raise gdb.GdbError("the kernel has not started yet: `continue`, and Ctrl-C to look again") from error
    if count == 0:
        raise gdb.GdbError("no core has been detected yet: let the kernel run on")
    for index in range(count):
        yield table[index].dereference()


def enumerator(value: gdb.Value) -> str:
    """`online`, out of `corral::CoreState::online`."""
    return str(value).rpartition("::")[2]


def describe(thread: gdb.Value) -> str:
    name = thread["name"].string(errors="replace")
    return f"thread {int(thread['id_']['value'])} ({name}, {enumerator(thread['state_']['value_'])})"


def waiting(queue: gdb.Value) -> Iterator[gdb.Value]:
    """The threads in a run queue's list, in its order."""
    head = queue["waiting_"]["head_"]
    link = head["next_"]
    for _ in range(LONGEST):
        if int(link) in (0, int(head.address)):
            return
        entity = containing(link, entity_type(), "engine_link")
        yield containing(entity.address, thread_type(), "entity")
        link = link.dereference()["next_"]
    raise gdb.GdbError("this list does not end: it is broken, or was caught in the middle of a change")


def threads() -> Iterator[gdb.Value]:
    """In the order of their numbers."""
    return _below(gdb.parse_and_eval(PROCESS_TABLE)["threads_"]["root_"])


def _below(link: gdb.Value) -> Iterator[gdb.Value]:
    if int(link) != 0:
        yield from _below(link["left_"])
        yield containing(link, thread_type(), "table_link_")
        yield from _below(link["right_"])


class Cores(gdb.Command):
    """corral-cores: every core, its state, and the thread it runs."""

    def __init__(self) -> None:
        super().__init__("corral-cores", gdb.COMMAND_STATUS)

    def invoke(self, argument: str, from_tty: bool) -> None:
        for core in cores():
            executive = core["executive"]
            running = "no executive yet"
            if int(executive) != 0:
                current = executive.dereference()["current_"]
                running = describe(current.dereference()) if int(current) != 0 else "idle"
            state = enumerator(core["state_"]["value_"])
            print(f"core {int(core['id_']['value']):3}  apic {int(core['hardware_id_']):3}  {state:<9}  {running}")


class Queues(gdb.Command):
    """corral-queues: every core's run queue, who runs and who waits."""

    def __init__(self) -> None:
        super().__init__("corral-queues", gdb.COMMAND_STATUS)

    def invoke(self, argument: str, from_tty: bool) -> None:
        for core in cores():
            number = int(core["id_"]["value"])
            scheduler = core["scheduler"]
            if int(scheduler) == 0:
                print(f"core {number}: no scheduler yet")
                continue
            queue = scheduler.dereference()["queue_"]
            running = queue["running_"]
            who = "nobody"
            if int(running) != 0:
                who = describe(containing(running, thread_type(), "entity"))
            print(f"core {number}: runs {who}; {int(queue['waiting_count_'])} waiting")
            for thread in waiting(queue):
                ran = int(thread["entity"]["run_time"]["ns"])
                print(f"    {describe(thread)}, nice {int(thread['entity']['nice'])}, has run for {ran} ns")


class Threads(gdb.Command):
    """corral-threads: every thread, its state, where it is, what is asked of it, and its call."""

    def __init__(self) -> None:
        super().__init__("corral-threads", gdb.COMMAND_STATUS)

    def invoke(self, argument: str, from_tty: bool) -> None:
        most_cores = gdb.parse_and_eval(CORE_TABLE).type.range()[1] + 1
        for thread in threads():
            home = int(thread["home_"]["value_"]["value"])
            where = f"home core {home}" if home < most_cores else "no home"
            requests = int(thread["requests_"]["value_"])
            asked = f", asked for {requests & REQUESTS:#x}" if requests & REQUESTS else ""
            message = ", a message is on the way" if requests & ON_THE_WAY else ""
            print(f"process {int(thread['process_'].dereference()['id_']['value'])} {describe(thread)}, "
                  f"{where}, {enumerator(thread['entity']['place'])}{asked}{message}, "
                  f"rip {int(thread['frame']['rip']) & (2**64 - 1):#x} rax {int(thread['frame']['rax'])} "
                  f"rdi {int(thread['frame']['rdi']) & (2**64 - 1):#x} "
                  f"step {thread['current_step'].format_string(symbols=True)}")


class Frame(gdb.Command):
    """corral-frame THREAD: the user registers that the kernel saved of this thread."""

    REGISTERS = ("rip", "rsp", "rflags", "cs", "ss", "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp",
                 "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "vector", "error_code")

    def __init__(self) -> None:
        super().__init__("corral-frame", gdb.COMMAND_STATUS)

    def invoke(self, argument: str, from_tty: bool) -> None:
        words = gdb.string_to_argv(argument)
        if len(words) != 1 or not words[0].isdigit():
            raise gdb.GdbError("corral-frame THREAD: give a thread's number, as corral-cores and ps show it")
        for thread in threads():
            if int(thread["id_"]["value"]) == int(words[0]):
                self._show(thread)
                return
        raise gdb.GdbError(f"there is no thread {words[0]}")

    def _show(self, thread: gdb.Value) -> None:
        print(f"{describe(thread)}, home core {int(thread['home_']['value_']['value'])}")
        frame = thread["frame"]
        for index, name in enumerate(self.REGISTERS):
            end = "\n" if index % 3 == 2 or index == len(self.REGISTERS) - 1 else ""
            print(f"{name:>10} {int(frame[name]) & (2**64 - 1):#018x}", end=end)


Cores()
Queues()
Threads()
Frame()
