// The table of Linux system calls (x86-64 numbers) and the step that runs them. Unknown calls answer ENOSYS and are named in
// the log once each.
#include "abi/linux/table.h"

#include "abi/corral/calls.h"
#include "abi/linux/clock_setting.h"
#include "abi/linux/core_file.h"
#include "abi/linux/file_handlers.h"
#include "abi/linux/ipc_structures.h"
#include "abi/linux/lock_calls.h"
#include "abi/linux/socket_address.h"
#include "lib/atomic.h"
#include "task/executive.h"
#include "task/tracees.h"
#include "trace/log.h"
#include "trace/trace.h"

namespace corral::abi {

namespace {

constexpr u32 linux_calls = 512;

constinit Handler handlers[linux_calls] = {};
constinit Atomic<u64> reported[linux_calls / 64] = {};

void add(std::span<const Entry> entries) {
  for (const Entry& entry : entries) handlers[entry.number] = entry.handler;
}

[[gnu::noinline]] Result<i64> unknown(u64 number, const Thread& thread) {
  if (number < linux_calls) {
    const u64 bit = u64{1} << (number % 64);
    if ((reported[number / 64].fetch_or(bit, Order::relaxed) & bit) == 0) {
      log::debug("system call {} is not known (first used by {})", number, static_cast<const char*>(thread.name));
    }
  }
  return Errno::enosys;
}

// `made`: which call it is; of restart_syscall the one that goes on.
[[gnu::always_inline]] inline Errno run_and_tell(Thread& thread, u64& made) {
  arch::TrapFrame& frame = thread.frame;
  // restart_syscall: the interrupted call goes on from the step that it left. There is none: a handler has ended it.
  if (frame.system_call_number() == arch::TrapFrame::restart_call_number && thread.restart.number != 0) {
    frame.become_system_call(thread.restart.number);
    thread.step = thread.restart.step;
    thread.restart.number = 0;
  }
  const u64 number = made = frame.system_call_number();
  Call call{thread, thread.process(), *thread.space, frame.arguments()};
  Handler handler = nullptr;
  if (number < linux_calls) {
    handler = handlers[number];
  } else if (number >= own_calls_first) {
    handler = own_call(number);
  }
  const Result<i64> result = handler != nullptr ? handler(call) : unknown(number, thread);
  if (result) {
    frame.set_result(result.value());
    return Errno{};
  }
  switch (result.error()) {
    case Errno::blocked: return Errno::blocked;
    case Errno::restart:
    case Errno::restart_always:
    case Errno::restart_without_handler: thread.call_interruption = result.error(); return Errno{};
    case Errno::restart_from_step:
      thread.restart = {number, thread.step};
      thread.call_interruption = result.error();
      return Errno{};
    default: frame.set_result(-static_cast<i64>(result.error())); return Errno{};
  }
}

Errno run_system_call(Thread& thread) {
  u64 made;
  return run_and_tell(thread, made);
}

// The same for a thread whose tracer may want it to stop before and after it.
Errno run_for_tracer(Thread& thread, bool begins) {
  switch (tracees::before_call(thread, begins)) {
    case tracees::Turn::wait: return thread.wait_for_resume();
    case tracees::Turn::run:
      if (run_system_call(thread) == Errno::blocked) return Errno::blocked;
      thread.step = {};
      break;
    case tracees::Turn::skip: break;
  }
  return tracees::after_call(thread) ? thread.wait_for_resume() : Errno{};
}

// The same while some thread has a tracer.
Errno run_followed_system_call(Thread& thread) {
  const bool begins = thread.current_step == nullptr;
  return thread.tracee.load(Order::acquire) != nullptr ? run_for_tracer(thread, begins) : run_system_call(thread);
}

[[gnu::noinline]] void note_beginning(const Thread& thread, u64 stamp) {
  const u64 number = thread.frame.system_call_number();
  if (!trace::wants(trace::Event::called_with))
    return trace::write_words(stamp, trace::with_event(thread.trace_head(), trace::Event::call_begun, 0), number);
  const u64* argument = thread.frame.arguments();
  trace::write_words(stamp, trace::with_event(thread.trace_head(), trace::Event::call_begun, trace::with_arguments), number,
                     argument[0], argument[1], argument[2], argument[3], argument[4]);
}

[[gnu::noinline]] void note_end(const Thread& thread, u64 number) {
  const u64 head = trace::with_event(thread.trace_head(), trace::Event::call_ended, 0);
  trace::write_words(trace::stamp(), head, number, thread.frame.result());
}

[[gnu::noinline]] void note_with_arguments(const Thread& thread, u64 begun, u64 ended, u64 number) {
  const u64 shown = number < trace::Called::highest_number ? number : trace::Called::highest_number;
  const u64* argument = thread.frame.arguments();
  trace::write_words(ended, trace::with_event(thread.trace_head(), trace::Event::called_with, 0),
                     (ended - begun) << trace::Called::number_bits | shown, thread.frame.result(), argument[0], argument[1],
                     argument[2], argument[3]);
}

// The same while calls are traced: one record for a call that does not wait. One that waits is run again: it has begun once, and ends once.
template <Errno (*Run)(Thread&)>
Errno trace_system_call(Thread& thread) {
  const bool begins = thread.current_step == nullptr;
  const u64 number = thread.frame.system_call_number();
  const u64 begun = trace::stamp();
  const Errno outcome = Run(thread);
  if (outcome == Errno::blocked) {
    if (begins) note_beginning(thread, begun);
  } else if (!begins) {
    note_end(thread, number);
  } else if (const u64 ended = trace::stamp(); trace::wants(trace::Event::called_with)) {
    note_with_arguments(thread, begun, ended, number);
  } else {
    trace::write_words(ended, thread.trace_head(), begun, number, thread.frame.result());
  }
  return outcome;
}

// The same in twenty instructions, where stamps are the cycle counter's, nobody wants arguments and no thread has a tracer: that
// it begins is said by what the executive noted at the entry, and still holds when it has run.
Errno trace_briefly(Thread& thread) {
  u64 number;
  const Errno outcome = run_and_tell(thread, number);
  const bool begins = thread.current_step == nullptr;
  if (outcome == Errno::blocked) [[unlikely]] {
    if (begins) note_beginning(thread, arch::mode_changed());
  } else if (begins) [[likely]] {
    trace::write_words(arch::cycle_counter(), thread.trace_head(), arch::mode_changed(), number, thread.frame.result());
  } else {
    note_end(thread, number);
  }
  return outcome;
}

// Whose calls are followed: everybody's, by the trace, with their arguments or without; those of traced threads.
constinit Atomic<bool> trace_follows{false}, arguments_follow{false}, tracers_follow{false};

Errno (*needed_step())(Thread&) {
  const bool by_trace = trace_follows.load(Order::seq_cst);
  if (tracers_follow.load(Order::seq_cst))
    return by_trace ? trace_system_call<run_followed_system_call> : run_followed_system_call;
  if (!by_trace) return run_system_call;
  const bool briefly = trace::stamps_are_cycles() && !arguments_follow.load(Order::seq_cst);
  return briefly ? trace_briefly : trace_system_call<run_system_call>;
}

// Whoever changes one of these looks again after it: so of two at once the later one has seen both.
void choose_step(Atomic<bool>& follows, bool wanted) {
  follows.store(wanted, Order::seq_cst);
  Errno (*chosen)(Thread&);
  do {
    chosen = needed_step();
    set_system_call_step(chosen);
  } while (chosen != needed_step());
}

void follow_trace(u32 events) {
  const auto wanted = [events](trace::Event event) { return (events >> static_cast<u32>(event) & 1) != 0; };
  arguments_follow.store(wanted(trace::Event::called_with), Order::seq_cst);
  choose_step(trace_follows, wanted(trace::Event::called));
}

void follow_tracers(bool any) {
  choose_step(tracers_follow, any);
}

}  // namespace

void initialise_system_calls() {
  add(clone_calls());
  add(exit_calls());
  add(exec_calls());
  add(wait_calls());
  add(identity_calls());
  add(user_calls());
  add(signal_calls());
  add(send_calls());
  add(signal_return_calls());
  add(memory_calls());
  add(page_lock_calls());
  add(time_calls());
  add(wall_clock_calls());
  add(clock_adjustment_calls());
  add(timer_calls());
  add(priority_calls());
  add(prctl_calls());
  add(foreign_memory_calls());
  add(trace_calls());
  add(capability_calls());
  add(futex_calls());
  add(barrier_calls());
  add(node_calls());
  add(scheduling_calls());
  add(system_calls());
  add(uname_calls());
  add(transfer_calls());
  add(directory_calls());
  add(copy_calls());
  add(limit_calls());
  add(descriptor_calls());
  add(handle_calls());
  add(space_calls());
  add(attribute_calls());
  add(splice_calls());
  add(semaphore_calls());
  add(queue_calls());
  add(segment_calls());
  add(message_queue_calls());
  add(poll_calls());
  add(epoll_calls());
  add(event_calls());
  add(process_file_calls());
  add(lock_calls());
  add(socket_calls());
  add(socket_option_calls());
  add(message_calls());
  add(watch_calls());
  add(terminal_calls());
  add(open_calls());
  add(name_calls());
  add(stat_calls());
  add(change_calls());
  add(mount_calls());
  set_system_call_step(run_system_call);
  enable_core_files();
  trace::set_listener(follow_trace);
  tracees::set_listener(follow_tracers);
}

}  // namespace corral::abi
