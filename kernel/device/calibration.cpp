// See the header.
#include "device/calibration.h"

namespace corral {

namespace {

constexpr u32 pairs_per_end = 8;
constexpr u64 longest_quiet_looks = 1'000;

// Both counters at one moment: the subject is read between two readings of the reference, `gap` reference ticks apart.
struct Sample {
  u64 subject = 0;
  u64 reference = 0;
  u64 gap = ~u64{0};
};

Sample take_sample(UpCounter& subject, UpCounter& reference) {
  Sample best;
  for (u32 i = 0; i < pairs_per_end; ++i) {
    const u64 before = reference.read();
    const u64 middle = subject.read();
    const u64 gap = reference.read() - before;
    if (gap < best.gap) best = {middle, before + gap / 2, gap};
    if (gap <= 1) break;
  }
  return best;
}

// a * b / c without a wide division: exact to one part in 2^20 or better for the numbers that occur here, and never
// overflowing: the factors are shifted down together with the divisor until the product fits.
u64 scaled(u64 a, u64 b, u64 c) {
  __extension__ using Wide = unsigned __int128;
  Wide product = Wide{a} * b;
  while ((product >> 64) != 0) {
    product >>= 1;
    c >>= 1;
  }
  return c == 0 ? 0 : static_cast<u64>(product) / c;
}

struct Attempt {
  u64 frequency = 0;
  u64 error_ppm = ~u64{0};
};

Attempt measure(UpCounter& subject, UpCounter& reference, u64 reference_frequency, const CalibrationOptions& options) {
  const u64 length = scaled(reference_frequency, static_cast<u64>(options.length.ns), 1'000'000'000);
  const Sample start = take_sample(subject, reference);
  u64 previous = start.subject;
  u64 longest_step = 0;  // of the subject between two looks: how long the core was away
  u64 shortest_step = ~u64{0};
  while (reference.read() - start.reference < length) {  // no pause: giving way is what disturbs a measurement
    const u64 now = subject.read();
    const u64 step = now - previous;
    if (step > longest_step) longest_step = step;
    if (step < shortest_step) shortest_step = step;
    previous = now;
  }
  const Sample end = take_sample(subject, reference);
  if (end.subject - previous > longest_step) longest_step = end.subject - previous;
  const u64 reference_ticks = end.reference - start.reference;
  const u64 subject_ticks = end.subject - start.subject;
  if (reference_ticks == 0 || end.subject <= start.subject) return {};
  const u64 frequency = scaled(subject_ticks, reference_frequency, reference_ticks);
  if (options.reference_range != Duration{never.ns}) {
    // If the core was away for as long as the reference takes to wrap, the reference shows too little time, and neither
    // counter alone tells. The subject's steps do: one look takes microseconds, a wrap more than a thousand looks.
    const u64 range = scaled(reference_frequency, static_cast<u64>(options.reference_range.ns), 1'000'000'000);
    if (reference_ticks >= range || longest_step / longest_quiet_looks > shortest_step) return {};
  }
  return {frequency, scaled(start.gap + end.gap + 1, 1'000'000, reference_ticks)};
}

}  // namespace

Calibration calibrate(UpCounter& subject, UpCounter& reference, u64 reference_frequency, const CalibrationOptions& options) {
  Calibration best;
  best.error_ppm = ~u64{0};
  CalibrationOptions longer = options;
  while (best.attempts < options.attempts) {
    ++best.attempts;
    const Attempt attempt = measure(subject, reference, reference_frequency, longer);
    const bool plausible = attempt.frequency >= options.lowest && attempt.frequency <= options.highest;
    if (plausible && attempt.error_ppm < best.error_ppm) {
      best.frequency = attempt.frequency;
      best.error_ppm = attempt.error_ppm;
    }
    if (best.error_ppm <= options.wanted_ppm) break;
    // A disturbed measurement is made longer, so that the same disturbance weighs less (not beyond a narrow range).
    if (best.attempts % 2 == 0 && options.reference_range == Duration{never.ns}) longer.length.ns *= 2;
    if (longer.length > milliseconds(160)) longer.length = milliseconds(160);
  }
  if (best.frequency == 0) best.error_ppm = 0;
  return best;
}

}  // namespace corral
