// See attribute_area.h.
#include "fs/ext2/attribute_area.h"

#include "fs/ext2/format.h"
#include "lib/memory_functions.h"

namespace corral::fs::ext2 {

namespace {

namespace field {  // of an entry
constexpr u32 name_size = 0, kind = 1, value_at = 2, value_block = 4, value_size = 8, hash = 12, name = 16;
}

struct Prefix {
  u32 kind;
  std::string_view text;
};
constexpr Prefix prefixes[] = {
    {attributes_of_users, "user."}, {trusted_attributes, "trusted."}, {security_attributes, "security."}};

constexpr u32 padded(u64 size) {
  return static_cast<u32>((size + 3) & ~u64{3});
}

void set16(u8* at, u32 value) {
  at[0] = static_cast<u8>(value);
  at[1] = static_cast<u8>(value >> 8);
}

void set32(u8* at, u32 value) {
  set16(at, value);
  set16(at + 2, value >> 16);
}

// The order in a block: namespace, length, letters. Below zero: a is first.
int compare(const AttributeName& a, const AttributeName& b) {
  if (a.kind != b.kind) return a.kind < b.kind ? -1 : 1;
  if (a.rest.size() != b.rest.size()) return a.rest.size() < b.rest.size() ? -1 : 1;
  return a.rest.compare(b.rest);
}

// Letters beyond ASCII count as negative, as on x86 they always have.
u32 hash_of(const AttributeName& name, std::span<const u8> value) {
  u32 hash = 0;
  for (const char c : name.rest)
    hash = (hash << 5) ^ (hash >> 27) ^ static_cast<u32>(static_cast<i32>(static_cast<signed char>(c)));
  for (u64 at = 0; at < value.size(); at += 4) {
    u32 word = 0;
    for (u64 i = at; i < at + 4 && i < value.size(); ++i) word |= u32{value[i]} << 8 * (i - at);
    hash = (hash << 16) ^ (hash >> 16) ^ word;
  }
  return hash;
}

// Puts entries behind one another, values before one another.
class Writer {
 public:
  Writer(std::span<u8> to, u32 first) : to_{to}, at_{first}, values_{static_cast<u32>(to.size())} {}
  // False: no room.
  bool add(const AttributeEntry& entry) {
    constexpr u32 end = 4;  // zeros behind the last one
    const u32 size = padded(field::name + entry.name.rest.size());
    const u32 value = padded(entry.value.size());
    if (u64{at_} + size + end + value > values_) return false;
    values_ -= value;
    u8* at = to_.data() + at_;
    at[field::name_size] = static_cast<u8>(entry.name.rest.size());
    at[field::kind] = static_cast<u8>(entry.name.kind);
    set32(at + field::value_size, static_cast<u32>(entry.value.size()));
    set32(at + field::hash, entry.hash);
    memcpy(at + field::name, entry.name.rest.data(), entry.name.rest.size());
    if (!entry.value.empty()) {
      set16(at + field::value_at, values_);
      memcpy(to_.data() + values_, entry.value.data(), entry.value.size());
    }
    at_ += size;
    ++count_;
    return true;
  }
  [[nodiscard]] u32 count() const { return count_; }

 private:
  std::span<u8> to_;
  u32 at_, values_;
  u32 count_ = 0;
};

}  // namespace

Result<AttributeName> split_attribute_name(std::string_view name) {
  for (const Prefix& prefix : prefixes) {
    if (!name.starts_with(prefix.text)) continue;
    name.remove_prefix(prefix.text.size());
    return AttributeName{prefix.kind, name};
  }
  return Errno::eopnotsupp;
}

std::string_view attribute_prefix(u32 kind) {
  for (const Prefix& prefix : prefixes) {
    if (prefix.kind == kind) return prefix.text;
  }
  return {};
}

AttributeEntry make_attribute(const AttributeName& name, std::span<const u8> value) {
  return {name, value, hash_of(name, value)};
}

bool AttributeArea::is_valid() const {
  const u64 end = bytes_.size();
  u64 at = first_;
  while (at + 4 <= end) {
    const u8* entry = bytes_.data() + at;
    if (get32(entry) == 0) return true;
    if (at + field::name > end) return false;
    if (get32(entry + field::value_block) != 0) return false;
    const u64 size = get32(entry + field::value_size);
    if (size != 0 && get16(entry + field::value_at) + size > end) return false;
    at += padded(field::name + u64{entry[field::name_size]});
  }
  return end == 0;
}

bool AttributeArea::next(u32& at, AttributeEntry& entry) const {
  if (bytes_.empty()) return false;
  const u8* from = bytes_.data() + at;
  if (get32(from) == 0) return false;
  const u64 name_size = from[field::name_size];
  entry.name = {from[field::kind], {reinterpret_cast<const char*>(from) + field::name, name_size}};
  const u64 size = get32(from + field::value_size);
  entry.value = size == 0 ? std::span<const u8>{} : std::span<const u8>{bytes_.data() + get16(from + field::value_at), size};
  entry.hash = get32(from + field::hash);
  at += padded(field::name + name_size);
  return true;
}

bool AttributeArea::find(const AttributeName& name, AttributeEntry& entry) const {
  for (u32 at = first_; next(at, entry);) {
    if (compare(entry.name, name) == 0) return true;
  }
  return false;
}

Result<u32> rewrite_attributes(const AttributeArea& from, std::span<u8> to, const AttributeName& name,
                               const AttributeEntry* put) {
  memset(to.data(), 0, to.size());
  Writer writer{to, from.begin()};
  bool fits = true;
  const auto put_now = [&] {
    if (put != nullptr) fits = writer.add(*put) && fits;
    put = nullptr;
  };
  AttributeEntry old;
  for (u32 at = from.begin(); from.next(at, old);) {
    const int order = compare(name, old.name);
    if (order <= 0) put_now();
    if (order != 0) fits = writer.add(old) && fits;
  }
  put_now();
  if (!fits) return Errno::enospc;
  return writer.count();
}

void attribute_block::finish(std::span<u8> block) {
  set32(block.data() + magic_number, magic);
  set32(block.data() + references, 1);
  set32(block.data() + blocks, 1);
  u32 all = 0;
  AttributeEntry entry;
  const AttributeArea area{block, first_entry};
  for (u32 at = first_entry; area.next(at, entry);) {
    if (entry.hash == 0) {  // there is one whose hash nobody knows
      all = 0;
      break;
    }
    all = (all << 16) ^ (all >> 16) ^ entry.hash;
  }
  set32(block.data() + hash, all);
}

}  // namespace corral::fs::ext2
