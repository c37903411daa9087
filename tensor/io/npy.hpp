// NumPy's .npy files (numpy.lib.format, versions 1.0 to 3.0): the magic "\x93NUMPY", two bytes of
// version, the header's length (2 bytes, from version 2.0 on 4), the header, a Python dictionary
//
//   {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
//
// and the elements. Either byte order and either memory order are read; the tensor is row-major.
// f4, f8, i8 and b1 are Glim's dtypes; f2 becomes float32, i1 i2 i4 u1 u2 u4 become int64, without
// loss; others (u8, complex, text, records, objects) are refused by name.
// Written are the bytes that numpy.save writes: version 1.0, little endian, row-major.
//
// Errors: FileError "PATH: ...", for a header beyond 64 KiB, for one that is no such dictionary,
// and for data shorter or longer than the shape needs.
#pragma once

#include <string>

#include "tensor/tensor.hpp"

namespace glim {

Tensor read_npy(const std::string& path);
void write_npy(const std::string& path, const Tensor& x);  // atomic: tensor/io/atomic_file.hpp

}  // namespace glim
