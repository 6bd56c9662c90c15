// The console terminal: one for the machine, over every console device. Output goes to each device as fast as that device takes
// it; what is typed on any device comes in by interrupt. See terminal.h.
#pragma once

#include "device/console.h"
#include "fs/terminal.h"

namespace corral::fs {

class ConsoleTerminal final : public Terminal, public InputListener {
 public:
  constexpr ConsoleTerminal() : Terminal{{5, 1}, tty::console_settings(), {25, 80, 0, 0}} {}

  // Boot context: output goes there, input is taken from there.
  void attach(ConsoleDevice& device) EXCLUDES(lock_);
  // Writes by polling what the devices have not taken yet.
  void flush_now() EXCLUDES(lock_);

  // InputListener
  void on_input(std::string_view bytes) override EXCLUDES(lock_);
  void on_output_room() override EXCLUDES(lock_);

 private:
  void pump() override REQUIRES(lock_);
  [[nodiscard]] bool drains() const override REQUIRES(lock_) { return device_count_ > 0; }

  static constexpr u32 max_devices = 4;
  ConsoleDevice* devices_[max_devices] GUARDED_BY(lock_) = {};
  u64 sent_[max_devices] GUARDED_BY(lock_) = {};  // positions in the ring
  u32 device_count_ GUARDED_BY(lock_) = 0;
};

[[nodiscard]] ConsoleTerminal& console_terminal();

}  // namespace corral::fs
