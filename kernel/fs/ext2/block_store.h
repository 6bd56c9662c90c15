// Where the volume gets its blocks from: in the kernel a cache over a disk, in host tests memory. And a held block.
// Context: whoever calls the volume, with the lock that protects it.
#pragma once

#include <utility>

#include "lib/result.h"
#include "lib/types.h"

namespace corral::fs::ext2 {

class BlockStore {
 public:
  struct Pin {
    u8* bytes = nullptr;  // block_size of them, which stay where they are until unpin()
    void* handle = nullptr;  // the store's own
  };
  // blocked (the calling step is run again) or eagain (nobody can wait): later; eio, enomem.
  virtual Result<Pin> pin(u32 block) = 0;
  virtual void unpin(const Pin& pin) = 0;
  // A pinned block has been changed, and will be written some time.
  virtual void changed(u32 block) = 0;
  // The block is about to hold a file's data, which do not go through this store: nothing that was known about it is ever written
  // from now on. blocked, eagain.
  virtual Result<void> forget(u32 block) = 0;

 protected:
  ~BlockStore() = default;
};

// Holds a pin.
class Block {
 public:
  Block() = default;
  static Result<Block> get(BlockStore& store, u32 number) {
    Block made;
    made.pin_ = TRY(store.pin(number));
    made.store_ = &store;
    made.number_ = number;
    return made;
  }
  Block(Block&& other) noexcept : store_{std::exchange(other.store_, nullptr)}, pin_{other.pin_}, number_{other.number_} {}
  Block& operator=(Block other) noexcept {
    std::swap(store_, other.store_);
    std::swap(pin_, other.pin_);
    std::swap(number_, other.number_);
    return *this;
  }
  ~Block() {
    if (store_ != nullptr) store_->unpin(pin_);
  }
  [[nodiscard]] u8* bytes() const { return pin_.bytes; }
  [[nodiscard]] u32 number() const { return number_; }

 private:
  BlockStore* store_ = nullptr;
  BlockStore::Pin pin_;
  u32 number_ = 0;
};

}  // namespace corral::fs::ext2
