// The first C++ of the kernel: from what the boot loader says to kernel_main. Bootstrap core, on the boot stack, on the
// first page tables (entry.S). What cannot be right here stops the machine with a sentence on the serial line and the screen.
#include "arch/page_table.h"
#include "arch/x86_64/boot_map.h"
#include "arch/x86_64/processor_setup.h"
#include "boot/boot_info.h"
#include "boot/early_console.h"
#include "boot/kernel_main.h"
#include "boot/loaders.h"
#include "boot/memory_map.h"
#include "platform/pc/debug_port.h"
#include "trace/panic.h"

extern "C" {
[[noreturn]] void corral_boot(corral::u64 protocol, corral::u64 information);  // entry.S
extern const corral::u8 corral_image_start[];                                    // kernel.ld
extern const corral::u8 corral_image_end[];
}

namespace corral::boot {

namespace {

constinit BootInfo boot_info;

constexpr u64 least_memory = u64{32} << 20;

u64 physical(const u8* symbol) {
  return reinterpret_cast<u64>(symbol) - arch::kernel_image_base;
}

void reserve(BootInfo& info, u64 from, u64 to) {
  u64 base = round_down(from, page_size);
  info.reserved[info.reserved_count++] = {{base}, round_up(to, page_size) - base, true};
}

std::string_view read_loader(u64 protocol, u64 information, BootInfo& info) {
  if (protocol == pvh_magic) return read_pvh(information, info);
  if (protocol == multiboot2_magic) return read_multiboot2(information, info);
  return "the boot loader is unknown; start the kernel with QEMU's -kernel or GRUB's multiboot2";
}

}  // namespace

}  // namespace corral::boot

void corral_boot(corral::u64 protocol, corral::u64 information) {
  using namespace corral;
  early_console::start();
  set_panic_hooks({.verdict = platform::write_debug_port});
  arch::start_bootstrap_processor();

  BootInfo& info = boot::boot_info;
  std::string_view wrong = boot::read_loader(protocol, information, info);
  if (!wrong.empty()) early_console::stop(wrong);
  if (!boot::order_ranges(info)) early_console::write("corral: the memory map has too many pieces; some memory is left out\n");
  boot::mark_table_ranges(info);

  info.kernel_start = {boot::physical(corral_image_start)};
  info.kernel_end = {boot::physical(corral_image_end)};
  if (!boot::is_usable(info, info.kernel_start.value, info.kernel_end.value - info.kernel_start.value)) {
    early_console::stop("the memory map does not contain the kernel's own memory; the loader's map is wrong");
  }
  if (boot::usable_bytes(info) < boot::least_memory) {
    early_console::stop("too little memory: 32 MiB are needed at the least (QEMU: -m 64M)");
  }
  boot::reserve(info, info.kernel_start.value, info.kernel_end.value);
  if (info.initramfs_size != 0) {
    u64 end = info.initramfs.value + info.initramfs_size;
    // With many disks QEMU's firmware reserves more at the end of memory than QEMU knows when it lays the initramfs there.
    if (!boot::is_reachable(info, info.initramfs.value, info.initramfs_size) ||
        (info.initramfs.value < info.kernel_end.value && end > info.kernel_start.value)) {
      early_console::stop("the loader put the initramfs where no free memory is; give the machine more memory");
    }
    boot::reserve(info, info.initramfs.value, end);
  }
  if (!arch::build_kernel_map(info))
    early_console::stop("no room for the first page tables below 4 GiB; give the machine more memory");

  early_console::retire();
  kernel_main(info);
}
