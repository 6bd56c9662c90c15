// See message.h.
#include "fs/nine/message.h"

namespace corral::fs::nine {

namespace {

// Seconds and nanoseconds; what cannot be is cut to what can.
i64 read_time(Decoder& answer) {
  constexpr u64 most_seconds = 9'000'000'000;
  u64 seconds = answer.word64();
  u64 ns = answer.word64();
  if (seconds > most_seconds) seconds = 0;
  if (ns > 999'999'999) ns = 0;
  return static_cast<i64>(seconds * 1'000'000'000 + ns);
}

}  // namespace

void Encoder::number(u64 value, u32 bytes) {
  if (bytes > to_.size() - used_) {
    overflowed_ = true;
    return;
  }
  for (u32 i = 0; i < bytes; ++i) to_[used_ + i] = static_cast<u8>(value >> 8 * i);
  used_ += bytes;
}

void Encoder::text(std::string_view value) {
  word16(static_cast<u16>(value.size()));
  if (value.size() > 0xffff || value.size() > to_.size() - used_) {
    overflowed_ = true;
    return;
  }
  memcpy(to_.data() + used_, value.data(), value.size());
  used_ += value.size();
}

void Encoder::begin(Type type, u16 tag) {
  used_ = 0;
  word32(0);
  byte(static_cast<u8>(type));
  word16(tag);
}

u32 Encoder::finish(u64 more) {
  const u32 used = static_cast<u32>(used_);
  used_ = 0;
  word32(static_cast<u32>(used + more));
  used_ = used;
  return used;
}

u64 Decoder::number(u32 bytes) {
  if (bytes > left()) {
    bad_ = true;
    used_ = from_.size();
    return 0;
  }
  u64 value = 0;
  for (u32 i = bytes; i-- > 0;) value = value << 8 | from_[used_ + i];
  used_ += bytes;
  return value;
}

std::string_view Decoder::text() {
  const u16 size = word16();
  if (size > left()) {
    bad_ = true;
    used_ = from_.size();
    return {};
  }
  const std::string_view found{reinterpret_cast<const char*>(from_.data() + used_), size};
  used_ += size;
  return found;
}

Qid Decoder::qid() {
  Qid found;
  found.type = byte();
  found.version = word32();
  found.path = word64();
  return found;
}

bool check_answer(Decoder& answer, u64 came, Type asked, u16 tag, u32& error) {
  error = 0;
  if (came < header_size) return false;
  const u32 size = answer.word32();
  const u8 type = answer.byte();
  const u16 its_tag = answer.word16();
  if (size > came || size < header_size || its_tag != tag) return false;
  if (type == static_cast<u8>(Type::error)) {
    error = answer.word32();
    return !answer.bad() && error != 0;
  }
  return type == static_cast<u8>(asked) + 1;
}

FileAttributes read_attributes(Decoder& answer) {
  FileAttributes a;
  (void)answer.word64();  // which are valid: all basic ones are always sent
  a.qid = answer.qid();
  a.mode = answer.word32();
  a.user = answer.word32();
  a.group = answer.word32();
  a.links = answer.word64();
  a.special = answer.word64();
  a.size = answer.word64();
  (void)answer.word64();  // the server's block size
  a.blocks = answer.word64();
  a.accessed_ns = read_time(answer);
  a.modified_ns = read_time(answer);
  a.changed_ns = read_time(answer);
  return a;
}

bool next_name(Decoder& answer, DirectoryName& to) {
  if (answer.left() == 0) return false;
  to.qid = answer.qid();
  to.next = answer.word64();
  to.type = answer.byte();
  to.name = answer.text();
  return !answer.bad() && !to.name.empty() && to.name.find('/') == std::string_view::npos &&
         to.name.find('\0') == std::string_view::npos;
}

}  // namespace corral::fs::nine
