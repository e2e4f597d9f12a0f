// A JSON object as text that is edited by its members: what is not touched keeps its bytes - order, indentation, the spelling of
// numbers, NaN, integers of any length. The text has been parsed before (OpenedConfig), so that this only finds where values end;
// no parser at hand tells that, as their events carry no positions. Nothing here recurses on the input.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace posenc::config {

class ObjectText {
 public:
  /// `text` is an object from brace to brace and outlives this.
  explicit ObjectText(std::string_view text);
  /// An empty object that is written as a member of `parent`, one step further in.
  static ObjectText inside(const ObjectText& parent, std::string_view unit);

  [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }
  /// The value as it is written; nothing for a missing key.
  [[nodiscard]] std::optional<std::string_view> get(std::string_view key) const;
  /// The keys in their order.
  [[nodiscard]] std::vector<std::string> keys() const;
  [[nodiscard]] bool empty() const { return members_.empty(); }
  /// White space before the first member: "\n  ", or "" on one line.
  [[nodiscard]] std::string_view lead() const { return style_lead_; }

  /// Replaces the value, or adds a member behind `neighbour`, at the end where there is none.
  void set(std::string_view key, std::string value, std::string_view neighbour = {});
  /// Gives a member, where it stands, another key and value; one that has that key already goes.
  void replace(std::string_view key, std::string_view new_key, std::string value);
  void remove(std::string_view key);

  [[nodiscard]] std::string text() const;

 private:
  struct Member {
    std::string key;
    std::string_view lead, key_text, colon, value, trail;
    std::optional<std::string> new_key, new_value;  ///< as text
  };
  ObjectText() = default;
  [[nodiscard]] const Member* find(std::string_view key) const;
  [[nodiscard]] Member* find(std::string_view key) { return const_cast<Member*>(std::as_const(*this).find(key)); }

  std::vector<Member> members_;
  std::string style_lead_, style_next_ = " ", style_colon_ = ": ", closing_;  ///< before the first member, before others
};

/// `value` written `unit` further in, or further out.
[[nodiscard]] std::string moved_in(std::string_view value, std::string_view unit);
[[nodiscard]] std::string moved_out(std::string_view value, std::string_view unit);

/// The text of a whole file with the object at `path` ("" or "text_config") edited.
[[nodiscard]] std::string edited(std::string_view text, std::string_view path, const std::function<void(ObjectText&)>& edit);

}  // namespace posenc::config
