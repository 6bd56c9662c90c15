# The language's own headers that kernel sources include most: precompiled for the kernel and for what of it is tested on the host.
set(LANGUAGE_HEADERS <algorithm> <array> <bit> <cstddef> <cstdint> <optional> <span> <string_view> <type_traits> <utility>)
