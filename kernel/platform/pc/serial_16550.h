// The first serial line: a 16550 with FIFOs at port 0x3f8, 115,200 bit/s, 8N1. Output goes through a ring that the
// transmit interrupt empties; the log and panics poll.
//
// Invariants: registers and ring are touched under lock_ only (a panic may give up on it); listeners are called
// without it. Whoever was told "no room" (write_some took less) is told on_output_room() later, exactly because
// the transmit interrupt stays on as long as the ring has something or wants_room_ is set.
// Source: National Semiconductor PC16550D data sheet, section 8. Context: any; handle_interrupt() in interrupts.
// Neighbours: fs/ terminal (listener), trace/log (sink).
#pragma once

#include "device/bounded_lock.h"
#include "device/byte_ring.h"
#include "device/console.h"
#include "device/interrupts.h"

namespace corral::platform {

class Serial16550 final : public ConsoleDevice, public InterruptHandler {
 public:
  explicit constexpr Serial16550(u16 base, u32 irq) : base_{base}, irq_{irq} {}

  // Sets the line up, polled. False: no such device (everything else then does nothing).
  bool initialise();
  [[nodiscard]] bool present() const { return present_; }
  // Before the machine is switched off: waits, bounded, until the last bit is on the line.
  void flush();
  [[nodiscard]] u32 irq() const { return irq_; }

  size_t write_some(std::string_view bytes) override;
  void write_now(std::string_view bytes) override;
  void set_listener(InputListener& listener) override;
  void handle_interrupt() override;
  size_t describe(char* to, size_t size) const override;

 private:
  static constexpr u32 ring_size = 4096;
  static constexpr u32 fifo_size = 16;

  [[nodiscard]] u8 get(u16 offset) const;
  void put(u16 offset, u8 value) const;
  [[nodiscard]] bool wait_for(u8 status_bit) const;
  void drain_ring();
  void pump();                 // ring → FIFO, as far as it goes; sets the transmit interrupt accordingly
  void set_transmit_interrupt(bool on);
  size_t receive(char* to, size_t size) const;

  const u16 base_;
  const u32 irq_;
  bool present_ = false;                         // boot
  Atomic<InputListener*> listener_{nullptr};     // boot; read in interrupts
  BoundedLock lock_;
  ByteRing<ring_size> ring_;                     // under lock_
  u8 interrupts_on_ = 0;                         // under lock_: what the interrupt enable register holds
  bool wants_room_ = false;                      // under lock_
};

}  // namespace corral::platform
