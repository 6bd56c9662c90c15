// What PVH and Multiboot2 loaders hand over: read as they mean it, and refused with a sentence when it is damaged. The
// information lies at the very end of the arena, so that reading beyond it is caught.
// sources: kernel/boot/loaders.cpp kernel/boot/pvh.cpp kernel/boot/multiboot2.cpp kernel/boot/memory_map.cpp
#include "boot/loaders.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "arch/page_table.h"
#include "support/host_machine.h"

namespace corral::boot {
namespace {

constexpr u64 arena_base = u64{1} << 20;
constexpr u64 arena_size = u64{64} << 10;

class Bytes {
 public:
  template <class T>
  Bytes& put(T value) {
    const char* raw = reinterpret_cast<const char*>(&value);
    bytes_.insert(bytes_.end(), raw, raw + sizeof(value));
    return *this;
  }
  Bytes& text(std::string_view text) {
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    bytes_.push_back(0);
    return *this;
  }
  Bytes& align() {
    while (bytes_.size() % 8 != 0) bytes_.push_back(0);
    return *this;
  }
  [[nodiscard]] std::vector<char>& raw() { return bytes_; }

 private:
  std::vector<char> bytes_;
};

class Loaders : public testing::Test {
 protected:
  // Puts the bytes at the end of the arena; their address.
  u64 place(const std::vector<char>& bytes) {
    u64 address = arena_base + arena_size - bytes.size();
    std::memcpy(arch::direct<char>({address}), bytes.data(), bytes.size());
    return address;
  }
  host::Memory memory_{{arena_base}, arena_size};
  std::unique_ptr<BootInfo> info_ = std::make_unique<BootInfo>();
};

void map_entry(Bytes& bytes, u64 base, u64 size, u32 type) {
  bytes.put(base).put(size).put(type).put(u32{0});
}

Bytes multiboot() {
  Bytes b;
  b.put(u32{0}).put(u32{0});
  b.put(u32{1}).put(u32{8 + 17}).text("quiet -- a \"b c\"").align();
  b.put(u32{3}).put(u32{17}).put(u32{0x200000}).put(u32{0x201234}).text("").align();
  b.put(u32{6}).put(u32{16 + 48}).put(u32{24}).put(u32{0});
  map_entry(b, 0, 0x9fc00, 1);
  map_entry(b, 0x100000, 0x8000000, 1);
  b.put(u32{15}).put(u32{8 + 36});
  for (int i = 0; i < 36; ++i) b.put(static_cast<u8>(i));
  b.align();
  b.put(u32{8}).put(u32{38}).put(u64{0xc000'0000}).put(u32{5120}).put(u32{1280}).put(u32{800});
  for (u8 field : {32, 1, 0, 0, 16, 8, 8, 8, 0, 8}) b.put(field);
  b.align().put(u32{0}).put(u32{8});
  u32 size = static_cast<u32>(b.raw().size());
  std::memcpy(b.raw().data(), &size, sizeof(size));
  return b;
}

TEST_F(Loaders, MultibootIsUnderstood) {
  EXPECT_EQ(read_multiboot2(place(multiboot().raw()), *info_), "");
  EXPECT_STREQ(info_->command_line, "quiet -- a \"b c\"");
  EXPECT_EQ(info_->initramfs.value, 0x200000u);
  EXPECT_EQ(info_->initramfs_size, 0x1234u);
  EXPECT_EQ(info_->range_count, 2u);
  EXPECT_NE(info_->rsdp.value, 0u);
}

TEST_F(Loaders, APictureIsTakenWhenItCanBeDrawnOn) {
  EXPECT_EQ(read_multiboot2(place(multiboot().raw()), *info_), "");
  EXPECT_TRUE(info_->framebuffer.present());
  EXPECT_EQ(info_->framebuffer.base.value, 0xc000'0000u);
  EXPECT_EQ(info_->framebuffer.pitch, 5120u);
  EXPECT_EQ(info_->framebuffer.height, 800u);
  EXPECT_EQ(info_->framebuffer.red_shift, 16u);
  EXPECT_EQ(info_->framebuffer.blue_shift, 0u);
  const std::vector<char> good = multiboot().raw();
  const auto tag = std::search(good.begin(), good.end(), std::begin("\x08\0\0\0\x26"), std::end("\x08\0\0\0\x26") - 1);
  ASSERT_NE(tag, good.end());
  const size_t at = static_cast<size_t>(tag - good.begin());
  // Depth, kind, pitch, width, red's position: each alone makes it a picture that is left alone.
  for (auto [offset, value] : {std::pair{28, 24}, {29, 2}, {17, 3}, {20, 0x7f}, {32, 25}, {33, 5}}) {
    std::vector<char> bytes = good;
    bytes[at + static_cast<size_t>(offset)] = static_cast<char>(value);
    if (offset == 20) bytes[at + 21] = bytes[at + 20];
    *info_ = BootInfo{};
    EXPECT_EQ(read_multiboot2(place(bytes), *info_), "");
    EXPECT_FALSE(info_->framebuffer.present()) << offset;
  }
}

TEST_F(Loaders, MultibootDamageIsNamed) {
  std::vector<char> bytes = multiboot().raw();
  u32 huge = 0x7fffffff;
  std::memcpy(bytes.data() + 12, &huge, 4);  // the first tag's size
  EXPECT_NE(read_multiboot2(place(bytes), *info_).find("leaves"), std::string_view::npos);
  EXPECT_NE(read_multiboot2(0, *info_), "");
  EXPECT_NE(read_multiboot2(arena_base + 4, *info_), "");
  EXPECT_NE(read_multiboot2(u64{1} << 40, *info_), "");
  Bytes empty;
  empty.put(u32{16}).put(u32{0}).put(u32{0}).put(u32{8});
  EXPECT_NE(read_multiboot2(place(empty.raw()), *info_).find("memory map"), std::string_view::npos);
}

TEST_F(Loaders, MultibootNoiseNeverLeavesTheInformation) {
  std::mt19937 random{3};
  const std::vector<char> good = multiboot().raw();
  for (int round = 0; round < 20'000; ++round) {
    std::vector<char> bytes = good;
    for (u32 n = random() % 6 + 1; n > 0; --n) bytes[4 + random() % (bytes.size() - 4)] = static_cast<char>(random());
    *info_ = BootInfo{};
    (void)read_multiboot2(place(bytes), *info_);
    ASSERT_LE(info_->range_count, BootInfo::max_ranges);
  }
}

TEST_F(Loaders, PvhIsUnderstood) {
  Bytes b;
  constexpr u64 size = 56 + 32 + 48 + 8;
  u64 at = arena_base + arena_size - size;
  b.put(u32{0x336ec578}).put(u32{1}).put(u32{0}).put(u32{1});
  b.put(at + 56).put(at + 136).put(u64{0xf5000}).put(at + 88).put(u32{2}).put(u32{0});
  b.put(u64{0x200000}).put(u64{0x1234}).put(u64{0}).put(u64{0});
  map_entry(b, 0, 0x9fc00, 1);
  map_entry(b, 0x100000, 0x8000000, 1);
  b.text("quiet").align();
  ASSERT_EQ(b.raw().size(), size);
  EXPECT_EQ(read_pvh(place(b.raw()), *info_), "");
  EXPECT_STREQ(info_->command_line, "quiet");
  EXPECT_EQ(info_->initramfs_size, 0x1234u);
  EXPECT_EQ(info_->range_count, 2u);
  EXPECT_EQ(info_->rsdp.value, 0xf5000u);

  std::vector<char> old = b.raw();
  old[4] = 0;  // version 0 has no memory map
  EXPECT_NE(read_pvh(place(old), *info_).find("memory map"), std::string_view::npos);
  old = b.raw();
  old[0] = 0;
  EXPECT_NE(read_pvh(place(old), *info_).find("magic"), std::string_view::npos);
  old = b.raw();
  old[15] = 0x70;  // modules: any number, the list is still in reach
  EXPECT_EQ(read_pvh(place(old), *info_), "");
  old = b.raw();
  old[47] = 0x70;  // address of the memory map
  EXPECT_NE(read_pvh(place(old), *info_).find("out of reach"), std::string_view::npos);
}

TEST_F(Loaders, LongCommandLinesAreCutAtAWord) {
  std::string line;
  while (line.size() < 4000) line += "option=value ";
  set_command_line(*info_, line);
  size_t length = std::strlen(info_->command_line);
  EXPECT_LT(length, BootInfo::max_command_line);
  EXPECT_EQ(std::string_view(info_->command_line).substr(length - 12), "option=value");
}

}  // namespace
}  // namespace corral::boot
