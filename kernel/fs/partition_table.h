// What a disk's table of partitions says: MBR with logical partitions, or GPT.
//
// The table is somebody else's bytes: nothing in it is believed before it has been checked, chains end, and what cannot be counts as
// no partition. Pure; sectors come from whoever asks, host tests and a fuzzer among them.
// Sources: UEFI Specification 2.10, section 5 (GPT, protective MBR); for logical partitions the practice of DOS and of fdisk(8).
#pragma once

#include <span>

#include "lib/result.h"
#include "lib/types.h"

namespace corral::fs {

inline constexpr u32 partition_sector = 512;  // bytes

class SectorSource {
 public:
  // Any error ends the reading of the table and is passed on (blocked: the step asks for the table again).
  virtual Result<void> read(u64 sector, std::span<u8, partition_sector> to) = 0;

 protected:
  ~SectorSource() = default;
};

struct Partition {
  u32 number = 0;  // as in vda1
  u64 first = 0, sectors = 0;  // on the disk, at least one
};

struct PartitionTable {
  static constexpr u32 most = 15;  // minor numbers of a disk
  Partition partitions[most];
  u32 count = 0;  // in the order in which the table has them
};

// `sectors`: of the disk; no partition reaches beyond. No table, or one that cannot be: no partitions.
Result<PartitionTable> read_partition_table(SectorSource& disk, u64 sectors);

}  // namespace corral::fs
