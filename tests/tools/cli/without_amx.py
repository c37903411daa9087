"""without_amx.py COMMAND...: runs it on a system that refuses AMX's registers (x86-64 Linux): a filter of system calls
answers EPERM to arch_prctl(ARCH_REQ_XCOMP_PERM)."""
import ctypes
import os
import struct
import sys

LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06  # instructions of the filter; offsets are of struct seccomp_data
ALLOW, REFUSE = 0x7FFF0000, 0x00050001
PROGRAM = [(LOAD, 0, 0, 0), (EQUAL, 0, 3, 158), (LOAD, 0, 0, 16), (EQUAL, 0, 1, 0x1023), (RETURN, 0, 0, REFUSE),
           (RETURN, 0, 0, ALLOW)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *instruction) for instruction in PROGRAM))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(PROGRAM), ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
zero, one = ctypes.c_ulong(0), ctypes.c_ulong(1)
if libc.prctl(38, one, zero, zero, zero) or libc.prctl(22, ctypes.c_ulong(2), program, zero, zero):  # no new privileges
    sys.exit(f"without_amx.py: {os.strerror(ctypes.get_errno())}")
os.execvp(sys.argv[1], sys.argv[1:])
