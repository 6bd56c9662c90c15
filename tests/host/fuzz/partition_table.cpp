// A disk's first sectors, and its last, are anything at all: reading them as a table of partitions ends, and no partition reaches beyond
// the disk.
// sources: kernel/fs/partition_table.cpp
#include "fs/partition_table.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace {

using namespace corral;

constexpr u64 disk_sectors = 4096;

struct Bytes final : fs::SectorSource {
  std::span<const u8> given;
  u32 reads = 0;
  Result<void> read(u64 sector, std::span<u8, fs::partition_sector> to) override {
    if (sector >= disk_sectors || ++reads > 4096) std::abort();
    std::fill(to.begin(), to.end(), u8{0});
    // The last sector is that behind the first 64.
    const u64 start = (sector == disk_sectors - 1 ? 64 : sector) * fs::partition_sector;
    for (u64 i = 0; i < to.size() && start + i < given.size(); ++i) to[i] = given[start + i];
    return {};
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, size_t size) {
  Bytes disk;
  std::vector<u8> good{bytes, bytes + size};
  if (good.size() >= 512 && good[0] % 2 == 0) {  // what is no boot record at all is known soon
    good[510] = 0x55;
    good[511] = 0xaa;
    for (u32 i = 0; i < 4; ++i) good[446 + 16 * i] &= 0x80;
  }
  disk.given = good;
  const auto table = fs::read_partition_table(disk, disk_sectors);
  if (!table.ok() || table.value().count > fs::PartitionTable::most) std::abort();
  for (u32 i = 0; i < table.value().count; ++i) {
    const fs::Partition& p = table.value().partitions[i];
    if (p.number == 0 || p.number > fs::PartitionTable::most || p.first == 0 || p.sectors == 0) std::abort();
    if (p.first >= disk_sectors || p.sectors > disk_sectors - p.first) std::abort();
  }
  return 0;
}
