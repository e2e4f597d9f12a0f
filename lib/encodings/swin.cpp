// swin: its place in the list; window_table.hpp computes the values.
#include "encodings/swin.hpp"

#include "encodings/model.hpp"

POSENC_DEFINE_ENCODING(swin, Swin)
