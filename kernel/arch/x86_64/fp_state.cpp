// See arch/fp_state.h. The only functions of the kernel with floating-point instructions are those of FpState (the build
// checks the image). Source: SDM vol. 1, 10.5 (FXSAVE area), 13.4 (XSAVE area), 13.8 (XRSTOR).
#include "arch/fp_state.h"

#include "arch/processor.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"

namespace corral::arch {

namespace {

// Offsets in the area; the first 512 bytes are FXSAVE's in both forms.
constexpr size_t offset_control_word = 0;
constexpr size_t offset_mxcsr = 24;
constexpr size_t offset_mxcsr_mask = 28;
constexpr size_t offset_components = 512;  // XSTATE_BV
constexpr size_t offset_header_rest = 520; // XCOMP_BV and reserved: zero in the standard form
constexpr size_t end_of_header = 576;

constexpr u64 components_of_plain_image = 3;  // x87 and SSE
constexpr u32 mark_magic = 0x46505853;        // FP_XSTATE_MAGIC1
constexpr u16 initial_control_word = 0x37f;
constexpr u32 initial_mxcsr = 0x1f80;
constexpr u32 default_mxcsr_mask = 0xffbf;  // SDM vol. 1, 11.6.6: when the image says 0

template <class T>
T read_at(const u8* area, size_t offset) {
  T value;
  __builtin_memcpy(&value, area + offset, sizeof(value));  // one move
  return value;
}
template <class T>
void write_at(u8* area, size_t offset, T value) {
  __builtin_memcpy(area + offset, &value, sizeof(value));
}

u32 low_components() {
  return static_cast<u32>(features().xsave_components);
}
u32 high_components() {
  return static_cast<u32>(features().xsave_components >> 32);
}

}  // namespace

FpState::~FpState() {
  memory::release(area_);
}

size_t FpState::image_size() {
  return features().xsave_size;
}

Result<void> FpState::allocate() {
  if (area_ == nullptr) {
    area_ = static_cast<u8*>(memory::allocate(image_size()));
    if (area_ == nullptr) return Errno::enomem;
  }
  reset();
  return {};
}

void FpState::reset() {
  memset(area_, 0, image_size());
  write_at(area_, offset_control_word, initial_control_word);
  write_at(area_, offset_mxcsr, initial_mxcsr);
}

// XRSTOR puts components that the header does not name into their initial state and does not read them (SDM vol. 1, 13.8).
void FpState::reset_for_handler() {
  memset(area_, 0, features().xsave ? end_of_header : image_size());
  write_at(area_, offset_control_word, initial_control_word);
  write_at(area_, offset_mxcsr, initial_mxcsr);
}

void FpState::copy_from(const FpState& other) {
  memcpy(area_, other.area_, image_size());
}

void FpState::save() {
  if (!features().xsave) {
    asm volatile("fxsave64 (%0)" ::"r"(area_) : "memory");
  } else if (features().xsaveopt) {
    asm volatile("xsaveopt64 (%0)" ::"r"(area_), "a"(low_components()), "d"(high_components()) : "memory");
  } else {
    asm volatile("xsave64 (%0)" ::"r"(area_), "a"(low_components()), "d"(high_components()) : "memory");
  }
}

void FpState::restore() {
  if (features().xsave) {
    asm volatile("xrstor64 (%0)" ::"r"(area_), "a"(low_components()), "d"(high_components()) : "memory");
  } else {
    asm volatile("fxrstor64 (%0)" ::"r"(area_) : "memory");
  }
}

bool FpState::frames_are_marked() {
  return features().xsave;
}

const u8* FpState::frame_image() {
  if (frames_are_marked()) {
    const u32 size = static_cast<u32>(image_size());
    write_at(area_, mark_offset,
             Mark{mark_magic, static_cast<u32>(size + sizeof end_mark), features().xsave_components, size, {}});
  }
  return area_;
}

size_t FpState::marked_size(const Mark& mark) {
  if (!frames_are_marked() || mark.magic != mark_magic || mark.image_size < end_of_header || mark.image_size > image_size() ||
      mark.image_size > mark.whole_size) {
    return 0;
  }
  return mark.image_size;
}

u8* FpState::room_for_image(size_t size) {
  mxcsr_mask_ = read_at<u32>(area_, offset_mxcsr_mask);  // as the last save left it; 0 before any
  memset(area_ + size, 0, image_size() - size);
  return area_;
}

Result<void> FpState::accept_image(const Mark* mark) {
  const u32 mask = mxcsr_mask_ == 0 ? default_mxcsr_mask : mxcsr_mask_;
  // What the processor would refuse: set bits of MXCSR that it does not have, and a header that names components
  // which are off or a compacted form.
  bool good = (read_at<u32>(area_, offset_mxcsr) & ~mask) == 0;
  if (features().xsave && mark == nullptr) write_at(area_, offset_components, components_of_plain_image);
  if (features().xsave && mark != nullptr) {
    const u64 components = read_at<u64>(area_, offset_components);
    good &= (components & ~features().xsave_components) == 0;
    for (size_t at = offset_header_rest; at < end_of_header; at += sizeof(u64)) good &= read_at<u64>(area_, at) == 0;
    write_at(area_, offset_components, components & mark->components);
  }
  if (!good) {
    reset();
    return Errno::einval;
  }
  write_at(area_, offset_mxcsr_mask, mask);
  return {};
}

}  // namespace corral::arch
