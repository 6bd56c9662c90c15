"""How the kernel is built: what its compiler looks at."""

import unittest

from lab import build, paths


class PrecompiledHeaders(unittest.TestCase):
    def test_the_compiler_warns_in_them(self) -> None:
        """In a system header it would not, nor in what that includes; thread-safety analysis is a warning."""
        build.build(build.KERNEL)
        list_of_them = (paths.KERNEL_BUILD / "CMakeFiles/kernel_objects.dir/cmake_pch.hxx").read_text(encoding="utf-8")
        self.assertIn("task/thread.h", list_of_them)
        self.assertNotIn("system_header", list_of_them)


if __name__ == "__main__":
    unittest.main()
