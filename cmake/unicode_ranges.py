# SPDX-License-Identifier: Apache-2.0
"""unicode_ranges.py: prints include/cohort/text/detail/unicode_ranges.inc, the code points of Unicode's categories L (letters) and N (numbers).

Each pair of lines is one array: first and last code point of each range. Printed by Python 3.11 (Unicode 14)."""
import sys
import unicodedata


def ranges(category):
    found = []
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code))[0] == category:
            if found and found[-1][1] == code - 1:
                found[-1][1] = code
            else:
                found.append([code, code])
    return found


def main():
    print("// SPDX-License-Identifier: Apache-2.0")
    print(f"// Unicode {unicodedata.unidata_version}: first and last code point of each range. Written by cmake/unicode_ranges.py.")
    for name, category in (("letter_ranges", "L"), ("number_ranges", "N")):
        print(f"inline constexpr code_range {name}[] = {{")
        line = "   "
        for first, last in ranges(category):
            item = f" {{0x{first:X}, 0x{last:X}}},"
            if len(line + item) > 110:
                print(line)
                line = "   "
            line += item
        print(line)
        print("};")


if __name__ == "__main__":
    main()
