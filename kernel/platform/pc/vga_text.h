// The text screen of a VGA, 80 × 25, with the keyboard as its input: the console of a person at the machine.
//
// Invariant: the interpreter and the adapter are touched under lock_ only (a panic may give up on it); after each write
// the adapter shows what the interpreter holds. Writing never waits, so on_output_room() is never needed.
// Source: IBM VGA technical reference (text buffer at 0xb8000; CRT controller 0x3d4, attribute controller 0x3c0).
// Context: any. Neighbours: device/text_screen, platform/pc/ps2_keyboard, fs/ terminal, trace/log.
#pragma once

#include "device/bounded_lock.h"
#include "device/console.h"
#include "device/text_screen.h"
#include "platform/pc/ps2_keyboard.h"

namespace corral::platform {

class VgaText final : public ConsoleDevice {
 public:
  constexpr explicit VgaText(Ps2Keyboard& keyboard) : keyboard_{keyboard} {}

  // Takes the screen over and clears it; needs the direct map of the first MiB. False: there is no text screen.
  bool initialise();
  [[nodiscard]] bool present() const { return present_; }

  size_t write_some(std::string_view bytes) override;
  void write_now(std::string_view bytes) override;
  void set_listener(InputListener& listener) override { keyboard_.set_listener(listener); }
  size_t describe(char* to, size_t size) const override;

 private:
  void show();  // under lock_

  Ps2Keyboard& keyboard_;
  bool present_ = false;  // boot
  BoundedLock lock_;
  TextScreen screen_;            // under lock_
  u32 shown_cursor_ = ~u32{0};   // under lock_: position that the adapter has; off-screen when hidden
};

}  // namespace corral::platform
