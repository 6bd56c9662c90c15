// The two 8259 interrupt controllers. With an I/O APIC they are only put where they do no harm: remapped away from the
// exceptions and masked. Without one (no usable MADT) they are the router, through the local APIC's first input.
//
// Invariant: their 16 vectors (0x20 … 0x2f) are theirs alone, also when masked: a spurious interrupt is then counted as
// unknown instead of looking like an exception. Context: boot; handle in interrupts of the bootstrap core.
// Source: Intel 8259A data sheet. Neighbours: device/interrupts, platform/pc/io_apic.
#pragma once

#include "device/device.h"
#include "device/interrupts.h"

namespace corral::platform {

class LegacyPic final : public Device, public InterruptRouter {
 public:
  static constexpr DeviceClass device_class_object{"legacy-pic"};
  static constexpr u32 lines = 16;
  static constexpr u32 first_vector = 0x20;
  constexpr LegacyPic() : Device{device_class_object} {}

  // Remaps both and masks every line.
  void initialise();
  Result<void> connect(u32 line, const char* name, InterruptHandler& handler) override;
  size_t describe(char* to, size_t size) const override;

 private:
  // Ends a line's interrupt at the 8259 after the device's handler has run.
  class Line final : public InterruptHandler {
   public:
    constexpr Line() = default;
    void set(u32 number, InterruptHandler& handler) {
      number_ = number;
      handler_ = &handler;
    }
    [[nodiscard]] bool used() const { return handler_ != nullptr; }
    void handle_interrupt() override;

   private:
    u32 number_ = 0;
    InterruptHandler* handler_ = nullptr;
  };

  void unmask(u32 line);

  Line lines_[lines] = {};     // boot
  u16 mask_ = 0xffff;          // boot
};

}  // namespace corral::platform
