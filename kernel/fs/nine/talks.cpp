// See talks.h.
#include "fs/nine/talks.h"

#include "memory/heap.h"
#include "memory/page_allocator.h"

namespace corral::fs::nine {

namespace {

constexpr u64 magic_9p = 0x0102'1997;  // V9FS_MAGIC
constexpr u32 answer_head = header_size + 4;

}  // namespace

Result<void> LookupTalk::talk(Waiter& waiter) {
  Decoder walked = TRY(ask(waiter, Type::walk, [&](Encoder& to) {
    to.word32(from_);
    to.word32(fid);
    to.word16(name_.empty() ? 0 : 1);
    if (!name_.empty()) to.text(name_);
  }));
  if (walked.word16() != (name_.empty() ? 0 : 1)) return Errno::enoent;
  Result<Decoder> answer = ask(waiter, Type::getattr, [&](Encoder& to) {
    to.word32(fid);
    to.word64(attribute_mask);
  });
  if (answer.ok()) {
    attributes = read_attributes(answer.value());
    if (!answer.value().bad()) return {};
  } else if (answer.error() == Errno::blocked) {
    return Errno::blocked;
  }
  server_.clunk(fid);
  return answer.ok() ? Errno::eio : answer.error();
}

Result<void> OpenTalk::talk(Waiter& waiter) {
  (void)TRY(ask(waiter, Type::walk, [&](Encoder& to) {
    to.word32(from_);
    to.word32(fid);
    to.word16(0);
  }));
  const Result<Decoder> opened = ask(waiter, Type::lopen, [&](Encoder& to) {
    to.word32(fid);
    to.word32(flags_);
  });
  if (opened.ok()) return {};
  if (opened.error() != Errno::blocked) server_.clunk(fid);
  return opened.error();
}

ListTalk::~ListTalk() {
  if (page_ != nullptr) memory::release_page(*page_);
}

Decoder ListTalk::names() const {
  return Decoder{std::span<const u8>{page_ == nullptr ? nullptr : memory::contents(*page_), size_}};
}

Result<void> ListTalk::talk(Waiter& waiter) {
  if (opens_) {
    (void)TRY(ask(waiter, Type::walk, [&](Encoder& to) {
      to.word32(directory_);
      to.word32(fid);
      to.word16(0);
    }));
    (void)TRY(ask(waiter, Type::lopen, [&](Encoder& to) {
      to.word32(fid);
      to.word32(o_rdonly | o_directory);
    }));
  }
  Decoder answer = TRY(ask(
      waiter, Type::readdir,
      [&](Encoder& to) {
        to.word32(fid);
        to.word64(position);
        to.word32(page_size);
      },
      page_size + answer_head));
  const u32 size = answer.word32();
  if (size > answer.left() || size > page_size) return Errno::eio;
  page_ = TRY(memory::allocate_page(memory::Zero::no));
  for (u32 i = 0; i < size; ++i) memory::contents(*page_)[i] = answer.byte();
  size_ = size;
  return {};
}

ReadLinkTalk::~ReadLinkTalk() {
  memory::release(text_);
}

Result<void> ReadLinkTalk::talk(Waiter& waiter) {
  Decoder answer = TRY(ask(waiter, Type::readlink, [&](Encoder& to) { to.word32(fid_); }, path_max + 64));
  const std::string_view text = answer.text();
  if (answer.bad() || text.size() >= path_max) return Errno::eio;
  text_ = static_cast<char*>(memory::allocate(text.size() + 1));
  if (text_ == nullptr) return Errno::enomem;
  memcpy(text_, text.data(), text.size());
  size_ = text.size();
  return {};
}

Result<void> StatisticsTalk::talk(Waiter& waiter) {
  Decoder answer = TRY(ask(waiter, Type::statfs, [&](Encoder& to) { to.word32(fid_); }));
  (void)answer.word32();
  const u64 block = answer.word32();
  const u64 blocks = answer.word64();
  const u64 free = answer.word64();
  const u64 available = answer.word64();
  found.magic = magic_9p;
  found.blocks = blocks * block / page_size;
  found.blocks_free = free * block / page_size;
  found.blocks_kept = found.blocks_free - smaller(available * block / page_size, found.blocks_free);
  found.files = answer.word64();
  found.files_free = answer.word64();
  if (answer.bad()) return Errno::eio;
  return {};
}

}  // namespace corral::fs::nine
