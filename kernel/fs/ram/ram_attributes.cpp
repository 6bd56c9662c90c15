// See ram_attributes.h.
#include "fs/ram/ram_attributes.h"

#include "fs/ram/ram_file_system.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"

namespace corral::fs {

RamAttributes::~RamAttributes() {
  LockGuard guard{lock_};
  while (Entry* entry = entries_.pop_front()) dispose_of(entry);
}

Result<RamAttributes::Entry*> RamAttributes::make(std::string_view name, std::span<const u8> value) {
  const u64 size = sizeof(Entry) + name.size() + value.size();
  TRY(file_system_.charge_bytes(size));
  void* storage = memory::allocate(size);
  if (storage == nullptr) {
    file_system_.discharge_bytes(size);
    return Errno::enomem;
  }
  auto* entry = ::new (storage) Entry{};
  entry->name_size = static_cast<u32>(name.size());
  entry->value_size = static_cast<u32>(value.size());
  memcpy(entry->bytes, name.data(), name.size());
  if (!value.empty()) memcpy(entry->bytes + name.size(), value.data(), value.size());
  return entry;
}

void RamAttributes::dispose_of(Entry* entry) {
  if (entry == nullptr) return;
  file_system_.discharge_bytes(entry->size());
  memory::release(entry);
}

u64 RamAttributes::listed_bytes(bool trusted) {
  u64 size = 0;
  entries_.for_each([&](const Entry& entry) { size += entry.is_shown(trusted) ? entry.listed_size() : 0; });
  return size;
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
  Entry* fresh = TRY(make(name, value));
  Entry* unused = fresh;
  const Result<void> outcome = [&]() -> Result<void> {
    LockGuard guard{lock_};
    Entry* old = find(name);
    if (old != nullptr && setting.create) return Errno::eexist;
    if (old == nullptr && setting.replace) return Errno::enodata;
    if (old == nullptr && listed_bytes(true) + fresh->listed_size() > longest_attribute_list) return Errno::enospc;
    if (old != nullptr) entries_.remove(*old);
    entries_.push_back(*fresh);
    unused = old;
    return {};
  }();
  dispose_of(unused);
  return outcome;
}

Result<void> RamAttributes::remove(std::string_view name) {
  Entry* gone = nullptr;
  {
    LockGuard guard{lock_};
    gone = find(name);
    if (gone == nullptr) return Errno::enodata;
    entries_.remove(*gone);
  }
  dispose_of(gone);
  return {};
}

Result<u64> RamAttributes::list(std::span<char> to, bool trusted) {
  LockGuard guard{lock_};
  const u64 size = listed_bytes(trusted);
  if (to.empty()) return size;
  if (to.size() < size) return Errno::erange;
  char* at = to.data();
  entries_.for_each([&](const Entry& entry) {
    if (!entry.is_shown(trusted)) return;
    memcpy(at, entry.bytes, entry.name_size);
    at[entry.name_size] = 0;
    at += entry.listed_size();
  });
  return size;
}

}  // namespace corral::fs
