// PVH: what QEMU's -kernel hands over. Layouts: Xen's public header arch-x86/hvm/start_info.h, version 1.
#include "arch/page_table.h"
#include "boot/loaders.h"
#include "boot/memory_map.h"

namespace corral::boot {

namespace {

struct StartInfo {
  u32 magic;
  u32 version;
  u32 flags;
  u32 modules;
  u64 module_list;
  u64 command_line;
  u64 rsdp;
  u64 memory_map;      // from version 1 on
  u32 memory_entries;
  u32 reserved;
};
static_assert(sizeof(StartInfo) == 56);

struct Module {
  u64 address;
  u64 size;
  u64 command_line;
  u64 reserved;
};
static_assert(sizeof(Module) == 32);

struct MapEntry {
  u64 address;
  u64 size;
  u32 type;
  u32 reserved;
};
static_assert(sizeof(MapEntry) == 24);

constexpr u32 most_entries = 1024;

}  // namespace

std::string_view read_pvh(u64 address, BootInfo& info) {
  if (!reachable(address, sizeof(StartInfo))) return "PVH: the start information is out of reach";
  const StartInfo& start = *arch::direct<const StartInfo>({address});
  if (start.magic != pvh_magic) return "PVH: the start information has a wrong magic number";
  if (start.version < 1 || start.memory_entries == 0) { return "PVH: the loader gives no memory map; QEMU 4.0 or newer does"; }
  if (start.memory_entries > most_entries || !reachable(start.memory_map, start.memory_entries * sizeof(MapEntry))) {
    return "PVH: the memory map is out of reach";
  }
  info.loader = "PVH";
  const MapEntry* map = arch::direct<const MapEntry>({start.memory_map});
  for (u32 i = 0; i < start.memory_entries; ++i) add_range(info, map[i].address, map[i].size, map[i].type);
  if (start.command_line != 0) {
    if (!reachable(start.command_line, 1)) return "PVH: the command line is out of reach";
    set_command_line(info, text_at(start.command_line, 64 * 1024));
  }
  if (start.modules != 0) {
    if (!reachable(start.module_list, sizeof(Module))) return "PVH: the module list is out of reach";
    const Module& module = *arch::direct<const Module>({start.module_list});
    if (!set_initramfs(info, module.address, module.size)) return "PVH: the initramfs is out of reach";
  }
  info.rsdp = {start.rsdp};
  return {};
}

}  // namespace corral::boot
