// The console of a person at the machine: a screen of 80 × 25 characters, with the keyboard as its input. How cells reach
// the eye is the derived class's: VgaText (a text mode, under BIOS), FramebufferText (a picture, under UEFI).
//
// Invariant: the interpreter and the adapter are touched under lock_ only (a panic may give up on it); after each write
// the adapter shows what the interpreter holds. Writing never waits, so on_output_room() is never needed.
// Context: any. Neighbours: device/text_screen, platform/pc/ps2_keyboard, fs/ terminal, trace/log.
#pragma once

#include "device/bounded_lock.h"
#include "device/console.h"
#include "device/text_screen.h"
#include "platform/pc/ps2_keyboard.h"

namespace corral::platform {

class ScreenConsole : public ConsoleDevice {
 public:
  [[nodiscard]] bool present() const { return present_; }

  size_t write_some(std::string_view bytes) final;
  void write_now(std::string_view bytes) final;
  void set_listener(InputListener& listener) final { keyboard_.set_listener(listener); }

 protected:
  constexpr explicit ScreenConsole(Ps2Keyboard& keyboard) : keyboard_{keyboard} {}
  ~ScreenConsole() = default;

  // From now on there is something to show on. Boot context.
  void begin();
  // Brings what changed in `screen` to the adapter; called with the lock.
  virtual void show(TextScreen& screen) = 0;

 private:
  Ps2Keyboard& keyboard_;
  bool present_ = false;  // boot
  BoundedLock lock_;
  TextScreen screen_;     // under lock_
};

}  // namespace corral::platform
