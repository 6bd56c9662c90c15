// /proc/[pid]/pagemap: a word of 8 bytes for each page of a process's addresses, at 8 times the page's number. Source: proc(5); Linux
// Documentation/admin-guide/mm/pagemap.rst. Memory is never taken away, so the bit for that is never set; nor is the one for pages that
// were written since somebody asked to be told (soft-dirty), as on a Linux without that.
#include "fs/proc/proc.h"
#include "fs/proc/space_file.h"
#include "memory/heap.h"

namespace corral::fs::proc {

namespace {

class PageMapFile final : public SpaceFile {
 public:
  PageMapFile(Ref<Inode> inode, u32 flags, Process& process, bool shows_frames)
      : SpaceFile{static_cast<Ref<Inode>&&>(inode), flags, process}, shows_frames_{shows_frames} {}

  // Whole words only. What cannot be stored makes all of it an error, as on Linux.
  Result<u64> read_at(Thread& thread, u64 offset, Transfer& transfer) override {
    const Ref<vm::AddressSpace> target = space();
    if (!target) return transfer.done();
    if (offset % sizeof(u64) != 0 || transfer.size() % sizeof(u64) != 0) return Errno::einval;
    const u64 before = transfer.done();
    while (transfer.left() > 0) {
      const u64 page = (offset + transfer.done()) / sizeof(u64);
      if (page >= all_pages) break;
      const u64 count = smaller(smaller(transfer.left() / sizeof(u64), words_at_once), all_pages - page);
      u64 words[words_at_once];
      tell(*target, {page * page_size}, {words, count});
      TRY(transfer.put(0, words, count * sizeof(u64)));
      transfer.advance(count * sizeof(u64));
      if (transfer.done() - before < told_without_pause) continue;
      if (pause_step(thread) == Errno::blocked) return Errno::blocked;
      break;
    }
    return transfer.done();
  }
  Result<u64> write_at(Thread&, u64, Transfer&) override { return Errno::einval; }

 private:
  static constexpr u64 present = u64{1} << 63, of_file = u64{1} << 61, mapped_once = u64{1} << 56;
  static constexpr u64 all_pages = vm::user_end / page_size;
  static constexpr u64 words_at_once = 32;
  static constexpr u64 told_without_pause = bytes_without_pause / 16;  // finding a word takes longer than copying it

  void tell(vm::AddressSpace& space, VirtualAddress start, std::span<u64> words) const {
    vm::PageState states[words_at_once];
    space.page_states(start, {states, words.size()});
    for (u64 i = 0; i < words.size(); ++i) {
      const vm::PageState& state = states[i];
      words[i] = !state.present ? 0
                                : present | (state.anonymous ? 0 : of_file) | (state.mapped_once ? mapped_once : 0) |
                                      (shows_frames_ ? state.frame.value / page_size : 0);
    }
  }

  const bool shows_frames_;  // where pages are in memory: an aid to attacks on it
};

}  // namespace

Result<Ref<OpenFile>> open_page_map(Inode& inode, const OpenRequest& request, const Subject& subject) {
  const Ref<Process> process = TRY(process_of(subject));
  const bool shows_frames = request.thread.may(Capability::sys_admin);
  return Ref<OpenFile>{
      Ref<PageMapFile>::adopt(TRY(memory::make<PageMapFile>(Ref<Inode>::share(inode), request.flags, *process, shows_frames)))};
}

}  // namespace corral::fs::proc
