// Which session a terminal controls and which of its process groups is in front. Source: POSIX.1-2017, 11.1.3 and 11.1.4; Linux
// ioctl_tty(2). session_ and foreground_ are changed under lock_; signals are sent without it.
#include "fs/terminal.h"
#include "fs/terminal_requests.h"
#include "fs/terminals.h"
#include "task/process.h"
#include "task/process_group.h"
#include "task/thread.h"

namespace corral::fs {

namespace {

// The whole process pays no attention to this signal, or the thread has blocked it.
bool is_deaf_to(Thread& thread, int signal) {
  if ((thread.signals.blocked & signal_bit(signal)) != 0) return true;
  Process& process = thread.process();
  LockGuard guard{process.lock()};
  return process.actions[signal].handler == 1;
}

bool leads_session(const Process& process) {
  return process.session.load(Order::relaxed) == process.id().value;
}

}  // namespace

bool Terminal::controls(const Process& process) const {
  const i32 own = session();
  return own != 0 && process.session.load(Order::relaxed) == own && !process.without_terminal.load(Order::relaxed);
}

void Terminal::adopt(Process& process) {
  if (!leads_session(process) || session() != 0 || has_terminal(process)) return;
  (void)take_session(process, false);
}

// A process in the background may not do this: it gets `signal`. restart: it was sent; eio: it would not hear it.
Result<void> Terminal::check_background(Thread& thread, int signal) {
  Process& process = thread.process();
  const i32 group = process.group.load(Order::relaxed);
  const i32 front = foreground_group();
  if (!controls(process) || group == front || front == 0) return {};
  if (is_deaf_to(thread, signal)) {
    if (signal == sigttou) return {};
    return Errno::eio;
  }
  if (process_groups::is_orphaned(group)) return Errno::eio;
  (void)signals::send_to_group(group, {.number = signal, .code = code_kernel});
  return Errno::restart;
}

void Terminal::lose_session(bool go_on) {
  i32 group;
  {
    LockGuard guard{lock_};
    group = foreground_group();
    session_.store(0, Order::relaxed);
    foreground_.store(0, Order::relaxed);
  }
  if (group == 0) return;
  (void)signals::send_to_group(group, {.number = sighup, .code = code_kernel});
  if (go_on) (void)signals::send_to_group(group, {.number = sigcont, .code = code_kernel});
}

Result<i64> Terminal::set_foreground(Thread& thread, vm::AddressSpace& space, u64 argument) {
  const Result<void> allowed = check_background(thread, sigttou);
  if (!allowed) return allowed.error() == Errno::eio ? Errno::enotty : allowed.error();
  if (!controls(thread.process())) return Errno::enotty;
  const i32 group = TRY(vm::read_user<i32>(space, thread.caller, {argument}));
  if (group < 0) return Errno::einval;
  i32 group_session = process_groups::session_of(group);
  if (group_session == 0) {  // no group: as on Linux the process with that number will do
    if (const Ref<Process> process = processes::find(ProcessId{group})) group_session = process->session.load(Order::relaxed);
  }
  if (group_session == 0) return Errno::esrch;
  if (group_session != session()) return Errno::eperm;
  LockGuard guard{lock_};
  foreground_.store(group, Order::relaxed);
  return 0;
}

Result<i64> Terminal::take_session(Process& process, bool steal) {
  const i32 id = process.id().value;
  if (leads_session(process) && session() == id) return 0;
  if (!leads_session(process) || has_terminal(process)) return Errno::eperm;
  LockGuard guard{lock_};
  if (session() != 0 && !steal) return Errno::eperm;
  session_.store(id, Order::relaxed);
  foreground_.store(process.group.load(Order::relaxed), Order::relaxed);
  return 0;
}

Result<i64> Terminal::leave_session(Process& process) {
  if (!controls(process)) return Errno::enotty;
  if (leads_session(process)) {
    lose_session(true);
  } else {
    process.without_terminal.store(true, Order::relaxed);
  }
  return 0;
}

Result<i64> Terminal::session_control(Thread& thread, vm::AddressSpace& space, u32 request, u64 argument, Life life) {
  Process& process = thread.process();
  // The other end of a pseudo-terminal may ask although it is not controlled by it.
  const bool may_ask = life == other_end || controls(process);
  switch (request) {
    case tty::get_foreground:
      if (!may_ask) return Errno::enotty;
      TRY(vm::write_user(space, thread.caller, {argument}, foreground_group()));
      return 0;
    case tty::set_foreground: return set_foreground(thread, space, argument);
    case tty::get_session:
      if (!may_ask || session() == 0) return Errno::enotty;
      TRY(vm::write_user(space, thread.caller, {argument}, session()));
      return 0;
    case tty::take_as_controlling: return take_session(process, argument == 1);
    case tty::give_up_controlling: return leave_session(process);
    default: return Errno::enotty;
  }
}

}  // namespace corral::fs
