// Where a file was seen last, of a file system whose files lie elsewhere (a disk, a server): a directory and a name in it.
// Guarded by the lock of the file system; what a change answers is let go of without it.
#pragma once

#include "fs/inode.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"

namespace corral::fs {

// A name's copy on the heap, until a Place takes it over.
class NameCopy {
 public:
  NameCopy() = default;
  NameCopy(const NameCopy&) = delete;
  NameCopy& operator=(const NameCopy&) = delete;
  ~NameCopy() { memory::release(text_); }
  // Once, of a name that is not empty; enomem.
  Result<void> make(std::string_view name) {
    text_ = static_cast<char*>(memory::allocate(name.size()));
    if (text_ == nullptr) return Errno::enomem;
    size_ = static_cast<u16>(name.size());
    memcpy(text_, name.data(), name.size());
    return {};
  }

 private:
  friend class Place;
  u16 size_ = 0;
  char* text_ = nullptr;
};

class Place {
 public:
  Place() = default;
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() { memory::release(text_); }

  // Null: the root, or a file that was removed.
  [[nodiscard]] const Ref<Inode>& directory() const { return directory_; }
  [[nodiscard]] bool is(const Inode& directory, std::string_view name) const {
    return directory_.get() == &directory && std::string_view{text_, size_} == name;
  }
  // As much of the name as there is room for; enoent: it has none.
  Result<std::string_view> name(std::span<char> to) const {
    if (!directory_) return Errno::enoent;
    const u64 size = smaller(size_, to.size());
    memcpy(to.data(), text_, size);
    return std::string_view{to.data(), size};
  }

  // Both changes answer the directory before.
  [[nodiscard]] Ref<Inode> set(Inode& directory, NameCopy& name) {
    std::swap(text_, name.text_);
    size_ = name.size_;
    return std::exchange(directory_, Ref<Inode>::share(directory));
  }
  [[nodiscard]] Ref<Inode> leave() { return std::exchange(directory_, Ref<Inode>{}); }

 private:
  Ref<Inode> directory_;
  u16 size_ = 0;
  char* text_ = nullptr;  // heap
};

// For a file that ends: directories above it that nothing else keeps are let go of one after the other, not one inside the other,
// since paths may be deep. `leave` takes the lock, looks whether it has the only reference, makes it unfindable, and answers
// the directory above; otherwise nothing.
template <class Leave>
void let_go_upwards(Ref<Inode> above, Leave&& leave) {
  while (above && above->references() == 1) {
    Ref<Inode> next = leave(*above);
    above = std::move(next);
  }
}

}  // namespace corral::fs
