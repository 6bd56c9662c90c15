// See newc.h.
#include "fs/newc.h"

namespace corral::fs {

namespace {

constexpr u64 header_size = 110;  // magic and 13 fields of 8 digits
constexpr u64 max_name = 4096;
constexpr std::string_view trailer = "TRAILER!!!";

constexpr u64 aligned(u64 offset) {
  return (offset + 3) & ~u64{3};
}

bool hexadecimal(const u8* digits, u32& value) {
  value = 0;
  for (u32 i = 0; i < 8; ++i) {
    const u8 c = digits[i];
    u32 digit = 0;
    if (c >= '0' && c <= '9') {
      digit = c - u32{'0'};
    } else if (c >= 'a' && c <= 'f') {
      digit = c - u32{'a'} + 10;
    } else if (c >= 'A' && c <= 'F') {
      digit = c - u32{'A'} + 10;
    } else {
      return false;
    }
    value = value << 4 | digit;
  }
  return true;
}

std::string_view text(std::span<const u8> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool starts_with(std::span<const u8> bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && text(bytes.first(magic.size())) == magic;
}

bool is_compressed(std::span<const u8> bytes) {
  using namespace std::string_view_literals;
  for (std::string_view magic : {"\x1f\x8b"sv,
                                 "\xfd"
                                 "7zXZ\0"sv,
                                 "\x28\xb5\x2f\xfd"sv, "BZh"sv, "\x5d\0\0"sv, "\x02!L\x18"sv, "\x89LZO"sv}) {
    if (starts_with(bytes, magic)) return true;
  }
  return false;
}

bool climbs(std::string_view name) {
  while (!name.empty()) {
    std::size_t size = 0;
    while (size < name.size() && name[size] != '/') ++size;
    if (size == 2 && name[0] == '.' && name[1] == '.') return true;
    name.remove_prefix(size < name.size() ? size + 1 : size);
  }
  return false;
}

}  // namespace

const char* describe(NewcProblem problem) {
  switch (problem) {
    case NewcProblem::none: return "no problem";
    case NewcProblem::not_an_archive: return "no cpio archive of the newc kind (070701) here";
    case NewcProblem::compressed: return "the archive is compressed; give it uncompressed";
    case NewcProblem::bad_number: return "a header field is not a hexadecimal number";
    case NewcProblem::bad_name: return "a name is empty, too long, not terminated or contains \"..\"";
    case NewcProblem::truncated: return "the archive ends in the middle of a file";
    case NewcProblem::bad_checksum: return "a file's contents do not have their checksum";
  }
  return "unknown problem";
}

bool NewcReader::fail(NewcProblem problem, u64 offset) {
  problem_ = problem;
  offset_ = offset < archive_.size() ? offset : archive_.size();
  return false;
}

bool NewcReader::header_at(u64 offset, NewcEntry& entry, u64& name_size, u64& data_size) {
  const std::span<const u8> rest = archive_.subspan(offset);
  const bool checked = starts_with(rest, "070702");
  if (!checked && !starts_with(rest, "070701")) {
    if (is_compressed(rest)) return fail(NewcProblem::compressed, offset);
    if (rest.size() < 6 && offset > 0) return fail(NewcProblem::truncated, offset);
    return fail(NewcProblem::not_an_archive, offset);
  }
  if (rest.size() < header_size) return fail(NewcProblem::truncated, offset);
  u32 field[13];
  for (u32 i = 0; i < 13; ++i) {
    if (!hexadecimal(rest.data() + 6 + u64{i} * 8, field[i])) return fail(NewcProblem::bad_number, offset + 6 + u64{i} * 8);
  }
  entry.inode = field[0];
  entry.mode = field[1];
  entry.user = field[2];
  entry.group = field[3];
  entry.links = field[4];
  entry.modified = field[5];
  data_size = field[6];
  entry.device_major = field[7];
  entry.device_minor = field[8];
  entry.special_major = field[9];
  entry.special_minor = field[10];
  name_size = field[11];
  entry.checksum = field[12];
  entry.checksum_known = checked;
  return true;
}

bool NewcReader::next(NewcEntry& entry) {
  if (problem_ != NewcProblem::none) return false;
  for (;;) {
    if (offset_ > 0) {  // between archives, and behind the last one: zeros
      while (offset_ < archive_.size() && archive_[offset_] == 0) ++offset_;
      if (offset_ >= archive_.size()) return false;
    } else if (archive_.empty()) {
      return fail(NewcProblem::not_an_archive, 0);
    }
    const u64 start = offset_;
    u64 name_size = 0;
    u64 data_size = 0;
    if (!header_at(start, entry, name_size, data_size)) return false;
    const u64 name_start = start + header_size;
    if (name_size < 2 || name_size > max_name) return fail(NewcProblem::bad_name, start + 94);
    if (name_size > archive_.size() - name_start) return fail(NewcProblem::truncated, name_start);
    std::string_view name = text(archive_.subspan(name_start, name_size - 1));
    if (archive_[name_start + name_size - 1] != 0) return fail(NewcProblem::bad_name, name_start);
    for (char c : name) {
      if (c == 0) return fail(NewcProblem::bad_name, name_start);
    }
    const u64 data_start = aligned(name_start + name_size);
    if (data_start > archive_.size() || data_size > archive_.size() - data_start) {
      return fail(NewcProblem::truncated, data_size == 0 ? name_start : data_start);
    }
    offset_ = aligned(data_start + data_size);
    if (offset_ > archive_.size()) offset_ = archive_.size();
    if (name == trailer) continue;
    while (name.size() > 1 && (name.front() == '/' || (name.front() == '.' && name[1] == '/'))) {
      name.remove_prefix(name.front() == '/' ? 1 : 2);
    }
    if (name.empty() || name == "/") name = ".";
    if (climbs(name)) return fail(NewcProblem::bad_name, name_start);
    entry.name = name;
    entry.data = archive_.subspan(data_start, data_size);
    if (entry.checksum_known) {
      u32 sum = 0;
      for (u8 byte : entry.data) sum += byte;
      if (sum != entry.checksum) return fail(NewcProblem::bad_checksum, data_start);
    }
    return true;
  }
}

}  // namespace corral::fs
