// The text mode of a VGA, 80 × 25: where the firmware is a BIOS.
// Source: IBM VGA technical reference (text buffer at 0xb8000; CRT controller 0x3d4, attribute controller 0x3c0).
// Context: any (see ScreenConsole).
#pragma once

#include "platform/pc/screen_console.h"

namespace corral::platform {

class VgaText final : public ScreenConsole {
 public:
  constexpr explicit VgaText(Ps2Keyboard& keyboard) : ScreenConsole{keyboard} {}

  // Takes the screen over and clears it; needs the direct map of the first MiB. False: there is no text screen.
  bool initialise();
  size_t describe(char* to, size_t size) const override;

 protected:
  void show(TextScreen& screen) override;

 private:
  u32 shown_cursor_ = ~u32{0};  // position that the adapter has; off-screen when hidden
};

}  // namespace corral::platform
