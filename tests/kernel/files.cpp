// In the kernel: files in memory, their names, pipes and generated text, down to the last page.
#include "core/core.h"
#include "fs/file_table.h"
#include "fs/inode.h"
#include "fs/page_index.h"
#include "fs/pipe.h"
#include "fs/ram/ram_directory.h"
#include "fs/ram/ram_file.h"
#include "fs/text_buffer.h"
#include "fs/transfer.h"
#include "fs/walk.h"
#include "kernel_test.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"
#include "memory/page_allocator.h"
#include "task/executive.h"

namespace corral::tests {

namespace {

using namespace fs;

Thread& this_thread() {
  return *this_core().executive->current();
}

u64 pages_free() {
  memory::trim_heap();
  const memory::PageStatistics pages = memory::page_statistics();
  return pages.free_global + pages.free_local;
}

u64 objects() {
  return memory::heap_statistics().objects;
}

constinit u8 block[4 * page_size] = {};

// Bytes that differ from place to place.
u8 byte_at(u64 place) {
  return static_cast<u8>(place * 7 + place / 251);
}

bool write_pattern(Inode& file, u64 offset, u64 size) {
  for (u64 i = 0; i < size; ++i) block[i] = byte_at(offset + i);
  Transfer from{std::span<const u8>{block, size}};
  const Result<u64> done = file.write(offset, from, 0, size);
  return done.ok() && done.value() == size;
}

bool has_pattern(Inode& file, u64 offset, u64 size) {
  memset(block, 0xee, size);
  const Result<u64> got = file.read_kernel(offset, {block, size});
  if (!got.ok() || got.value() != size) return false;
  for (u64 i = 0; i < size; ++i) {
    if (block[i] != byte_at(offset + i)) return false;
  }
  return true;
}

bool is_zero(Inode& file, u64 offset, u64 size) {
  memset(block, 0xee, size);
  const Result<u64> got = file.read_kernel(offset, {block, size});
  if (!got.ok() || got.value() != size) return false;
  for (u64 i = 0; i < size; ++i) {
    if (block[i] != 0) return false;
  }
  return true;
}

Ref<RamFileSystem> file_system(u64 pages) {
  Result<Ref<RamFileSystem>> made = RamFileSystem::create("tmpfs", pages);
  return made.ok() ? made.take() : Ref<RamFileSystem>{};
}

Ref<Inode> make(Inode& directory, std::string_view name, FileType type = FileType::regular) {
  Result<Ref<Inode>> made = directory.create(name, {.type = type, .permissions = 0644});
  return made.ok() ? made.take() : Ref<Inode>{};
}

bool fails(const Result<void>& result, Errno error) {
  return !result.ok() && result.error() == error;
}

}  // namespace

KERNEL_TEST(fs_page_index_grows_and_gives_everything_back) {
  const u64 before = pages_free();
  const u64 tables = PageIndex::tables_in_use();
  {
    PageIndex index;
    for (u64 at : {u64{0}, u64{511}, u64{512}, u64{300'000}, u64{1} << 30}) {
      Result<Frame*> frame = memory::allocate_page(memory::Zero::no);
      KERNEL_EXPECT(frame.ok() && index.insert(at, *frame.value()).ok() && index.find(at) == frame.value());
    }
    KERNEL_EXPECT(PageIndex::tables_in_use() >= tables + 8 &&
                  PageIndex::tables_in_use() == tables + (before - pages_free()) - 5);
    KERNEL_EXPECT(index.find(1) == nullptr && index.find(513) == nullptr && index.find(PageIndex::max_pages - 1) == nullptr);
    KERNEL_EXPECT(index.remove_from(512) == 3 && index.find(512) == nullptr && index.find(511) != nullptr);
    KERNEL_EXPECT(index.remove_from(0) == 2 && index.find(0) == nullptr);
  }
  KERNEL_EXPECT(pages_free() == before && PageIndex::tables_in_use() == tables);
  KERNEL_PASSED;
}

namespace {

const char* use_a_file() {
  Ref<RamFileSystem> ram = file_system(100);
  KERNEL_EXPECT(ram);
  Ref<Inode> root = ram->root();
  Ref<Inode> file = make(*root, "f");
  KERNEL_EXPECT(file && write_pattern(*file, 100, 3 * page_size));
  KERNEL_EXPECT(file->attributes().size == 100 + 3 * page_size && is_zero(*file, 0, 100));
  KERNEL_EXPECT(has_pattern(*file, 100, 3 * page_size));
  KERNEL_EXPECT(file->read_kernel(100 + 3 * page_size, {block, 1}).value() == 0);
  // Shrinking forgets what was there, also within a page.
  KERNEL_EXPECT(file->resize(150).ok() && file->resize(3000).ok());
  KERNEL_EXPECT(has_pattern(*file, 100, 50) && is_zero(*file, 150, 2850));
  KERNEL_EXPECT(!file->resize(RamFile::max_size + 1).ok());
  // A hole far away costs little.
  KERNEL_EXPECT(write_pattern(*file, u64{1} << 40, 10) && has_pattern(*file, u64{1} << 40, 10));
  KERNEL_EXPECT(is_zero(*file, u64{1} << 30, page_size) && ram->statistics().blocks_free > 90);
  KERNEL_EXPECT(root->unlink("f").ok());
  file = {};
  KERNEL_EXPECT(ram->statistics().blocks_free == 100);
  root = {};
  ram->dismantle();
  return nullptr;
}

}  // namespace

KERNEL_TEST(fs_file_holds_what_is_written) {
  // The first time this core may get pages for objects of kinds that it has not made before, which it keeps.
  const char* fault = use_a_file();
  if (fault != nullptr) return fault;
  const u64 before = pages_free();
  const u64 objects_before = objects();
  fault = use_a_file();
  if (fault != nullptr) return fault;
  KERNEL_EXPECT(pages_free() == before && objects() == objects_before);
  KERNEL_PASSED;
}

KERNEL_TEST(fs_file_system_has_a_limit) {
  Ref<RamFileSystem> ram = file_system(4);
  KERNEL_EXPECT(ram);
  {
    Ref<Inode> root = ram->root();
    Ref<Inode> file = make(*root, "f");
    KERNEL_EXPECT(file && write_pattern(*file, 0, 3 * page_size));
    memset(block, 1, 2 * page_size);
    Transfer from{std::span<const u8>{block, 2 * page_size}};
    const Result<u64> part = file->write(3 * page_size, from, 0, 2 * page_size);
    KERNEL_EXPECT(part.ok() && part.value() == page_size);
    const Result<u64> none = file->write(4 * page_size, from, 0, 1);
    KERNEL_EXPECT(!none.ok() && none.error() == Errno::enospc);
    KERNEL_EXPECT(file->resize(0).ok() && write_pattern(*file, 0, 4 * page_size));
  }
  ram->dismantle();
  KERNEL_PASSED;
}

namespace {

const char* use_an_origin() {
  static constexpr u8 origin[page_size + 10] = {1, 2, 3};
  Ref<RamFileSystem> ram = file_system(10);
  KERNEL_EXPECT(ram);
  Ref<Inode> root = ram->root();
  Ref<Inode> file = make(*root, "f");
  KERNEL_EXPECT(file);
  static_cast<RamFile&>(*file).set_origin(origin);
  KERNEL_EXPECT(file->attributes().size == sizeof origin && ram->statistics().blocks_free == 10);
  KERNEL_EXPECT(file->read_kernel(0, {block, 3}).value() == 3 && block[2] == 3);
  Transfer from{std::span<const u8>{block, 1}};
  // A copy of what came with the archive is not counted, or a full file system would leave no program that can run.
  KERNEL_EXPECT(file->write(1, from, 0, 1).ok() && ram->statistics().blocks_free == 10);
  KERNEL_EXPECT(file->write(2 * page_size, from, 0, 1).ok() && ram->statistics().blocks_free == 9);
  KERNEL_EXPECT(file->resize(sizeof origin).ok() && ram->statistics().blocks_free == 10);
  KERNEL_EXPECT(file->read_kernel(0, {block, 3}).value() == 3 && block[1] == 1 && block[2] == 3 && origin[1] == 2);
  Result<Ref<vm::Backing>> backing = file->backing();
  KERNEL_EXPECT(backing.ok());
  const Result<Frame*> page = backing.value()->page(1);
  KERNEL_EXPECT(page.ok() && memory::contents(*page.value())[11] == 0);
  memory::release_page(*page.value());
  KERNEL_EXPECT(!backing.value()->page(2).ok());
  KERNEL_EXPECT(file->resize(2).ok() && file->resize(page_size).ok() && is_zero(*file, 2, page_size - 2));
  file = {};
  root = {};
  ram->dismantle();
  return nullptr;
}

}  // namespace

KERNEL_TEST(fs_origin_is_used_until_written) {
  const char* fault = use_an_origin();  // as above
  if (fault != nullptr) return fault;
  const u64 before = pages_free();
  fault = use_an_origin();
  if (fault != nullptr) return fault;
  KERNEL_EXPECT(pages_free() == before);
  KERNEL_PASSED;
}

KERNEL_TEST(fs_names) {
  const u64 before = objects();
  {
    Ref<RamFileSystem> ram = file_system(10);
    KERNEL_EXPECT(ram);
    Ref<Inode> root = ram->root();
    Ref<Inode> a = make(*root, "a", FileType::directory);
    Ref<Inode> b = make(*a, "b", FileType::directory);
    Ref<Inode> f = make(*b, "f");
    KERNEL_EXPECT(a && b && f && root->attributes().links == 3 && f->attributes().links == 1);
    KERNEL_EXPECT(!root->create("a", {.type = FileType::regular}).ok());
    KERNEL_EXPECT(fails(root->remove_directory("a"), Errno::enotempty) && fails(root->unlink("a"), Errno::eisdir));
    KERNEL_EXPECT(fails(b->remove_directory("f"), Errno::enotdir) && fails(root->unlink("x"), Errno::enoent));
    KERNEL_EXPECT(fails(root->rename("a", *b, "a", 0), Errno::einval));
    KERNEL_EXPECT(fails(b->rename("f", *root, "a", 0), Errno::enotempty));
    KERNEL_EXPECT(root->link("g", *f).ok() && f->attributes().links == 2 && fails(root->link("h", *a), Errno::eperm));
    KERNEL_EXPECT(root->rename("g", *b, "f", 0).ok() && root->lookup("g").ok());  // the same file: nothing happens
    KERNEL_EXPECT(b->rename("f", *root, "g", 0).ok());                            // still the same file
    KERNEL_EXPECT(root->unlink("g").ok() && b->rename("f", *root, "g", 0).ok() && !b->lookup("f").ok());
    KERNEL_EXPECT(fails(a->rename("b", *root, "g", 1), Errno::eexist));           // RENAME_NOREPLACE
    KERNEL_EXPECT(a->rename("b", *root, "g", 2).ok());                            // RENAME_EXCHANGE
    KERNEL_EXPECT(root->lookup("g").value().get() == b.get() && a->lookup("b").value().get() == f.get());
    KERNEL_EXPECT(a->attributes().links == 2 && root->attributes().links == 4);
    const WalkStart start{nullptr, root, a};
    KERNEL_EXPECT(find(start, "/a/../g/.", Follow::yes).value().get() == b.get());
    KERNEL_EXPECT(find(start, "b", Follow::yes).value().get() == f.get() && !find(start, "b/", Follow::yes).ok());
    KERNEL_EXPECT(find(start, "../../..", Follow::yes).value().get() == root.get());
    KERNEL_EXPECT(root->create("loop", {.type = FileType::symlink, .target = "loop"}).ok());
    KERNEL_EXPECT(find(start, "/loop", Follow::yes).error() == Errno::eloop && find(start, "/loop", Follow::no).ok());
    char text[100];
    KERNEL_EXPECT(path_below(*f, *root, text).value() == "/a/b" && path_below(*root, *root, text).value() == "/");
    KERNEL_EXPECT(a->unlink("b").ok() && root->remove_directory("a").ok());
    KERNEL_EXPECT(!a->create("late", {.type = FileType::regular}).ok() && !a->parent().ok());
    a = {};
    b = {};
    f = {};
    root = {};
    ram->dismantle();
  }
  KERNEL_EXPECT(objects() == before);
  KERNEL_PASSED;
}

namespace {

// Random writes, reads and changes of size; null, or what did not hold.
const char* exercise_pipe() {
  Result<Pipe*> made = memory::make<Pipe>(true);
  KERNEL_EXPECT(made.ok());
  Ref<Pipe> pipe = Ref<Pipe>::adopt(made.value());
  pipe->add_end(true, true);
  u64 written = 0;
  u64 read = 0;
  u64 random = 88172645463325252;
  for (u32 round = 0; round < 3000; ++round) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    const u64 size = random % sizeof block + 1;
    if ((random >> 40 & 1) != 0) {
      for (u64 i = 0; i < size; ++i) block[i] = byte_at(written + i);
      Transfer from{std::span<const u8>{block, size}};
      const Result<u64> done = pipe->write(this_thread(), from, true);
      KERNEL_EXPECT(done.ok() || done.error() == Errno::eagain);
      if (done.ok()) written += done.value();
    } else {
      Transfer to{std::span<u8>{block, size}};
      const Result<u64> done = pipe->read(this_thread(), to, true);
      KERNEL_EXPECT(done.ok() || (done.error() == Errno::eagain && written == read));
      if (!done.ok()) continue;
      for (u64 i = 0; i < done.value(); ++i) KERNEL_EXPECT(block[i] == byte_at(read + i));
      read += done.value();
    }
    KERNEL_EXPECT(pipe->available() == written - read);
    if (round % 10 == 0) {
      const Result<u64> resized = pipe->set_capacity(page_size << (random >> 50 & 7), false);
      KERNEL_EXPECT(resized.ok() || resized.error() == Errno::ebusy);
    }
  }
  KERNEL_EXPECT(read > 100'000);
  pipe->remove_end(true, true);
  return nullptr;
}

}  // namespace

KERNEL_TEST(fs_directories_as_deep_as_one_likes_are_cleared) {
  const u64 before = objects();
  {
    Ref<RamFileSystem> ram = file_system(10);
    KERNEL_EXPECT(ram);
    Ref<Inode> at = ram->root();
    for (u32 depth = 0; depth < 2000; ++depth) {
      Result<Ref<Inode>> made = at->create("d", {.type = FileType::directory, .permissions = 0755});
      KERNEL_EXPECT(made.ok());
      at = made.take();
    }
    at = {};
    ram->dismantle();
  }
  KERNEL_EXPECT(objects() == before);
  KERNEL_PASSED;
}

KERNEL_TEST(fs_pipe_keeps_order_and_pages) {
  const char* wrong = exercise_pipe();  // what the heap keeps of it is there from now on
  if (wrong != nullptr) return wrong;
  const u64 before = pages_free();
  for (u32 i = 0; i < 5 && wrong == nullptr; ++i) wrong = exercise_pipe();
  if (wrong != nullptr) return wrong;
  KERNEL_EXPECT(pages_free() == before);
  KERNEL_PASSED;
}

KERNEL_TEST(fs_descriptors) {
  Result<PipePair> pair = make_pipe(0, true);
  KERNEL_EXPECT(pair.ok());
  const Ref<OpenFile> file = pair.value().reader;
  const u32 references = file->references();
  {
    Result<FileTable*> made = memory::make<FileTable>();
    KERNEL_EXPECT(made.ok());
    Ref<FileTable> table = Ref<FileTable>::adopt(made.value());
    for (int i = 0; i < 100; ++i) KERNEL_EXPECT(table->install(file, i % 2 == 0, 1000).value() == i);
    KERNEL_EXPECT(table->close(7).ok() && table->close(3).ok() && !table->close(3).ok());
    KERNEL_EXPECT(table->install(file, false, 1000, 5).value() == 7 && table->install(file, true, 1000).value() == 3);
    KERNEL_EXPECT(table->install(file, false, 100).error() == Errno::emfile);
    KERNEL_EXPECT(table->install(file, false, 100, 100).error() == Errno::einval);
    KERNEL_EXPECT(fails(table->replace(100, file, false, 100), Errno::ebadf) && table->replace(50, file, false, 100).ok());
    KERNEL_EXPECT(table->get(-1).error() == Errno::ebadf && table->get(100).error() == Errno::ebadf);
    Result<Ref<FileTable>> copy = table->duplicate();
    KERNEL_EXPECT(copy.ok() && file->references() == references + 200);
    copy.value()->close_marked();
    KERNEL_EXPECT(copy.value()->next_used(0) == 1 && copy.value()->next_used(3) == 5);
    copy.value()->close_range(0, 60, false);
    KERNEL_EXPECT(copy.value()->next_used(0) == 61);
  }
  KERNEL_EXPECT(file->references() == references);
  KERNEL_PASSED;
}

KERNEL_TEST(fs_text_buffer_is_bounded) {
  const u64 before = pages_free();
  {
    TextBuffer text;
    for (u32 i = 0; i < 100'000 && text.complete(); ++i) text.print("{08} and so on, until it is full\n", i);
    KERNEL_EXPECT(text.complete() && text.text().size() == 100'000 * 37);
    for (u32 i = 0; i < 100'000 && text.complete(); ++i) text.print("{08} and so on, until it is full\n", i);
    KERNEL_EXPECT(!text.complete() && text.text().size() <= TextBuffer::limit);
  }
  KERNEL_EXPECT(pages_free() == before);
  KERNEL_PASSED;
}

}  // namespace corral::tests
