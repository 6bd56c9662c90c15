// See arch/feature_names.h. Sources: Intel SDM vol. 2A (CPUID), AMD APM vol. 3 (appendix E); the names are those of Linux's
// arch/x86/include/asm/cpufeatures.h.
#include "arch/feature_names.h"

#include "arch/port_io.h"
#include "arch/processor.h"

namespace corral::arch {

namespace {

struct Word {
  u32 leaf, part;
  u32 CpuidResult::* where;
  u32 not_offered;  // bits of what the kernel keeps off
  u32 vectors;      // bits of what needs registers of 256 bits or more
  std::string_view names;  // from bit 0 on; ".": Linux has none
};

constexpr u32 bits(auto... number) {
  return ((1u << number) | ... | 0u);
}

constexpr Word words[] = {
    {1, 0, &CpuidResult::d, 0, 0,
     "fpu vme de pse tsc msr pae mce cx8 apic . . mtrr pge mca cmov "
     "pat pse36 pn clflush . dts acpi mmx fxsr sse sse2 ss ht tm . pbe"},
    {0x8000'0001, 0, &CpuidResult::d, 0, 0,
     ". . . . . . . . . . . syscall . . . . "
     ". . . mp nx . mmxext . . fxsr_opt pdpe1gb rdtscp . lm 3dnowext 3dnow"},
    {0x8000'0007, 0, &CpuidResult::d, 0, 0, ". . . . . . . . constant_tsc"},
    {0x8000'0007, 0, &CpuidResult::d, 0, 0, ". . . . . . . . nonstop_tsc"},
    {1, 0, &CpuidResult::c, 0, bits(12, 28, 29),
     "pni pclmulqdq dtes64 monitor ds_cpl vmx smx est tm2 ssse3 cid sdbg fma cx16 xtpr pdcm "
     ". pcid dca sse4_1 sse4_2 x2apic movbe popcnt tsc_deadline_timer aes xsave . avx f16c rdrand hypervisor"},
    {0x8000'0001, 0, &CpuidResult::c, 0, bits(11, 16),
     "lahf_lm cmp_legacy svm extapic cr8_legacy abm sse4a misalignsse 3dnowprefetch osvw ibs xop . . . . "
     "fma4 . . . . tbm"},
    {7, 0, &CpuidResult::b, bits(0), bits(5, 16, 17, 21, 28, 30, 31),
     "fsgsbase tsc_adjust . bmi1 hle avx2 . smep bmi2 erms invpcid rtm . . . . "
     "avx512f avx512dq rdseed adx smap avx512ifma . clflushopt clwb . . . avx512cd sha_ni avx512bw avx512vl"},
    {0xd, 1, &CpuidResult::a, 0, 0, "xsaveopt xsavec xgetbv1 xsaves"},
    {7, 0, &CpuidResult::c, bits(3, 4), bits(1, 6, 9, 10, 11, 12, 14),
     ". avx512vbmi umip pku ospke . avx512_vbmi2 . gfni vaes vpclmulqdq avx512_vnni avx512_bitalg . avx512_vpopcntdq . "
     ". . . . . . rdpid . . cldemote . movdiri movdir64b"},
    {7, 0, &CpuidResult::d, 0, bits(8), ". . . . fsrm . . . avx512_vp2intersect . . . . . serialize"},
};

u32 offered(const Word& word) {
  constexpr u64 wide_registers = 4;  // of XCR0
  if (word.leaf > cpuid(word.leaf & 0x8000'0000).a) return 0;
  const u32 there = cpuid(word.leaf, word.part).*word.where & ~word.not_offered;
  return (features().xsave_components & wide_registers) != 0 ? there : there & ~word.vectors;
}

std::string_view take_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size() < text.size() ? word.size() + 1 : word.size());
  return word;
}

}  // namespace

std::string_view feature_names(std::span<char> to) {
  size_t size = 0;
  for (const Word& word : words) {
    std::string_view names = word.names;
    for (u32 bits = offered(word); !names.empty(); bits >>= 1) {
      const std::string_view name = take_word(names);
      if ((bits & 1) == 0 || name == "." || size + 1 + name.size() > to.size()) continue;
      to[size++] = ' ';
      __builtin_memcpy(to.data() + size, name.data(), name.size());
      size += name.size();
    }
  }
  return {to.data(), size};
}

}  // namespace corral::arch
