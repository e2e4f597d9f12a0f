// beit: its place in the list; window_table.hpp computes the values.
#include "encodings/beit.hpp"

#include "encodings/model.hpp"

POSENC_DEFINE_ENCODING(beit, Beit)
