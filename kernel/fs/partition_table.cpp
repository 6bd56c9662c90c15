// See partition_table.h.
#include "fs/partition_table.h"

#include "lib/memory_functions.h"

namespace corral::fs {

namespace {

constexpr u32 get16(const u8* at) {
  return at[0] | static_cast<u32>(at[1]) << 8;
}
constexpr u32 get32(const u8* at) {
  return get16(at) | get16(at + 2) << 16;
}
constexpr u64 get64(const u8* at) {
  return get32(at) | u64{get32(at + 4)} << 32;
}

class Crc32 {
 public:
  void add(const u8* bytes, u64 count) {
    for (u64 i = 0; i < count; ++i) {
      state_ ^= bytes[i];
      for (u32 bit = 0; bit < 8; ++bit) state_ = state_ >> 1 ^ ((state_ & 1) != 0 ? 0xedb8'8320 : 0);
    }
  }
  [[nodiscard]] u32 value() const { return ~state_; }

 private:
  u32 state_ = ~u32{0};
};

class TableReader {
 public:
  TableReader(SectorSource& disk, u64 sectors) : disk_{disk}, sectors_{sectors} {}
  Result<PartitionTable> read();

 private:
  using Sector = u8[partition_sector];
  struct Record {  // of an MBR
    u8 status, type;
    u64 first, sectors;
    [[nodiscard]] bool is_extended() const { return type == 0x05 || type == 0x0f || type == 0x85; }
    [[nodiscard]] bool is_used() const { return type != 0 && sectors != 0; }
  };
  static constexpr u32 records = 4, first_logical = 5;

  static Record record(const Sector& sector, u32 number) {
    const u8* at = sector + 446 + u64{16} * number;
    return {at[0], at[4], get32(at + 8), get32(at + 12)};
  }
  static bool is_boot_record(const Sector& sector) {
    if (sector[510] != 0x55 || sector[511] != 0xaa) return false;
    for (u32 i = 0; i < records; ++i) {
      if ((record(sector, i).status & 0x7f) != 0) return false;  // code or data of a file system
    }
    return true;
  }
  void add(u32 number, u64 first, u64 sectors) {
    if (number == 0 || number > PartitionTable::most || table_.count == PartitionTable::most) return;
    if (first == 0 || first >= sectors_ || sectors == 0) return;
    const u64 room = sectors_ - first;
    table_.partitions[table_.count++] = {number, first, sectors < room ? sectors : room};
  }
  Result<void> read_logical(u64 first, u64 sectors);
  // False: there is no good header, or its entries are not those that it speaks of.
  Result<bool> read_gpt(u64 header_sector);

  SectorSource& disk_;
  const u64 sectors_;
  PartitionTable table_;
};

Result<PartitionTable> TableReader::read() {
  if (sectors_ < 2) return table_;
  Sector boot;
  TRY(disk_.read(0, boot));
  if (!is_boot_record(boot)) return table_;
  for (u32 i = 0; i < records; ++i) {
    constexpr u8 protective = 0xee;
    if (record(boot, i).type != protective) continue;
    if (!TRY(read_gpt(1))) (void)TRY(read_gpt(sectors_ - 1));
    return table_;
  }
  for (u32 i = 0; i < records; ++i) {
    const Record r = record(boot, i);
    constexpr u64 shown = 2;  // of an extended partition: so that nobody makes a file system over those inside
    if (r.is_used()) add(i + 1, r.first, r.is_extended() && r.sectors > shown ? shown : r.sectors);
  }
  for (u32 i = 0; i < records; ++i) {
    const Record r = record(boot, i);
    if (r.is_used() && r.is_extended()) {
      TRY(read_logical(r.first, r.sectors));
      break;
    }
  }
  return table_;
}

// A chain of boot records: in each a partition, which begins so many sectors behind it, and where the next record is, counted from the
// beginning of the extended partition.
Result<void> TableReader::read_logical(u64 first, u64 sectors) {
  u32 number = first_logical;
  u64 at = first;
  for (u32 turns = 0; turns < 2 * PartitionTable::most && number <= PartitionTable::most; ++turns) {
    if (at == 0 || at >= sectors_) return {};
    Sector sector;
    TRY(disk_.read(at, sector));
    if (!is_boot_record(sector)) return {};
    u64 next = 0;
    for (u32 i = 0; i < records; ++i) {
      const Record r = record(sector, i);
      if (!r.is_used()) continue;
      if (r.is_extended()) {
        if (next == 0 && r.first < sectors) next = first + r.first;
      } else if (i < 2 && at + r.first - first < sectors && r.sectors <= sectors - (at + r.first - first)) {
        add(number++, at + r.first, r.sectors);
      }
    }
    if (next <= at) return {};  // the last, or backwards
    at = next;
  }
  return {};
}

Result<bool> TableReader::read_gpt(u64 header_sector) {
  constexpr u32 smallest_header = 92, smallest_entry = 128, largest_entry = 4096, most_bytes = 128 << 10;
  if (header_sector >= sectors_) return false;
  Sector header;
  TRY(disk_.read(header_sector, header));
  const u32 header_size = get32(header + 12);
  if (memcmp(header, "EFI PART", 8) != 0 || header_size < smallest_header || header_size > partition_sector) return false;
  const u32 header_sum = get32(header + 16);
  memset(header + 16, 0, 4);  // the sum is that of the header without it
  Crc32 sum;
  sum.add(header, header_size);
  if (sum.value() != header_sum || get64(header + 24) != header_sector) return false;

  const u64 first_usable = get64(header + 40), last_usable = get64(header + 48), entries = get64(header + 72);
  const u32 count = get32(header + 80), size = get32(header + 84), entries_sum = get32(header + 88);
  const bool power = (size & (size - 1)) == 0;
  if (size < smallest_entry || size > largest_entry || !power || count == 0 || count > most_bytes / size) return false;
  const u64 bytes = u64{count} * size;
  const u64 table_sectors = (bytes + partition_sector - 1) / partition_sector;
  if (entries < 2 || entries >= sectors_ || table_sectors > sectors_ - entries) return false;
  if (first_usable > last_usable) return false;

  Crc32 table_sum;
  const u32 before = table_.count;
  for (u64 i = 0; i < table_sectors; ++i) {
    Sector sector;
    TRY(disk_.read(entries + i, sector));
    const u64 left = bytes - i * partition_sector;
    table_sum.add(sector, left < partition_sector ? left : partition_sector);
    for (u32 at = 0; at < partition_sector && at < left; at += smallest_entry) {
      const u64 place = i * partition_sector + at;
      if (place % size != 0) continue;  // the rest of a long entry
      constexpr u8 unused[16] = {};
      const u64 first = get64(sector + at + 32), last = get64(sector + at + 40);
      if (memcmp(sector + at, unused, sizeof unused) == 0 || first > last) continue;
      if (first < first_usable || last > last_usable) continue;
      if (place / size < PartitionTable::most) add(static_cast<u32>(place / size) + 1, first, last - first + 1);
    }
  }
  if (table_sum.value() == entries_sum) return true;
  table_.count = before;
  return false;
}

}  // namespace

Result<PartitionTable> read_partition_table(SectorSource& disk, u64 sectors) {
  return TableReader{disk, sectors}.read();
}

}  // namespace corral::fs
