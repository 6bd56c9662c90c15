// /proc/provoke: makes the kernel fail on purpose, so that its ways of failing are tested and can be shown to students. Writing
// one of the words below does it; refused (eperm) unless the kernel was booted with the option `provoke`. So is reading
// /proc/kernel-map, where the kernel's pages are listed for programs that try to get at them.
// Context: the writer's step.
#include "arch/page_table.h"
#include "fs/proc/proc.h"
#include "lib/format.h"
#include "lib/planted.h"
#include "memory/canary.h"
#include "memory/heap.h"
#include "memory/page_allocator.h"
#include "trace/panic.h"

namespace corral::fs::proc {

namespace {

constinit bool allowed = false;

// Frames that the compiler may not merge, each with something on the stack, until the guard page stops them.
[[gnu::noinline]] u64 overflow_stack(u64 depth) {  // NOLINT(misc-no-recursion): that is the point
  volatile u8 room[1024];
  room[depth % sizeof room] = static_cast<u8>(depth);
  if (depth == ~u64{0}) return 0;
  return overflow_stack(depth + 1) + room[0];
}

void read_null() {
  u64 value;
  asm volatile("movq 0, %0" : "=r"(value));
}

void write_text() {
  *reinterpret_cast<volatile u8*>(reinterpret_cast<u64>(&write_text)) = 0;
}

void execute_data() {
  alignas(16) static u8 instruction[] = {0xc3};  // a return
  reinterpret_cast<void (*)()>(reinterpret_cast<u64>(instruction))();
}

// A mapped user page: only SMAP can be in the way.
void read_user() {
  u64 value;
  asm volatile("movq (%1), %0" : "=r"(value) : "r"(u64{0x40'0000}));
}

void take_locks_in_the_wrong_order() {
  static constinit SpinLock inner{Rank::log, "provoked, inner"};
  static constinit SpinLock outer{Rank::files, "provoked, outer"};
  LockGuard first{inner};
  LockGuard second{outer};
}

// Noticed only by a kernel that checks itself for undefined behaviour (CORRAL_UBSAN); elsewhere it goes on.
void add_past_the_largest() {
  volatile i32 value = INT32_MAX;
  value = value + 1;
}

// What would be handed to a program: the contents of a page, an object and a part of the stack that nobody has written.
void leak_page() {
  const Result<Frame*> page = memory::allocate_page(memory::Zero::no);
  if (!page) return;
  memory::check_for_canaries(memory::contents(*page.value()), page_size);
  memory::release_page(*page.value());
}

void leak_object() {
  void* object = memory::allocate(64);
  memory::check_for_canaries(object, object != nullptr ? 64 : 0);
  memory::release(object);
}

// Below what the step has used until here, and what an interrupt in between would write over.
[[gnu::noinline]] void leak_stack_below(u32 frames) {  // NOLINT(misc-no-recursion): as above
  u8 never_written[1536];
  asm volatile("" : "=m"(never_written));
  if (frames != 0) return leak_stack_below(frames - 1);
  memory::check_for_canaries(never_written, sizeof never_written);
  asm volatile("" : : "m"(never_written));
}

void leak_stack() {
  leak_stack_below(2);
}

struct Provocation {
  std::string_view name;
  void (*act)();
};

constexpr Provocation provocations[] = {
    {"panic", [] { panic("provoked"); }},
    {"null", read_null},
    {"stack", [] { (void)overflow_stack(0); }},
    {"write-text", write_text},
    {"execute-data", execute_data},
    {"read-user", read_user},
    {"lock-order", take_locks_in_the_wrong_order},
    {"overflow", add_past_the_largest},
    {"leak-page", leak_page},
    {"leak-object", leak_object},
    {"leak-stack", leak_stack},
};
constexpr std::string_view fail_allocation = "fail-allocation ";
constexpr std::string_view plant = "plant ";  // lib/planted.h

Errno plant_defect(std::string_view name) {
  for (size_t i = 0; i < std::size(plant_names); ++i) {
    if (plant_names[i] != name) continue;
    set_plant(static_cast<Plant>(i));
    return {};
  }
  return Errno::einval;
}

}  // namespace

void allow_provocations() {
  allowed = true;
}

Result<void> list_provocations(TextBuffer& to, const Subject&) {
  for (const Provocation& p : provocations) to.print("{}\n", p.name);
  if (has_plants) {
    for (const std::string_view name : plant_names) to.print("{}{}\n", plant, name);
  }
  to.print("{}{}\n", fail_allocation, memory::allocations_until_failure());  // what the number to write is now
  return {};
}

Result<void> provoke(std::string_view text, const Subject&) {
  if (!allowed) return Errno::eperm;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  if (text.starts_with(fail_allocation)) {
    text.remove_prefix(fail_allocation.size());
    u64 nth = 0;
    if (!parse_number(text, nth)) return Errno::einval;
    memory::fail_allocation(nth, 0);
    return {};
  }
  if (has_plants && text.starts_with(plant)) {
    text.remove_prefix(plant.size());
    const Errno planted = plant_defect(text);
    return planted == Errno{} ? Result<void>{} : planted;
  }
  for (const Provocation& p : provocations) {
    if (p.name != text) continue;
    p.act();
    return {};
  }
  return Errno::einval;
}

// Each line: first address, number of pages, rights.
Result<void> kernel_map(TextBuffer& to, const Subject&) {
  if (!allowed) return Errno::eperm;
  arch::for_each_kernel_range(
      [](void* context, const arch::KernelRange& range) {
        const arch::Rights& rights = range.rights;
        static_cast<TextBuffer*>(context)->print("{X16} {} r{}{}{}\n", range.from.value, range.size / page_size,
                                                 rights.write ? "w" : "-", rights.execute ? "x" : "-",
                                                 rights.device ? " device" : "");
      },
      &to);
  return {};
}

}  // namespace corral::fs::proc
