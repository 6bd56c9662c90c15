// The PC: what kernel_main calls, and the objects that live as long as the machine. See platform.h.
#include "platform/pc/platform.h"

#include "core/core.h"
#include "lib/format.h"
#include "memory/heap.h"
#include "platform/pc/call_watch_timer.h"
#include "platform/pc/clock_choice.h"
#include "platform/pc/core_start.h"
#include "platform/pc/debug_port.h"
#include "platform/pc/framebuffer_text.h"
#include "platform/pc/io_apic.h"
#include "platform/pc/legacy_pic.h"
#include "platform/pc/local_apic.h"
#include "platform/pc/local_apic_timer.h"
#include "platform/pc/pci_access.h"
#include "platform/pc/physical_memory.h"
#include "platform/pc/power.h"
#include "platform/pc/ps2_keyboard.h"
#include "platform/pc/real_time_clock.h"
#include "platform/pc/serial_16550.h"
#include "platform/pc/tsc_check.h"
#include "platform/pc/vga_text.h"
#include "trace/log.h"
#include "trace/stamp.h"

namespace corral::platform {

namespace {

constinit Serial16550 serial{0x3f8, 4};
constinit Ps2Keyboard keyboard;
constinit VgaText text_screen{keyboard};
constinit FramebufferText picture_screen{keyboard};
constinit LegacyPic legacy_pic;
constinit IoApicRouter io_apics;
constinit acpi::Tables tables;
constinit CoreSet startable;            // enabled by the firmware, and not more than wanted
constinit bool legacy_interrupts = false;

class LogReporter final : public acpi::Reporter {
 public:
  void report(std::string_view sentence) override { log::warning("{}", sentence); }
};

Instant log_time() {
  return clock::now();
}

void choose_stamps() {
  trace::time_of_cycles.store(clock_is_time_stamp_counter() ? clock::time_at : nullptr, Order::relaxed);
}

Result<void> choose_local_controller(const Settings& settings) {
  const bool known = settings.x2apic == "auto" || settings.x2apic == "on" || settings.x2apic == "off";
  if (!known) log::warning("x2apic={}: not one of auto, on, off; choosing automatically", settings.x2apic);
  if (settings.x2apic == "on" && !arch::features().x2apic) {
    log::warning("x2apic=on: this processor has no x2APIC mode; using xAPIC");
  }
  Result<void> chosen = local_apic().choose_mode(settings.x2apic != "off");
  if (!chosen.ok()) {
    log::error("the processor's local interrupt controller cannot be used");
    return chosen.error();
  }
  if (settings.x2apic == "off" && local_apic().x2apic()) {
    log::warning("x2apic=off: the firmware has switched x2APIC mode on already, and there is no way back");
  }
  if (tables.madt.present && tables.madt.local_apic.value != 0 && tables.madt.local_apic != local_apic().address()) {
    log::warning("ACPI: MADT places the local APICs at {x}, the processor at {x}; the processor is right",
                 tables.madt.local_apic.value, local_apic().address().value);
  }
  interrupts::set_local_controller(local_apic());
  return {};
}

Result<void> add_core(const acpi::Processor& processor, CoreState state, bool may_start, u64 cores_max) {
  Result<Core*> core = cores::add(processor.apic_id, processor.firmware_id, state);
  if (!core.ok()) {
    if (cores::count() < max_cores) return core.error();
    return {};  // more than the kernel is built for: the parser has said so
  }
  if (may_start && startable.count() + 1 < cores_max) startable.add(core.value()->id());
  return {};
}

// The bootstrap core first, the others in the firmware's order (paper 000, section 3.2).
Result<void> detect_cores(u64 cores_max) {
  const u32 own_id = local_apic().own_id();
  acpi::Processor bootstrap{.apic_id = own_id, .firmware_id = 0, .flags = acpi::Processor::flag_enabled};
  bool listed = false;
  for (const acpi::Processor& processor : tables.madt.processors.all()) {
    if (processor.apic_id != own_id) continue;
    bootstrap = processor;
    listed = true;
  }
  if (tables.madt.present && !listed) {
    log::warning("ACPI: MADT does not list the core that runs this (APIC id {}); it is used all the same", own_id);
  }
  bool any_enabled = false;
  for (const acpi::Processor& processor : tables.madt.processors.all()) {
    any_enabled |= (processor.flags & acpi::Processor::flag_enabled) != 0;
  }
  if (tables.madt.present && !any_enabled) {
    log::warning("ACPI: MADT has no usable core; the one that runs this is used alone");
  }
  TRY(add_core(bootstrap, CoreState::bootstrap, false, cores_max));
  u32 pluggable = 0;
  u32 refused = 0;
  for (const acpi::Processor& processor : tables.madt.processors.all()) {
    switch (acpi::verdict_of(processor, own_id)) {
      case acpi::Verdict::bootstrap: break;
      case acpi::Verdict::startable: TRY(add_core(processor, CoreState::offline, true, cores_max)); break;
      case acpi::Verdict::pluggable:
        ++pluggable;
        TRY(add_core(processor, CoreState::offline, false, cores_max));
        break;
      case acpi::Verdict::refused:
        ++refused;
        TRY(add_core(processor, CoreState::error, false, cores_max));
        break;
    }
  }
  log::info("cores: {} listed, {} to be started besides the bootstrap core (APIC id {}), {} not present, {} disabled",
            cores::count(), startable.count(), own_id, pluggable, refused);
  return {};
}

void choose_router() {
  legacy_pic.initialise();
  devices().add(legacy_pic);
  if (io_apics.initialise(tables.madt, local_apic().own_id())) {
    interrupts::set_router(io_apics);
    return;
  }
  log::warning("interrupts: no I/O APIC is known; the 8259 pair is used");
  legacy_interrupts = true;
  interrupts::set_router(legacy_pic);
}

void connect(u32 irq, const char* name, InterruptHandler& handler) {
  if (!interrupts::router().connect(irq, name, handler).ok()) {
    log::warning("{}: its interrupt {} cannot be connected; no input from it", name, irq);
  }
}

void connect_consoles() {
  if (serial.present()) {
    devices().add(serial);
    connect(serial.irq(), "serial line", serial);
  }
  if (text_screen.present()) devices().add(text_screen);
  if (picture_screen.present()) devices().add(picture_screen);
  if (tables.fadt.present && tables.fadt.no_keyboard_controller) return;
  if (!keyboard.initialise()) {
    log::notice("no keyboard controller answers; input is by the serial line only");
    return;
  }
  devices().add(keyboard);
  connect(Ps2Keyboard::irq, "keyboard", keyboard);
}

void start_picture(const FramebufferInfo& framebuffer) {
  if (!picture_screen.initialise(framebuffer)) {
    log::warning("the picture of {} x {} is too small for text; the serial line is the console", framebuffer.width,
                 framebuffer.height);
    return;
  }
  log::add_sink([](std::string_view text) { picture_screen.write_now(text); });
}

}  // namespace

void early_consoles(const BootInfo& boot) {
  if (serial.initialise()) log::add_sink([](std::string_view text) { serial.write_now(text); });
  // With a picture on the screen nobody sees the text mode's memory, which may answer all the same.
  if (boot.framebuffer.present()) return;
  if (text_screen.initialise()) log::add_sink([](std::string_view text) { text_screen.write_now(text); });
}

Result<void> detect(const BootInfo& boot, const Settings& settings) {
  if (boot.framebuffer.present()) start_picture(boot.framebuffer);
  PhysicalMemory memory{boot};
  LogReporter reporter;
  acpi::Parser{memory, reporter}.parse(boot.rsdp, tables);
  prepare_power(tables);
  TRY(choose_local_controller(settings));
  TRY(detect_cores(settings.cores_max));
  choose_router();
  TRY(choose_clock(tables, settings.clock));
  log::set_time_source(log_time);
  choose_stamps();
  keep_clock_alive();
  initialise_real_time_clock();
  connect_consoles();
  TRY(find_pci_devices(tables.mcfg, legacy_interrupts));
  char line[160];
  const size_t length = clock::source().describe(line, sizeof line);
  log::info("clock: {}; {}", std::string_view{line, length}, local_apic().x2apic() ? "x2APIC" : "xAPIC");
  return {};
}

Result<void> initialise_this_core(Core& core) {
  TRY(interrupts::prepare_core(core.id()));
  local_apic().enable(core.firmware_id(), tables.madt, legacy_interrupts && core.state() == CoreState::bootstrap);
  if (clock_is_time_stamp_counter() && core.state() != CoreState::bootstrap) tsc_check::check_here();
  LocalApic* device =
      TRY(memory::make<LocalApic>(local_apic().own_id(), local_apic().read(ApicRegister::version), local_apic().x2apic()));
  devices().add(*device);
  const bool deadline = arch::features().tsc_deadline && clock_is_time_stamp_counter();
  LocalApicTimer* timer = TRY(memory::make<LocalApicTimer>(deadline));
  TRY(timer->calibrate_here(reference_clock()));
  devices().add(*timer);
  core.set_timer(*timer);
  return {};
}

Result<void> start_timers() {
  return initialise_this_core(cores::get(CoreId{0}));
}

void start_other_cores() {
  const u32 started = start_cores(startable);
  if (clock_is_time_stamp_counter() && tsc_check::disagreed()) {
    abandon_time_stamp_counter();
    choose_stamps();
  }
  if (started == startable.count()) {
    log::info("cores: {} online", started + 1);
  } else {
    log::warning("cores: {} online, {} of those that should be are not", started + 1, startable.count() - started);
  }
  start_call_watch(io_apics);
}

void power_off(int status) {
  char line[40];
  write_debug_port(format_to(line, "corral: exit status {}\n", status));
  serial.flush();
  power_off_machine();
}

void reboot() {
  write_debug_port("corral: restarts\n");
  serial.flush();
  reset_machine();
}

}  // namespace corral::platform
