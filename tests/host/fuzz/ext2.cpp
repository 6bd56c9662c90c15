// File systems of mkfs in which any bytes of the file system's own blocks have any values: superblock, groups, bitmaps, inodes,
// directories, block numbers, extents, extended attributes. Whatever is done then ends, stays within blocks, and lets go of all that it has pinned.
// Where mkfs.ext2 is missing there is nothing to damage, and nothing is tested.
// sources: kernel/fs/ext2/geometry.cpp kernel/fs/ext2/transaction.cpp kernel/fs/ext2/volume.cpp kernel/fs/ext2/allocation.cpp
// sources: kernel/fs/ext2/inodes.cpp kernel/fs/ext2/block_map.cpp kernel/fs/ext2/extents.cpp kernel/fs/ext2/shortening.cpp
// sources: kernel/fs/ext2/directory.cpp kernel/fs/ext2/names.cpp kernel/fs/ext2/attributes.cpp kernel/fs/ext2/attribute_area.cpp

#include <cstdlib>

#include "support/ext2_abuse.h"
#include "support/host_machine.h"

namespace corral::test {
namespace {

struct Image {
  std::vector<u8> bytes;
  u32 block_size = 0;
  std::vector<u32> used;  // blocks that are not all zero
};

std::vector<Image> make_images() {
  std::vector<Image> images;
  const std::string attributes =
      "mkdir with\nea_set /with user.name value\nea_set /with user.more 1\n";  // in the inode where it is large
  const std::string kinds[] = {
      "-b 1024 -I 128 -N 64",  "-b 1024 -I 256 -N 64",
      "-b 2048 -N 64",         "-b 4096 -N 64",
      "-b 1024 -g 256 -N 128", "-t ext4 -b 1024 -N 64 -O ^has_journal,^resize_inode -d /etc/alternatives"};
  for (const std::string& options : kinds) {
    Mounted made;
    if (!made.mount(changed_by_debugfs(make_image(1 << 20, options), attributes)).ok()) continue;
    if (made.volume->geometry().writable) fill(*made.volume);
    Image image{made.blocks.bytes, made.volume->geometry().block_size, {}};
    for (u32 block = 0; block < image.bytes.size() / image.block_size; ++block) {
      bool zero = true;
      for (u32 i = 0; i < image.block_size; ++i) zero = zero && image.bytes[u64{block} * image.block_size + i] == 0;
      if (!zero) image.used.push_back(block);
    }
    images.push_back(std::move(image));
  }
  return images;
}

const std::vector<Image>& all_images() {
  static const std::vector<Image> images = make_images();
  return images;
}

}  // namespace
}  // namespace corral::test

// Before the first input, whose time is measured.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  (void)corral::test::all_images();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, size_t size) {
  using namespace corral;
  using namespace corral::test;
  const std::vector<Image>& images = all_images();
  if (size < 2 || images.empty()) return 0;
  const Image& image = images[bytes[0] % images.size()];
  std::minstd_rand random{bytes[1] + 1u};
  DamagedBlocks blocks{image.bytes, image.block_size};
  constexpr size_t record = 5;
  for (size_t at = 2; at + record <= size; at += record) {
    const u32 block = image.used[(bytes[at] | bytes[at + 1] << 8) % image.used.size()];
    const u32 offset = (bytes[at + 2] | bytes[at + 3] << 8) % image.block_size;
    blocks.damage(u64{block} * image.block_size + offset, bytes[at + 4]);
  }
  u8 superblock[fs::ext2::superblock_size];
  const u32 first = fs::ext2::superblock_offset;
  std::copy_n(blocks.bytes_of(first / image.block_size) + first % image.block_size, sizeof superblock, superblock);
  const char* why = nullptr;
  const auto geometry = fs::ext2::read_geometry(superblock, image.bytes.size(), why);
  if (geometry.ok() && geometry.value().block_size == image.block_size) {
    fs::ext2::Volume volume{geometry.value(), blocks};
    if (volume.start().ok()) abuse(volume, random);
  }
  if (blocks.pins != 0) std::abort();
  (void)host::take_log();
  return 0;
}
