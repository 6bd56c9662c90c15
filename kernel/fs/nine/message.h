// Messages of 9P2000.L: writing requests, reading answers. Little-endian numbers, strings with a 16-bit length in front.
//
// Answers come from outside and are not trusted: reading beyond the end gives zeros and marks the answer as bad. Pure;
// tested and fuzzed on the host.
// Sources: Plan 9 manual, section 5 (intro(5)); the 9P2000.L description of the diod project (protocol.md).
#pragma once

#include <span>
#include <string_view>

#include "lib/memory_functions.h"
#include "lib/types.h"

namespace corral::fs::nine {

enum class Type : u8 {
  error = 7,  // Rlerror
  statfs = 8,
  lopen = 12,
  lcreate = 14,
  symlink = 16,
  mknod = 18,
  readlink = 22,
  getattr = 24,
  setattr = 26,
  readdir = 40,
  fsync = 50,
  link = 70,
  mkdir = 72,
  renameat = 74,
  unlinkat = 76,
  version = 100,
  attach = 104,
  walk = 110,
  read = 116,
  write = 118,
  clunk = 120,
};
// An answer's type is the request's plus one.

inline constexpr u32 header_size = 7;  // size, type, tag
inline constexpr u32 no_fid = ~u32{0};
inline constexpr u16 no_tag = 0xffff;

// What tells files of a server apart.
struct Qid {
  static constexpr u8 type_directory = 0x80, type_symlink = 0x02;
  u8 type = 0;
  u32 version = 0;
  u64 path = 0;
};

// Writes a request. Too long for the buffer: cut, and overflowed() says so.
class Encoder {
 public:
  explicit Encoder(std::span<u8> to) : to_{to} {}
  void byte(u8 value) { number(value, 1); }
  void word16(u16 value) { number(value, 2); }
  void word32(u32 value) { number(value, 4); }
  void word64(u64 value) { number(value, 8); }
  void text(std::string_view value);
  void begin(Type type, u16 tag);  // the header; its size is written by finish()
  // Completes the header; `more`: bytes that follow the buffer. Answers the bytes in the buffer.
  u32 finish(u64 more = 0);
  [[nodiscard]] bool overflowed() const { return overflowed_; }

 private:
  void number(u64 value, u32 bytes);
  std::span<u8> to_;
  u64 used_ = 0;
  bool overflowed_ = false;
};

class Decoder {
 public:
  explicit Decoder(std::span<const u8> from) : from_{from} {}
  u8 byte() { return static_cast<u8>(number(1)); }
  u16 word16() { return static_cast<u16>(number(2)); }
  u32 word32() { return static_cast<u32>(number(4)); }
  u64 word64() { return number(8); }
  std::string_view text();  // lies in the message
  Qid qid();
  [[nodiscard]] u64 left() const { return from_.size() - used_; }
  // Something was read that was not there.
  [[nodiscard]] bool bad() const { return bad_; }

 private:
  u64 number(u32 bytes);
  std::span<const u8> from_;
  u64 used_ = 0;
  bool bad_ = false;
};

// The head of an answer: checks its length against what came, and its type and tag against what was asked.
// False: not an answer to that. `error`: an Rlerror's code, else 0.
[[nodiscard]] bool check_answer(Decoder& answer, u64 came, Type asked, u16 tag, u32& error);

// Rgetattr.
struct FileAttributes {
  Qid qid;
  u32 mode = 0, user = 0, group = 0;
  u64 links = 0, special = 0, size = 0, blocks = 0;
  i64 accessed_ns = 0, modified_ns = 0, changed_ns = 0;
};
[[nodiscard]] FileAttributes read_attributes(Decoder& answer);
inline constexpr u64 attribute_mask = 0x7ff;  // everything but birth, generation and version

// One name of an Rreaddir. False: no more.
struct DirectoryName {
  Qid qid;
  u64 next = 0;
  u8 type = 0;
  std::string_view name;
};
[[nodiscard]] bool next_name(Decoder& answer, DirectoryName& to);

}  // namespace corral::fs::nine
