// See partitions.h.
#include "fs/partitions.h"

#include "device/clock.h"
#include "lib/format.h"
#include "lib/memory_functions.h"
#include "memory/page_allocator.h"
#include "trace/log.h"

namespace corral::fs {

namespace {

// The sectors of a disk's pages. Nobody can be woken yet: a page that is on its way is looked for until it is there.
class PageSectors final : public SectorSource {
 public:
  PageSectors(BlockDevice& disk, FilePages& pages) : disk_{disk}, pages_{pages} {}
  Result<void> read(u64 sector, std::span<u8, partition_sector> to) override {
    const u64 at = sector * partition_sector;
    Frame* frame = nullptr;
    for (;;) {
      const Result<Frame*> page = pages_.page(at / page_size, nullptr);
      if (page.ok()) {
        frame = page.value();
        break;
      }
      if (page.error() != Errno::eagain) return page.error();
      if (clock::now() >= end_) return Errno::eio;
      disk_.poll();
    }
    memcpy(to.data(), memory::contents(*frame) + at % page_size, to.size());
    memory::release_page(*frame);
    return {};
  }

 private:
  static constexpr Duration patience = seconds(5);
  BlockDevice& disk_;
  FilePages& pages_;
  const Instant end_ = clock::now() + patience;
};

}  // namespace

Result<void> PartitionDevice::submit(BlockRequest& request) {
  if (request.kind != BlockRequest::Kind::flush) {
    u64 bytes = 0;
    for (u32 i = 0; i < request.count && i < BlockRequest::most_pieces; ++i) bytes += request.pieces[i].bytes;
    if (request.sector > place_.sectors || bytes / sector_size > place_.sectors - request.sector) return Errno::eio;
    request.sector += place_.first;
  }
  return disk_.submit(request);
}

size_t PartitionDevice::describe(char* to, size_t size) const {
  return format_to({to, size}, "partition {}, {} sectors from {} on", place_.number, place_.sectors, place_.first).size();
}

PartitionTable find_partitions(BlockDevice& disk, FilePages& pages) {
  PageSectors sectors{disk, pages};
  const Result<PartitionTable> table = read_partition_table(sectors, disk.sectors());
  if (table.ok()) return table.value();
  log::warning("{}: its table of partitions cannot be read (error {})", disk.name(), table.error());
  return {};
}

}  // namespace corral::fs
