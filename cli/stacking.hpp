// --stack: several tensors of one shape as one array with a leading axis, for formats that hold one array.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/io.hpp"
#include "posenc/plan.hpp"

namespace posenc::cli {

/// Metadata key of a stacked file: the tensors' names, in order, separated by spaces.
inline constexpr std::string_view stack_key = "posenc_stack";

/// Metadata key of a file that holds one array of several: the name it has in the spec, which NPY cannot say.
inline constexpr std::string_view tensor_key = "posenc_tensor";

/// "full_attention.cos": the name that selects a planned tensor in Spec::only.
std::string full_name(const Spec& spec, const PlannedTensor& tensor);

std::string stack_names(const std::vector<PlannedTensor>& tensors);
/// Makes the one array that holds them what is planned, in chunks that end where a tensor ends; throws usage when shapes differ.
void plan_stack(FilePlan& plan, const std::vector<PlannedTensor>& tensors);
/// Takes the tensors one by one and puts them behind each other in tensor 0 of `inner`. Its finish() does nothing.
std::unique_ptr<Writer> stacked_writer(Writer& inner, const std::vector<PlannedTensor>& tensors);
/// The opposite: a stacked file as its tensors; `names` is the text under stack_key.
std::unique_ptr<Reader> unstacked_reader(std::unique_ptr<Reader> inner, const std::string& names, const std::string& path);

}  // namespace posenc::cli
