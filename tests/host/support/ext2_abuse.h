// Damaged ext2 file systems, used in every way that there is: nothing is promised but that it ends, and stays within its blocks.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "support/ext2_image.h"

namespace corral::test {

// An image that is changed in some bytes. Each block that is used is memory of its own, so that AddressSanitizer sees its ends.
class DamagedBlocks final : public fs::ext2::BlockStore {
 public:
  DamagedBlocks(std::span<const u8> image, u32 size_of_block) : image_{image}, block_size_{size_of_block} {}
  void damage(u64 offset, u8 value) {
    if (u8* block = bytes_of(static_cast<u32>(offset / block_size_))) block[offset % block_size_] = value;
  }
  u8* bytes_of(u32 block) {
    if (u64{block} * block_size_ + block_size_ > image_.size()) return nullptr;
    std::unique_ptr<u8[]>& own = blocks_[block];
    if (!own) {
      own = std::make_unique<u8[]>(block_size_);
      std::copy_n(image_.begin() + std::ptrdiff_t{block} * block_size_, block_size_, own.get());
    }
    return own.get();
  }
  Result<Pin> pin(u32 block) override {
    u8* bytes = bytes_of(block);
    if (bytes == nullptr) return Errno::eio;
    ++pins;
    return Pin{bytes, nullptr};
  }
  void unpin(const Pin&) override { --pins; }
  void changed(u32) override {}
  Result<void> forget(u32) override { return {}; }
  u64 pins = 0;

 private:
  std::span<const u8> image_;
  const u32 block_size_;
  std::map<u32, std::unique_ptr<u8[]>> blocks_;
};

inline void set_attribute(fs::ext2::Volume& volume, u32 file, const char* name, u64 size) {
  const std::vector<u8> value(size, 'v');
  (void)volume.set_attribute(file, name, value, {}, 0);
}

// Some directories and files, for there to be something that can be damaged.
inline void fill(fs::ext2::Volume& volume) {
  using namespace fs::ext2;
  const u32 d = volume.create(inode::root, "d", {.type = fs::FileType::directory}, 0).take();
  const u32 parts = 4096 / volume.geometry().block_size;
  const std::string longer(200, 'x');
  (void)volume.create(d, "link", {.type = fs::FileType::symlink, .target = longer}, 0);
  (void)volume.create(d, "short", {.type = fs::FileType::symlink, .target = "/x"}, 0);
  for (u32 i = 0; i < 24; ++i) {
    const u32 f = volume.create(i % 2 == 0 ? inode::root : d, "file" + std::to_string(i), {}, 0).take();
    u32 blocks[4] = {};
    for (u64 page = 0; page < 4; ++page) (void)volume.make_blocks(f, page * 7 * i, 15, {blocks, parts});
    (void)volume.set_size(f, (21 * i + 1) * 4096, 0);
    set_attribute(volume, f, "user.name", 10 * i);
    if (i % 2 == 0) set_attribute(volume, f, "trusted.other", i);
  }
}

// Everything that a mounted volume is asked for, on what it lists.
template <class Random>
void abuse(fs::ext2::Volume& volume, Random& random) {
  using namespace fs::ext2;
  struct Walk final : Volume::Lister {
    std::vector<std::pair<std::string, u32>> names;
    bool add(std::string_view n, u32 number, fs::FileType, u64) override {
      names.emplace_back(n, number);
      return names.size() < 200;
    }
  };
  std::vector<u32> directories{inode::root};
  const u32 parts = 4096 / volume.geometry().block_size;
  for (size_t at = 0; at < directories.size(); ++at) {
    const u32 directory = directories[at];
    // A directory that claims to be large is searched for long each time: it is only listed.
    const auto opened = volume.read_inode(directory);
    const bool small = opened.ok() && opened.value().size() <= 64 << 10;
    Walk walk;
    (void)volume.list(directory, at * 12, walk);
    for (const auto& [name, number] : walk.names) {
      char text[64];
      u32 blocks[4] = {};
      const auto file = volume.read_inode(number);
      if (!file.ok()) continue;
      const fs::FileType type = file.value().type();
      (void)volume.attributes(number);
      (void)volume.read_link(number, text);
      u8 value[300];
      (void)volume.attribute(number, "user.name", value);
      (void)volume.list_attributes(number, text, true);
      for (u64 block = 0; block < (u64{1} << 33); block = block * 9 + 1) (void)volume.block_of(number, block);
      if (name == "." || name == "..") continue;
      if (type == fs::FileType::directory && directories.size() < 6) directories.push_back(number);
      if (!volume.geometry().writable || !small) continue;
      (void)volume.make_blocks(number, random() % 1000 * parts, 15, {blocks, parts});
      if (random() % 2 == 0) (void)volume.remove_attribute(number, "trusted.other", 0);
      set_attribute(volume, number, random() % 2 == 0 ? "user.name" : "security.new", random() % 400);
      (void)volume.rename(directory, name, directory, name + "x", false, 0);
      for (u32 i = 0; i < 20 && type == fs::FileType::regular; ++i) {
        const auto gone = random() % 2 == 0 ? volume.shorten(number, 2) : volume.release(number, 0);
        if (!gone.ok() || gone.value()) break;
      }
      (void)volume.unlink(directory, name + "x", 0);
      (void)volume.remove_directory(directory, name + "x", 0);
    }
    if (!volume.geometry().writable || !small) continue;
    for (u32 i = 0; i < 4; ++i) {
      (void)volume.create(directory, "new" + std::to_string(i), {.type = fs::FileType::directory}, 0);
    }
  }
  (void)volume.statistics();
  if (volume.geometry().writable) (void)volume.mark(true, 0);
}

}  // namespace corral::test
