// /proc/meminfo, vmstat, swaps, heap and slabinfo.
#include "fs/cache/reclaim.h"
#include "fs/cache/write_back.h"
#include "fs/mounts.h"
#include "fs/page_index.h"
#include "fs/proc/proc.h"
#include "memory/heap.h"
#include "memory/large_page.h"
#include "memory/page_allocator.h"

namespace corral::fs::proc {

namespace {

// Pages of contents that file systems in memory hold, and of the tables by which they are found.
u64 file_pages() {
  u64 pages = PageIndex::tables_in_use();
  mounts::for_each(
      [](void* context, const Mount& mount) {
        if (!mount.file_system->in_memory()) return;
        const FileSystemStatistics s = mount.file_system->statistics();
        *static_cast<u64*>(context) += s.blocks - s.blocks_free + s.pages_beside;
      },
      &pages);
  return pages;
}

}  // namespace

Result<void> meminfo(TextBuffer& to, const Subject&) {
  const memory::PageStatistics pages = memory::page_statistics();
  const memory::HeapStatistics heap = memory::heap_statistics();
  const u64 free = pages.free_global + pages.free_local;
  const u64 cached = reclaim::cached_pages();
  const u64 files = file_pages() + cached;
  const auto line = [&](const char* name, u64 count) { to.print("{-15} {8} kB\n", name, count * (page_size / 1024)); };
  line("MemTotal:", pages.total);
  line("MemFree:", free);
  line("MemAvailable:", free + cached);
  line("Buffers:", 0);
  line("Cached:", files);
  line("SwapCached:", 0);
  line("Active:", pages.total - free);
  line("Inactive:", 0);
  line("SwapTotal:", 0);
  line("SwapFree:", 0);
  line("Dirty:", write_back::dirty_pages());
  line("AnonHugePages:", memory::large_pages_in_use() * memory::large_pages);
  line("Shmem:", files);
  line("Slab:", heap.slab_pages + heap.block_pages);
  line("SReclaimable:", 0);
  line("SUnreclaim:", heap.slab_pages + heap.block_pages);
  line("Reserved:", pages.reserved);
  return {};
}

// The lines of Linux's file that Corral has numbers for; nothing is ever swapped.
Result<void> vmstat(TextBuffer& to, const Subject&) {
  const memory::PageStatistics pages = memory::page_statistics();
  const memory::HeapStatistics heap = memory::heap_statistics();
  to.print("nr_free_pages {}\nnr_file_pages {}\nnr_slab_reclaimable 0\nnr_slab_unreclaimable {}\n",
           pages.free_global + pages.free_local, file_pages(), heap.slab_pages + heap.block_pages);
  to.append("pswpin 0\npswpout 0\n");
  return {};
}

Result<void> swaps(TextBuffer& to, const Subject&) {
  to.append("Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n");
  return {};
}

Result<void> heap(TextBuffer& to, const Subject&) {
  const memory::HeapStatistics heap = memory::heap_statistics();
  to.print("objects {}\nbytes {}\nslab_pages {}\nblock_pages {}\n", heap.objects, heap.bytes, heap.slab_pages,
           heap.block_pages);
  return {};
}

// As Linux's slabinfo(5), version 2.1. A slab is one page, and all that are held count as active.
Result<void> slab_information(TextBuffer& to, const Subject&) {
  to.append("slabinfo - version: 2.1\n");
  to.append(
      "# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables <limit> <batchcount> ");
  to.append("<sharedfactor> : slabdata <active_slabs> <num_slabs> <sharedavail>\n");
  const u64 sizes = memory::heap_statistics().sizes;
  for (u64 index = 0; index < sizes; ++index) {
    const memory::SizeStatistics size = memory::size_statistics(index);
    to.print("kmalloc-{-9} {6} {6} {6} {4} {4} : tunables    0    0    0 : slabdata {6} {6}      0\n", size.object_size,
             size.objects, size.slabs * size.objects_in_a_slab, size.object_size, size.objects_in_a_slab, 1, size.slabs,
             size.slabs);
  }
  return {};
}

}  // namespace corral::fs::proc
