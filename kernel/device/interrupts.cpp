// Vectors, their handlers and their counts.
//
// Invariants: a core's counters are written by that core alone (interrupts are off in a handler), so they are plain
// words that anyone may read; handlers are installed once, before their line is unmasked, and never taken out.
// Context: dispatch() runs in interrupt context; the rest in boot context.
// Neighbours: arch/traps.h (who calls the executive), platform/ (controllers), fs/ (shows the counts).
#include "device/interrupts.h"

#include "arch/processor.h"
#include "arch/traps.h"
#include "lib/atomic.h"
#include "lib/text.h"
#include "memory/heap.h"
#include "trace/log.h"
#include "trace/panic.h"
#include "trace/trace.h"

namespace corral::interrupts {

namespace {

constexpr u32 vector_count = 256;

struct Entry {
  const char* name = nullptr;
  Atomic<InterruptHandler*> handler{nullptr};
};

// One for each core, on cache lines of its own: a timer tick of one core never disturbs another's.
struct alignas(cache_line) CoreCounts {
  Atomic<u64> taken[vector_count] = {};
  Atomic<u64> unknown{0};
  Atomic<u64> spurious{0};
};

constinit Entry entries[vector_count];
constinit Atomic<CoreCounts*> counts[max_cores];
constinit Atomic<u32> unknown_reported[vector_count / 32];
constinit LocalInterruptController* controller = nullptr;
constinit InterruptRouter* line_router = nullptr;
constinit MessageInterrupts* message_controller = nullptr;
constinit Atomic<u32> next_vector{arch::vector_device_first};

// Only the owner writes, so this is no read-modify-write on a shared line.
void increment(Atomic<u64>& counter) {
  counter.store(counter.load(Order::relaxed) + 1, Order::relaxed);
}

void report_unknown(u32 vector) {
  const u32 bit = u32{1} << (vector % 32);
  if ((unknown_reported[vector / 32].fetch_or(bit, Order::relaxed) & bit) != 0) return;
  log::warning("interrupt: vector {x} on core {} has no handler; counted and ignored from now on", vector, arch::core_index());
}

[[gnu::noinline]] void note(trace::Event event, u32 vector) {
  trace::write(event, 0, 0, vector);
}

u64 sum(Atomic<u64> CoreCounts::* counter) {
  u64 total = 0;
  for (const Atomic<CoreCounts*>& slot : counts) {
    const CoreCounts* of_core = slot.load(Order::acquire);
    if (of_core != nullptr) total += (of_core->*counter).load(Order::relaxed);
  }
  return total;
}

}  // namespace

Result<void> prepare_core(CoreId core) {
  KERNEL_ASSERT(core.value < max_cores);
  if (counts[core.value].load(Order::relaxed) != nullptr) return {};
  counts[core.value].store(TRY(memory::make<CoreCounts>()), Order::release);
  return {};
}

void set_handler(u32 vector, const char* name, InterruptHandler& handler) {
  KERNEL_ASSERT(vector >= arch::exception_count && vector < vector_count);
  entries[vector].name = name;
  entries[vector].handler.store(&handler, Order::release);
}

Result<u32> allocate_vector(const char* name, InterruptHandler& handler) {
  u32 vector = next_vector.load(Order::relaxed);
  do {
    if (vector > arch::vector_device_last) return Errno::ebusy;
  } while (!next_vector.compare_exchange(vector, vector + 1, Order::relaxed, Order::relaxed));
  set_handler(vector, name, handler);
  return vector;
}

void dispatch(u32 vector) {
  CoreCounts* mine = counts[arch::core_index()].load(Order::relaxed);
  KERNEL_ASSERT(vector < vector_count && mine != nullptr);
  increment(mine->taken[vector]);
  if (vector == arch::vector_spurious) {
    increment(mine->spurious);
    return;
  }
  InterruptHandler* handler = entries[vector].handler.load(Order::acquire);
  if (trace::wants(trace::Event::interrupt_begun)) [[unlikely]]
    note(trace::Event::interrupt_begun, vector);
  if (handler != nullptr) [[likely]] {
    handler->handle_interrupt();
  } else {
    increment(mine->unknown);
    report_unknown(vector);
  }
  controller->end_of_interrupt();
  if (trace::wants(trace::Event::interrupt_ended)) [[unlikely]]
    note(trace::Event::interrupt_ended, vector);
}

const char* name_of(u32 vector) {
  if (vector >= vector_count || entries[vector].handler.load(Order::acquire) == nullptr) return nullptr;
  return entries[vector].name;
}

u64 count(u32 vector, CoreId core) {
  if (vector >= vector_count || core.value >= max_cores) return 0;
  const CoreCounts* of_core = counts[core.value].load(Order::acquire);
  return of_core == nullptr ? 0 : of_core->taken[vector].load(Order::relaxed);
}

u64 unknown_count() {
  return sum(&CoreCounts::unknown);
}
u64 spurious_count() {
  return sum(&CoreCounts::spurious);
}

void set_local_controller(LocalInterruptController& local) {
  controller = &local;
}

LocalInterruptController& local_controller() {
  KERNEL_ASSERT(controller != nullptr);
  return *controller;
}

void set_router(InterruptRouter& router_of_platform) {
  line_router = &router_of_platform;
}

InterruptRouter& router() {
  KERNEL_ASSERT(line_router != nullptr);
  return *line_router;
}

void set_messages(MessageInterrupts& messages_of_platform) {
  message_controller = &messages_of_platform;
}

MessageInterrupts* messages() {
  return message_controller;
}

}  // namespace corral::interrupts
