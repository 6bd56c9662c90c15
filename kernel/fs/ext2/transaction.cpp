// See transaction.h.
#include "fs/ext2/transaction.h"

#include "lib/memory_functions.h"

namespace corral::fs::ext2 {

namespace {

// What stands behind the overwritten bytes in the log.
struct Note {
  u8* at;
  u32 size;
};

}  // namespace

Transaction::~Transaction() {
  roll_back();
  end();
}

Result<u8*> Transaction::open(u32 block) {
  for (u32 i = log_.block_count; i-- > 0;) {
    if (log_.blocks[i].number() == block) return log_.blocks[i].bytes();
  }
  if (log_.block_count == UndoLog::most_blocks) return Errno::eio;
  Block& place = log_.blocks[log_.block_count];
  place = TRY(Block::get(store_, block));
  ++log_.block_count;
  return place.bytes();
}

bool Transaction::note(u8* at, u32 size) {
  if (log_.overflowed || UndoLog::capacity - log_.used < size + sizeof(Note)) {
    log_.overflowed = true;
    return false;
  }
  memcpy(log_.bytes + log_.used, at, size);
  log_.used += size;
  const Note made{at, size};
  memcpy(log_.bytes + log_.used, &made, sizeof made);
  log_.used += static_cast<u32>(sizeof made);
  return true;
}

void Transaction::put(u8* at, const void* from, u32 size) {
  if (note(at, size)) memcpy(at, from, size);
}

void Transaction::put16(u8* at, u32 value) {
  const u8 bytes[] = {static_cast<u8>(value), static_cast<u8>(value >> 8)};
  put(at, bytes, sizeof bytes);
}

void Transaction::put32(u8* at, u32 value) {
  const u8 bytes[] = {static_cast<u8>(value), static_cast<u8>(value >> 8), static_cast<u8>(value >> 16),
                      static_cast<u8>(value >> 24)};
  put(at, bytes, sizeof bytes);
}

void Transaction::zero(u8* at, u32 size) {
  if (note(at, size)) memset(at, 0, size);
}

void Transaction::clear(u8* block, u32 block_size) {
  memset(block, 0, block_size);
}

void Transaction::roll_back() {
  while (log_.used > 0) {
    Note last{};
    log_.used -= static_cast<u32>(sizeof last);
    memcpy(&last, log_.bytes + log_.used, sizeof last);
    log_.used -= last.size;
    memcpy(last.at, log_.bytes + log_.used, last.size);
  }
}

void Transaction::end() {
  log_.used = 0;
  log_.overflowed = false;
  while (log_.block_count > 0) {
    Block& block = log_.blocks[--log_.block_count];
    // Also after rolling back: the disk may have got the block in the meantime.
    store_.changed(block.number());
    block = Block{};
  }
}

Result<void> Transaction::commit() {
  if (log_.overflowed) return Errno::eio;  // its destructor puts everything back
  end();
  return {};
}

}  // namespace corral::fs::ext2
