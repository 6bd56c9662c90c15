// An ext2 file system in memory: made by mkfs.ext2, used through the kernel's volume, checked by e2fsck.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "fs/ext2/volume.h"

namespace corral::test {

// Blocks in memory. Counts pins; makes callers wait as a disk would, when told to.
class MemoryBlocks final : public fs::ext2::BlockStore {
 public:
  std::vector<u8> bytes;
  u32 block_size = 1024;
  u32 pins = 0;
  u32 wait_one_in = 0;  // of so many blocks that are asked for; 0: never
  std::minstd_rand random{1};

  Result<Pin> pin(u32 block) override {
    if (u64{block} * block_size + block_size > bytes.size()) return Errno::eio;
    if (wait_one_in != 0 && random() % wait_one_in == 0) return Errno::blocked;
    ++pins;
    return Pin{bytes.data() + u64{block} * block_size, nullptr};
  }
  void unpin(const Pin&) override { --pins; }
  void changed(u32) override {}
  Result<void> forget(u32) override { return {}; }
};

inline std::string temporary_name() {
  char name[] = "/tmp/corral-ext2-XXXXXX";
  const int file = mkstemp(name);
  if (file < 0) std::abort();
  close(file);
  return name;
}

// What mkfs.ext2 makes of so many bytes; empty: it does not work here.
inline std::vector<u8> make_image(u64 size, const std::string& options) {
  const std::string name = temporary_name();
  std::ofstream{name}.seekp(static_cast<std::streamoff>(size) - 1).put(0);
  const std::string command = "PATH=$PATH:/sbin:/usr/sbin mkfs.ext2 -q -F " + options + " " + name + " >/dev/null 2>&1";
  std::vector<u8> bytes;
  if (std::system(command.c_str()) == 0) {
    std::ifstream file{name, std::ios::binary};
    bytes.assign(std::istreambuf_iterator<char>{file}, {});
  }
  std::remove(name.c_str());
  return bytes;
}

// The image after debugfs has executed these commands, a line each.
inline std::vector<u8> changed_by_debugfs(const std::vector<u8>& bytes, const std::string& commands) {
  const std::string name = temporary_name(), list = temporary_name();
  std::ofstream{name, std::ios::binary}.write(reinterpret_cast<const char*>(bytes.data()),
                                              static_cast<std::streamsize>(bytes.size()));
  std::ofstream{list} << commands;
  const std::string command = "PATH=$PATH:/sbin:/usr/sbin debugfs -w -f " + list + " " + name + " >/dev/null 2>&1";
  std::vector<u8> changed;
  if (std::system(command.c_str()) == 0) {
    std::ifstream file{name, std::ios::binary};
    changed.assign(std::istreambuf_iterator<char>{file}, {});
  }
  std::remove(name.c_str());
  std::remove(list.c_str());
  return changed;
}

// What e2fsck has to say about it; empty: nothing.
inline std::string complaints(const std::vector<u8>& bytes) {
  const std::string name = temporary_name();
  const std::string told = name + ".told";
  std::ofstream{name, std::ios::binary}.write(reinterpret_cast<const char*>(bytes.data()),
                                              static_cast<std::streamsize>(bytes.size()));
  const std::string command = "PATH=$PATH:/sbin:/usr/sbin e2fsck -fn " + name + " >" + told + " 2>&1";
  const int status = std::system(command.c_str());
  std::ifstream file{told};
  std::string text{std::istreambuf_iterator<char>{file}, {}};
  std::remove(name.c_str());
  std::remove(told.c_str());
  return status == 0 ? std::string{} : text;
}

struct Mounted {
  MemoryBlocks blocks;
  std::unique_ptr<fs::ext2::Volume> volume;
  // einval, euclean …: it cannot be.
  Result<void> mount(std::vector<u8> image) {
    using namespace fs::ext2;
    blocks.bytes = std::move(image);
    if (blocks.bytes.size() < superblock_offset + superblock_size) return Errno::einval;
    const char* why = nullptr;
    const Geometry geometry =
        TRY(read_geometry(std::span<const u8, superblock_size>{blocks.bytes.data() + superblock_offset, superblock_size},
                          blocks.bytes.size(), why));
    blocks.block_size = geometry.block_size;
    volume = std::make_unique<Volume>(geometry, blocks);
    TRY(volume->start());
    return {};
  }
};

}  // namespace corral::test
