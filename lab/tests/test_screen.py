"""Pictures of the screen: read as QEMU writes them, written as others read them."""

import unittest
import zlib

from lab import screen


class Pictures(unittest.TestCase):
    PPM = b"P6\n2 1\n255\n\x0a\x20\xff\x00\x00\x00"

    def test_reads_ppm_whose_pixels_look_like_white_space(self) -> None:
        picture = screen.parse_ppm(self.PPM)
        self.assertEqual((picture.width, picture.height, picture.pixels), (2, 1, b"\x0a\x20\xff\0\0\0"))
        self.assertEqual(picture.colours()[b"\0\0\0"], 1)

    def test_refuses_others(self) -> None:
        for data in (b"", b"P5\n1 1\n255\nx", b"P6\n9 9\n255\nxyz"):
            with self.subTest(data=data), self.assertRaises(ValueError):
                screen.parse_ppm(data)

    def test_writes_png(self) -> None:
        png = screen.parse_ppm(self.PPM).to_png()
        self.assertTrue(png.startswith(b"\x89PNG\r\n\x1a\n"))
        at = png.index(b"IDAT")
        length = int.from_bytes(png[at - 4 : at], "big")
        self.assertEqual(zlib.decompress(png[at + 4 : at + 4 + length]), b"\0\x0a\x20\xff\0\0\0")
