// The boot, as a reader meets it: a page of calls, each named after what it does. See boot/kernel_main.h.
#include "boot/kernel_main.h"

#include "abi/linux/table.h"
#include "arch/page_table.h"
#include "boot/first_process.h"
#include "boot/options.h"
#include "core/core.h"
#include "core/deferred_call.h"
#include "core/last_core.h"
#include "core/remote_call.h"
#include "core/shared_timer.h"
#include "core/wall_clock.h"
#include "device/interrupts.h"
#include "device/machine.h"
#include "fs/setup.h"
#include "ipc/sysv/semaphore_set.h"
#include "memory/canary.h"
#include "memory/heap.h"
#include "memory/large_page.h"
#include "memory/page_allocator.h"
#include "net/stack.h"
#include "platform/pc/core_start.h"
#include "platform/pc/debug_port.h"
#include "platform/pc/platform.h"
#include "sched/engine/fallbacks.h"
#include "sched/engine/manager.h"
#include "sched/engine/random_source.h"
#include "sync/interleave.h"
#include "task/executive.h"
#include "task/thread_counters.h"
#include "task/vdso.h"
#include "trace/invariants.h"
#include "trace/log.h"
#include "trace/panic.h"
#include "vm/address_space.h"

namespace corral {

namespace {

constexpr u32 stack_pages = 4;

constinit boot::Options options;

// What every core gets when its mailbox or timer interrupts it. The mail itself is read on the way out of the kernel.
class MessageInterrupt final : public InterruptHandler {
 public:
  void handle_interrupt() override { this_core().note_message_interrupt(); }
};
class TimerInterrupt final : public InterruptHandler {
 public:
  void handle_interrupt() override {
    Core& core = this_core();
    const bool others_due = core.on_timer_interrupt();
    core.scheduler->on_timer(others_due);
    core.rearm_timer();
  }
};
constinit MessageInterrupt message_interrupt;
constinit TimerInterrupt timer_interrupt;

template <class T>
T must(Result<T> result, const char* what) {
  if (!result) {
    log::error("{} (error {})", what, result.error());
    panic("the machine cannot be started");
  }
  return result.take();
}

void read_options(const BootInfo& info) {
  options = boot::parse_options(
      info.command_line, [](void*, std::string_view text) { log::warning("command line: {}", text); }, nullptr);
  log::set_level(options.quiet ? std::string_view{"warning"} : options.log_level);
  if (options.interleave_seed != 0) {  // a run that repeats: no random number comes from the hardware
    interleave::begin(options.interleave_seed);
    random_source::use_seed(mix(options.interleave_seed));
  }
  set_panic_action(options.panic == "off" ? PanicAction::power_off : PanicAction::halt);
}

void start_memory(const BootInfo& info) {
  if (options.memory_canary) memory::use_canaries();
  memory::use_large_pages(options.memory_large == "always" ? memory::LargePages::yes : memory::LargePages::no);
  memory::initialise_pages(info, info.reserved_memory());
  memory::initialise_heap();
  const memory::PageStatistics pages = memory::page_statistics();
  log::info("memory: {} MiB, {} KiB reserved", pages.total * page_size >> 20, pages.reserved * page_size >> 10);
}

// The account of policies that failed and of invariants that were violated, as in /proc/sched-dump, for who runs the machine:
// `corral run` keeps it (lab/replay.py). The last core that runs; after a panic too, so nothing is allocated and no lock taken.
void hand_over_account() {
  static constinit char text[64 << 10];
  if (sched::fallbacks::count() == 0 && invariants::count() == 0) return;
  platform::write_debug_port("corral: account begins\n");
  platform::write_debug_port({text, sched::fallbacks::describe(text, sizeof text, scheduling().tick())});
  platform::write_debug_port({text, invariants::describe(text, sizeof text)});
  platform::write_debug_port("corral: account ends\n");
}

void power_off(i32 status) {
  hand_over_account();
  platform::power_off(status);
}

void reboot() {
  hand_over_account();
  platform::reboot();
}

void connect_interrupts() {
  interrupts::set_handler(arch::vector_message, "message", message_interrupt);
  interrupts::set_handler(arch::vector_timer, "timer", timer_interrupt);
  set_panic_hooks({.halt_others = [] { interrupts::local_controller().send_halt_to_others(); },
                   .verdict = [](std::string_view text) { platform::write_debug_port(text); },
                   .account = hand_over_account,
                   .power_off = [] { platform::power_off(125); }});
  machine::set_operations({.power_off = power_off, .reboot = reboot});
}

// The scheduler and executive of a core: the last thing before it may run threads.
Result<void> start_scheduling(Core& core) {
  TRY(scheduling().add(core));
  core.executive = TRY(memory::make<Executive>(core));
  return {};
}

void start_bootstrap_core() {
  Core& core = cores::get(CoreId{0});
  const VirtualAddress stack = must(arch::map_kernel_stack(stack_pages), "no memory for the first kernel stack");
  core.area().kernel_stack = stack.value;
  arch::initialise_processor(core, core.area(), stack);
  must(platform::start_timers(), "the bootstrap core's timer does not work");
  const i64 tick_ns = 1'000'000'000 / static_cast<i64>(options.timer_hz);
  sched::patience_ns.store(static_cast<i64>(options.patience_ms) * 1'000'000, Order::relaxed);
  sched::fallbacks::set_seed(options.interleave_seed);
  if (options.check == "panic") invariants::panic_at_the_first();
  SchedulingManager::Options policies{options.algorithm,    options.placement,          options.migration,
                                      nanoseconds(tick_ns), options.queues == "global", options.wakes == "waker"};
  if (!scheduling().initialise(policies)) {
    must(scheduling().initialise({.tick = nanoseconds(tick_ns)}), "no scheduling policy can be used");
  }
  must(start_scheduling(core), "no memory for the bootstrap core's scheduler");
  cores::mark_online(core);
  log::info("Hello world from core 0!");
}

[[noreturn]] void run_this_core() {
  this_core().executive->run();
}

}  // namespace

void core_main(Core& core) {
  Result<void> ready = platform::initialise_this_core(core);
  if (ready) ready = start_scheduling(core);
  if (!ready) {
    log::error("core {} cannot run (error {})", core.id(), ready.error());
    core.set_state(CoreState::error);
    arch::halt_forever();
  }
  log::info("Hello world from core {}!", core.id());
  cores::mark_online(core);
  run_this_core();
}

void kernel_main(BootInfo& info) {
  platform::early_consoles(info);
  read_options(info);
  log::notice("Corral, started by {}", info.loader);
  start_memory(info);
  must(platform::detect(info, {options.clock, options.x2apic, options.cores_max}), "the machine lacks what Corral needs");
  connect_interrupts();
  vm::initialise();
  Executive::initialise();
  RemoteCall::initialise();
  DeferredCall::initialise();
  SharedTimer::initialise();
  wall_clock::initialise();
  last_core::initialise();
  start_bootstrap_core();
  platform::start_other_cores();
  if (sched::Refusal why; !scheduling().set_groups(options.groups, why)) {
    log::error("sched.groups={}: {}", options.groups, why.view());
  }
  log::notice("{} of {} cores online, {} scheduling, {} placement, {} migration", cores::online_count(), cores::count(),
              scheduling().algorithm_name(), scheduling().placement_name(), scheduling().migration_name());
  ThreadCounters::start(options.counters);
  abi::initialise_system_calls();
  ipc::semaphores::initialise();
  net::initialise();
  must(vdso::initialise(), "no memory for the pages that programs read the clock from");
  const auto* archive = arch::direct<const u8>(info.initramfs);
  must(fs::initialise({archive, info.initramfs_size}, info.command_line), "the file systems cannot be started");
  fs::start_terminal();
  machine::set_farewell([] {
    if (!last_core::stop_others()) log::warning("not all cores stop: what they still write may be lost");
    fs::shut_down();
  });
  if (options.provoke) fs::allow_provocations();
  if (options.memory_fail != 0) memory::fail_allocation(options.memory_fail, options.memory_fail_every);
  must(boot::start_first_process(options), "no memory for the first process");
  arch::restart_on_core_stack(run_this_core);
}

}  // namespace corral
