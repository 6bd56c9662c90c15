// The terminal's traffic. See terminal.h; terminal_control.cpp has the ioctls, terminal_jobs.cpp sessions and groups.
#include "fs/terminal.h"

#include "device/clock.h"
#include "fs/transfer.h"
#include "task/process.h"
#include "task/thread.h"

namespace corral::fs {

namespace {
constexpr u64 piece = 256;      // bytes that are moved with the lock held
constexpr u64 least_room = 16;  // less is not worth a wake-up
constexpr u32 all_bits = poll_in | poll_out | poll_err | poll_hup | poll_rdnorm | poll_wrnorm;
}  // namespace

// ---- lives -----------------------------------------------------------------------------------------------------------

Terminal::Life Terminal::opened() {
  LockGuard guard{lock_};
  return opened_locked();
}

Terminal::Life Terminal::opened_locked() {
  ++open_files_;
  return life_;
}

void Terminal::closed(Life life) {
  LockGuard guard{lock_};
  if (life == every_life || over(life)) return;
  if (--open_files_ == 0) last_closed();
}

void Terminal::hang_up() {
  const i32 session = this->session();
  const i32 front = foreground_group();
  {
    LockGuard guard{lock_};
    ++life_;
    if (life_ == other_end) life_ = every_life + 1;
    discipline_.flush_input();
    input_wanted_.wake_all();
    room_wanted_.wake_all();
    source_.notify(all_bits);
    if (open_files_ > 0) last_closed();
    open_files_ = 0;
    if (session != 0) {
      session_.store(0, Order::relaxed);
      foreground_.store(0, Order::relaxed);
    }
  }
  if (session == 0) return;
  const Ref<Process> leader = processes::find({session});
  if (!leader) return;
  leader->hung_up_group.store(front, Order::relaxed);  // is told when the leader ends
  for (const int signal : {sighup, sigcont}) (void)signals::send(*leader, {.number = signal, .code = code_kernel});
}

// ---- output ----------------------------------------------------------------------------------------------------------

void Terminal::put_out(char c) {
  ring_[produced_ % ring_size] = c;
  ++produced_;
}

void Terminal::show(char c) NO_THREAD_SAFETY_ANALYSIS {  // called by the discipline, with the lock held
  if (room() > 0) put_out(c);
}

void Terminal::taken(u64 position) {
  if (position == taken_) return;
  taken_ = position;
  if (room() < ring_size / 2) return;
  room_wanted_.wake_all();
  source_.notify(poll_writable);
}

Result<u64> Terminal::write(Thread& thread, Transfer& transfer, bool nonblocking, Life life) {
  char bytes[piece];
  bool asks_first;
  {
    LockGuard guard{lock_};
    asks_first = transfer.done() == 0 && (discipline_.settings().local & tty::tostop) != 0 && !over(life);
  }
  if (asks_first) TRY(check_background(thread, sigttou));
  while (transfer.left() > 0) {
    const Result<u64> ready = transfer.prepare(smaller(transfer.left(), piece), vm::Access::read);
    if (!ready.ok()) {
      if (ready.error() == Errno::blocked || transfer.done() == 0) return ready.error();
      break;
    }
    LockGuard guard{lock_};
    if (over(life)) {
      if (transfer.done() == 0) return Errno::eio;
      break;
    }
    const bool stopped = discipline_.output_stopped();
    if (stopped || room() < least_room) {
      if (transfer.done() > 0 && (nonblocking || transfer.from_kernel())) break;
      if (nonblocking) return Errno::eagain;
      const Errno outcome = room_wanted_.wait(thread);
      if (outcome != Errno::blocked && transfer.done() > 0) break;
      return outcome;
    }
    const u64 size = smaller(ready.value(), room() / 8);  // a character becomes at most 8
    const Result<void> copied = transfer.get(0, bytes, size);
    if (!copied.ok()) {
      if (copied.error() == Errno::blocked || transfer.done() == 0) return copied.error();
      break;
    }
    for (u64 i = 0; i < size; ++i) {
      char out[8];
      const u32 count = discipline_.output(bytes[i], out);
      for (u32 k = 0; k < count; ++k) put_out(out[k]);
    }
    pump();
    transfer.advance(size);
  }
  return transfer.done();
}

// ---- input -----------------------------------------------------------------------------------------------------------

SignalSet Terminal::type(std::string_view bytes) {
  SignalSet wanted = 0;
  bool ready = false;
  for (char c : bytes) {
    const u64 before = produced_;
    const LineDiscipline::Effect effect = discipline_.input(static_cast<u8>(c), *this);
    if (effect.signal != 0) wanted |= signal_bit(effect.signal);
    ready = ready || effect.ready;
    if (effect.flushed) {
      note(Event::input_flushed);
      if (!drains()) {  // what the other end has not taken goes too; the echo stays
        note(Event::output_flushed);
        taken(before);
      }
    }
    if (effect.stopped) note(Event::stopped);
    if (effect.restarted) note(Event::started);
    if (effect.restarted || effect.signal != 0) {
      room_wanted_.wake_all();
      source_.notify(poll_writable);
    }
  }
  pump();
  if (ready) {
    input_wanted_.wake_all();
    source_.notify(poll_readable);
  }
  return wanted;
}

void Terminal::send_typed(SignalSet wanted) {
  const i32 group = foreground_group();
  if (group == 0) return;
  for (int signal : {sigint, sigquit, sigtstp}) {
    if ((wanted & signal_bit(signal)) == 0) continue;
    (void)signals::send_to_group(group, {.number = signal, .code = code_kernel});
  }
}

// A read of `wish` bytes gets something now.
bool Terminal::wanted_now(u64 wish) const {
  if (discipline_.canonical()) return discipline_.ready();
  const u64 least = discipline_.settings().characters[tty::vmin];
  return discipline_.available() >= smaller(least, wish);
}

// Errno{}: give what is there. VMIN and VTIME: POSIX.1-2017, 11.1.7.
Errno Terminal::wait_for_input(Thread& thread) {
  const tty::Termios& settings = discipline_.settings();
  const bool timed = !discipline_.canonical() && settings.characters[tty::vtime] != 0 &&
                     (settings.characters[tty::vmin] == 0 || discipline_.available() > 0);
  if (!timed) return input_wanted_.wait(thread);
  if (thread.wake_reason() == WakeReason::timed_out) return Errno{};
  return input_wanted_.wait(thread, clock::now() + milliseconds(i64{settings.characters[tty::vtime]} * 100));
}

Result<u64> Terminal::read(Thread& thread, Transfer& transfer, bool nonblocking, Life life) {
  if (transfer.size() == 0) return u64{0};
  TRY(check_background(thread, sigttin));
  const u64 ready = TRY(transfer.prepare(LineDiscipline::capacity, vm::Access::write));
  LockGuard guard{lock_};
  if (over(life)) {  // as on Linux, who waited hears of an error, who comes later finds the end
    if (thread.wake_reason() != WakeReason::none) return Errno::eio;
    return u64{0};
  }
  const bool vmin_zero = !discipline_.canonical() && discipline_.settings().characters[tty::vmin] == 0;
  const bool polls = vmin_zero && discipline_.settings().characters[tty::vtime] == 0;
  if (!wanted_now(transfer.size()) || (vmin_zero && !polls && discipline_.available() == 0)) {
    if (nonblocking && discipline_.available() == 0) return Errno::eagain;
    if (!nonblocking) {
      const Errno outcome = wait_for_input(thread);
      if (outcome == Errno::restart && discipline_.available() > 0 && !discipline_.canonical()) {
      } else if (outcome != Errno{}) {
        return outcome;
      }
    }
  }
  char bytes[piece];
  for (u64 left = ready; left > 0;) {
    const LineDiscipline::Taken taken = discipline_.peek({bytes, smaller(left, piece)});
    if (taken.consumed == 0) break;
    TRY(transfer.put(0, bytes, taken.bytes));
    discipline_.consume(taken.consumed);
    transfer.advance(taken.bytes);
    left -= taken.bytes;
    if (taken.line_end) break;
  }
  input_taken();
  return transfer.done();
}

u32 Terminal::poll(PollEntry* entry, Life life) {
  LockGuard guard{lock_};
  if (entry != nullptr) source_.enlist(*entry);
  if (over(life)) return all_bits;
  u32 ready = 0;
  if (discipline_.ready()) ready |= poll_in | poll_rdnorm;
  if (room() >= least_room && !discipline_.output_stopped()) ready |= poll_out | poll_wrnorm;
  return ready;
}

Result<u64> Terminal::available(Life life) {
  LockGuard guard{lock_};
  if (over(life)) return Errno::eio;
  return u64{discipline_.available()};
}

}  // namespace corral::fs
