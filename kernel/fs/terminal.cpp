// The terminal's traffic. See terminal.h; terminal_control.cpp has the ioctls.
#include "fs/terminal.h"

#include "device/clock.h"
#include "fs/transfer.h"
#include "task/process.h"
#include "task/signals.h"
#include "task/thread.h"

namespace corral::fs {

namespace {
constinit Terminal the_terminal;
constexpr u64 piece = 256;  // bytes that are moved with the lock held
}  // namespace

Terminal& console_terminal() {
  return the_terminal;
}

void Terminal::attach(ConsoleDevice& device) {
  {
    LockGuard guard{lock_};
    if (device_count_ == max_devices) return;
    sent_[device_count_] = produced_;
    devices_[device_count_++] = &device;
  }
  device.set_listener(*this);
}

// ---- output ----------------------------------------------------------------------------------------------------------

void Terminal::put_out(char c) {
  ring_[produced_ % ring_size] = c;
  ++produced_;
}

void Terminal::show(char c) NO_THREAD_SAFETY_ANALYSIS {  // called by the discipline, with the lock held
  if (room() > 0) put_out(c);
}

// Gives each device what it takes; wakes writers when there is room again.
void Terminal::pump() {
  u64 slowest = produced_;
  for (u32 i = 0; i < device_count_; ++i) {
    while (sent_[i] < produced_) {
      const u64 place = sent_[i] % ring_size;
      const u64 size = smaller(produced_ - sent_[i], ring_size - place);
      const u64 taken = devices_[i]->write_some({ring_ + place, size});
      sent_[i] += taken;
      if (taken < size) break;
    }
    slowest = smaller(slowest, sent_[i]);
  }
  if (slowest == sent_by_all_) return;
  sent_by_all_ = slowest;
  if (room() < ring_size / 2) return;
  room_wanted_.wake_all();
  source_.notify(poll_writable);
}

void Terminal::on_output_room() {
  LockGuard guard{lock_};
  pump();
}

void Terminal::flush_now() {
  LockGuard guard{lock_};
  for (u32 i = 0; i < device_count_; ++i) {
    while (sent_[i] < produced_) {
      const u64 place = sent_[i] % ring_size;
      const u64 size = smaller(produced_ - sent_[i], ring_size - place);
      devices_[i]->write_now({ring_ + place, size});
      sent_[i] += size;
    }
  }
  sent_by_all_ = produced_;
}

Result<u64> Terminal::write(Thread& thread, Transfer& transfer, bool nonblocking) {
  char bytes[piece];
  while (transfer.left() > 0) {
    const Result<u64> ready = transfer.prepare(smaller(transfer.left(), piece), vm::Access::read);
    if (!ready.ok()) {
      if (ready.error() == Errno::blocked || transfer.done() == 0) return ready.error();
      break;
    }
    LockGuard guard{lock_};
    const bool stopped = discipline_.output_stopped();
    if (stopped || room() < 16) {
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

void Terminal::on_input(std::string_view bytes) {
  SignalSet wanted = 0;
  {
    LockGuard guard{lock_};
    bool ready = false;
    for (char c : bytes) {
      const LineDiscipline::Effect effect = discipline_.input(static_cast<u8>(c), *this);
      if (effect.signal != 0) wanted |= signal_bit(effect.signal);
      ready = ready || effect.ready;
      if (effect.restarted || effect.signal != 0) room_wanted_.wake_all();
    }
    pump();
    if (ready) {
      input_wanted_.wake_all();
      source_.notify(poll_readable);
    }
  }
  const i32 group = foreground_group();
  if (group == 0) return;
  for (int signal : {sigint, sigquit, sigtstp}) {
    if ((wanted & signal_bit(signal)) == 0) continue;
    (void)signals::send_to_group(group, {.number = signal, .code = 0x80, .sender = 0, .sender_user = 0, .value = 0});
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

Result<u64> Terminal::read(Thread& thread, Transfer& transfer, bool nonblocking) {
  if (transfer.size() == 0) return u64{0};
  TRY(check_background(thread, sigttin));
  const u64 ready = TRY(transfer.prepare(LineDiscipline::capacity, vm::Access::write));
  LockGuard guard{lock_};
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
  return transfer.done();
}

u32 Terminal::poll(PollEntry* entry) {
  LockGuard guard{lock_};
  if (entry != nullptr) source_.enlist(*entry);
  u32 ready = 0;
  if (discipline_.ready()) ready |= poll_in | poll_rdnorm;
  if (room() >= 16 && !discipline_.output_stopped()) ready |= poll_out | poll_wrnorm;
  return ready;
}

u64 Terminal::available() {
  LockGuard guard{lock_};
  return discipline_.available();
}

}  // namespace corral::fs
