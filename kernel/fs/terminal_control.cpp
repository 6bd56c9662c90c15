// The terminal's settings, sessions and foreground group: its ioctls. Source: Linux ioctl_tty(2), POSIX.1-2017 chapter 11.
#include "fs/inode.h"
#include "fs/terminal.h"
#include "memory/heap.h"
#include "task/process.h"
#include "task/signals.h"
#include "task/thread.h"

namespace corral::fs {

namespace {

enum Request : u32 {
  tcgets = 0x5401,
  tcsets = 0x5402,
  tcsetsw = 0x5403,
  tcsetsf = 0x5404,
  tcsbrk = 0x5409,
  tcxonc = 0x540a,
  tcflsh = 0x540b,
  tiocexcl = 0x540c,
  tiocnxcl = 0x540d,
  tiocsctty = 0x540e,
  tiocgpgrp = 0x540f,
  tiocspgrp = 0x5410,
  tiocoutq = 0x5411,
  tiocgwinsz = 0x5413,
  tiocswinsz = 0x5414,
  tiocnotty = 0x5422,
  tiocgsid = 0x5429,
};

// The whole process pays no attention to this signal, or the thread has blocked it.
bool is_deaf_to(Thread& thread, int signal) {
  if ((thread.signals.blocked & signal_bit(signal)) != 0) return true;
  Process& process = thread.process();
  LockGuard guard{process.lock()};
  return process.actions[signal].handler == 1;
}

bool group_exists(i32 group, i32 session) {
  bool found = false;
  processes::for_each([&](Process& process) {
    if (process.group.load(Order::relaxed) == group && process.session.load(Order::relaxed) == session) found = true;
    return !found;
  });
  return found;
}

// The terminal, opened.
class TerminalFile final : public OpenFile {
 public:
  using OpenFile::OpenFile;
  Result<u64> read(Thread& thread, Transfer& transfer) override {
    return console_terminal().read(thread, transfer, nonblocking());
  }
  Result<u64> write(Thread& thread, Transfer& transfer) override {
    return console_terminal().write(thread, transfer, nonblocking());
  }
  Result<i64> control(Thread& thread, vm::AddressSpace& space, u32 request, u64 argument) override {
    return console_terminal().control(thread, space, request, argument);
  }
  u32 poll(PollEntry* entry) override { return console_terminal().poll(entry); }
  [[nodiscard]] bool can_poll() const override { return true; }
  Result<u64> available() override { return console_terminal().available(); }
};

}  // namespace

Result<Ref<OpenFile>> open_terminal(Inode& node, u32 flags) {
  return Ref<OpenFile>{Ref<TerminalFile>::adopt(TRY(memory::make<TerminalFile>(Ref<Inode>::share(node), flags)))};
}

bool Terminal::controls(const Process& process) const {
  const i32 own = session();
  return own != 0 && process.session.load(Order::relaxed) == own;
}

void Terminal::adopt(Process& process) {
  const i32 id = process.id().value;
  if (process.session.load(Order::relaxed) != id || session() != 0) return;
  session_.store(id, Order::relaxed);
  foreground_.store(process.group.load(Order::relaxed), Order::relaxed);
}

// A process in the background may not do this: it gets `signal`. restart: it was sent; eio: it would not hear it.
Result<void> Terminal::check_background(Thread& thread, int signal) {
  Process& process = thread.process();
  const i32 group = process.group.load(Order::relaxed);
  if (!controls(process) || group == foreground_group() || foreground_group() == 0) return {};
  if (is_deaf_to(thread, signal)) {
    if (signal == sigttou) return {};
    return Errno::eio;
  }
  (void)signals::send_to_group(group, {.number = signal, .code = 0x80, .sender = 0, .sender_user = 0, .value = 0});
  return Errno::restart;
}

Result<i64> Terminal::set_settings(Thread& thread, vm::AddressSpace& space, u32 request, u64 argument) {
  const auto settings = TRY(vm::read_user<tty::Termios>(space, thread.caller, {argument}));
  TRY(check_background(thread, sigttou));
  LockGuard guard{lock_};
  if (request != tcsets && produced_ != sent_by_all_ && device_count_ > 0) {
    pump();
    if (produced_ != sent_by_all_) return room_wanted_.wait(thread);
  }
  if (request == tcsetsf) discipline_.flush_input();
  discipline_.set_settings(settings);
  input_wanted_.wake_all();  // what a read waits for may have changed
  room_wanted_.wake_all();
  source_.notify(poll_readable | poll_writable);
  return 0;
}

Result<i64> Terminal::set_window_size(Thread& thread, vm::AddressSpace& space, u64 argument) {
  const auto size = TRY(vm::read_user<tty::WindowSize>(space, thread.caller, {argument}));
  {
    LockGuard guard{lock_};
    if (size.rows == window_.rows && size.columns == window_.columns) return 0;
    window_ = size;
  }
  if (foreground_group() != 0) {
    (void)signals::send_to_group(foreground_group(),
                                 {.number = sigwinch, .code = 0x80, .sender = 0, .sender_user = 0, .value = 0});
  }
  return 0;
}

Result<i64> Terminal::set_foreground(Thread& thread, vm::AddressSpace& space, u64 argument) {
  const i32 group = TRY(vm::read_user<i32>(space, thread.caller, {argument}));
  if (!controls(thread.process())) return Errno::enotty;
  if (group <= 0) return Errno::einval;
  TRY(check_background(thread, sigttou));
  if (!group_exists(group, session())) return Errno::eperm;
  foreground_.store(group, Order::relaxed);
  return 0;
}

Result<i64> Terminal::take_session(Process& process, bool steal) {
  const i32 id = process.id().value;
  if (process.session.load(Order::relaxed) != id) return Errno::eperm;
  if (session() == id) return 0;
  if (session() != 0 && !steal) return Errno::eperm;
  session_.store(id, Order::relaxed);
  foreground_.store(process.group.load(Order::relaxed), Order::relaxed);
  return 0;
}

Result<i64> Terminal::leave_session(Process& process) {
  if (!controls(process)) return Errno::enotty;
  if (process.id().value != session()) return 0;
  const i32 group = foreground_group();
  session_.store(0, Order::relaxed);
  foreground_.store(0, Order::relaxed);
  for (int signal : {sighup, sigcont}) {
    (void)signals::send_to_group(group, {.number = signal, .code = 0x80, .sender = 0, .sender_user = 0, .value = 0});
  }
  return 0;
}

Result<i64> Terminal::control(Thread& thread, vm::AddressSpace& space, u32 request, u64 argument) {
  Process& process = thread.process();
  switch (request) {
    case tcgets: {
      tty::Termios settings;
      {
        LockGuard guard{lock_};
        settings = discipline_.settings();
      }
      TRY(vm::write_user(space, thread.caller, {argument}, settings));
      return 0;
    }
    case tcsets:
    case tcsetsw:
    case tcsetsf: return set_settings(thread, space, request, argument);
    case tcsbrk: {  // drain
      LockGuard guard{lock_};
      pump();
      if (produced_ != sent_by_all_ && device_count_ > 0) return room_wanted_.wait(thread);
      return 0;
    }
    case tcxonc:
    case tiocexcl:
    case tiocnxcl: return 0;
    case tcflsh: {
      LockGuard guard{lock_};
      if (argument > 2) return Errno::einval;
      if (argument != 1) discipline_.flush_input();
      if (argument != 0) {
        for (u64& sent : sent_) sent = produced_;
        sent_by_all_ = produced_;
        room_wanted_.wake_all();
        source_.notify(poll_writable);
      }
      return 0;
    }
    case tiocgwinsz: {
      tty::WindowSize size;
      {
        LockGuard guard{lock_};
        size = window_;
      }
      TRY(vm::write_user(space, thread.caller, {argument}, size));
      return 0;
    }
    case tiocswinsz: return set_window_size(thread, space, argument);
    case tiocgpgrp:
      if (!controls(process)) return Errno::enotty;
      TRY(vm::write_user(space, thread.caller, {argument}, foreground_group()));
      return 0;
    case tiocspgrp: return set_foreground(thread, space, argument);
    case tiocgsid:
      if (!controls(process)) return Errno::enotty;
      TRY(vm::write_user(space, thread.caller, {argument}, session()));
      return 0;
    case tiocsctty: return take_session(process, argument == 1);
    case tiocnotty: return leave_session(process);
    case tiocoutq: {
      i32 waiting = 0;
      {
        LockGuard guard{lock_};
        waiting = static_cast<i32>(produced_ - sent_by_all_);
      }
      TRY(vm::write_user(space, thread.caller, {argument}, waiting));
      return 0;
    }
    default: return Errno::enotty;
  }
}

}  // namespace corral::fs
