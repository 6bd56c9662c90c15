// Where the program loader reads a program from: the loader knows bytes and pages, not file systems.
// Implemented by fs/executable.h. Context: the thread that executes execve, no lock held. Nothing here waits.
#pragma once

#include <span>

#include "lib/ref.h"
#include "lib/result.h"
#include "lib/types.h"
#include "vm/address_space.h"

namespace corral {

class ByteSource {
 public:
  // Copies bytes from `offset` on into `to`; answers how many there were, fewer than asked only at the end. eio.
  virtual Result<u64> read_at(u64 offset, std::span<u8> to) = 0;
  // The pages of the same bytes, for mapping: page n holds the bytes from n × page_size on. enomem.
  virtual Result<Ref<vm::Backing>> backing() = 0;
  [[nodiscard]] virtual u64 size() = 0;  // bytes

 protected:
  ~ByteSource() = default;
};

}  // namespace corral
