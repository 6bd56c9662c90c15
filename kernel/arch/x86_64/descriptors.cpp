// See descriptors.h.
#include "descriptors.h"

namespace corral::arch {

namespace {

// Present, of the given type; 64-bit code has the L bit (SDM vol. 3, figure 3-8).
constexpr u64 kernel_code = 0x00af'9b00'0000'ffff;
constexpr u64 kernel_data = 0x00cf'9300'0000'ffff;
constexpr u64 user_code = 0x00af'fb00'0000'ffff;
constexpr u64 user_data = 0x00cf'f300'0000'ffff;

struct [[gnu::packed]] TablePointer {
  u16 limit;
  u64 base;
};
static_assert(sizeof(TablePointer) == 10);

}  // namespace

void Descriptors::build(const VirtualAddress (&stacks)[emergency_stacks]) {
  for (u64& segment : segments) segment = 0;
  segments[CORRAL_KERNEL_CODE / 8] = kernel_code;
  segments[CORRAL_KERNEL_DATA / 8] = kernel_data;
  segments[CORRAL_USER_DATA / 8] = user_data;
  segments[CORRAL_USER_CODE / 8] = user_code;  // the 32-bit one before them stays empty: no 32-bit programs
  task = TaskState{};
  for (u32 i = 0; i < emergency_stacks; ++i) task.ist[i] = stacks[i].value;
  u64 base = reinterpret_cast<u64>(&task);
  u64 limit = sizeof(TaskState) - 1;
  segments[CORRAL_TASK_STATE / 8] = limit | (base & 0xff'ffff) << 16 | u64{0x89} << 40 | (base >> 24 & 0xff) << 56;
  segments[CORRAL_TASK_STATE / 8 + 1] = base >> 32;
}

void Descriptors::load() {
  segments[CORRAL_TASK_STATE / 8] &= ~(u64{2} << 40);  // not busy: LTR refuses a busy one
  TablePointer pointer{sizeof(segments) - 1, reinterpret_cast<u64>(segments)};
  asm volatile(
      "lgdt %0\n"
      "pushq %1\n"
      "leaq 1f(%%rip), %%rax\n"
      "pushq %%rax\n"
      "lretq\n"
      "1:\n"
      "movl %2, %%eax\n"
      "movl %%eax, %%ss\n"
      "xorl %%eax, %%eax\n"
      "movl %%eax, %%ds\n"
      "movl %%eax, %%es\n"
      "movl %%eax, %%fs\n"
      "movl %%eax, %%gs\n"
      "movl %3, %%eax\n"
      "ltr %%ax\n"
      :
      : "m"(pointer), "i"(CORRAL_KERNEL_CODE), "i"(CORRAL_KERNEL_DATA), "i"(CORRAL_TASK_STATE)
      : "rax", "memory");
}

}  // namespace corral::arch
