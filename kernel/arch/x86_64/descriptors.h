// The descriptor tables of one core: segments, task state (whose only uses are the entry stack and the emergency stacks).
// Own core only, except that the bootstrap core builds those of the others before they start.
// Source: SDM vol. 3, 3.4.5 (segment descriptors), 7.7 (task state in 64-bit mode), 6.14.5 (interrupt stack table).
#pragma once

#include <cstddef>

#include "entry_constants.h"
#include "lib/types.h"

namespace corral::arch {

// Which entry of the interrupt stack table an exception uses; 0: none.
inline constexpr u8 stack_nmi = 1;
inline constexpr u8 stack_double_fault = 2;
inline constexpr u8 stack_machine_check = 3;
inline constexpr u32 emergency_stacks = 3;
inline constexpr u32 emergency_stack_pages = 2;

struct [[gnu::packed]] TaskState {
  u32 reserved0 = 0;
  u64 rsp0 = 0;
  u64 rsp1 = 0;
  u64 rsp2 = 0;
  u64 reserved1 = 0;
  u64 ist[7] = {};
  u64 reserved2 = 0;
  u16 reserved3 = 0;
  u16 io_map = 104;  // beyond the limit: no ports for users
};
static_assert(sizeof(TaskState) == 104 && offsetof(TaskState, ist) == 36 && offsetof(TaskState, io_map) == 102);

struct alignas(64) Descriptors {
  u64 segments[10] = {};
  u32 padding = 0;  // brings rsp0 to a multiple of 8
  TaskState task;

  // Fills the tables; `stacks` are the tops of the emergency stacks.
  void build(const VirtualAddress (&stacks)[emergency_stacks]);
  // Loads them into the calling core. The GS base is lost and must be set afterwards.
  void load();
};
static_assert((offsetof(Descriptors, task) + offsetof(TaskState, rsp0)) % 8 == 0);

}  // namespace corral::arch
