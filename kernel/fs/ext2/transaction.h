// A change of several blocks that is done as a whole or not at all.
//
// Before a block is changed it is pinned for the whole transaction; what is overwritten is noted. An end without commit() puts everything
// back: so an operation may find out at any point that it has to wait, that there is no room, or that the disk says nonsense, and just
// return. One at a time for each volume; its lock protects it.
#pragma once

#include "fs/ext2/block_store.h"

namespace corral::fs::ext2 {

// What a transaction notes; large, so it belongs to the volume.
struct UndoLog {
  static constexpr u32 most_blocks = 200, capacity = 24 << 10;
  Block blocks[most_blocks];
  u32 block_count = 0;
  u32 used = 0;
  bool overflowed = false;
  u8 bytes[capacity];
  u8 scratch[4096];  // what becomes of a block, while it is made from what the block has
};

class Transaction {
 public:
  Transaction(BlockStore& store, UndoLog& log) : store_{store}, log_{log} {}
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();

  // The bytes of a block that may be changed, by the functions below. blocked, eagain, eio, enomem.
  Result<u8*> open(u32 block);
  void put8(u8* at, u8 value) { put(at, &value, 1); }
  void put16(u8* at, u32 value);
  void put32(u8* at, u32 value);
  void put(u8* at, const void* from, u32 size);
  void zero(u8* at, u32 size);
  // A block whose contents so far are nobody's.
  void clear(u8* block, u32 block_size);
  // eio: it was too large, and nothing is changed.
  Result<void> commit();

 private:
  bool note(u8* at, u32 size);
  void roll_back();
  void end();

  BlockStore& store_;
  UndoLog& log_;
};

}  // namespace corral::fs::ext2
