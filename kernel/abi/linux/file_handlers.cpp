// See file_handlers.h.
#include "abi/linux/file_handlers.h"

#include "fs/step_memory.h"
#include "memory/page_allocator.h"

namespace corral::abi {

UserPath::~UserPath() {
  if (page_ != nullptr) memory::release_page(*page_);
}

Result<void> UserPath::take(Call& call, VirtualAddress from) {
  if (page_ == nullptr) page_ = TRY(memory::allocate_page(memory::Zero::no));
  static_assert(fs::path_max == page_size);
  text_ = reinterpret_cast<char*>(memory::contents(*page_));
  size_ = TRY(vm::copy_string_in(call.space, call.thread.caller, text_, fs::path_max, from));
  return {};
}

Result<void> NamedFile::look(Call& call, int directory, VirtualAddress path_at, fs::Follow follow, u32 flags) {
  TRY(path.take(call, path_at));
  if (path.text().empty() && (flags & fs::at_empty_path) != 0) {
    fs::Resources& resources = resources_of(call);
    if (directory == fs::at_fdcwd) {
      walk.file = resources.directory();
    } else {
      Ref<fs::OpenFile> open = TRY(resources.files().get(directory));
      walk.file = Ref<fs::Inode>::share(open->inode());
    }
    return {};
  }
  if (path.text().empty()) return Errno::enoent;
  fs::StepMemory* memory = fs::StepMemory::find(call.thread);
  if (memory != nullptr && memory->recall(walk)) return {};
  const bool in_root = (restrictions & fs::resolve_in_root) != 0;  // an absolute path begins there, too
  start = TRY(resources_of(call).start_at(call.thread, directory, in_root ? std::string_view{"."} : path.text()));
  start.restrictions = restrictions;
  if (credentials != nullptr) start.credentials = credentials;
  if (in_root) start.root = start.directory;
  TRY(walk.run(start, path.text(), follow));
  return fs::StepMemory::keep(call.thread, walk);
}

Result<Ref<fs::Inode>> NamedFile::existing(Call& call, int directory, VirtualAddress path_at, fs::Follow follow, u32 flags) {
  TRY(look(call, directory, path_at, follow, flags));
  if (!walk.file) return Errno::enoent;
  return walk.file;
}

}  // namespace corral::abi
