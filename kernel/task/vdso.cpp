// See vdso.h. The pages are made once and never given back; each mapping has references of its own.
#include "task/vdso.h"

#include "arch/processor.h"
#include "device/clock.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"
#include "memory/page_allocator.h"

// arch/<name>/vdso_image.S
extern "C" const corral::u8 corral_vdso_image[];
extern "C" const corral::u8 corral_vdso_image_end[];

namespace corral::vdso {

namespace {

constexpr u64 most_pages = 4;
constexpr u64 above_ceiling = 256u << 10;  // between mappings and the stack, where nothing else is put

class KernelPages final : public vm::Backing {
 public:
  explicit KernelPages(const char* name) : name_{name} {}
  Result<void> add() {
    pages_[count_] = TRY(memory::allocate_page(memory::Zero::yes));
    ++count_;
    return {};
  }
  [[nodiscard]] u64 count() const { return count_; }
  [[nodiscard]] u8* bytes(u64 index) { return memory::contents(*pages_[index]); }
  Result<Frame*> page(u64 index) override {
    if (index >= count_) return Errno::efault;
    memory::share_page(*pages_[index]);
    return pages_[index];
  }
  void pages_at_hand(u64 first, std::span<Frame*> frames) override {
    for (u64 i = 0; i < frames.size(); ++i) {
      const Result<Frame*> found = page(first + i);
      frames[i] = found.ok() ? found.value() : nullptr;
    }
  }
  [[nodiscard]] const char* name() const override { return name_; }

 private:
  const char* name_;
  u64 count_ = 0;
  Frame* pages_[most_pages] = {};
};

// Set before the first program, never changed.
constinit KernelPages* facts = nullptr;
constinit KernelPages* library = nullptr;

Result<void> map_pages(vm::AddressSpace& space, vm::Caller& caller, KernelPages& pages, u64 at, vm::Protection protection,
                       bool may_write) {
  vm::MapRequest request;
  request.hint = {at};
  request.length = pages.count() * page_size;
  request.protection = protection;
  request.fixed = true;
  request.may_write = may_write;
  request.kind = vm::AreaKind::file;
  request.backing = Ref<vm::Backing>::share(pages);
  (void)TRY(space.map(caller, request));
  return {};
}

}  // namespace

Result<void> initialise() {
  facts = TRY(memory::make<KernelPages>("[vvar]"));
  TRY(facts->add());
  auto* page = new (facts->bytes(0)) ClockPage;
  page->set_core_by_instruction(arch::features().rdtscp);
  clock::publish_to(*page);

  library = TRY(memory::make<KernelPages>("[vdso]"));
  const u64 size = static_cast<u64>(corral_vdso_image_end - corral_vdso_image);
  for (u64 done = 0; done < size; done += page_size) {
    TRY(library->add());
    const u64 left = size - done;
    memcpy(library->bytes(done / page_size), corral_vdso_image + done, left < page_size ? left : page_size);
  }
  return {};
}

Result<VirtualAddress> map_into(vm::AddressSpace& space, vm::Caller& caller) {
  const u64 facts_at = space.ceiling().value + above_ceiling;
  const u64 library_at = facts_at + page_size;  // the library finds the page in front of itself (user/vdso/vdso.ld)
  TRY(map_pages(space, caller, *facts, facts_at, {.read = true}, false));
  TRY(map_pages(space, caller, *library, library_at, {.read = true, .execute = true}, true));
  return VirtualAddress{library_at};
}

}  // namespace corral::vdso
