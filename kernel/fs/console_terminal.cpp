// See console_terminal.h.
#include "fs/console_terminal.h"

namespace corral::fs {

namespace {
constinit ConsoleTerminal the_terminal;
}

ConsoleTerminal& console_terminal() {
  return the_terminal;
}

void ConsoleTerminal::attach(ConsoleDevice& device) {
  {
    LockGuard guard{lock_};
    if (device_count_ == max_devices) return;
    sent_[device_count_] = produced_;
    devices_[device_count_++] = &device;
  }
  device.set_listener(*this);
}

// Gives each device what it takes. What a flush has thrown away is skipped.
void ConsoleTerminal::pump() {
  u64 slowest = produced_;
  for (u32 i = 0; i < device_count_; ++i) {
    if (sent_[i] < taken_) sent_[i] = taken_;
    while (sent_[i] < produced_) {
      const u64 place = sent_[i] % ring_size;
      const u64 size = smaller(produced_ - sent_[i], ring_size - place);
      const u64 done = devices_[i]->write_some({ring_ + place, size});
      sent_[i] += done;
      if (done < size) break;
    }
    slowest = smaller(slowest, sent_[i]);
  }
  taken(slowest);
}

void ConsoleTerminal::on_output_room() {
  LockGuard guard{lock_};
  pump();
}

void ConsoleTerminal::flush_now() {
  LockGuard guard{lock_};
  for (u32 i = 0; i < device_count_; ++i) {
    if (sent_[i] < taken_) sent_[i] = taken_;
    while (sent_[i] < produced_) {
      const u64 place = sent_[i] % ring_size;
      const u64 size = smaller(produced_ - sent_[i], ring_size - place);
      devices_[i]->write_now({ring_ + place, size});
      sent_[i] += size;
    }
  }
  taken_ = produced_;
}

void ConsoleTerminal::on_input(std::string_view bytes) {
  SignalSet typed;
  {
    LockGuard guard{lock_};
    typed = type(bytes);
  }
  send_typed(typed);
}

}  // namespace corral::fs
