// See shrinking.h.
#include "fs/shrinking.h"

#include "fs/step_memory.h"
#include "fs/watch/notices.h"
#include "memory/heap.h"
#include "task/thread.h"

namespace corral::fs {

namespace {

// Goes through all address spaces; a fork's child comes after its parent, and is whole by then, since a fork excludes other changes of
// the parent's mappings.
class Shrinking final : public Operation {
 public:
  Shrinking(Inode& file, u64 size) : file_{Ref<Inode>::share(file)}, first_page_{round_up(size, page_size) / page_size} {}
  Result<void> run(Waiter&) override {
    Thread& thread = stepping_thread();
    for (;;) {
      if (!space_) space_ = vm::AddressSpace::made_after(done_);
      if (!space_) return {};
      const Result<void> forgotten = space_->forget_file_pages(thread.caller, file_.get(), first_page_);
      if (!forgotten.ok() && forgotten.error() == Errno::blocked) return Errno::blocked;
      done_ = space_->number();
      space_ = {};
    }
  }

 private:
  const Ref<Inode> file_;
  const u64 first_page_;
  u64 done_ = 0;  // address spaces up to this number
  Ref<vm::AddressSpace> space_;  // under way
};

}  // namespace

Result<bool> finish_shrinking(Thread& thread) {
  StepMemory* memory = StepMemory::find(thread);
  if (memory == nullptr || !memory->shrinking) return false;
  TRY(memory->shrinking->run(thread));
  memory->shrinking = {};
  return true;
}

Result<void> resize_mapped(Thread& thread, Inode& file, OpenFile* open, u64 size) {
  StepMemory* memory = StepMemory::find(thread);
  const bool begun = memory != nullptr && memory->cutting;  // its size tells nothing any more
  const bool shorter = begun || (file.type() == FileType::regular && size < file.attributes().size);
  if (shorter && !begun) {
    memory = TRY(StepMemory::of(thread));
    memory->cutting = Ref<Operation>{Ref<Shrinking>::adopt(TRY(memory::make<Shrinking>(file, size)))};
  }
  const Result<void> resized = open != nullptr ? open->resize(size) : file.resize(size);
  if (!resized.ok()) {
    if (shorter && resized.error() != Errno::blocked) memory->cutting = {};
    return resized.error();
  }
  notices::tell(file, notices::modified);
  if (!shorter) return {};
  file.cuts.fetch_add(1, Order::seq_cst);
  const Ref<Operation> shrinking = std::exchange(memory->cutting, Ref<Operation>{});
  if (file.mappings.load(Order::seq_cst) == 0) return {};
  memory->shrinking = shrinking;
  (void)TRY(finish_shrinking(thread));
  return {};
}

}  // namespace corral::fs
