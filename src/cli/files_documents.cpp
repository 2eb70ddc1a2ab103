// SPDX-License-Identifier: Apache-2.0
#include "cli/files_documents.hpp"

#include "domain/changes.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace sandbox::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

template <typename T> Json optional_of(const std::optional<T>& value) { return value ? Json(*value) : Json(nullptr); }

Json octal(std::uint32_t mode) {
    char text[8];
    std::snprintf(text, sizeof text, "%04o", mode & 07777);
    return text;
}

// Bytes that are no UTF-8 are there in base64 as well, so that nothing is lost.
void add_bytes(Json& object, const char* key, const char* base64_key, std::string_view bytes) {
    object[key] = to_valid_utf8(bytes);
    if (!is_valid_utf8(bytes)) object[base64_key] = base64_encode(bytes);
}

Json json_of(const app::Location& place) {
    Json object{{"session", to_valid_utf8(place.session)}};
    add_bytes(object, "path", "pathBase64", place.path.empty() ? "." : place.path);
    return object;
}

Json json_of(const channel::FileEntry& entry) {
    Json object = Json::object();
    add_bytes(object, "path", "pathBase64", entry.path);
    object["type"] = domain::inventory_type_name(entry.type);
    object["size"] = entry.type == InventoryType::file ? Json(entry.size) : Json(nullptr);
    object["mode"] = octal(entry.mode);
    object["modifiedAt"] = rfc3339_of_ns(entry.mtime_ns);
    object["uid"] = entry.uid;
    object["gid"] = entry.gid;
    object["target"] = nullptr;
    if (entry.type == InventoryType::symlink) add_bytes(object, "target", "targetBase64", entry.link);
    object["problem"] = entry.problem.empty() ? Json(nullptr) : Json(to_valid_utf8(entry.problem));
    return object;
}

Json json_of(const ListedFiles& listed) {
    Json object = json_of(listed.place);
    object["entries"] = Json::array();
    for (const auto& entry : listed.list.entries) object["entries"].push_back(json_of(entry));
    object["truncated"] = listed.list.truncated;
    return object;
}

Json texts(const std::vector<std::string>& all) {
    Json array = Json::array();
    for (const auto& one : all) array.push_back(to_valid_utf8(one));
    return array;
}

Json json_of(const FailedPlaces& failures) {
    Json array = Json::array();
    for (const auto& [place, error] : failures) {
        array.push_back({{"path", to_valid_utf8(place)},
                         {"error",
                          {{"code", error_code_name(error.code())},
                           {"message", to_valid_utf8(error.message())},
                           {"hint", error.hint().empty() ? Json(nullptr) : Json(to_valid_utf8(error.hint()))},
                           {"retryable", error_is_retryable(error.code())}}}});
    }
    return array;
}

} // namespace

std::string rfc3339_of_ns(std::int64_t ns) {
    constexpr std::int64_t k_second = 1'000'000'000;
    const std::int64_t seconds = ns / k_second - (ns % k_second < 0 ? 1 : 0);
    std::string text = format_rfc3339(seconds * 1000);
    char fraction[16];
    std::snprintf(fraction, sizeof fraction, ".%09dZ", static_cast<int>(ns - seconds * k_second));
    return text.replace(text.rfind('Z'), 1, fraction);
}

std::string list_document(const ListedFiles& listed) { return line(json_of(listed)); }

std::string lists_document(const std::vector<ListedFiles>& all, const FailedPlaces& failures) {
    Json lists = Json::array();
    for (const auto& one : all) lists.push_back(json_of(one));
    return line({{"lists", lists}, {"left", json_of(failures)}});
}

std::string page_document(const app::Location& place, const channel::FileText& text) {
    const auto& page = text.page;
    Json object = json_of(place);
    object["size"] = page.range.size;
    object["mode"] = octal(page.mode);
    object["modifiedAt"] = rfc3339_of_ns(page.mtime_ns);
    object["encoding"] = text.is_utf8 ? "utf-8" : "base64";
    object[text.is_utf8 ? "text" : "base64"] = text.is_utf8 ? text.content : base64_encode(text.content);
    object["binary"] = text.is_binary;
    object["startByte"] = page.range.begin;
    object["bytes"] = page.bytes;
    object["nextByte"] = optional_of(page.next_byte());
    object["lines"] = page.range.lines;
    object["nextLine"] = optional_of(page.next_line());
    object["truncated"] = page.range.truncated;
    object["lineCut"] = page.range.line_cut;
    return line(object);
}

std::string written_document(const app::Location& place, const channel::WrittenFile& written) {
    Json object = json_of(place);
    object["bytes"] = written.bytes;
    object["size"] = written.size;
    object["mode"] = octal(written.mode);
    object["created"] = written.created;
    return line(object);
}

std::string made_directories_document(const std::vector<std::string>& made, const std::vector<std::string>& existing, const FailedPlaces& failures) {
    return line({{"made", texts(made)}, {"existing", texts(existing)}, {"left", json_of(failures)}});
}

std::string removed_files_document(const std::vector<std::string>& removed, const std::vector<std::string>& missing, std::uint64_t entries,
                                   const FailedPlaces& failures) {
    return line({{"removed", texts(removed)}, {"missing", texts(missing)}, {"removedEntries", entries}, {"left", json_of(failures)}});
}

} // namespace sandbox::cli
