// See core_file.h. The file is written as one long step (task/core_dump.h): what is to be written next is put together in a buffer, and
// after each wait the step goes on with what is left of it.
//
// The file: its header, the program headers (first that of the notes, then one for each area), the notes, and from the next page on the
// memory. Pages that were never touched are holes.
#include "abi/linux/core_file.h"

#include "abi/linux/core_notes.h"
#include "abi/linux/open_found.h"
#include "core/core.h"
#include "device/clock.h"
#include "fs/core_pattern.h"
#include "fs/shrinking.h"
#include "fs/step_memory.h"
#include "memory/page_allocator.h"
#include "task/core_dump.h"
#include "task/system_names.h"

namespace corral::abi {

namespace {

constexpr u64 longest_name = 640;
constexpr u64 piece_size = 64 << 10;  // of what is written at once

Call call_of(Thread& thread) {
  return {thread, thread.process(), *thread.space, thread.frame.arguments()};
}

class CoreFile final : public CoreDump {
 public:
  CoreFile(Thread& thread, const SignalInfo& info) : CoreDump{thread}, info_{info}, limit_{thread.process().limits.core} {}
  ~CoreFile() override { close(); }
  Result<void> write(Thread& thread) override;
  void close() override;

 private:
  enum class Part : u8 { areas, sizes, first_notes, name, open, headers, other_notes, memory, end };

  Result<void> next(Thread& thread);
  Result<void> find_name(Thread& thread);
  Result<void> walk_to_name(Call& call, fs::Walk& walk);
  Result<void> clear_name(Thread& thread);
  Result<void> open(Thread& thread);
  Result<void> write_out(Thread& thread);
  void add_headers();
  bool add_next_thread(Process& process);
  Result<bool> add_pages(Thread& thread);
  void go_on(Thread& thread, Part part);
  [[nodiscard]] u64 notes_offset() const;
  [[nodiscard]] u64 memory_offset() const;

  const SignalInfo info_;
  const u64 limit_;  // bytes that may be written
  Part part_ = Part::areas;
  core::MemoryPicture picture_;
  memory::HeapArray<u8> image_;
  char name_room_[longest_name];
  std::string_view name_;
  fs::TextBuffer notes_;  // of the first thread
  fs::TextBuffer text_;  // to be written at offset_, up to written_ done
  Ref<fs::OpenFile> file_;
  u64 offset_ = 0, written_ = 0, total_ = 0;
  u64 since_pause_ = 0;  // bytes
  u32 other_threads_ = 0;
  ThreadId last_thread_{};  // of the other threads that are done
  u64 segment_ = 0, page_ = 0;  // the memory that comes next: of which segment, bytes from its start
  u64 segment_offset_ = 0;  // where that segment is in the file
  Frame* buffer_ = nullptr;  // for a page
};

u64 CoreFile::notes_offset() const {
  return sizeof(core::FileHeader) + (1 + picture_.segments().size()) * sizeof(core::ProgramHeader);
}

u64 CoreFile::memory_offset() const {
  return round_up(notes_offset() + notes_.text().size() + other_threads_ * core::other_thread_size(), page_size);
}

void CoreFile::close() {
  file_ = {};
  picture_.clear();
  notes_ = {};
  text_ = {};
  if (buffer_ != nullptr) memory::release_page(*buffer_);
  buffer_ = nullptr;
}

// What the part that is over has kept for its runs is not for the next one.
void CoreFile::go_on(Thread& thread, Part part) {
  thread.step = {};
  part_ = part;
}

// blocked; ok: the file is complete.
Result<void> CoreFile::write(Thread& thread) {
  while (part_ != Part::end) {
    TRY(write_out(thread));
    if (part_ == Part::end) break;
    if (thread.process().killed()) return Errno::eintr;
    if (since_pause_ >= fs::bytes_without_pause) {
      since_pause_ = 0;
      return thread.pause_until(clock::now());
    }
    TRY(next(thread));
  }
  return {};
}

Result<void> CoreFile::next(Thread& thread) {
  Process& process = thread.process();
  switch (part_) {
    case Part::areas:
      TRY(image_.allocate(arch::FpState::image_size()));
      buffer_ = TRY(memory::allocate_page(memory::Zero::no));
      TRY(picture_.take(*thread.space));
      process.for_each_thread(
          [&](const Thread& other) { other_threads_ += &other != &thread && other.end_phase == 0 ? 1 : 0; });
      go_on(thread, Part::sizes);
      break;
    case Part::sizes:
      TRY(picture_.decide(thread));
      go_on(thread, Part::first_notes);
      break;
    case Part::first_notes:
      notes_.clear();
      TRY(core::add_first_thread(notes_, thread, info_, picture_.segments(), image_));
      if (!notes_.complete()) return Errno::enomem;
      TRY(find_name(thread));
      go_on(thread, Part::name);
      break;
    case Part::name:
      TRY(clear_name(thread));
      go_on(thread, Part::open);
      break;
    case Part::open:
      TRY(open(thread));
      go_on(thread, Part::headers);
      break;
    case Part::headers:
      add_headers();
      text_.append(notes_.text());
      go_on(thread, Part::other_notes);
      break;
    case Part::other_notes:
      if (add_next_thread(process)) break;
      offset_ = segment_offset_ = memory_offset();
      go_on(thread, Part::memory);
      break;
    case Part::memory:
      if (TRY(add_pages(thread))) break;
      TRY(fs::resize_mapped(thread, file_->inode(), file_.get(), segment_offset_));  // the last pages may be a hole
      go_on(thread, Part::end);
      break;
    case Part::end: break;
  }
  return text_.complete() ? Result<void>{} : Errno::enomem;
}

// What the buffer holds goes to the file, up to the limit, where the file ends. blocked.
Result<void> CoreFile::write_out(Thread& thread) {
  const std::string_view all = text_.text();
  while (written_ < all.size()) {
    u64 size = fs::smaller(all.size() - written_, piece_size);
    size = fs::smaller(size, limit_ - total_);
    if (size == 0) {
      part_ = Part::end;
      return {};
    }
    fs::Transfer transfer{std::span{reinterpret_cast<const u8*>(all.data()) + written_, size}};
    const u64 done = TRY(file_->write_at(thread, offset_, transfer));
    if (done == 0) return Errno::eio;
    thread.step = {};
    written_ += done;
    offset_ += done;
    total_ += done;
    since_pause_ += done;
  }
  text_.clear();
  written_ = 0;
  return {};
}

void CoreFile::add_headers() {
  core::FileHeader header;
  header.program_header_count = static_cast<u16>(1 + picture_.segments().size());
  core::add_bytes(text_, header);
  const u64 notes = notes_.text().size() + other_threads_ * core::other_thread_size();
  core::add_bytes(text_, core::ProgramHeader{.type = core::segment_note,
                                             .flags = 0,
                                             .offset = notes_offset(),
                                             .address = 0,
                                             .physical_address = 0,
                                             .file_size = notes,
                                             .memory_size = 0,
                                             .alignment = 4});
  u64 offset = memory_offset();
  for (const core::MemorySegment& segment : picture_.segments()) {
    const vm::Protection may = segment.protection;
    const u32 flags = (may.read ? core::segment_reads : 0) | (may.write ? core::segment_writes : 0) |
                      (may.execute ? core::segment_executes : 0);
    core::add_bytes(text_, core::ProgramHeader{.type = core::segment_load,
                                               .flags = flags,
                                               .offset = offset,
                                               .address = segment.start.value,
                                               .physical_address = 0,
                                               .file_size = segment.dumped,
                                               .memory_size = segment.end - segment.start,
                                               .alignment = page_size});
    offset += segment.dumped;
  }
}

// False: there is none.
bool CoreFile::add_next_thread(Process& process) {
  for (;;) {
    const Ref<Thread> other = process.next_thread(last_thread_);
    if (!other) return false;
    last_thread_ = other->id();
    if (other.get() == &fs::stepping_thread() || other->end_phase != 0) continue;
    core::add_other_thread(text_, *other, info_.number, image_);
    return true;
  }
}

// Pages that follow one another in the file. False: there are none left. blocked; enomem.
Result<bool> CoreFile::add_pages(Thread& thread) {
  const std::span<core::MemorySegment> all = picture_.segments();
  const std::span<u8> bytes{memory::contents(*buffer_), page_size};
  while (segment_ < all.size() && text_.text().size() < piece_size && since_pause_ < fs::bytes_without_pause) {
    const core::MemorySegment& segment = all[segment_];
    if (page_ < segment.dumped) {
      page_ = core::MemoryPicture::pass_holes(thread, segment, segment.start + page_) - segment.start;
      since_pause_ += page_size;  // looking costs time, too
    }
    if (page_ >= segment.dumped) {
      segment_offset_ += segment.dumped;
      page_ = 0;
      ++segment_;
      continue;
    }
    const bool found = TRY(core::MemoryPicture::read_page(thread, segment, segment.start + page_, bytes));
    const u64 place = segment_offset_ + page_;
    const bool follows = text_.text().empty() || place == offset_ + text_.text().size();
    if (found && !follows) break;  // what there is first
    page_ += page_size;
    if (!found) continue;
    if (text_.text().empty()) offset_ = place;
    text_.append({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  return segment_ < all.size() || !text_.text().empty();
}

Result<void> CoreFile::find_name(Thread& thread) {
  const Process& process = thread.process();
  const Credentials& own = thread.credentials();
  const fs::core_pattern::Text pattern = fs::core_pattern::get();
  const system_names::Text host = system_names::get(system_names::Name::host);
  name_ = TRY(fs::core_pattern::expand(pattern.bytes, fs::core_pattern::with_process.value() != 0,
                                       {.process = process.id().value,
                                        .thread = thread.id().value,
                                        .user = own.user.real,
                                        .group = own.group.real,
                                        .signal = info_.number,
                                        .limit = limit_,
                                        .seconds = static_cast<u64>(clock::wall_time_ns() / 1'000'000'000),
                                        .core = this_core().id().value,
                                        .host = host.bytes,
                                        .command = thread.name,
                                        .program = process.executable},
                                       name_room_));
  return {};
}

Result<void> CoreFile::walk_to_name(Call& call, fs::Walk& walk) {
  fs::StepMemory* memory = fs::StepMemory::find(call.thread);
  if (memory != nullptr && memory->recall(walk)) return {};
  const fs::WalkStart start = TRY(resources_of(call).start_at(call.thread, fs::at_fdcwd, name_));
  TRY(walk.run(start, name_, fs::Follow::never));
  return fs::StepMemory::keep(call.thread, walk);
}

// What has the name already goes: so it is nobody's way to what was written, or to another file. Whether it could: see open(). blocked.
Result<void> CoreFile::clear_name(Thread& thread) {
  Call call = call_of(thread);
  fs::Walk walk;
  Result<void> done = walk_to_name(call, walk);
  if (done.ok()) done = unlink_found(call, walk);
  return done.ok() || done.error() != Errno::blocked ? Result<void>{} : done;
}

// A new file, which nobody else may read.
Result<void> CoreFile::open(Thread& thread) {
  constexpr u32 flags = fs::o_wronly | fs::o_creat | fs::o_excl | fs::o_largefile;
  constexpr u32 permissions = 0600;
  Call call = call_of(thread);
  fs::Walk walk;
  TRY(walk_to_name(call, walk));
  bool created = false;
  const Ref<fs::Inode> inode = TRY(find_or_create(call, walk, flags, permissions, created));
  if (!created) return Errno::eexist;
  const fs::Attributes found = inode->attributes();
  if (found.user != thread.credentials().user.files || (found.permissions & ~permissions) != 0) return Errno::eperm;
  file_ = TRY(open_found(call, *inode, flags, created));
  return {};
}

CoreDump* make_core_file(Thread& thread, const SignalInfo& info) {
  const Process& process = thread.process();
  if (process.limits.core < page_size || !process.manners.dumpable.load(Order::relaxed)) return nullptr;
  return new (std::nothrow) CoreFile(thread, info);
}

}  // namespace

void enable_core_files() {
  set_core_dump_maker(make_core_file);
}

}  // namespace corral::abi
