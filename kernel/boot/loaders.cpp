// See loaders.h: what the readers of all loaders share.
#include "boot/loaders.h"

#include "arch/page_table.h"
#include "lib/memory_functions.h"

namespace corral::boot {

namespace {

constexpr u64 four_gib = u64{4} << 30;  // what the first page tables map

}  // namespace

bool reachable(u64 address, u64 size) {
  return address != 0 && address < four_gib && size <= four_gib - address;
}

std::string_view text_at(u64 address, size_t limit) {
  const char* text = arch::direct<const char>({address});
  size_t length = 0;
  while (length < limit && reachable(address + length, 1) && text[length] != 0) ++length;
  return {text, length};
}

void set_command_line(BootInfo& info, std::string_view text) {
  size_t length = text.size();
  if (length >= BootInfo::max_command_line) {
    length = BootInfo::max_command_line - 1;
    while (length > 0 && text[length] != ' ') --length;
  }
  memcpy(info.command_line, text.data(), length);
  info.command_line[length] = 0;
}

bool set_initramfs(BootInfo& info, u64 address, u64 size) {
  if (size == 0) return true;
  if (!reachable(address, size)) return false;
  info.initramfs = {address};
  info.initramfs_size = size;
  return true;
}

}  // namespace corral::boot
