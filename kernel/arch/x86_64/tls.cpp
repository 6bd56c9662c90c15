// See arch/tls.h. Source: SDM vol. 3, 3.4.4.1 (segment bases by MSR in 64-bit mode).
#include "arch/tls.h"

#include "arch/page_table.h"
#include "arch/port_io.h"

namespace corral::arch {

namespace {
constexpr u32 msr_fs_base = 0xc000'0100;
constexpr u32 msr_kernel_gs_base = 0xc000'0102;  // while in the kernel: what SWAPGS gives back to the user
}  // namespace

bool valid_user_base(u64 base) {
  return base < user_space_end;
}
void set_user_tls(u64 base) {
  write_msr(msr_fs_base, base);
}
u64 user_tls() {
  return read_msr(msr_fs_base);
}
void set_user_gs(u64 base) {
  write_msr(msr_kernel_gs_base, base);
}
u64 user_gs() {
  return read_msr(msr_kernel_gs_base);
}

}  // namespace corral::arch
