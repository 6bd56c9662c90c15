// The keyboard behind the PS/2 controller (8042). Its characters go to the listener of the screen's console.
//
// The controller translates to scan-code set 1; the auxiliary port (mouse) is switched off. Every wait is bounded: a
// missing or dead controller is reported and left alone. Context: initialise() in boot; handle_interrupt() in interrupts.
// Source: IBM PS/2 Hardware Interface Technical Reference, keyboard and auxiliary device controller.
// Neighbours: device/keyboard_decoder, platform/pc/vga_text (the console that it belongs to).
#pragma once

#include "device/console.h"
#include "device/interrupts.h"
#include "device/keyboard_decoder.h"

namespace corral::platform {

class Ps2Keyboard final : public Device, public InterruptHandler {
 public:
  static constexpr DeviceClass device_class_object{"keyboard"};
  static constexpr u32 irq = 1;
  constexpr Ps2Keyboard() : Device{device_class_object} {}

  // False: no controller, or it does not answer.
  bool initialise();
  void set_listener(InputListener& listener);
  void handle_interrupt() override;
  size_t describe(char* to, size_t size) const override;

 private:
  Atomic<InputListener*> listener_{nullptr};
  KeyboardDecoder decoder_;  // in interrupts of the bootstrap core only
};

// Asks the controller to pulse the processor's reset line. Returns when nothing came of it.
void reset_by_keyboard_controller();

}  // namespace corral::platform
