// Extended attributes of an ext2: against a model, with e2fsck as the judge; those of other tools are read; blocks that files share are
// copied before they are written.
// sources: kernel/fs/ext2/geometry.cpp kernel/fs/ext2/transaction.cpp kernel/fs/ext2/volume.cpp kernel/fs/ext2/allocation.cpp
// sources: kernel/fs/ext2/inodes.cpp kernel/fs/ext2/block_map.cpp kernel/fs/ext2/extents.cpp kernel/fs/ext2/shortening.cpp
// sources: kernel/fs/ext2/directory.cpp kernel/fs/ext2/names.cpp kernel/fs/ext2/attributes.cpp kernel/fs/ext2/attribute_area.cpp
#include <gtest/gtest.h>

#include "fs/ext2/attribute_area.h"
#include "support/ext2_image.h"
#include "support/host_machine.h"

namespace corral::test {
namespace {

using namespace fs;
using namespace fs::ext2;

constexpr i64 now = 1'700'000'000'123'456'789;
constexpr u32 root = inode::root;
constexpr const char* with_attributes[] = {"-b 1024 -I 128", "-b 1024 -I 256", "-b 2048", "-b 4096"};
constexpr const char* without_attributes[] = {"-b 1024 -r 0",
                                              "-b 1024 -O ^ext_attr"};  // as far as they say: nobody has set one yet

std::span<const u8> bytes_of(const std::string& text) {
  return {reinterpret_cast<const u8*>(text.data()), text.size()};
}

class Ext2Attributes : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::vector<u8> image = make_image(2 << 20, GetParam());
    if (image.empty()) GTEST_SKIP() << "there is no mkfs.ext2";
    ASSERT_TRUE(disk.mount(image).ok());
  }
  void TearDown() override {
    EXPECT_EQ(disk.blocks.pins, 0u);
    disk.volume.reset();
  }
  Volume& volume() { return *disk.volume; }
  template <class Action>
  auto done(Action&& action) {
    for (;;) {
      auto outcome = action();
      if (outcome.ok() || outcome.error() != Errno::blocked) return outcome;
    }
  }
  Errno set(u32 file, const std::string& name, const std::string& value, AttributeSetting setting = {}) {
    const auto outcome = done([&] { return volume().set_attribute(file, name, bytes_of(value), setting, now); });
    return outcome.ok() ? Errno{} : outcome.error();
  }
  Errno remove(u32 file, const std::string& name) {
    const auto outcome = done([&] { return volume().remove_attribute(file, name, now); });
    return outcome.ok() ? Errno{} : outcome.error();
  }
  // "?": it is not there.
  std::string get(u32 file, const std::string& name) {
    std::vector<u8> to(5000);
    const auto size = done([&] { return volume().attribute(file, name, to); });
    if (!size.ok()) return size.error() == Errno::enodata ? "?" : "an error";
    return {to.begin(), to.begin() + static_cast<std::ptrdiff_t>(size.value())};
  }
  std::map<std::string, bool> names(u32 file, bool trusted = true) {
    std::vector<char> to(8192);
    const auto size = done([&] { return volume().list_attributes(file, to, trusted); });
    EXPECT_TRUE(size.ok());
    std::map<std::string, bool> found;
    for (u64 at = 0; at < size.value(); at += strlen(to.data() + at) + 1) found[to.data() + at] = true;
    return found;
  }
  u32 block_of(u32 file) { return get32(volume().read_inode(file).value().at(inode::attribute_block)); }
  Mounted disk;
};

TEST_P(Ext2Attributes, AreKeptAsLinuxKeepsThem) {
  const u32 f = volume().create(root, "f", {}, now).take();
  const u64 sectors = volume().attributes(f).take().blocks;
  EXPECT_EQ(get(f, "user.a"), "?");
  EXPECT_EQ(set(f, "user.a", "one", {.replace = true}), Errno::enodata);
  EXPECT_EQ(remove(f, "user.a"), Errno::enodata);
  EXPECT_EQ(set(f, "user.a", "one", {.create = true}), Errno{});
  EXPECT_EQ(volume().attributes(f).take().blocks, sectors + volume().geometry().block_size / 512);
  EXPECT_EQ(set(f, "user.a", "two", {.create = true}), Errno::eexist);
  EXPECT_EQ(set(f, "system.a", "x"), Errno::eopnotsupp);
  const std::string letters = "user.\xc3\xa4\xff\x80 name";  // hashed as negative numbers
  const std::string values[] = {"", "1", "12", "123", "1234", "\xff\xfe\xfd\xfc\xfb"};
  for (const std::string& value : values) {
    EXPECT_EQ(set(f, "trusted.t", value), Errno{});
    EXPECT_EQ(set(f, letters, value), Errno{});
    EXPECT_EQ(set(f, "security.s", value), Errno{});
    EXPECT_EQ(get(f, letters), value);
    EXPECT_EQ(complaints(disk.blocks.bytes), "") << value;
  }
  const std::map<std::string, bool> all{{"user.a", true}, {letters, true}, {"trusted.t", true}, {"security.s", true}};
  EXPECT_EQ(names(f), all);
  EXPECT_EQ(names(f, false).size(), 3u);
  u8 small[2];
  EXPECT_EQ(volume().attribute(f, "user.a", small).error(), Errno::erange);
  EXPECT_EQ(volume().attribute(f, "user.a", {}).take(), 3u);
  char list[10];
  EXPECT_EQ(volume().list_attributes(f, list, true).error(), Errno::erange);
  const u32 size = volume().geometry().block_size;
  EXPECT_EQ(set(f, "user.big", std::string(size + 1, 'x')), Errno::erange);
  EXPECT_EQ(set(f, "user.big", std::string(size - 32, 'x')), Errno::enospc);
  EXPECT_EQ(set(f, "user.a", std::string(size - 200, 'x')), Errno{});
  EXPECT_EQ(set(f, "user.a", std::string(size - 32, 'x')), Errno::enospc);
  EXPECT_EQ(get(f, "user.a").size(), size - 200);
  EXPECT_EQ(complaints(disk.blocks.bytes), "");
  for (const auto& [name, there] : all) EXPECT_EQ(remove(f, name), Errno{});
  EXPECT_EQ(names(f).size(), 0u);
  EXPECT_EQ(volume().attributes(f).take().blocks, sectors);
  EXPECT_EQ(complaints(disk.blocks.bytes), "");
}

// Against a model; blocks have to be waited for, and files of every type go with what they have.
TEST_P(Ext2Attributes, ManyChangesInAnyOrder) {
  disk.blocks.wait_one_in = 9;
  std::minstd_rand random{5};
  const FileType types[] = {FileType::regular, FileType::directory, FileType::symlink, FileType::fifo};
  std::vector<u32> files;
  for (u32 i = 0; i < 8; ++i) {
    const Volume::Making making{.type = types[i % 4], .permissions = 0700, .target = i % 4 == 2 ? "/short" : ""};
    files.push_back(done([&] { return volume().create(root, std::to_string(i), making, now); }).take());
  }
  std::vector<std::map<std::string, std::string>> model(files.size());
  for (u32 turn = 0; turn < 3000; ++turn) {
    const u32 which = random() % files.size();
    std::string name = random() % 3 == 0 ? "trusted." : "user.";
    name += std::string(1 + random() % 3, static_cast<char>('a' + random() % 4));
    if (random() % 3 == 0) {
      EXPECT_EQ(remove(files[which], name), model[which].erase(name) != 0 ? Errno{} : Errno::enodata);
    } else {
      const std::string value(random() % 90, static_cast<char>(random()));
      const Errno error = set(files[which], name, value);
      if (error == Errno{}) model[which][name] = value;
      EXPECT_TRUE(error == Errno{} || error == Errno::enospc);
    }
    for (const auto& [known, value] : model[which]) EXPECT_EQ(get(files[which], known), value);
    EXPECT_EQ(names(files[which]).size(), model[which].size());
    if (turn % 500 == 0) EXPECT_EQ(complaints(disk.blocks.bytes), "") << turn;
  }
  EXPECT_EQ(complaints(disk.blocks.bytes), "");
  for (u32 i = 0; i < files.size(); ++i) {
    const std::string name = std::to_string(i);
    const auto removed =
        done([&] { return i % 4 == 1 ? volume().remove_directory(root, name, now) : volume().unlink(root, name, now); });
    EXPECT_TRUE(removed.ok());
    while (!done([&] { return volume().release(files[i], now); }).take()) continue;
  }
  EXPECT_EQ(complaints(disk.blocks.bytes), "");
}

// Linux lets files with the same attributes share a block.
TEST_P(Ext2Attributes, SharedBlocksAreCopiedBeforeTheyAreWritten) {
  u32 files[3];
  for (u32 i = 0; i < 3; ++i) files[i] = volume().create(root, std::to_string(i), {}, now).take();
  EXPECT_EQ(set(files[0], "user.shared", "value"), Errno{});
  const u32 block = block_of(files[0]), size = volume().geometry().block_size;
  u8* header = disk.blocks.bytes.data() + u64{block} * size;
  header[attribute_block::references] = 3;
  for (const u32 file : {files[1], files[2]}) {
    const InodeBlock inode = volume().read_inode(file).take();
    for (u32 i = 0; i < 4; ++i) inode.at(inode::attribute_block)[i] = static_cast<u8>(block >> 8 * i);
    inode.at(inode::sectors)[0] = static_cast<u8>(size / 512);
  }
  ASSERT_EQ(complaints(disk.blocks.bytes), "");
  EXPECT_EQ(set(files[1], "user.own", "more"), Errno{});
  EXPECT_EQ(get(files[1], "user.shared"), "value");
  EXPECT_EQ(get(files[0], "user.own"), "?");
  EXPECT_NE(block_of(files[1]), block);
  EXPECT_EQ(header[attribute_block::references], 2);
  EXPECT_EQ(complaints(disk.blocks.bytes), "");
  EXPECT_EQ(remove(files[2], "user.shared"), Errno{});
  EXPECT_EQ(block_of(files[2]), 0u);
  EXPECT_EQ(get(files[0], "user.shared"), "value");
  EXPECT_EQ(complaints(disk.blocks.bytes), "");
  EXPECT_EQ(set(files[0], "user.shared", "other"), Errno{});
  EXPECT_EQ(block_of(files[0]), block);
  EXPECT_EQ(complaints(disk.blocks.bytes), "");
}

// Those that Linux's tools write: into large inodes where they fit, and into blocks.
class Ext2ForeignAttributes : public Ext2Attributes {};

TEST_P(Ext2ForeignAttributes, AreReadAndChanged) {
  const std::string large(300, 'l');
  const TemporaryFile value{large};
  ASSERT_TRUE(volume().create(root, "file", {}, now).ok());
  const std::vector<u8> image = changed_by_debugfs(
      disk.blocks.bytes, "ea_set /file user.small little\nea_set -f " + value.name() + " /file user.large\n");
  disk.volume.reset();
  ASSERT_TRUE(disk.mount(image).ok());
  const u32 f = volume().find(root, "file").take().inode;
  EXPECT_EQ(get(f, "user.small"), "little");
  EXPECT_EQ(get(f, "user.large"), large);
  EXPECT_EQ(names(f).size(), 2u);
  EXPECT_EQ(set(f, "user.small", "other"), Errno{});
  EXPECT_EQ(set(f, "user.third", "3"), Errno{});
  EXPECT_EQ(complaints(disk.blocks.bytes), "");
  EXPECT_EQ(set(f, "user.small", std::string(200, 's')), Errno{});  // too long for the inode
  EXPECT_EQ(get(f, "user.small"), std::string(200, 's'));
  EXPECT_EQ(get(f, "user.large"), large);
  EXPECT_EQ(names(f).size(), 3u);
  EXPECT_EQ(complaints(disk.blocks.bytes), "");
  for (const auto& [name, there] : names(f)) EXPECT_EQ(remove(f, name), Errno{});
  EXPECT_EQ(names(f).size(), 0u);
  EXPECT_EQ(complaints(disk.blocks.bytes), "");
}

INSTANTIATE_TEST_SUITE_P(With, Ext2Attributes, ::testing::ValuesIn(with_attributes));
INSTANTIATE_TEST_SUITE_P(Without, Ext2Attributes, ::testing::ValuesIn(without_attributes));
INSTANTIATE_TEST_SUITE_P(With, Ext2ForeignAttributes, ::testing::ValuesIn(with_attributes));

}  // namespace
}  // namespace corral::test
