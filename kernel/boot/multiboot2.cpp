// Multiboot2: what GRUB hands over. Layouts: Multiboot2 Specification version 2.0, section 3.6 (boot information).
#include "arch/page_table.h"
#include "boot/loaders.h"
#include "boot/memory_map.h"
#include "lib/memory_functions.h"

namespace corral::boot {

namespace {

struct Tag {
  u32 type;
  u32 size;  // without the padding to 8 bytes
};
struct ModuleTag {
  Tag tag;
  u32 start;
  u32 end;
};
struct MapTag {
  Tag tag;
  u32 entry_size;
  u32 entry_version;
};
struct MapEntry {
  u64 address;
  u64 size;
  u32 type;
  u32 reserved;
};
struct [[gnu::packed]] FramebufferTag {
  Tag tag;
  u64 address;
  u32 pitch;
  u32 width;
  u32 height;
  u8 bits_per_pixel;
  u8 kind;
  u16 reserved;
  u8 red_position, red_size, green_position, green_size, blue_position, blue_size;  // kind 1 only
};
static_assert(sizeof(FramebufferTag) == 38);
static_assert(sizeof(Tag) == 8 && sizeof(ModuleTag) == 16 && sizeof(MapTag) == 16 && sizeof(MapEntry) == 24);

constexpr u32 tag_end = 0;
constexpr u32 tag_command_line = 1;
constexpr u32 tag_module = 3;
constexpr u32 tag_memory_map = 6;
constexpr u32 tag_framebuffer = 8;
constexpr u32 tag_old_rsdp = 14;
constexpr u32 tag_new_rsdp = 15;

constexpr u32 most_bytes = 1024 * 1024;
constexpr size_t rsdp_bytes = 36;  // ACPI 2.0 and later

// The loader gives a copy of the RSDP in its own memory; this one stays.
alignas(16) constinit u8 rsdp_copy[rsdp_bytes] = {};

void take_rsdp(BootInfo& info, const u8* body, u32 size) {
  if (size > rsdp_bytes) size = rsdp_bytes;
  memset(rsdp_copy, 0, rsdp_bytes);
  memcpy(rsdp_copy, body, size);
  info.rsdp = {reinterpret_cast<u64>(rsdp_copy) - arch::kernel_image_base};
}

// Only direct colours of 32 bits, eight for each of the three: what UEFI's graphics output gives. Others are left alone: a text
// mode (kind 2) needs nothing, and the serial line stays in any case.
void take_framebuffer(BootInfo& info, const u8* at, u32 size) {
  constexpr u8 direct_colours = 1;
  constexpr u32 most_pixels = 16384;  // a side
  if (size < sizeof(FramebufferTag)) return;
  FramebufferTag f;
  memcpy(&f, at, sizeof f);
  if (f.kind != direct_colours || f.bits_per_pixel != 32) return;
  if (f.red_size != 8 || f.green_size != 8 || f.blue_size != 8) return;
  if (f.red_position > 24 || f.green_position > 24 || f.blue_position > 24) return;
  if (f.width == 0 || f.width > most_pixels || f.height == 0 || f.height > most_pixels) return;
  if (f.pitch % 4 != 0 || f.pitch / 4 < f.width || f.pitch / 4 > most_pixels || f.address == 0) return;
  info.framebuffer = {{f.address}, f.pitch, f.width, f.height, f.red_position, f.green_position, f.blue_position};
}

std::string_view take_memory_map(BootInfo& info, const u8* at, u32 size) {
  const MapTag& map = *reinterpret_cast<const MapTag*>(at);
  if (size < sizeof(MapTag) || map.entry_size < sizeof(MapEntry) || map.entry_size % 8 != 0) {
    return "Multiboot2: the memory map is damaged";
  }
  for (u32 offset = sizeof(MapTag); offset + map.entry_size <= size; offset += map.entry_size) {
    const MapEntry& entry = *reinterpret_cast<const MapEntry*>(at + offset);
    add_range(info, entry.address, entry.size, entry.type);
  }
  return {};
}

}  // namespace

std::string_view read_multiboot2(u64 address, BootInfo& info) {
  if (address % 8 != 0 || !reachable(address, sizeof(Tag))) return "Multiboot2: the boot information is out of reach";
  const u8* start = arch::direct<const u8>({address});
  u32 total = *reinterpret_cast<const u32*>(start);
  if (total < 16 || total > most_bytes || !reachable(address, total)) {
    return "Multiboot2: the boot information has an impossible size";
  }
  info.loader = "Multiboot2";
  bool have_map = false;
  bool have_new_rsdp = false;
  u32 offset = 8;
  while (offset + sizeof(Tag) <= total) {
    const u8* at = start + offset;
    const Tag& tag = *reinterpret_cast<const Tag*>(at);
    if (tag.type == tag_end) break;
    if (tag.size < sizeof(Tag) || tag.size > total - offset) return "Multiboot2: a tag leaves the boot information";
    const u32 body = tag.size - static_cast<u32>(sizeof(Tag));
    const char* text = reinterpret_cast<const char*>(at + sizeof(Tag));
    switch (tag.type) {
      case tag_command_line: set_command_line(info, text_at(address + offset + sizeof(Tag), body)); break;
      case tag_module: {
        if (tag.size < sizeof(ModuleTag)) return "Multiboot2: a module's tag is too short";
        const ModuleTag& module = *reinterpret_cast<const ModuleTag*>(at);
        if (info.initramfs_size != 0) break;  // the first one is the initramfs
        if (module.end < module.start || !set_initramfs(info, module.start, module.end - module.start)) {
          return "Multiboot2: the initramfs is out of reach";
        }
        break;
      }
      case tag_memory_map: {
        std::string_view wrong = take_memory_map(info, at, tag.size);
        if (!wrong.empty()) return wrong;
        have_map = true;
        break;
      }
      case tag_framebuffer: take_framebuffer(info, at, tag.size); break;
      case tag_old_rsdp:
        if (!have_new_rsdp) take_rsdp(info, reinterpret_cast<const u8*>(text), body);
        break;
      case tag_new_rsdp:
        take_rsdp(info, reinterpret_cast<const u8*>(text), body);
        have_new_rsdp = true;
        break;
      default: break;
    }
    offset += static_cast<u32>(round_up(tag.size, 8));
  }
  if (!have_map) return "Multiboot2: the loader gives no memory map";
  return {};
}

}  // namespace corral::boot
