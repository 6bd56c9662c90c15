// The machine, as kernel_main sees it: which devices there are and how they are brought to life.
// Contract: every platform/<name>/ gives the same functions; only boot/ calls them, in the order in which they stand
// here. Interrupts are off throughout. Interrupt lines, ports and tables are nobody's business outside this folder.
#pragma once

#include <string_view>

#include "boot/boot_info.h"
#include "lib/result.h"

namespace corral {
class Core;
}

namespace corral::platform {

// What the user may decide about the machine; the texts are the boot options' words.
struct Settings {
  std::string_view clock = "auto";   // auto, tsc, hpet, pm, pit: what tells the time
  std::string_view x2apic = "auto";  // auto, on, off
  u64 cores_max = max_cores;         // how many cores may run, the bootstrap core included
};

// Serial line and text screen, for the log and for panics: registers them as log sinks. Needs no memory management, only
// the direct map of the first MiB. A picture (UEFI) becomes a screen in detect(), for it needs page tables. Bootstrap core,
// once, before anything else of the platform.
void early_consoles(const BootInfo& boot);

// Finds and registers cores, interrupt controllers, clocks and consoles: after it cores::count() is right (the
// bootstrap core is core 0), clock::now() runs, interrupts can be routed and consoles take input. Needs the heap,
// arch::map_device and the traps. Bad or missing firmware tables degrade, with a message, to what works without them.
// enomem; enodev: the machine has no local interrupt controller, or no timer that counts: Corral cannot run there.
Result<void> detect(const BootInfo& boot, const Settings& settings);

// The bootstrap core's own controller and timer (initialise_this_core for core 0).
Result<void> start_timers();

// Starts every core that the firmware calls enabled, one at a time, and waits for each until it is online. A core
// that does not answer becomes ERROR, is named in the log, and is left out; nothing here stops the boot.
// Each started core enters core_main() (platform/pc/core_start.h; defined by boot/).
void start_other_cores();

// Every core, itself, early in its life, after arch::initialise_processor: local interrupt controller, calibrated
// timer (Core::set_timer), interrupt counters. enomem; eio: the timer cannot be calibrated. After an error the core must
// not run: it sets its state to error and halts.
Result<void> initialise_this_core(Core& core);

// Ends the machine; `status` is reported on the debug port. Any core, any context.
[[noreturn]] void power_off(int status);
[[noreturn]] void reboot();

}  // namespace corral::platform
