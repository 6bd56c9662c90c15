// See arch/start_core.h. The block at the low page's end is what the trampoline reads; its state word is the only thing
// that both sides write. Bootstrap core; the store that arms a start releases everything before it.
#include "arch/start_core.h"

#include "arch/page_table.h"
#include "arch/traps.h"
#include "entry_constants.h"
#include "lib/atomic.h"
#include "lib/memory_functions.h"
#include "paging.h"
#include "processor_setup.h"
#include "trace/panic.h"

extern "C" {
extern const corral::u8 corral_trampoline_begin[];
extern const corral::u8 corral_trampoline_32[];
extern const corral::u8 corral_trampoline_64[];
extern const corral::u8 corral_trampoline_end[];
void corral_core_arrived();
}

namespace corral::arch {

namespace {

struct [[gnu::packed]] FarPointer {
  u32 offset;
  u16 selector;
};
struct [[gnu::packed]] TablePointer {
  u16 limit;
  u32 base;
};

struct StartBlock {
  u32 root;         // CR3 of the small page table: 32 bits, because the core is in 32-bit mode when it loads it
  u32 efer;         // bits to set
  u32 hardware_id;
  Atomic<u32> state;
  u64 block;        // this block in the direct map
  u64 arrive;
  u64 kernel_root;
  u64 stack;
  CoreArea* area;
  void (*entry)(void*);
  void* argument;
  TablePointer gdt_pointer;
  u16 padding0;
  FarPointer jump32;
  u16 padding1;
  FarPointer jump64;
  u16 padding2;
  u64 gdt[5];
};
static_assert(offsetof(StartBlock, root) == CORRAL_START_ROOT && offsetof(StartBlock, efer) == CORRAL_START_EFER &&
              offsetof(StartBlock, hardware_id) == CORRAL_START_HARDWARE_ID &&
              offsetof(StartBlock, state) == CORRAL_START_STATE && offsetof(StartBlock, block) == CORRAL_START_BLOCK_ADDRESS &&
              offsetof(StartBlock, arrive) == CORRAL_START_ARRIVE &&
              offsetof(StartBlock, kernel_root) == CORRAL_START_KERNEL_ROOT &&
              offsetof(StartBlock, stack) == CORRAL_START_STACK &&
              offsetof(StartBlock, gdt_pointer) == CORRAL_START_GDT_POINTER &&
              offsetof(StartBlock, jump32) == CORRAL_START_JUMP32 && offsetof(StartBlock, jump64) == CORRAL_START_JUMP64 &&
              offsetof(StartBlock, gdt) == CORRAL_START_GDT && CORRAL_START_BLOCK + sizeof(StartBlock) <= page_size);

// The segments that the way needs, at the kernel's own selectors 0x10 and 0x18, and 32-bit code beside them.
constexpr u16 code32_selector = 0x20;
constexpr u64 code64 = 0x00af'9b00'0000'ffff;
constexpr u64 data = 0x00cf'9300'0000'ffff;
constexpr u64 code32 = 0x00cf'9b00'0000'ffff;

// One page for each level: the kernel half as everywhere, and below it the low page alone, read and execute.
alignas(page_size) constinit u64 tables[root_level + 1][table_entries] = {};
constinit StartBlock* block = nullptr;

// The other core, on its own stack and the kernel's page table. With its own segment and task tables loaded nothing of the
// low page is used any more, and an exception or NMI finds its way.
extern "C" [[noreturn]] void corral_core_enter(StartBlock& mine) {
  void (*entry)(void*) = mine.entry;
  void* argument = mine.argument;
  use_area(*mine.area);
  install_traps();
  mine.state.store(CORRAL_STATE_LEFT, Order::release);
  entry(argument);
  panic("the entry function of a core returned");
}

PhysicalAddress physical_of_image(const void* symbol) {
  return {reinterpret_cast<u64>(symbol) - kernel_image_base};
}

}  // namespace

void prepare_trampoline(PhysicalAddress low_page) {
  KERNEL_ASSERT(low_page.value != 0 && low_page.value % page_size == 0 && low_page.value < (u64{1} << 20));
  size_t code_size = static_cast<size_t>(corral_trampoline_end - corral_trampoline_begin);
  KERNEL_ASSERT(code_size <= CORRAL_START_BLOCK);
  u8* page = direct(low_page);
  memset(page, 0, page_size);
  memcpy(page, corral_trampoline_begin, code_size);

  memcpy(tables[root_level] + kernel_half, table_at(kernel_root()) + kernel_half, kernel_half * sizeof(u64));
  for (u32 level = root_level; level > leaf_level; --level) {
    tables[level][index_of(low_page.value, level)] =
        physical_of_image(tables[level - 1]).value | entry_present | entry_accessed;
  }
  tables[leaf_level][index_of(low_page.value, leaf_level)] = low_page.value | leaf_bits({.execute = true});

  u32 base = static_cast<u32>(low_page.value);
  block = reinterpret_cast<StartBlock*>(page + CORRAL_START_BLOCK);
  block->root = static_cast<u32>(physical_of_image(tables[root_level]).value);
  block->efer = CORRAL_EFER_LME | (features().nx ? u32{CORRAL_EFER_NXE} : 0);
  block->block = reinterpret_cast<u64>(block);
  block->arrive = reinterpret_cast<u64>(&corral_core_arrived);
  block->kernel_root = kernel_root().value;
  block->gdt[CORRAL_KERNEL_CODE / 8] = code64;
  block->gdt[CORRAL_KERNEL_DATA / 8] = data;
  block->gdt[code32_selector / 8] = code32;
  block->gdt_pointer = {sizeof(block->gdt) - 1, base + CORRAL_START_BLOCK + CORRAL_START_GDT};
  block->jump32 = {base + static_cast<u32>(corral_trampoline_32 - corral_trampoline_begin), code32_selector};
  block->jump64 = {base + static_cast<u32>(corral_trampoline_64 - corral_trampoline_begin), CORRAL_KERNEL_CODE};
  block->state.store(CORRAL_STATE_IDLE, Order::release);
}

void arm_core_start(const CoreStart& start) {
  KERNEL_ASSERT(block != nullptr && start.entry != nullptr && start.area->descriptors != nullptr &&
                start.stack.value % 16 == 0);
  block->hardware_id = start.hardware_id;
  block->stack = start.stack.value;
  block->area = start.area;
  block->entry = start.entry;
  block->argument = start.argument;
  block->state.store(CORRAL_STATE_ARMED, Order::release);
}

bool core_start_left() {
  return block->state.load(Order::acquire) == CORRAL_STATE_LEFT;
}

bool disarm_core_start() {
  u32 expected = CORRAL_STATE_ARMED;
  return block->state.compare_exchange(expected, CORRAL_STATE_IDLE, Order::acq_rel, Order::acquire);
}

}  // namespace corral::arch
