// In the kernel: the rights of its own memory, guard pages, names of functions, floating-point images, segment bases.
#include "arch/processor.h"
#include "arch/backtrace.h"
#include "arch/fp_state.h"
#include "arch/page_table.h"
#include "arch/tls.h"
#include "arch/traps.h"
#include "core/core.h"
#include "kernel_test.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"
#include "memory/page_allocator.h"
#include "trace/symbols.h"

extern "C" void corral_syscall_entry();

namespace corral::tests {

namespace {

void give_back(void*, PhysicalAddress table) {
  memory::release_page(memory::frame_of(table));
}

// A table to look kernel addresses up in: the kernel half is the same in all.
class AnyTable {
 public:
  AnyTable() : made_{arch::PageTable::create()} {}
  ~AnyTable() {
    if (made_.ok()) made_.value().destroy(give_back, nullptr);
  }
  AnyTable(const AnyTable&) = delete;
  AnyTable& operator=(const AnyTable&) = delete;
  [[nodiscard]] bool find(u64 address, arch::Translation& found) const {
    return made_.ok() && made_.value().lookup({address}, found);
  }

 private:
  Result<arch::PageTable> made_;
};

constinit u32 some_data = 1;

}  // namespace

KERNEL_TEST(processor_map_is_never_writable_and_executable) {
  arch::KernelMapAudit audit = arch::audit_kernel_map();
  KERNEL_EXPECT(audit.pages > 1024);
  KERNEL_EXPECT(audit.writable_executable == 0);
  KERNEL_EXPECT(audit.user_accessible == 0);
  KERNEL_PASSED;
}

KERNEL_TEST(processor_image_has_the_rights_of_its_sections) {
  AnyTable table;
  arch::Translation text{};
  arch::Translation alias{};
  arch::Translation data{};
  arch::Translation low{};
  u64 code = reinterpret_cast<u64>(&corral_syscall_entry);
  KERNEL_EXPECT(table.find(code, text) && text.rights.execute && !text.rights.write);
  KERNEL_EXPECT(table.find(arch::direct_map_base + code - arch::kernel_image_base, alias));
  KERNEL_EXPECT(alias.frame == text.frame && !alias.rights.execute && !alias.rights.write);
  KERNEL_EXPECT(table.find(reinterpret_cast<u64>(&some_data), data) && data.rights.write && !data.rights.execute);
  KERNEL_EXPECT(!table.find(0, low) && !table.find(0x100000, low));
  KERNEL_PASSED;
}

KERNEL_TEST(processor_stacks_have_guard_pages) {
  const VirtualAddress top{this_core().area().kernel_stack};
  AnyTable table;
  arch::Translation found{};
  u64 bottom = top.value;
  while (table.find(bottom - page_size, found)) bottom -= page_size;
  KERNEL_EXPECT(bottom < top.value);
  KERNEL_EXPECT(arch::is_stack_guard({bottom - 1}) && arch::is_stack_guard({bottom - page_size}));
  KERNEL_EXPECT(!arch::is_stack_guard({bottom}) && !arch::is_stack_guard({top.value - 1}));
  KERNEL_EXPECT(!arch::is_stack_guard({0}) && !arch::is_stack_guard({arch::kernel_image_base}));
  KERNEL_PASSED;
}

KERNEL_TEST(processor_direct_map_knows_its_bounds) {
  KERNEL_EXPECT(arch::direct_map_covers({0x100000}, page_size));
  KERNEL_EXPECT(arch::direct_map_covers({0}, u64{1} << 20));
  KERNEL_EXPECT(!arch::direct_map_covers({0xfee00000}, 4));
  KERNEL_EXPECT(!arch::direct_map_covers({0x100000}, ~u64{0}));
  KERNEL_EXPECT(!arch::direct_map_covers({~u64{0} - 16}, 64));
  KERNEL_EXPECT(!arch::direct_map_covers({u64{1} << 51}, 1));
  KERNEL_PASSED;
}

KERNEL_TEST(processor_functions_have_names) {
  KERNEL_EXPECT(symbols::count() > 100);
  symbols::Symbol symbol = symbols::find({reinterpret_cast<u64>(&corral_syscall_entry) + 3});
  KERNEL_EXPECT(symbol.name == "corral_syscall_entry" && symbol.offset == 3);
  KERNEL_EXPECT(symbols::find({0}).name.empty());
  KERNEL_EXPECT(symbols::find({reinterpret_cast<u64>(&some_data)}).name.empty());
  VirtualAddress addresses[16];
  size_t depth = arch::backtrace_here(addresses);
  KERNEL_EXPECT(depth >= 3);
  KERNEL_EXPECT(symbols::find(addresses[depth - 1]).name.starts_with("corral_"));  // the entry code
  KERNEL_PASSED;
}

KERNEL_TEST(processor_floating_point_images_are_checked) {
  arch::FpState state;
  KERNEL_EXPECT(arch::FpState::image_size() >= 512 && state.allocate().ok());
  u8 initial[arch::FpState::plain_image_size];
  memcpy(initial, state.frame_image(), sizeof initial);
  KERNEL_EXPECT(initial[0] == 0x7f && initial[1] == 0x03);    // control word
  KERNEL_EXPECT(initial[24] == 0x80 && initial[25] == 0x1f);  // MXCSR
  arch::FpState::Mark mark{};
  memcpy(&mark, initial + arch::FpState::mark_offset, sizeof mark);
  const bool marked = arch::FpState::frames_are_marked();
  KERNEL_EXPECT(arch::FpState::marked_size(mark) == (marked ? arch::FpState::image_size() : 0));
  memcpy(state.room_for_image(0), initial, sizeof initial);
  KERNEL_EXPECT(state.accept_image(nullptr).ok());
  memcpy(state.room_for_image(0), initial, sizeof initial);
  state.room_for_image(0)[27] = 0x80;  // a bit of MXCSR that no processor has
  KERNEL_EXPECT(state.accept_image(nullptr).error() == Errno::einval);
  KERNEL_EXPECT(state.frame_image()[27] == 0);  // initial again
  if (marked) {
    for (size_t at : {size_t{519}, size_t{520}, size_t{575}}) {  // an unknown component, compacted form, reserved
      state.room_for_image(0)[at] = 0x40;
      KERNEL_EXPECT(state.accept_image(&mark).error() == Errno::einval);
    }
    mark.image_size += 1;
    KERNEL_EXPECT(arch::FpState::marked_size(mark) == 0);
  }
  KERNEL_PASSED;
}

KERNEL_TEST(processor_segment_bases_are_kept_and_checked) {
  const u64 tls = arch::user_tls();
  const u64 second = arch::user_gs();
  arch::set_user_tls(0x1234'5000);
  arch::set_user_gs(arch::user_space_end - 1);
  const bool kept = arch::user_tls() == 0x1234'5000 && arch::user_gs() == arch::user_space_end - 1;
  arch::set_user_tls(tls);
  arch::set_user_gs(second);
  KERNEL_EXPECT(kept);
  KERNEL_EXPECT(arch::valid_user_base(0) && arch::valid_user_base(arch::user_space_end - 1));
  KERNEL_EXPECT(!arch::valid_user_base(arch::user_space_end) && !arch::valid_user_base(arch::kernel_image_base));
  KERNEL_EXPECT(!arch::valid_user_base(u64{1} << 60));
  KERNEL_PASSED;
}

KERNEL_TEST(processor_is_what_the_kernel_wants) {
  u64 cr0 = 0;
  u64 cr4 = 0;
  asm volatile("movq %%cr0, %0; movq %%cr4, %1" : "=r"(cr0), "=r"(cr4));
  KERNEL_EXPECT((cr0 & 0x10000) != 0);  // write protection holds in the kernel, too
  KERNEL_EXPECT(((cr4 >> 20 & 1) != 0) == arch::features().smep);
  KERNEL_EXPECT(((cr4 >> 21 & 1) != 0) == arch::features().smap);
  KERNEL_EXPECT(((cr4 >> 11 & 1) != 0) == arch::features().umip);
  KERNEL_EXPECT((cr4 >> 16 & 1) == 0);  // users do not write their segment bases behind our back
  KERNEL_EXPECT(!arch::interrupts_enabled());
  u64 value = 0;
  if (arch::features().rdrand) KERNEL_EXPECT(arch::hardware_random(value));
  KERNEL_PASSED;
}

}  // namespace corral::tests
