// The extended attributes of one file in memory: names with their namespace, and values. Made when the first one is set, so that
// all other files pay a pointer. lock_ guards the list; nothing waits, and no user memory is touched under it.
#pragma once

#include <span>
#include <string_view>

#include "fs/inode.h"
#include "lib/intrusive_list.h"
#include "sync/spin_lock.h"

namespace corral::fs {

class RamFileSystem;

class RamAttributes {
 public:
  explicit RamAttributes(RamFileSystem& file_system) : file_system_{file_system} {}
  RamAttributes(const RamAttributes&) = delete;
  RamAttributes& operator=(const RamAttributes&) = delete;
  ~RamAttributes();
  // As those of Inode.
  Result<u64> get(std::string_view name, std::span<u8> to) EXCLUDES(lock_);
  Result<void> set(std::string_view name, std::span<const u8> value, AttributeSetting setting) EXCLUDES(lock_);
  Result<void> remove(std::string_view name) EXCLUDES(lock_);
  Result<u64> list(std::span<char> to, bool trusted) EXCLUDES(lock_);

 private:
  struct Entry {
    ListLink link;
    u32 name_size, value_size;
    u8 bytes[];  // the name, then the value
    [[nodiscard]] std::string_view name() const { return {reinterpret_cast<const char*>(bytes), name_size}; }
    [[nodiscard]] const u8* value() const { return bytes + name_size; }
    [[nodiscard]] u64 size() const { return sizeof(Entry) + name_size + value_size; }
    // In the list of names, with the NUL behind it.
    [[nodiscard]] u64 listed_size() const { return u64{name_size} + 1; }
    [[nodiscard]] bool is_shown(bool trusted) const { return trusted || !name().starts_with("trusted."); }
  };
  // An entry counts against its file system's room from its making to its end. enospc, enomem.
  Result<Entry*> make(std::string_view name, std::span<const u8> value);
  void dispose_of(Entry* entry);  // null: nothing
  [[nodiscard]] Entry* find(std::string_view name) REQUIRES(lock_);
  // What a list of them takes, which is at most longest_attribute_list.
  [[nodiscard]] u64 listed_bytes(bool trusted) REQUIRES(lock_);

  RamFileSystem& file_system_;
  SpinLock lock_{Rank::file_names, "attributes of a file"};
  IntrusiveList<Entry, &Entry::link> entries_ GUARDED_BY(lock_);
};

}  // namespace corral::fs
