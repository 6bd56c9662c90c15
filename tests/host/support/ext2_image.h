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

// Bytes in a file that others can name, as long as this exists.
class TemporaryFile {
 public:
  template <class Bytes = std::string>
  explicit TemporaryFile(const Bytes& bytes = {}) {
    const int file = mkstemp(name_);
    if (file < 0) std::abort();
    close(file);
    std::ofstream{name_, std::ios::binary}.write(reinterpret_cast<const char*>(bytes.data()),
                                                 static_cast<std::streamsize>(bytes.size()));
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::remove(name_); }
  [[nodiscard]] std::string name() const { return name_; }
  template <class Bytes>
  [[nodiscard]] Bytes contents() const {
    std::ifstream file{name_, std::ios::binary | std::ios::ate};
    Bytes bytes(static_cast<size_t>(file.tellg()), 0);
    file.seekg(0).read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return bytes;
  }

 private:
  char name_[24] = "/tmp/corral-ext2-XXXXXX";
};

// One of the programs for ext2, which tells nothing, or tells `told`; its exit status.
inline int run_ext2_tool(const std::string& command, const std::string& told = "/dev/null") {
  return std::system(("PATH=$PATH:/sbin:/usr/sbin " + command + " >" + told + " 2>&1").c_str());
}

// What mkfs.ext2 makes of so many bytes; empty: it does not work here.
inline std::vector<u8> make_image(u64 size, const std::string& options) {
  const TemporaryFile image{std::vector<u8>(size)};
  if (run_ext2_tool("mkfs.ext2 -q -F " + options + " " + image.name()) != 0) return {};
  return image.contents<std::vector<u8>>();
}

// The image after debugfs has executed these commands, a line each; empty: it does not work here.
inline std::vector<u8> changed_by_debugfs(const std::vector<u8>& bytes, const std::string& commands) {
  const TemporaryFile image{bytes}, list{commands};
  if (run_ext2_tool("debugfs -w -f " + list.name() + " " + image.name()) != 0) return {};
  return image.contents<std::vector<u8>>();
}

// What e2fsck has to say about it; empty: nothing.
inline std::string complaints(const std::vector<u8>& bytes) {
  const TemporaryFile image{bytes}, told;
  const int status = run_ext2_tool("e2fsck -fn " + image.name(), told.name());
  return status == 0 ? std::string{} : told.contents<std::string>();
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
