// Extended attributes as they lie in a block, or behind the fields of a large inode: entries with names from the front, values from the
// back. Both are read; an area is changed by writing it anew. Pure. Nothing in it is believed: an area is checked once, as a whole.
// Source: Documentation/filesystems/ext4, "Extended Attributes"; what e2fsck demands of them.
#pragma once

#include <span>
#include <string_view>

#include "lib/result.h"
#include "lib/types.h"

namespace corral::fs::ext2 {

// A name's namespace is a number on the disk.
struct AttributeName {
  u32 kind = 0;
  std::string_view rest;  // behind the namespace and its dot
};
inline constexpr u32 attributes_of_users = 1, trusted_attributes = 4, security_attributes = 6;
// eopnotsupp: there is no such namespace.
Result<AttributeName> split_attribute_name(std::string_view name);
// "user." …; empty: it is not shown.
[[nodiscard]] std::string_view attribute_prefix(u32 kind);

struct AttributeEntry {
  AttributeName name;
  std::span<const u8> value;
  u32 hash = 0;
};
[[nodiscard]] AttributeEntry make_attribute(const AttributeName& name, std::span<const u8> value);

class AttributeArea {
 public:
  AttributeArea() = default;  // empty
  // Entries begin at `first`; values are found from the beginning of `bytes`, which stay where they are.
  AttributeArea(std::span<const u8> bytes, u32 first) : bytes_{bytes}, first_{first} {}
  // Every entry and value lies inside. If not, nothing else is asked.
  [[nodiscard]] bool is_valid() const;
  [[nodiscard]] u32 begin() const { return first_; }
  // The entry at `at`, which moves behind it. False: there are no more.
  bool next(u32& at, AttributeEntry& entry) const;
  bool find(const AttributeName& name, AttributeEntry& entry) const;

 private:
  std::span<const u8> bytes_;
  u32 first_ = 0;
};

// Writes an area into `to`, the rest of which becomes zero: all of `from` but the entry `name`, and in its place `put`, if given; in order, if
// the old ones are. Answers how many entries there are. enospc: no room.
Result<u32> rewrite_attributes(const AttributeArea& from, std::span<u8> to, const AttributeName& name,
                               const AttributeEntry* put);

// A block of attributes.
namespace attribute_block {
inline constexpr u32 magic_number = 0, references = 4, blocks = 8, hash = 12, first_entry = 32;
inline constexpr u32 magic = 0xea02'0000;
// Fills in the header of a block for one user, with entries from first_entry on.
void finish(std::span<u8> block);
}  // namespace attribute_block

}  // namespace corral::fs::ext2
