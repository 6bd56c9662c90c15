// The terminal's settings: its ioctls but those of sessions. Source: Linux ioctl_tty(2), POSIX.1-2017 chapter 11.
#include "fs/terminal.h"
#include "fs/terminal_requests.h"
#include "lib/memory_functions.h"
#include "task/process.h"
#include "task/thread.h"

namespace corral::fs {

namespace {

struct Termios2 {
  tty::Termios settings;
  u32 input_speed, output_speed;
};
static_assert(sizeof(Termios2) == 44);

// struct termio, of System V: the low halves of the flags, and the first characters.
struct Termio {
  u16 input, output, control, local;
  u8 line;
  u8 characters[8];
};
static_assert(sizeof(Termio) == 18);

Termio old_form_of(const tty::Termios& settings) {
  Termio old{static_cast<u16>(settings.input),
             static_cast<u16>(settings.output),
             static_cast<u16>(settings.control),
             static_cast<u16>(settings.local),
             settings.line,
             {}};
  memcpy(old.characters, settings.characters, sizeof old.characters);
  return old;
}

// What the old form does not have stays as it is.
tty::Termios with(tty::Termios settings, const Termio& old) {
  const auto low = [](u32 flags, u16 given) { return (flags & 0xffff'0000) | given; };
  settings.input = low(settings.input, old.input);
  settings.output = low(settings.output, old.output);
  settings.control = low(settings.control, old.control);
  settings.local = low(settings.local, old.local);
  settings.line = old.line;
  memcpy(settings.characters, old.characters, sizeof old.characters);
  return settings;
}

}  // namespace

tty::Termios Terminal::settings() {
  LockGuard guard{lock_};
  return discipline_.settings();
}

Result<i64> Terminal::set_settings(Thread& thread, u32 request, const tty::Termios& settings) {
  TRY(check_background(thread, sigttou));
  const u32 kind = request & 0xf;  // 2, 3, 4 of TCSETS…; b, c, d of TCSETS2…
  const bool flushes = kind == 4 || kind == 0xd;
  if (kind != 2 && kind != 0xb) (void)TRY(drain(thread));
  LockGuard guard{lock_};
  if (flushes) {
    discipline_.flush_input();
    input_taken();
  }
  const bool was_stopped = discipline_.output_stopped();
  discipline_.set_settings(settings);
  note(Event::settings);
  if (was_stopped && !discipline_.output_stopped()) note(Event::started);
  input_wanted_.wake_all();  // what a read waits for may have changed
  room_wanted_.wake_all();
  source_.notify(poll_readable | poll_writable);
  return 0;
}

// Waits until the devices have taken everything.
Result<i64> Terminal::drain(Thread& thread) {
  LockGuard guard{lock_};
  if (!drains()) return 0;
  pump();
  if (produced_ != taken_) return room_wanted_.wait(thread);
  return 0;
}

Result<i64> Terminal::flush(u64 which) {
  if (which > 2) return Errno::einval;
  LockGuard guard{lock_};
  if (which != 1) {
    discipline_.flush_input();
    note(Event::input_flushed);
    input_taken();
  }
  if (which != 0) {
    taken(produced_);
    note(Event::output_flushed);
  }
  room_wanted_.wake_all();
  source_.notify(poll_readable | poll_writable);
  return 0;
}

// TCXONC: output stops or goes on; or the other end is asked to stop or to go on.
Result<i64> Terminal::flow(u64 action) {
  enum : u64 { output_off, output_on, input_off, input_on };
  LockGuard guard{lock_};
  switch (action) {
    case output_off:
    case output_on: set_stopped(action == output_off); return 0;
    case input_off:
    case input_on: {
      const u8 c = discipline_.settings().characters[action == input_off ? tty::vstop : tty::vstart];
      if (c != 0 && room() > 0) put_out(static_cast<char>(c));
      pump();
      return 0;
    }
    default: return Errno::einval;
  }
}

void Terminal::set_stopped(bool stopped) {
  if (discipline_.output_stopped() == stopped) return;
  discipline_.set_output_stopped(stopped);
  note(stopped ? Event::stopped : Event::started);
  room_wanted_.wake_all();
  source_.notify(poll_readable | poll_writable);
}

Result<i64> Terminal::set_window_size(Thread& thread, vm::AddressSpace& space, u64 argument) {
  const auto size = TRY(vm::read_user<tty::WindowSize>(space, thread.caller, {argument}));
  {
    LockGuard guard{lock_};
    if (size == window_) return 0;
    window_ = size;
  }
  if (foreground_group() != 0) { (void)signals::send_to_group(foreground_group(), {.number = sigwinch, .code = code_kernel}); }
  return 0;
}

Result<i64> Terminal::settings_control(Thread& thread, vm::AddressSpace& space, u32 request, u64 argument) {
  const auto answer = [&](const auto& value) -> Result<i64> {
    TRY(vm::write_user(space, thread.caller, {argument}, value));
    return 0;
  };
  switch (request) {
    case tty::get_settings:
    case tty::get_settings_2: {
      Termios2 all;
      {
        LockGuard guard{lock_};
        all = {discipline_.settings(), speeds_[0], speeds_[1]};
      }
      return request == tty::get_settings ? answer(all.settings) : answer(all);
    }
    case tty::set_settings:
    case tty::set_settings_drained:
    case tty::set_settings_flushed:
      return set_settings(thread, request, TRY(vm::read_user<tty::Termios>(space, thread.caller, {argument})));
    case tty::get_old_settings: return answer(old_form_of(settings()));
    case tty::set_old_settings:
    case tty::set_old_settings_drained:
    case tty::set_old_settings_flushed: {
      const auto old = TRY(vm::read_user<Termio>(space, thread.caller, {argument}));
      return set_settings(thread, request - tty::set_old_settings + tty::set_settings, with(settings(), old));
    }
    case tty::set_settings_2:
    case tty::set_settings_2_drained:
    case tty::set_settings_2_flushed: {
      const auto all = TRY(vm::read_user<Termios2>(space, thread.caller, {argument}));
      Result<i64> result = set_settings(thread, request, all.settings);
      LockGuard guard{lock_};
      if (result) speeds_[0] = all.input_speed, speeds_[1] = all.output_speed;
      return result;
    }
    case tty::send_break:  // there is no line on which a break could be seen
    case tty::send_break_posix: {
      TRY(check_background(thread, sigttou));
      return drain(thread);
    }
    case tty::break_on:
    case tty::break_off:
    case tty::exclusive:  // says nothing to root, and everybody is
    case tty::not_exclusive: return 0;
    case tty::is_exclusive: return answer(i32{0});
    case tty::flow_control: {
      TRY(check_background(thread, sigttou));
      return flow(argument);
    }
    case tty::flush: {
      TRY(check_background(thread, sigttou));
      return flush(argument);
    }
    case tty::get_window_size: {
      tty::WindowSize size;
      {
        LockGuard guard{lock_};
        size = window_;
      }
      return answer(size);
    }
    case tty::open_peer: return Errno::eio;  // only a master has one
    case tty::set_window_size: return set_window_size(thread, space, argument);
    case tty::output_waiting: {
      i32 waiting = 0;
      {
        LockGuard guard{lock_};
        if (drains()) waiting = static_cast<i32>(produced_ - taken_);
      }
      return answer(waiting);
    }
    case tty::type_character: {
      const char c = TRY(vm::read_user<char>(space, thread.caller, {argument}));
      SignalSet typed;
      {
        LockGuard guard{lock_};
        typed = type({&c, 1});
      }
      send_typed(typed);
      return 0;
    }
    case tty::get_local_line: return answer(i32{(settings().control & tty::clocal) != 0});
    case tty::set_local_line: {
      const bool local = TRY(vm::read_user<i32>(space, thread.caller, {argument})) != 0;
      LockGuard guard{lock_};
      tty::Termios changed = discipline_.settings();
      changed.control = local ? changed.control | tty::clocal : changed.control & ~tty::clocal;
      discipline_.set_settings(changed);
      return 0;
    }
    case tty::get_discipline: return answer(i32{0});
    case tty::set_discipline: {
      const i32 wanted = TRY(vm::read_user<i32>(space, thread.caller, {argument}));
      return wanted == 0 ? Result<i64>{0} : Result<i64>{Errno::einval};
    }
    case tty::get_device: return answer(static_cast<u32>(number_.encoded()));
    default: return Errno::enotty;
  }
}

Result<i64> Terminal::control(Thread& thread, vm::AddressSpace& space, u32 request, u64 argument, Life life) {
  {
    LockGuard guard{lock_};
    if (over(life)) return request == tty::set_foreground ? Errno::enotty : Errno::eio;
  }
  switch (request) {
    case tty::hang_up: hang_up(); return 0;
    case tty::get_foreground:
    case tty::set_foreground:
    case tty::get_session:
    case tty::take_as_controlling:
    case tty::give_up_controlling: return session_control(thread, space, request, argument, life);
    default: return settings_control(thread, space, request, argument);
  }
}

}  // namespace corral::fs
