// Interrupt vectors and who handles them; counted per vector and core. Unknown ones are counted and ignored.
#pragma once

#include "lib/result.h"
#include "lib/types.h"

namespace corral {

// Handles one interrupt, in interrupt context: interrupts off, on the core that got it, must not wait.
class InterruptHandler {
 public:
  virtual void handle_interrupt() = 0;

 protected:
  ~InterruptHandler() = default;
};

// What the rooms above need of the calling core's local interrupt controller (local APIC; BCM2836 local peripherals).
class LocalInterruptController {
 public:
  virtual void end_of_interrupt() = 0;
  // Sends vector_message to another core. `hardware_id`: Core::hardware_id(). Never waits for delivery to be handled.
  virtual void send_message_interrupt(u32 hardware_id) = 0;
  virtual void send_halt_to_others() = 0;  // panic: stop every other core

 protected:
  ~LocalInterruptController() = default;
};

// Device interrupts: connects a line of the platform's interrupt controller (ISA IRQ number on a PC).
class InterruptRouter {
 public:
  // Allocates a vector, routes line to the bootstrap core, unmasks. enodev: no such line; ebusy: no vector left.
  virtual Result<void> connect(u32 line, const char* name, InterruptHandler& handler) = 0;

 protected:
  ~InterruptRouter() = default;
};

// What a device writes, and where, to interrupt (PCI's MSI and MSI-X).
struct InterruptMessage {
  u64 address = 0;
  u32 data = 0;
};

// Device interrupts that are writes to memory: each has a vector of its own, on the core that is asked for.
class MessageInterrupts {
 public:
  // einval: no message reaches that core; ebusy: no vector left. Not in interrupts.
  virtual Result<InterruptMessage> allocate(u32 hardware_id, const char* name, InterruptHandler& handler) = 0;

 protected:
  ~MessageInterrupts() = default;
};

namespace interrupts {
// Makes room for a core's counters; before that core's first interrupt. Any core. enomem.
Result<void> prepare_core(CoreId core);
void set_handler(u32 vector, const char* name, InterruptHandler& handler);  // boot context or device manager's lock
// Installs the handler at a vector for devices that nobody has; ebusy: none is left. Not in interrupts.
Result<u32> allocate_vector(const char* name, InterruptHandler& handler);
// Called by the executive for each vector >= 32 on this core: counts, runs the handler, ends the interrupt.
// A spurious interrupt (vector_spurious) is counted and not ended (Intel SDM vol. 3, 11.9); one without a handler is
// counted under its vector and as unknown, ended, and named in the log the first time.
void dispatch(u32 vector);
[[nodiscard]] const char* name_of(u32 vector);          // null: none installed
[[nodiscard]] u64 count(u32 vector, CoreId core);       // taken by that core so far; 0 for a core or vector that is not
[[nodiscard]] u64 unknown_count();                      // all cores: no handler installed
[[nodiscard]] u64 spurious_count();                     // all cores
void set_local_controller(LocalInterruptController& local);  // one object serves all cores: its registers are per core
[[nodiscard]] LocalInterruptController& local_controller();
void set_router(InterruptRouter& router);
[[nodiscard]] InterruptRouter& router();
void set_messages(MessageInterrupts& messages);
[[nodiscard]] MessageInterrupts* messages();  // null: the platform has none
}  // namespace interrupts

}  // namespace corral
