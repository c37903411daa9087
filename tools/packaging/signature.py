#!/usr/bin/env python3
"""signature.py FILE: says nothing if a 64-bit Mach-O file's ad-hoc signature fits its bytes, as arm64 Macs ask before they run it.

The command LC_CODE_SIGNATURE leads to blobs (big-endian). One is the CodeDirectory, with the SHA-256 of each page before the
signature. Apple's cs_blobs.h has the layout. LLVM's tools show the command alone.
"""
import hashlib
import struct
import sys

data = open(sys.argv[1], "rb").read()
commands, begin = {}, 32
for _ in range(struct.unpack_from("<I", data, 16)[0]):
    command, size, *place = struct.unpack_from("<4I", data, begin)
    commands[command] = place
    begin += size
if 0x1D not in commands:
    sys.exit(f"{sys.argv[1]} has no signature")
begin = commands[0x1D][0]
blobs = [begin + struct.unpack_from(">2I", data, begin + 12 + 8 * i)[1] for i in range(struct.unpack_from(">I", data, begin + 8)[0])]
directory = next(blob for blob in blobs if data[blob:blob + 4] == b"\xfa\xde\x0c\x02")
hashes, slots, limit, page = struct.unpack_from(">16xI8x2I3xB", data, directory)
for i in range(slots):
    digest = hashlib.sha256(data[i << page:min((i + 1) << page, limit)]).digest()
    if digest != data[directory + hashes + 32 * i:][:32]:
        sys.exit(f"{sys.argv[1]}: the signature is not that of page {i}")
if limit != begin:
    sys.exit(f"{sys.argv[1]}: bytes from {limit} to {begin} are not signed")
