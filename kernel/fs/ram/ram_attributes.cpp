// See ram_attributes.h.
#include "fs/ram/ram_attributes.h"

#include "fs/ram/ram_file_system.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"

namespace corral::fs {

RamAttributes::~RamAttributes() {
  LockGuard guard{lock_};
  while (Entry* entry = entries_.pop_front()) {
    file_system_.discharge_bytes(entry->size());
    memory::release(entry);
  }
}

RamAttributes::Entry* RamAttributes::make(std::string_view name, std::span<const u8> value) {
  void* storage = memory::allocate(sizeof(Entry) + name.size() + value.size());
  if (storage == nullptr) return nullptr;
  auto* entry = ::new (storage) Entry{};
  entry->name_size = static_cast<u32>(name.size());
  entry->value_size = static_cast<u32>(value.size());
  memcpy(entry->bytes, name.data(), name.size());
  if (!value.empty()) memcpy(entry->bytes + name.size(), value.data(), value.size());
  return entry;
}

RamAttributes::Entry* RamAttributes::find(std::string_view name) {
  for (Entry* entry = entries_.front(); entry != nullptr; entry = entries_.next(*entry)) {
    if (entry->name() == name) return entry;
  }
  return nullptr;
}

Result<u64> RamAttributes::get(std::string_view name, std::span<u8> to) {
  LockGuard guard{lock_};
  const Entry* entry = find(name);
  if (entry == nullptr) return Errno::enodata;
  if (to.empty()) return u64{entry->value_size};
  if (to.size() < entry->value_size) return Errno::erange;
  if (entry->value_size > 0) memcpy(to.data(), entry->value(), entry->value_size);
  return u64{entry->value_size};
}

Result<void> RamAttributes::set(std::string_view name, std::span<const u8> value, AttributeSetting setting) {
  Entry* fresh = make(name, value);
  if (fresh == nullptr) return Errno::enomem;
  Entry* unused = fresh;  // released without the lock
  const Result<void> outcome = [&]() -> Result<void> {
    LockGuard guard{lock_};
    Entry* old = find(name);
    if (old != nullptr && setting.create) return Errno::eexist;
    if (old == nullptr && setting.replace) return Errno::enodata;
    if (old == nullptr && names_bytes_ + name.size() + 1 > longest_attribute_list) return Errno::enospc;
    TRY(file_system_.charge_bytes(fresh->size()));
    if (old != nullptr) {
      file_system_.discharge_bytes(old->size());
      entries_.remove(*old);
    } else {
      names_bytes_ += name.size() + 1;
    }
    entries_.push_back(*fresh);
    unused = old;
    return {};
  }();
  memory::release(unused);
  return outcome;
}

Result<void> RamAttributes::remove(std::string_view name) {
  Entry* gone = nullptr;
  {
    LockGuard guard{lock_};
    gone = find(name);
    if (gone == nullptr) return Errno::enodata;
    entries_.remove(*gone);
    names_bytes_ -= name.size() + 1;
    file_system_.discharge_bytes(gone->size());
  }
  memory::release(gone);
  return {};
}

Result<u64> RamAttributes::list(std::span<char> to, bool trusted) {
  LockGuard guard{lock_};
  u64 size = 0;
  for (Entry* entry = entries_.front(); entry != nullptr; entry = entries_.next(*entry)) {
    if (!trusted && entry->name().starts_with("trusted.")) continue;
    const u64 needed = entry->name_size + u64{1};
    if (!to.empty()) {
      if (to.size() - size < needed) return Errno::erange;
      memcpy(to.data() + size, entry->bytes, entry->name_size);
      to[size + entry->name_size] = 0;
    }
    size += needed;
  }
  return size;
}

}  // namespace corral::fs
