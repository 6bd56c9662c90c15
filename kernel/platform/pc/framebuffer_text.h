// Text on the picture that UEFI's graphics output left on the screen: there is no text mode there.
// Source: Multiboot2 Specification 2.0, 3.6.12 (framebuffer information); UEFI Specification 2.10, 12.9.
// Context: any (see ScreenConsole).
#pragma once

#include "boot/boot_info.h"
#include "device/text_painter.h"
#include "platform/pc/screen_console.h"

namespace corral::platform {

class FramebufferText final : public ScreenConsole {
 public:
  constexpr explicit FramebufferText(Ps2Keyboard& keyboard) : ScreenConsole{keyboard} {}

  // Takes the screen over and clears it; needs page tables (memory management). False: no picture, or one that is too
  // small for 80 × 25 characters.
  bool initialise(const FramebufferInfo& info);
  size_t describe(char* to, size_t size) const override;

 protected:
  void show(TextScreen& screen) override;

 private:
  static constexpr u32 nowhere = ~u32{0};

  FramebufferInfo info_;
  TextPainter painter_;
  // What the picture shows, so that only what differs is drawn.
  TextScreen::Cell shown_[TextScreen::rows][TextScreen::columns] = {};
  u32 shown_cursor_ = nowhere;  // row * columns + column
};

}  // namespace corral::platform
