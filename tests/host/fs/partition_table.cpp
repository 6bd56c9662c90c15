// Tables of partitions are read as they are meant, and what cannot be is no partition.
// sources: kernel/fs/partition_table.cpp
#include "fs/partition_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace corral::test {
namespace {

using fs::Partition;
using fs::partition_sector;
using fs::PartitionTable;

struct Image final : fs::SectorSource {
  std::vector<u8> bytes;
  u32 waits = 0;  // so many reads are answered by blocked first
  Result<void> read(u64 sector, std::span<u8, partition_sector> to) override {
    if ((sector + 1) * partition_sector > bytes.size()) return Errno::eio;
    if (waits > 0) {
      --waits;
      return Errno::blocked;
    }
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(sector * partition_sector), partition_sector, to.begin());
    return {};
  }
  [[nodiscard]] u64 sectors() const { return bytes.size() / partition_sector; }
  [[nodiscard]] PartitionTable table() { return fs::read_partition_table(*this, sectors()).take(); }
};

// What fdisk writes, put together here from the descriptions of the formats.
struct Maker {
  Image disk;
  explicit Maker(u64 size) { disk.bytes.resize(size); }
  void put(u64 at, u64 value, u32 count) {
    for (u32 i = 0; i < count; ++i) disk.bytes[at + i] = static_cast<u8>(value >> 8 * i);
  }
  void sign(u64 sector) { put(sector * partition_sector + 510, 0xaa55, 2); }
  void record(u64 sector, u32 i, u8 type, u32 first, u32 count) {
    const u64 at = sector * partition_sector + 446 + u64{16} * i;
    put(at + 4, type, 1);
    put(at + 8, first, 4);
    put(at + 12, count, 4);
    sign(sector);
  }
  [[nodiscard]] u32 sum(u64 at, u64 count) const {
    u32 remainder = ~u32{0};
    for (u64 i = 0; i < count; ++i) {
      remainder ^= disk.bytes[at + i];
      for (u32 bit = 0; bit < 8; ++bit) remainder = (remainder >> 1) ^ (0xedb88320 & (0 - (remainder & 1)));
    }
    return ~remainder;
  }
  void gpt(const std::vector<Partition>& partitions, u32 entry_size = 128) {
    const u64 last = disk.sectors() - 1;
    const u64 table = u64{128} * entry_size;
    record(0, 0, 0xee, 1, static_cast<u32>(last));
    for (const auto& [header, entries] : {std::pair{u64{1}, u64{2}}, std::pair{last, last - table / partition_sector}}) {
      for (const Partition& p : partitions) {
        const u64 at = entries * partition_sector + u64{p.number - 1} * entry_size;
        put(at, 0x0fc63daf, 4);
        put(at + 32, p.first, 8);
        put(at + 40, p.first + p.sectors - 1, 8);
      }
      const u64 at = header * partition_sector;
      std::copy_n("EFI PART", 8, disk.bytes.begin() + static_cast<std::ptrdiff_t>(at));
      put(at + 8, 0x10000, 4);
      put(at + 12, 92, 4);
      put(at + 24, header, 8);
      put(at + 32, last + 1 - header, 8);
      put(at + 40, 2 + table / partition_sector, 8);
      put(at + 48, last - 1 - table / partition_sector, 8);
      put(at + 72, entries, 8);
      put(at + 80, 128, 4);
      put(at + 84, entry_size, 4);
      put(at + 88, sum(entries * partition_sector, table), 4);
      put(at + 16, sum(at, 92), 4);
    }
  }
};

void expect(const PartitionTable& table, const std::vector<Partition>& wanted) {
  ASSERT_EQ(table.count, wanted.size());
  for (u32 i = 0; i < table.count; ++i) {
    EXPECT_EQ(table.partitions[i].number, wanted[i].number);
    EXPECT_EQ(table.partitions[i].first, wanted[i].first);
    EXPECT_EQ(table.partitions[i].sectors, wanted[i].sectors);
  }
}

TEST(Partitions, OfAnMbr) {
  Maker made{16 << 20};
  made.record(0, 0, 0x83, 2048, 4096);
  made.record(0, 1, 0x82, 8192, 2048);
  expect(made.disk.table(), {{1, 2048, 4096}, {2, 8192, 2048}});
  made.disk.waits = 1;
  EXPECT_EQ(fs::read_partition_table(made.disk, made.disk.sectors()).error(), Errno::blocked);
  made.disk.bytes[511] = 0;
  expect(made.disk.table(), {});
}

TEST(Partitions, LogicalOnes) {
  Maker made{16 << 20};
  made.record(0, 0, 0x83, 2048, 2048);
  made.record(0, 1, 0x05, 4096, 24576);
  made.record(4096, 0, 0x83, 2048, 2048);
  made.record(4096, 1, 0x05, 4096, 6144);
  made.record(8192, 0, 0x83, 2048, 4096);
  made.record(8192, 1, 0x05, 10240, 3072);
  made.record(14336, 0, 0x83, 2048, 1024);
  expect(made.disk.table(), {{1, 2048, 2048}, {2, 4096, 2}, {5, 6144, 2048}, {6, 10240, 4096}, {7, 16384, 1024}});
}

TEST(Partitions, OfAGpt) {
  for (const u32 entry_size : {128u, 256u, 512u, 1024u}) {
    const std::vector<Partition> wanted{{1, 2048, 4096}, {3, 8192, 2048}};
    Maker made{16 << 20};
    made.gpt(wanted, entry_size);
    expect(made.disk.table(), wanted);
    Maker other = made;
    made.disk.bytes[512 + 60] ^= 1;  // the first header: its copy at the end is as good
    expect(made.disk.table(), wanted);
    made.disk.bytes[made.disk.bytes.size() - 512 + 60] ^= 1;
    expect(made.disk.table(), {});
    other.disk.bytes[1024 + 32] = 1;  // an entry: those of the copy are as they were
    expect(other.disk.table(), wanted);
  }
}

TEST(Partitions, OfAGptThatLeadOutside) {
  Maker made{1 << 20};
  made.gpt({{1, 100, 10}, {2, 1, 10}, {4, 2000, 1000}, {16, 200, 10}});
  expect(made.disk.table(), {{1, 100, 10}});
}

TEST(Partitions, ThatCannotBe) {
  Maker made{1 << 20};
  made.record(0, 0, 0x83, 0, 100);  // over the table itself
  made.record(0, 1, 0x83, 5000, 100);  // behind the end
  made.record(0, 2, 0x83, 2000, 4'000'000'000);  // reaches beyond it
  made.record(0, 3, 0x05, 100, 1000);  // in a circle
  made.record(100, 0, 0x83, 10, 20);
  made.record(100, 1, 0x05, 0, 1000);
  expect(made.disk.table(), {{3, 2000, 48}, {4, 100, 2}, {5, 110, 20}});
  made.disk.bytes[446] = 0x7f;  // code, not a table
  expect(made.disk.table(), {});
  EXPECT_EQ(fs::read_partition_table(made.disk, 1).take().count, 0u);
}

}  // namespace
}  // namespace corral::test
