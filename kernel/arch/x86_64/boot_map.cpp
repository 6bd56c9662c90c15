// See boot_map.h. Until the new table is loaded, direct() reaches the first 4 GiB through the tables of boot/entry.S.
#include "boot_map.h"

#include "arch/processor.h"
#include "lib/memory_functions.h"
#include "paging.h"
#include "processor_setup.h"

extern "C" {  // kernel.ld
extern const corral::u8 corral_image_start[];
extern const corral::u8 corral_text_end[];
extern const corral::u8 corral_rodata_end[];
extern const corral::u8 corral_data_end[];
extern const corral::u8 corral_image_end[];
extern const corral::u8 corral_boot_stack_guard[];
}

namespace corral::arch {

namespace {

constinit PhysicalAddress root = {};

constexpr u64 early_limit = u64{4} << 30;  // what direct() reaches now
constexpr u64 huge_size = level_size(2);
constexpr u64 large_size = level_size(1);
constexpr u64 link_bits = entry_present | entry_write | entry_accessed;
constexpr u64 most_memory = kernel_area_base - direct_map_base;

u64 physical(const u8* symbol) {
  return reinterpret_cast<u64>(symbol) - kernel_image_base;
}

// Hands out the pages of the table, one after the other.
struct TablePool {
  u64 next;
  u64 end;
  u64* take() {
    if (next >= end) return nullptr;
    u64* table = direct<u64>({next});
    next += page_size;
    memset(table, 0, page_size);
    return table;
  }
};

class Builder {
 public:
  explicit Builder(TablePool pool) : pool_{pool}, root_{pool_.take()} {}
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] u64 used_to() const { return pool_.next; }
  [[nodiscard]] PhysicalAddress root() const { return physical_of_direct(root_); }

  // Maps one page of the level's size. What is mapped already stays.
  void map(u64 address, u64 frame, u32 level, u64 bits) {
    u64* place = place_of(address, level);
    if (place == nullptr || (*place & entry_present) != 0) return;
    *place = frame | bits | entry_global | (level == leaf_level ? 0 : entry_large);
  }
  // Makes the tables down to the one that holds entries of `level`.
  u64* place_of(u64 address, u32 level) {
    u64* table = root_;
    for (u32 at = root_level; at > level; --at) {
      if (table == nullptr) break;
      u64* place = &table[index_of(address, at)];
      if ((*place & entry_present) == 0) {
        u64* fresh = pool_.take();
        if (fresh == nullptr) {
          failed_ = true;
          return nullptr;
        }
        *place = physical_of_direct(fresh).value | link_bits;
      } else if ((*place & entry_large) != 0) {
        return nullptr;
      }
      table = table_of(*place);
    }
    return table == nullptr ? nullptr : &table[index_of(address, level)];
  }

 private:
  TablePool pool_;
  u64* root_;
  bool failed_ = false;
};

// What the image's page may do. Text and constants are read-only in the direct map, too.
Rights image_rights(u64 frame) {
  if (frame < physical(corral_text_end)) return {.execute = true};
  if (frame < physical(corral_rodata_end)) return {};
  if (frame < physical(corral_data_end)) return {.write = true};
  return {};  // symbols
}

bool in_image(u64 from, u64 to) {
  return from < physical(corral_image_end) && to > physical(corral_image_start);
}

// One 2 MiB block of physical memory in the direct map; in pieces where the image is.
void map_block(Builder& builder, u64 block) {
  if (!in_image(block, block + large_size)) {
    builder.map(direct_map_base + block, block, 1, leaf_bits({.write = true}));
    return;
  }
  for (u64 frame = block; frame < block + large_size; frame += page_size) {
    Rights rights{.write = true};
    if (in_image(frame, frame + page_size)) rights.write = image_rights(frame).write;
    builder.map(direct_map_base + frame, frame, leaf_level, leaf_bits(rights));
  }
}

// All of [from, to), widened to 2 MiB: firmware keeps its tables in the odd pieces between.
void map_direct(Builder& builder, u64 from, u64 to) {
  u64 block = round_down(from, large_size);
  while (block < to && !builder.failed()) {
    bool whole = features().huge_1g && block % huge_size == 0 && to - block >= huge_size && block >= early_limit;
    if (whole) {
      builder.map(direct_map_base + block, block, 2, leaf_bits({.write = true}));
      block += huge_size;
    } else {
      map_block(builder, block);
      block += large_size;
    }
  }
}

void map_image(Builder& builder) {
  u64 guard = physical(corral_boot_stack_guard);
  for (u64 frame = physical(corral_image_start); frame < physical(corral_image_end); frame += page_size) {
    if (frame == guard) continue;
    builder.map(kernel_image_base + frame, frame, leaf_level, leaf_bits(image_rights(frame)));
  }
}

bool wanted(const MemoryRange& range) {
  return range.usable || range.tables;
}

// A bound on the pages of the table: one for each GiB that is touched, one for each 512 GiB, those of the image (twice:
// at its own address and in the direct map), and the fixed ones.
u64 pages_needed(const BootInfo& boot) {
  u64 image_blocks = (physical(corral_image_end) - physical(corral_image_start)) / large_size + 2;
  u64 pages = 8 + 2 * image_blocks;
  for (const MemoryRange& range : boot.memory()) {
    if (!wanted(range)) continue;
    pages += range.size / huge_size + 2 + range.size / level_size(root_level) + 2;
  }
  return pages;
}

bool overlaps_reserved(const BootInfo& boot, u64 from, u64 to, u64& behind) {
  for (const MemoryRange& taken : boot.reserved_memory()) {
    if (from < taken.base.value + taken.size && to > taken.base.value) {
      behind = round_up(taken.base.value + taken.size, page_size);
      return true;
    }
  }
  return false;
}

// The lowest room of `size` bytes at or above the kernel image.
bool find_room(const BootInfo& boot, u64 size, u64& start) {
  for (const MemoryRange& range : boot.memory()) {
    if (!range.usable) continue;
    u64 end = range.base.value + range.size;
    if (end > early_limit) end = early_limit;
    u64 from = round_up(range.base.value, page_size);
    if (from < boot.kernel_start.value) from = boot.kernel_start.value;
    u64 behind = 0;
    while (from < end && size <= end - from && overlaps_reserved(boot, from, from + size, behind)) from = behind;
    if (from < end && size <= end - from) {
      start = from;
      return true;
    }
  }
  return false;
}

}  // namespace

PhysicalAddress kernel_root() {
  return root;
}

bool build_kernel_map(BootInfo& boot) {
  u64 size = pages_needed(boot) * page_size;
  u64 start = 0;
  if (boot.reserved_count >= BootInfo::max_reserved || !find_room(boot, size, start)) return false;
  Builder builder{TablePool{start, start + size}};

  for (const MemoryRange& range : boot.memory()) {
    if (!wanted(range) || range.base.value >= most_memory) continue;
    u64 end = range.base.value + range.size;
    map_direct(builder, range.base.value, end < most_memory ? end : most_memory);
  }
  map_direct(builder, 0, u64{1} << 20);
  map_image(builder);
  if (builder.place_of(kernel_area_base, 2) == nullptr || builder.failed()) return false;

  root = builder.root();
  boot.reserved[boot.reserved_count++] = {{start}, builder.used_to() - start, true};
  set_control_registers();  // before the load: no-execute bits are reserved bits without it
  asm volatile("movq %0, %%cr3" ::"r"(root.value) : "memory");
  asm volatile("movq %%cr4, %%rax; movq %%rax, %%rdx; xorq $0x80, %%rdx; movq %%rdx, %%cr4; movq %%rax, %%cr4" ::
                   : "rax", "rdx", "memory");  // PGE off and on: global entries of the first tables go, too
  return true;
}

}  // namespace corral::arch
