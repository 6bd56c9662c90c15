// ext2 on file systems that mkfs.ext2 has made: whatever is done to them e2fsck finds nothing wrong, an operation that had to wait has
// changed nothing, full disks lose nothing, and damaged ones are survived.
// sources: kernel/fs/ext2/geometry.cpp kernel/fs/ext2/transaction.cpp kernel/fs/ext2/volume.cpp kernel/fs/ext2/allocation.cpp
// sources: kernel/fs/ext2/inodes.cpp kernel/fs/ext2/block_map.cpp kernel/fs/ext2/extents.cpp kernel/fs/ext2/shortening.cpp
// sources: kernel/fs/ext2/directory.cpp kernel/fs/ext2/names.cpp kernel/fs/ext2/attributes.cpp kernel/fs/ext2/attribute_area.cpp
#include "fs/ext2/volume.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <set>

#include "support/ext2_abuse.h"
#include "support/host_machine.h"

namespace corral::test {
namespace {

using namespace fs;
using namespace fs::ext2;

constexpr i64 now = 1'700'000'000'123'456'789;
constexpr u32 root = inode::root;
constexpr const char* kinds[] = {"-b 1024 -I 128", "-b 1024 -I 256 -g 1024", "-b 2048",
                                 "-b 4096",        "-b 1024 -r 0",           "-b 1024 -O ^filetype"};

Result<u32> make_block(Volume& volume, u32 file, u64 index) {
  u32 made[1] = {};
  TRY(volume.make_blocks(file, index, 1, made));
  return made[0];
}

class Ext2 : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::vector<u8> image = make_image(size(), GetParam());
    if (image.empty()) GTEST_SKIP() << "there is no mkfs.ext2";
    const Result<void> mounted = disk.mount(image);
    ASSERT_TRUE(mounted.ok()) << static_cast<int>(mounted.error());
  }
  void TearDown() override {
    if (!disk.volume) return;
    EXPECT_EQ(disk.blocks.pins, 0u);
    disk.volume.reset();
  }
  virtual u64 size() { return 6 << 20; }
  Volume& volume() { return *disk.volume; }
  // Until it need not wait; what it leaves when it waits is what was there before.
  template <class Action>
  auto done(Action&& action) {
    for (;;) {
      const bool compare = disk.blocks.wait_one_in != 0 && disk.blocks.random() % 16 == 0;
      std::vector<u8> before;
      if (compare) before = disk.blocks.bytes;
      auto outcome = action();
      if (outcome.ok() || outcome.error() != Errno::blocked) return outcome;
      if (compare) {
        const bool same = before == disk.blocks.bytes;
        EXPECT_TRUE(same) << "waiting has changed something";
        if (!same) std::abort();
      }
    }
  }
  void give_up(u32 file) {
    for (;;) {
      const auto gone = done([&] { return volume().release(file, now); });
      ASSERT_TRUE(gone.ok());
      if (gone.value()) return;
    }
  }
  Mounted disk;
};

TEST_P(Ext2, FilesAndDirectoriesAreMadeAndFound) {
  const u32 d = volume().create(root, "d", {.type = FileType::directory, .permissions = 0755}, now).take();
  const u32 f = volume().create(d, "file", {.permissions = 0640}, now).take();
  const std::string text(100, 'x');
  const u32 slow = volume().create(d, "slow", {.type = FileType::symlink, .permissions = 0777, .target = text}, now).take();
  const u32 fast = volume().create(d, "fast", {.type = FileType::symlink, .permissions = 0777, .target = "/x"}, now).take();
  EXPECT_EQ(volume().create(d, "file", {}, now).error(), Errno::eexist);
  EXPECT_EQ(volume().find(d, "file").take().inode, f);
  EXPECT_EQ(volume().find(d, "none").error(), Errno::enoent);
  EXPECT_EQ(volume().find(f, "file").error(), Errno::enotdir);
  char buffer[200];
  EXPECT_EQ(volume().read_link(slow, buffer).take(), text);
  EXPECT_EQ(volume().read_link(fast, buffer).take(), "/x");
  const Attributes a = volume().attributes(f).take();
  EXPECT_EQ(a.permissions, 0640u);
  EXPECT_EQ(a.modified_ns / 1'000'000'000, now / 1'000'000'000);
  EXPECT_EQ(volume().remove_directory(root, "d", now).error(), Errno::enotempty);
  EXPECT_EQ(volume().unlink(root, "d", now).error(), Errno::eisdir);
  EXPECT_EQ(complaints(disk.blocks.bytes), "");
}

TEST_P(Ext2, LargeAndSparseFilesGrowAndShrink) {
  const u32 f = volume().create(root, "f", {}, now).take();
  const u32 n = volume().geometry().pointers_per_block();
  const u64 places[] = {0, 11, 12, 12 + n - 1, 12 + n, 12 + n + u64{n} * n - 1, 12 + n + u64{n} * n, 12 + n + u64{n} * n + 5};
  std::set<u32> taken;
  for (const u64 place : places) {
    const u32 block = make_block(volume(), f, place).take();
    EXPECT_TRUE(taken.insert(block).second);
    EXPECT_EQ(make_block(volume(), f, place).take(), block);
  }
  EXPECT_EQ(volume().block_of(f, 5).take(), 0u);
  ASSERT_TRUE(volume().set_size(f, (places[7] + 1) * volume().geometry().block_size, now).ok());
  EXPECT_EQ(complaints(disk.blocks.bytes), "");
  for (u32 keep = 7; keep > 0; --keep) {
    while (!volume().shorten(f, places[keep]).take()) {}
    EXPECT_EQ(volume().block_of(f, places[keep]).take(), 0u);
    EXPECT_NE(volume().block_of(f, places[keep - 1]).take(), 0u);
    ASSERT_TRUE(volume().set_size(f, places[keep] * volume().geometry().block_size, now).ok());
    EXPECT_EQ(complaints(disk.blocks.bytes), "") << keep;
  }
  EXPECT_EQ(make_block(volume(), f, u64{1} << 40).error(), Errno::efbig);
}

// Against a model in memory: directories of names.
TEST_P(Ext2, ManyOperationsInAnyOrder) {
  struct Dir {
    std::map<std::string, u32> names;
    u32 parent = 0;
  };
  std::map<u32, Dir> directories;
  std::map<u32, u32> links;  // of files
  directories[root].names["lost+found"] = 11;
  directories[11] = {.names = {}, .parent = root};
  disk.blocks.wait_one_in = 50;
  std::mt19937 random{7};
  const auto pick = [&] { return std::next(directories.begin(), random() % directories.size())->first; };
  const auto name = [&] { return std::string(1 + random() % 60, static_cast<char>('a' + random() % 20)); };
  const auto below = [&](u32 d, u32 top) {
    for (; d != 0; d = directories[d].parent) {
      if (d == top) return true;
    }
    return false;
  };
  for (u32 step = 0; step < 3000; ++step) {
    const u32 d = pick(), e = pick();
    const std::string n = name(), m = name();
    auto& names = directories[d].names;
    const auto found = names.find(n);
    switch (random() % 7) {
      case 0:
      case 1: {
        const bool dir = random() % 4 == 0;
        const auto made =
            done([&] { return volume().create(d, n, {.type = dir ? FileType::directory : FileType::regular}, now); });
        ASSERT_EQ(made.ok(), found == names.end()) << step;
        if (!made.ok()) break;
        names[n] = made.value();
        if (dir) {
          directories[made.value()].parent = d;
        } else {
          links[made.value()] = 1;
          const u32 block = static_cast<u32>(random() % 30);
          ASSERT_TRUE(done([&] { return make_block(volume(), made.value(), block); }).ok());
          ASSERT_TRUE(
              done([&] { return volume().set_size(made.value(), (block + 1) * volume().geometry().block_size, now); }).ok());
        }
        break;
      }
      case 2: {
        const auto gone = done([&] { return volume().unlink(d, n, now); });
        const bool file = found != names.end() && links.contains(found->second);
        ASSERT_EQ(gone.ok(), file) << step;
        if (!file) break;
        if (--links[found->second] == 0) {
          links.erase(found->second);
          give_up(found->second);
        }
        names.erase(found);
        break;
      }
      case 3: {
        const auto gone = done([&] { return volume().remove_directory(d, n, now); });
        const bool empty =
            found != names.end() && directories.contains(found->second) && directories[found->second].names.empty();
        ASSERT_EQ(gone.ok(), empty) << step;
        if (!empty) break;
        give_up(found->second);
        directories.erase(found->second);
        names.erase(found);
        break;
      }
      case 4: {
        if (links.empty()) break;
        const u32 file = std::next(links.begin(), random() % links.size())->first;
        const auto made = done([&] { return volume().link(d, n, file, now); });
        ASSERT_EQ(made.ok(), found == names.end()) << step;
        if (made.ok()) names[n] = file, ++links[file];
        break;
      }
      default: {
        const bool exchange = random() % 3 == 0;
        auto& targets = directories[e].names;
        const auto there = targets.find(m);
        const u32 moved = found == names.end() ? 0 : found->second;
        const u32 other = there == targets.end() ? 0 : there->second;
        if (moved != 0 && directories.contains(moved) && below(e, moved)) break;  // the caller's business
        if (other != 0 && directories.contains(other) && below(d, other)) break;
        const auto renamed = done([&] { return volume().rename(d, n, e, m, exchange, now); });
        if (moved == 0 || (exchange && other == 0)) {
          ASSERT_EQ(renamed.error(), Errno::enoent) << step;
          break;
        }
        if (!renamed.ok()) break;  // of the wrong types
        if (moved == other) break;
        if (exchange) {
          std::swap(found->second, there->second);
          if (directories.contains(moved)) directories[moved].parent = e;
          if (directories.contains(other)) directories[other].parent = d;
          break;
        }
        if (other != 0 && directories.contains(other)) {
          ASSERT_TRUE(directories[other].names.empty()) << step;
          give_up(other);
          directories.erase(other);
        } else if (other != 0 && --links[other] == 0) {
          links.erase(other);
          give_up(other);
        }
        targets[m] = moved;
        names.erase(n);
        if (directories.contains(moved)) directories[moved].parent = e;
      }
    }
  }
  disk.blocks.wait_one_in = 0;
  struct Names final : Volume::Lister {
    std::map<std::string, u32> names;
    bool add(std::string_view n, u32 number, FileType, u64) override {
      if (n != "." && n != "..") names[std::string{n}] = number;
      return true;
    }
  };
  for (const auto& [number, d] : directories) {
    Names there;
    ASSERT_TRUE(volume().list(number, 0, there).ok());
    EXPECT_EQ(there.names, d.names) << number;
  }
  EXPECT_EQ(complaints(disk.blocks.bytes), "");
}

TEST_P(Ext2, AFullDiskLosesNothing) {
  const FileSystemStatistics before = volume().statistics();
  std::vector<u32> files;
  for (u64 i = 0;; ++i) {
    if (i % 400 == 0) {
      const auto made = volume().create(root, "f" + std::to_string(i), {}, now);
      if (!made.ok()) {
        EXPECT_EQ(made.error(), Errno::enospc);
        break;
      }
      files.push_back(made.value());
    }
    const auto block = make_block(volume(), files.back(), i % 400);
    if (!block.ok()) {
      EXPECT_EQ(block.error(), Errno::enospc);
      break;
    }
    ASSERT_TRUE(volume().set_size(files.back(), (i % 400 + 1) * volume().geometry().block_size, now).ok());
  }
  EXPECT_LE(volume().statistics().blocks_free, 3u);
  EXPECT_EQ(complaints(disk.blocks.bytes), "");
  for (size_t i = 0; i < files.size(); ++i) {
    ASSERT_TRUE(volume().unlink(root, "f" + std::to_string(i * 400), now).ok());
    give_up(files[i]);
  }
  EXPECT_EQ(volume().statistics().blocks_free, before.blocks_free);
  EXPECT_EQ(volume().statistics().files_free, before.files_free);
  EXPECT_EQ(complaints(disk.blocks.bytes), "");
}

TEST_P(Ext2, APageGetsAllItsBlocksOrNone) {
  const u32 parts = 4096 / volume().geometry().block_size;
  const u32 all = (1u << parts) - 1;
  u32 blocks[4] = {};
  const u32 f = volume().create(root, "f", {}, now).take();
  disk.blocks.wait_one_in = 4;
  ASSERT_TRUE(done([&] { return volume().make_blocks(f, 3 * parts, all & ~1u, {blocks, parts}); }).ok());
  disk.blocks.wait_one_in = 0;
  EXPECT_EQ(blocks[0], 0u);
  for (u32 i = 1; i < parts; ++i) EXPECT_EQ(volume().block_of(f, 3 * parts + i).take(), blocks[i]);
  ASSERT_TRUE(volume().set_size(f, 4 * 4096, now).ok());

  u64 page = 100;
  for (;; ++page) {
    const auto made = volume().make_blocks(f, page * parts, all, {blocks, parts});
    if (!made.ok()) {
      EXPECT_EQ(made.error(), Errno::enospc);
      break;
    }
  }
  for (u32 i = 0; i < parts; ++i) EXPECT_EQ(volume().block_of(f, page * parts + i).take(), 0u);
  ASSERT_TRUE(volume().set_size(f, page * 4096, now).ok());
  EXPECT_EQ(complaints(disk.blocks.bytes), "");
}

TEST_P(Ext2, InodesRunOut) {
  u32 made = 0;
  Errno error{};
  for (; made < 100'000; ++made) {
    const auto file = volume().create(root, std::to_string(made), {}, now);
    if (!file.ok()) {
      error = file.error();
      break;
    }
  }
  EXPECT_EQ(error, Errno::enospc);
  EXPECT_EQ(complaints(disk.blocks.bytes), "");
}

TEST_P(Ext2, DamagedDisksAreSurvived) {
  fill(volume());
  EXPECT_EQ(complaints(disk.blocks.bytes), "");
  const std::vector<u8>& good = disk.blocks.bytes;
  std::minstd_rand random{11};
  for (u32 round = 0; round < 300; ++round) {
    DamagedBlocks blocks{good, volume().geometry().block_size};
    const u32 hits = 1 + random() % 60;
    for (u32 i = 0; i < hits; ++i) {
      // Mostly where the file system's own blocks are.
      const u64 at = random() % 4 == 0 ? random() % good.size() : 2048 + random() % (400 << 10);
      blocks.damage(at, static_cast<u8>(random() % 2 == 0 ? good[at] ^ 1u << random() % 8 : random()));
    }
    {
      Volume damaged{volume().geometry(), blocks};
      if (damaged.start().ok()) abuse(damaged, random);
    }
    EXPECT_EQ(blocks.pins, 0u);
  }
  (void)host::take_log();
}

INSTANTIATE_TEST_SUITE_P(Kinds, Ext2, ::testing::ValuesIn(kinds));

}  // namespace
}  // namespace corral::test
