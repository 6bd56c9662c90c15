// See program.h.
#include "task/program.h"

#include "arch/fp_state.h"
#include "arch/signal_frame.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"
#include "sched/engine/random_source.h"
#include "task/vdso.h"
#include "trace/log.h"

namespace corral {

namespace {

// Fixed places: programs see the same addresses in every run, which replay needs (docs/caveats.md).
constexpr u64 stack_top = vm::stack_end;
constexpr u64 stack_at_first = 128 << 10;  // besides what the program is given; then it grows
// What the program is given may take a quarter of the stack, but this much in any case and that much at most, as on Linux.
constexpr u64 least_given = 128 << 10, most_given = 6 << 20;
constexpr u64 program_base = 0x5555'5555'4000;
constexpr u64 interpreter_base = 0x7fff'f000'0000;
constexpr u64 interpreter_room = 64 << 20;  // below the room for a stack with a high limit
static_assert(vm::mapping_ceiling(~u64{0}).value > program_base + (u64{1} << 40), "the vDSO, above it, is in no program's way");

enum Auxiliary : u64 {
  at_null = 0,
  at_phdr = 3,
  at_phent = 4,
  at_phnum = 5,
  at_pagesz = 6,
  at_base = 7,
  at_flags = 8,
  at_entry = 9,
  at_uid = 11,
  at_euid = 12,
  at_gid = 13,
  at_egid = 14,
  at_platform = 15,
  at_hwcap = 16,
  at_clktck = 17,
  at_secure = 23,
  at_random = 25,
  at_execfn = 31,
  at_sysinfo_ehdr = 33,
  at_minsigstksz = 51,
};

vm::Protection protection_of(const elf::Segment& s) {
  return {s.read, s.write, s.execute};
}

// Maps one segment: its file part from the file's pages, the rest anonymous, and zeroes the file page's tail.
Result<void> map_segment(vm::AddressSpace& space, vm::Caller& caller, const elf::Segment& s, u64 base,
                         const Ref<vm::Backing>& backing) {
  const u64 start = round_down(base + s.address, page_size);
  const u64 file_end = base + s.address + s.file_size;
  const u64 end = round_up(base + s.address + s.memory_size, page_size);
  const u64 file_pages_end = s.file_size == 0 ? start : round_up(file_end, page_size);
  if (file_pages_end > start) {
    vm::MapRequest file;
    file.hint = {start};
    file.length = file_pages_end - start;
    file.protection = protection_of(s);
    file.fixed = true;
    file.kind = vm::AreaKind::file;
    file.backing = backing;
    file.first_page = round_down(s.file_offset, page_size) / page_size;
    (void)TRY(space.map(caller, file));
  }
  if (end > file_pages_end) {
    vm::MapRequest rest;
    rest.hint = {file_pages_end};
    rest.length = end - file_pages_end;
    rest.protection = protection_of(s);
    rest.fixed = true;
    (void)TRY(space.map(caller, rest));
  }
  if (s.memory_size > s.file_size && file_end < file_pages_end && s.file_size != 0) {
    if (!s.write) return Errno::enoexec;  // memory beyond the file in a page that cannot be written
    alignas(16) static constexpr u8 zeros[256] = {};
    for (u64 at = file_end; at < file_pages_end;) {
      const u64 size = file_pages_end - at < sizeof zeros ? file_pages_end - at : sizeof zeros;
      TRY(vm::copy_out(space, caller, {at}, zeros, size));
      at += size;
    }
  }
  return {};
}

Result<void> map_image(vm::AddressSpace& space, vm::Caller& caller, ByteSource& source, const PlacedImage& placed) {
  const Ref<vm::Backing> backing = TRY(source.backing());
  for (u32 i = 0; i < placed.image.segment_count; ++i) {
    TRY(map_segment(space, caller, placed.image.segments[i], placed.base, backing));
  }
  return {};
}

void note_segments(const PlacedImage& placed, ProgramPlaces& places) {
  for (u32 i = 0; i < placed.image.segment_count; ++i) {  // ascending
    const elf::Segment& s = placed.image.segments[i];
    const VirtualAddress start{placed.base + s.address};
    const VirtualAddress end{start.value + s.file_size};
    if (s.execute && places.code_end.value == 0) places.code_start = start;
    if (s.execute) places.code_end = end;
    places.data_start = start;
    places.data_end = end;
  }
}

// Builds the initial stack from the top down in a kernel buffer, then copies it out in one piece.
class StackBuilder {
 public:
  explicit StackBuilder(const ArgumentBlock& arguments) : arguments_{arguments} {}
  ~StackBuilder() { memory::release(buffer_); }
  StackBuilder(const StackBuilder&) = delete;
  StackBuilder& operator=(const StackBuilder&) = delete;

  Result<void> build(const PlacedImage& program, u64 interpreter_at, VirtualAddress vdso_at,
                     const ProgramCircumstances& circumstances) {
    const std::string_view path = circumstances.path;
    const Credentials& credentials = circumstances.credentials;
    constexpr std::string_view platform = "x86_64";
    constexpr u64 auxiliary_pairs = 20;
    const u64 strings = arguments_.size() + path.size() + 1 + platform.size() + 1;
    const u64 words = 1 + arguments_.argument_count() + 1 + arguments_.environment_count() + 1 + 2 * auxiliary_pairs;
    size_ = round_up(strings + 16, 16) + round_up(words * 8, 16);
    const u64 quarter = circumstances.stack_limit / 4;
    if (size_ > least_given && (size_ > quarter || size_ > most_given)) return Errno::e2big;
    buffer_ = static_cast<u8*>(memory::allocate(size_));
    if (buffer_ == nullptr) return Errno::enomem;
    memset(buffer_, 0, size_);
    bottom_ = stack_top - size_;

    u64 at = size_ - strings;
    strings_at_ = at;
    memcpy(buffer_ + at, arguments_.text(), arguments_.size());
    const u64 path_at = at + arguments_.size();
    memcpy(buffer_ + path_at, path.data(), path.size());
    const u64 platform_at = path_at + path.size() + 1;
    memcpy(buffer_ + platform_at, platform.data(), platform.size());
    const u64 random_at = round_down(at - 16, 16);
    for (u64 i = 0; i < 2; ++i) {
      const u64 value = random_source::next();
      memcpy(buffer_ + random_at + i * 8, &value, sizeof value);
    }

    put(arguments_.argument_count());
    u64 text = at;
    for (u32 i = 0; i < arguments_.argument_count(); ++i) text = put_string(text);
    arguments_end_ = text;
    put(0);
    for (u32 i = 0; i < arguments_.environment_count(); ++i) text = put_string(text);
    environment_end_ = text;
    put(0);
    auxiliary_at_ = next_;
    const elf::Image& image = program.image;
    put_pair(at_sysinfo_ehdr, vdso_at.value);
    put_pair(at_phdr, image.program_headers == 0 ? 0 : image.program_headers + program.base);
    put_pair(at_phent, image.program_header_size);
    put_pair(at_phnum, image.program_header_count);
    put_pair(at_pagesz, page_size);
    put_pair(at_base, interpreter_at);
    put_pair(at_flags, 0);
    put_pair(at_entry, image.entry + program.base);
    put_pair(at_uid, credentials.user.real);
    put_pair(at_euid, credentials.user.effective);
    put_pair(at_gid, credentials.group.real);
    put_pair(at_egid, credentials.group.effective);
    put_pair(at_platform, bottom_ + platform_at);
    put_pair(at_hwcap, arch::features().first_leaf_edx);
    put_pair(at_clktck, 100);
    put_pair(at_secure, circumstances.secure ? 1 : 0);
    put_pair(at_random, bottom_ + random_at);
    put_pair(at_execfn, bottom_ + path_at);
    put_pair(at_minsigstksz, arch::FpState::image_size() + sizeof(arch::SignalFrame) + arch::red_zone + 128);
    put_pair(at_null, 0);
    auxiliary_end_ = next_;
    return {};
  }

  Result<void> copy_to(vm::AddressSpace& space, vm::Caller& caller) {
    for (u64 done = 0; done < size_;) {
      const u64 piece = size_ - done < page_size ? size_ - done : page_size;
      TRY(vm::copy_out(space, caller, {bottom_ + done}, buffer_ + done, piece));
      done += piece;
    }
    return {};
  }

  [[nodiscard]] u64 size() const { return size_; }
  void note_places(ProgramPlaces& places) const {
    places.stack_start = {bottom_};
    places.arguments_start = {bottom_ + strings_at_};
    places.arguments_end = {bottom_ + arguments_end_};
    places.environment_end = {bottom_ + environment_end_};
    places.auxiliary_start = {bottom_ + auxiliary_at_};
    places.auxiliary_end = {bottom_ + auxiliary_end_};
  }

 private:
  void put(u64 value) {
    memcpy(buffer_ + next_, &value, sizeof value);
    next_ += 8;
  }
  void put_pair(u64 type, u64 value) {
    put(type);
    put(value);
  }
  // Puts the address of the string at `text` in the buffer; answers where the following one begins.
  u64 put_string(u64 text) {
    put(bottom_ + text);
    return text + strlen(reinterpret_cast<const char*>(buffer_ + text)) + 1;
  }

  const ArgumentBlock& arguments_;
  u8* buffer_ = nullptr;
  u64 size_ = 0;
  u64 bottom_ = 0;  // user address of buffer_
  u64 next_ = 0;
  u64 strings_at_ = 0;
  u64 arguments_end_ = 0;
  u64 environment_end_ = 0;
  u64 auxiliary_at_ = 0, auxiliary_end_ = 0;
};

}  // namespace

Result<elf::Image> read_image(ByteSource& source) {
  auto* head = static_cast<u8*>(memory::allocate(elf::header_bytes));
  if (head == nullptr) return Errno::enomem;
  Result<u64> got = source.read_at(0, {head, elf::header_bytes});
  if (!got) {
    memory::release(head);
    return got.error();
  }
  const char* why = "";
  Result<elf::Image> image = elf::parse({head, got.value()}, source.size(), why);
  memory::release(head);
  if (!image) log::info("not executed: {}", why);
  return image;
}

Result<elf::Image> read_interpreter(ByteSource& source) {
  if (source.size() < elf::smallest_header) return Errno::eio;
  Result<elf::Image> image = read_image(source);
  if (!image && image.error() == Errno::enoexec) return Errno::elibbad;
  return image;
}

namespace {

// `given`: bytes at its top that the program finds there.
Result<void> map_stack(vm::AddressSpace& space, vm::Caller& caller, u64 given, bool executable, u64 limit) {
  const u64 wanted = given + stack_at_first;
  const u64 size = round_up(limit > wanted ? wanted : limit > given ? limit : given, page_size);
  vm::MapRequest stack;
  stack.hint = {stack_top - size};
  stack.length = size;
  stack.protection = {true, true, executable};
  stack.fixed = true;
  stack.grows_down = true;
  stack.kind = vm::AreaKind::stack;
  (void)TRY(space.map(caller, stack));
  return {};
}

}  // namespace

Result<LoadedProgram> load_program(vm::Caller& caller, const ProgramFile& file, const ProgramFile* interpreter,
                                   const ArgumentBlock& arguments, const ProgramCircumstances& circumstances) {
  LoadedProgram loaded;
  loaded.space = TRY(vm::AddressSpace::create());
  vm::AddressSpace& space = *loaded.space;
  space.leave_room_for_stack(circumstances.stack_limit);
  const elf::Image& image = file.image;
  const PlacedImage program{image, image.position_independent ? program_base - image.lowest : 0};
  TRY(map_image(space, caller, file.source, program));
  space.set_break_start({round_up(program.base + image.highest, page_size)});
  loaded.entry = {program.base + image.entry};

  u64 interpreter_at = 0;
  if (interpreter != nullptr) {
    const elf::Image& other = interpreter->image;
    const u64 below_stack = space.ceiling().value - interpreter_room;
    const u64 base = below_stack < interpreter_base ? below_stack : interpreter_base;
    const PlacedImage placed{other, other.position_independent ? base - other.lowest : 0};
    TRY(map_image(space, caller, interpreter->source, placed));
    interpreter_at = placed.base;
    loaded.entry = {placed.base + other.entry};
  }

  const VirtualAddress vdso_at = TRY(vdso::map_into(space, caller));
  StackBuilder builder{arguments};
  TRY(builder.build(program, interpreter_at, vdso_at, circumstances));
  TRY(map_stack(space, caller, builder.size(), image.executable_stack, circumstances.stack_limit));
  TRY(builder.copy_to(space, caller));
  note_segments(program, loaded.places);
  builder.note_places(loaded.places);
  return loaded;
}

}  // namespace corral
